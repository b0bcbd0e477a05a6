"""A worker process runs only the version of a tool that was approved: its code, and the data that it uses."""

from __future__ import annotations

import importlib
import multiprocessing
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import Executor, Future, ProcessPoolExecutor, ThreadPoolExecutor
from pathlib import Path
from types import FunctionType
from typing import Any

import pytest

from nbtool import Approved, Chat, tool
from nbtool.testing import ScriptedWire, call
from nbtool.tools.approval import Question
from nbtool.tools.content_hash.change_token import portable_digest
from nbtool.tools.execution.executors import worker_notice

pytestmark = [
    pytest.mark.promise("shown-is-run"),
    pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning"),
]

SOURCE = """
import re
factor, seen, limits, word = 2, {}, {1, 2}, re.compile("a")

class Tariff:
    fee = 1
    def total(self, n): return n + self.fee

class Till:
    def __init__(self, fee): self.fee = fee
    def pay(self, n: int) -> int:
        "Pay."
        return n + self.fee

def bonus(n): return 0

def pay(n: int) -> int:
    "Pay."
    seen[n] = True
    return n * factor + Tariff().total(n) + bonus(n) + len(limits) + bool(word.search("a"))

def pay_other(n: int) -> int:
    "Pay."
    return 0
"""


@pytest.fixture
def shop(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """Give a module of a person that the processes of a pool can import."""
    name = f"shop_of_{tmp_path.name}".replace("-", "_")
    (tmp_path / f"{name}.py").write_text(SOURCE)
    monkeypatch.syspath_prepend(tmp_path)
    importlib.invalidate_caches()
    yield importlib.import_module(name)
    sys.modules.pop(name)


@pytest.fixture(params=[one for one in ("fork", "spawn") if one in multiprocessing.get_all_start_methods()])
def pool(request: pytest.FixtureRequest) -> Iterator[ProcessPoolExecutor]:
    with ProcessPoolExecutor(1, multiprocessing.get_context(request.param)) as executor:
        yield executor


def pay(
    function: Any, pool: Executor, *, run: Any = "ask_always", name: str = "pay"
) -> tuple[str, Any, list[Question]]:
    """Let a model call a tool of a pool; return the outcome, the result for the model, and what was asked."""
    questions: list[Question] = []

    def approve(question: Question) -> Approved:
        questions.append(question)
        return Approved()

    with ScriptedWire([[call(name, n=3)], "Done."]) as wire:
        turn = Chat(wire=wire, tools=[tool(function, name=name, executor=pool, run=run)], approver=approve).send("Go")
    (record,) = turn.calls
    return record.status, record.shown, questions


def swap_code(shop: Any) -> None:
    shop.pay.__code__ = shop.pay_other.__code__


CHANGES: dict[str, Callable[[Any], object]] = {
    "its code": swap_code,
    "a function that it calls": lambda shop: setattr(shop, "bonus", lambda _: 5),
    "a number": lambda shop: setattr(shop, "factor", 5),
    "a set": lambda shop: shop.limits.add(3),
    "a pattern": lambda shop: setattr(shop, "word", shop.re.compile("b")),
    "an attribute of a class": lambda shop: setattr(shop.Tariff, "fee", 7),
    "a method of a class": lambda shop: setattr(shop.Tariff, "total", lambda _, n: -n),
}


@pytest.mark.sampled(4)
@pytest.mark.parametrize("change", CHANGES)
def test_a_worker_that_has_another_version_than_was_approved_runs_nothing(
    change: str, shop: Any, pool: Executor
) -> None:
    before = pay(shop.pay, pool)
    CHANGES[change](shop)
    after = pay(shop.pay, pool)

    assert before[:2] == ("ok", "13")
    assert after[0] == "not_run"
    assert "A new pool has what is here now." in after[1]
    assert len(after[2]) == 1


def test_a_new_pool_runs_what_is_here_now(shop: Any) -> None:
    context = multiprocessing.get_context(multiprocessing.get_all_start_methods()[0])
    shop.factor = 5
    with ProcessPoolExecutor(1, context) as pool:
        assert pay(shop.pay, pool)[:2] == ("ok", "22")


def test_a_tool_that_runs_unasked_is_compared_too(shop: Any, pool: Executor) -> None:
    assert pay(shop.pay, pool, run="auto")[0] == "ok"
    shop.factor = 5

    assert pay(shop.pay, pool, run="auto")[0] == "not_run"


def test_what_the_runs_of_a_worker_change_there_is_no_other_version(shop: Any, pool: Executor) -> None:
    assert [pay(shop.pay, pool)[0] for _ in range(3)] == ["ok"] * 3
    assert not shop.seen  # only the worker has seen the calls


def test_an_object_of_a_method_goes_to_the_worker_and_its_class_is_compared(shop: Any, pool: Executor) -> None:
    till = shop.Till(4)
    assert pay(till.pay, pool)[:2] == ("ok", "7")
    till.fee = 5
    assert pay(till.pay, pool)[:2] == ("ok", "8")  # the object that was approved
    shop.Till.pay = lambda _, n: n

    assert pay(shop.Till(4).pay, pool, name="pay")[0] != "ok"


def test_the_card_reports_an_executor_whose_workers_are_not_compared() -> None:
    class Cluster(Executor):
        def submit(self, function: Callable[..., Any], /, *arguments: Any, **named: Any) -> Future[Any]:
            future: Future[Any] = Future()
            future.set_result(function(*arguments, **named))
            return future

    class InterpreterPoolExecutor(ThreadPoolExecutor):
        """As Python 3.14 has it."""

    def act(n: int) -> int:
        """Act."""
        return n

    status, _, questions = pay(act, Cluster(), name="act")
    with ThreadPoolExecutor(1) as threads:
        _, _, of_threads = pay(act, threads, name="act")

    assert status == "ok"
    assert [question.notice for question in (*questions, *of_threads)] == [
        "It runs on a worker of the Cluster, where your own modules are the worker's copy, which is not compared with "
        "yours.",
        "",
    ]
    assert worker_notice(InterpreterPoolExecutor(1))
    assert not worker_notice(None)


def test_a_portable_digest_is_the_same_in_every_process(shop: Any) -> None:
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(1, context) as one, ProcessPoolExecutor(1, context) as other:
        digests = [pool.submit(portable_digest, shop.pay).result() for pool in (one, other)]

    assert digests == [portable_digest(shop.pay)] * 2
    assert digests[0].modules == {shop.__name__}


def test_the_module_of_a_script_has_one_name_in_every_process() -> None:
    digests = {}
    for name in ("__main__", "__mp_main__"):
        names: dict[str, Any] = {"__name__": name}
        exec("class Tariff:\n    def fee(self): return 1\ndef pay(n): return Tariff().fee()", names)
        function: FunctionType = names["pay"]
        digests[name] = portable_digest(function)

    assert digests["__main__"].digest == digests["__mp_main__"].digest
    assert digests["__main__"].modules == digests["__mp_main__"].modules == frozenset()
