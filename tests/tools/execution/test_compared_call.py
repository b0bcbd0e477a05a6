"""A call that was pickled for a worker compares its function where it is called; here both are in one process."""

from __future__ import annotations

import math
import pickle
import sys
from collections.abc import Iterator
from functools import partial
from types import ModuleType
from typing import Any

import numpy as np
import pytest

from nbtool.tools.content_hash.change_token import portable_digest, tool_change_token
from nbtool.tools.execution.start_check import CheckedFunction
from nbtool.tools.execution.worker_version import OtherVersionInWorker, compare_in_worker

pytestmark = pytest.mark.promise("shown-is-run")

SOURCE = """
class Till:
    fee, uses = 1, 0
    def pay(self, n): return n + self.fee
    def __call__(self, n): return self.pay(n)

def pay(n):
    Till.uses += 1
    seen.append(n)
    return math.floor(n * factor) + len(table) + bool(sizes.any()) + (place is not None)

def count(n): return len(seen)

def broken(n): raise ValueError(n)
"""


@pytest.fixture
def shop(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    module = ModuleType("shop_of_compared_calls")
    vars(module).update(math=math, factor=2, seen=[], table={"a": 1}, sizes=np.zeros(2), place=object())
    monkeypatch.setitem(sys.modules, module.__name__, module)
    exec(SOURCE, vars(module))
    return module


def sent(function: Any, *arguments: Any) -> Any:
    """Return a call as its worker gets it."""
    return pickle.loads(pickle.dumps(CheckedFunction(partial(function, *arguments), reduce=compare_in_worker)))


def test_a_call_runs_where_its_function_is_what_it_was(shop: Any) -> None:
    calls = [sent(shop.pay, 3) for _ in range(3)]

    assert [call() for call in calls] == [8, 8, 8]  # what the runs change is no other version
    assert shop.seen == [3, 3, 3]


@pytest.mark.parametrize("change", ["factor", "fee"])
def test_a_call_does_not_run_where_data_or_code_that_it_uses_is_another(change: str, shop: Any) -> None:
    calls = {"factor": sent(shop.pay, 3), "fee": sent(partial(shop.Till().pay), 3)}
    sent(shop.pay, 3)()
    setattr(shop if change == "factor" else shop.Till, change, 5)

    with pytest.raises(OtherVersionInWorker):
        calls[change]()
    assert shop.seen == [3]


def test_a_callable_object_is_sent_and_its_class_is_compared(shop: Any) -> None:
    call = sent(shop.Till(), 3)
    assert call() == 4
    shop.Till.__call__ = lambda *_: "mallory"

    with pytest.raises(OtherVersionInWorker):
        call()


def test_data_that_another_function_has_changed_in_a_worker_is_no_other_version(shop: Any) -> None:
    first, second = sent(shop.pay, 3), sent(shop.count, 3)

    assert (first(), second()) == (8, 1)


def test_a_call_that_fails_is_compared_too(shop: Any) -> None:
    with pytest.raises(ValueError, match="3"):
        sent(shop.broken, 3)()


def test_what_counts_by_its_identity_here_counts_by_its_type_in_a_worker(shop: Any) -> None:
    before, here = portable_digest(shop.pay), tool_change_token(shop.pay)
    shop.place = object()

    assert portable_digest(shop.pay) == before
    assert tool_change_token(shop.pay) != here


def test_a_function_beyond_the_bounds_is_compared_by_its_code(shop: Any) -> None:
    shop.table = [{n} for n in range(30_000)]
    before = portable_digest(shop.pay)
    shop.pay.__code__ = shop.broken.__code__

    assert portable_digest(shop.pay) != before
