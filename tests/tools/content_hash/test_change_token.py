"""What a change token costs, counted in calls of functions and not in seconds, and what it says of its bounds."""

from __future__ import annotations

import array
import asyncio
import functools
import gc
import io
import itertools
import logging
import queue
import sys
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from fractions import Fraction
from types import FunctionType, SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import pytest

from nbtool.tools.content_hash import change_token as limits
from nbtool.tools.content_hash.change_token import TOO_LARGE, ChangeToken, change_token, tool_change_token

BOUND = 6
"""Times as much as one reading of the whole environment that any token of a tool may cost."""


def count_calls(work: Callable[[], object]) -> int:
    """Return how many Python functions were called for some work, without those of the garbage collector."""
    count = 0

    def note(_frame: object, event: str, _argument: object) -> None:
        nonlocal count
        count += event == "call"

    gc.disable()
    sys.setprofile(note)
    try:
        work()
    finally:
        sys.setprofile(None)
        gc.enable()
    return count


def notebook(source: str, **names: Any) -> dict[str, Any]:
    """Return the names of a notebook in which a cell was run."""
    found = {"__name__": "__main__", **names}
    exec(source, found)
    return found


def cost(function: FunctionType, max_items: int = limits.MAX_TOOL_ITEMS) -> int:
    return cost_of(lambda: tool_change_token(function, max_items=max_items))


def cost_of(work: Callable[[], object]) -> int:
    work()  # what is found out once for a piece of code is found out before
    return count_calls(work)


def test_a_tool_costs_the_same_whatever_else_the_notebook_holds() -> None:
    cell = "import math\ndef rate(n): return math.sqrt(n) * factor\ndef act(n: int) -> float: return rate(n)\n"
    others = "".join(f"def other{n}(it): return act(it) + data{n % 200}\n" for n in range(1_000))
    data = {f"data{n}": [{"n": n, "of": list(range(100))} for _ in range(10)] for n in range(200)}
    small, large = notebook(cell, factor=2), notebook(cell + others, factor=2, **data)

    assert cost(large["act"]) == cost(small["act"])


def test_an_object_costs_the_same_whatever_else_the_notebook_holds() -> None:
    cell = "class Account:\n    def __init__(self): self.rows = [{'n': n} for n in range(10)]\naccount = Account()\n"
    small = notebook(cell)
    large = notebook(cell + "".join(f"class Other{n}(Account): pass\nother{n} = Other{n}()\n" for n in range(500)))

    assert cost_of(lambda: change_token(large["account"])) == cost_of(lambda: change_token(small["account"]))


def test_a_tool_that_may_read_any_attribute_is_read_no_more_often_than_another() -> None:
    def plain(n: int) -> str:
        return f"{n} {rows}"

    def reading(n: int) -> str:
        return f"{n} {getattr(rows, 'x', rows)}"

    rows = [{"n": n, "of": [{"n": n}]} for n in range(500)]

    assert cost(reading) < 1.2 * cost(plain)  # type: ignore[arg-type]  # functions


def test_names_that_lead_to_names_cost_no_more_than_a_few_readings() -> None:
    """Each method names the next one, so that each reading finds one name more."""
    depth, few = 60, 2_000
    steps = "".join(f"    def step{n}(self): return self.step{n + 1}()\n" for n in range(depth))
    cell = f"class Chain:\n{steps}    def step{depth}(self): return self.end\nchain = Chain()\nchain.end = 1\n"
    around = notebook(
        f"{cell}def act(n: int) -> int: return chain.step0() + len(rows)\ndef all_of() -> str: return f'{{rows}}'\n",
        rows=[{"n": [{n}]} for n in range(few // 5)],  # with sets, which are read one by one
    )
    before = tool_change_token(around["act"], max_items=few)

    assert cost(around["act"], few) < BOUND * cost(around["all_of"], few) / 2  # which is read twice
    assert not before.problem
    around["chain"].end = 2
    assert tool_change_token(around["act"], max_items=few) != before


def _loggers(count: int) -> Iterator[logging.Logger]:
    names = [f"nbtool-tests.{count}.{n}" for n in range(count)]
    try:
        loggers = [logging.getLogger(name) for name in names]
        yield loggers[0]
    finally:
        for name in [*names, f"nbtool-tests.{count}", "nbtool-tests"]:
            logging.Logger.manager.loggerDict.pop(name, None)


def _loops(count: int) -> Iterator[asyncio.AbstractEventLoop]:
    with closing(asyncio.new_event_loop()) as loop:
        for _ in range(count):
            loop.call_later(3_600, SimpleNamespace)
        yield loop


def _executors(count: int) -> Iterator[ThreadPoolExecutor]:
    with ThreadPoolExecutor(1) as pool:
        hold = threading.Event()
        try:
            for n in range(count):
                pool.submit(hold.wait) if n == 0 else pool.submit(SimpleNamespace)
            yield pool
        finally:
            hold.set()


def _threads(count: int) -> Iterator[threading.Thread]:
    yield threading.Thread(target=print, args=tuple(SimpleNamespace(n=n) for n in range(count)))


OF_THE_PROCESS = {"logger": _loggers, "event loop": _loops, "executor": _executors, "thread": _threads}
"""What leads to much that the process holds beside a tool, with so many other things in it."""


@pytest.mark.parametrize("kind", OF_THE_PROCESS)
def test_what_belongs_to_the_whole_process_costs_the_same_however_much_that_holds(kind: str) -> None:
    def costs(count: int) -> int:
        for it in OF_THE_PROCESS[kind](count):
            around = notebook("def act(n: int) -> str: return it.x if n else str(it)\n", it=it)
            return cost(around["act"])
        raise AssertionError

    assert costs(300) < costs(1) + 30


def test_what_belongs_to_the_whole_process_cannot_be_watched_as_an_object() -> None:
    assert change_token(logging.getLogger("nbtool-tests")).problem


def test_what_lies_in_a_set_counts_as_much_as_what_lies_in_a_list() -> None:
    inner = itertools.count()
    small = {frozenset((next(inner), "x") for _ in range(2)) for _ in range(20)}
    large = {frozenset((next(inner), "x") for _ in range(50)) for _ in range(50)}

    assert not change_token(small, max_items=1_000).problem
    assert change_token(large, max_items=1_000).problem


def test_what_is_too_large_in_a_tool_is_a_problem_and_the_rest_is_watched_all_the_same() -> None:
    large, small = np.zeros(limits.MAX_TOOL_BYTES // 8 + 1), [1]

    def act(n: int) -> str:
        return f"{large} {small} {n}"

    before = tool_change_token(act)
    again = tool_change_token(act)
    small.append(2)
    changed = tool_change_token(act)
    large = np.zeros(limits.MAX_TOOL_BYTES // 8 + 1)
    replaced = tool_change_token(act)

    assert before.problem
    assert before == again
    assert len({before.digest, changed.digest, replaced.digest}) == 3


def test_a_tool_with_too_many_objects_has_a_problem() -> None:
    many = [{"n": n} for n in range(limits.MAX_TOOL_ITEMS + 1)]

    def act(n: int) -> str:
        return f"{many} {n}"

    assert tool_change_token(act).problem


def closed_stream() -> io.BytesIO:
    stream = io.BytesIO(b"x")
    stream.close()
    return stream


def test_bytes_beyond_the_limit_count_by_their_number_and_are_a_problem() -> None:
    value = array.array("b", bytes(20))
    before = change_token(value, max_bytes=10)
    value[0] = 1
    changed = change_token(value, max_bytes=10)
    value.append(1)
    longer = change_token(value, max_bytes=10)

    assert before.problem == changed.problem == longer.problem == TOO_LARGE
    assert before.digest == changed.digest != longer.digest


@pytest.mark.parametrize("count", [1, 3, 25])
def test_the_code_of_a_tool_with_a_problem_counts_through_its_wrappers(count: int) -> None:
    def tokens(number: int) -> ChangeToken:
        many = [{"n": n} for n in range(100)]

        def act(n: int) -> str:
            return f"{many} {n}"

        def other(n: int) -> str:
            return f"{n} {many}"

        function: Any = (act, other)[number]
        for _ in range(count):
            function = wrapped_once(function)
        return tool_change_token(function, max_items=10)

    is_seen = count < limits.MAX_WRAPPERS
    assert tokens(0).problem
    assert (tokens(0) == tokens(1)) is not is_seen
    assert tokens(0) == tokens(0)


def wrapped_once(function: Callable[..., str]) -> Callable[..., str]:
    @functools.wraps(function)
    def call(n: int) -> str:
        return function(n)

    return call


UNREADABLE = {
    "a library's column of an unknown type": (
        lambda: pd.Series([1, 0], dtype="Sparse[int]"), "a column of SparseDtype cannot be compared"
    ),
    "a number that Python does not write": (lambda: Fraction(10**5_000), "it cannot be read (ValueError)"),
    "a closed stream": (closed_stream, "a BytesIO cannot be read (ValueError)"),
    "a nested list": (lambda: functools.reduce(lambda inner, _: [inner], range(5_000), []),
                      "it is nested too deep to compare"),
}  # fmt: skip


@pytest.mark.parametrize("kind", UNREADABLE)
def test_an_object_that_cannot_be_read_has_a_problem_and_a_token_of_its_own(kind: str) -> None:
    create, problem = UNREADABLE[kind]
    value, other = create(), create()

    assert change_token(value).problem == problem
    assert change_token(value) == change_token(value)
    assert change_token(value).digest != change_token(other).digest


ACCOUNT = """
import copy, dataclasses, functools, inspect, json, operator, pickle


class Registry(type):
    def all_of(cls): return {of_class}

@dataclasses.dataclass
class Account(metaclass=Registry):
    fee: int = 1
    rate = 1
    @property
    def text(self): return {of_object}
    @functools.cached_property
    def stored_text(self): return {of_object}
    @functools.lru_cache
    def cached_text(self): return {of_object}
    @classmethod
    def kind(cls): return {of_class}
    @staticmethod
    def nothing(other=None): return other

account = Account()
account.name = "x"

def found(): return globals()["acc" + "ount"]

def act(n: int): return account.name, {in_tool}
"""
"""A tool that names one attribute of an object, and what else it does with it, or with its class."""


def is_noticed(change: str, in_tool: str, of_object: str = "1", of_class: str = "1") -> bool:
    """Whether the token of the tool tells that the attribute was changed."""
    around = notebook(ACCOUNT.format(in_tool=in_tool, of_object=of_object, of_class=of_class))
    before = tool_change_token(around["act"])
    exec(f"{change} = 2", around)
    after = tool_change_token(around["act"])
    assert not before.problem
    return before != after


READS_ALL_OF = {
    "__dict__": "found().__dict__", "__getattribute__": "found().__getattribute__('f' + 'ee')",
    "__getstate__": "found().__getstate__()", "__reduce__": "found().__reduce__()",
    "asdict": "dataclasses.asdict(found())", "astuple": "dataclasses.astuple(found())",
    "attrgetter": "operator.attrgetter('f' + 'ee')(found())", "cloudpickle": "cloudpickle.dumps(found())",
    "deepcopy": "copy.deepcopy(found())", "dir": "dir(found())", "eval": "eval('account.' + 'fee')",
    "exec": "exec('print(account.' + 'fee)')", "getattr": "getattr(found(), 'f' + 'ee')",
    "getattr_static": "inspect.getattr_static(found(), 'f' + 'ee')", "getmembers": "inspect.getmembers(found())",
    "locals": "[locals() for other in [found()]]", "pickle": "pickle.dumps(found())", "vars": "vars(found())",
}  # fmt: skip
"""Code that reads attributes without their names, of an object that it finds without its name."""


@pytest.mark.promise("shown-is-run")
def test_code_that_may_read_any_attribute_depends_on_all_of_them() -> None:
    assert READS_ALL_OF.keys() == limits.READS_ALL
    assert [name for name, code in READS_ALL_OF.items() if not is_noticed("account.fee", code)] == []


@pytest.mark.promise("shown-is-run")
@pytest.mark.parametrize(
    "code",
    ["account", "[account]", "json.dumps(account)", "account.text", "account.stored_text", "account.cached_text()"],
)
def test_of_an_object_that_code_passes_on_everything_counts(code: str) -> None:
    assert is_noticed("account.fee", code, of_object="json.dumps(self)")


@pytest.mark.promise("shown-is-run")
@pytest.mark.parametrize("code", ["json.dumps(Account)", "Account.kind()", "account.kind()", "Account.all_of()"])
def test_of_a_class_that_code_passes_on_everything_counts(code: str) -> None:
    assert is_noticed("Account.rate", code, of_class="json.dumps(cls)")


@pytest.mark.parametrize("code", ["1", "found().name", "account.text", "account.kind()", "account.nothing()"])
def test_of_an_object_whose_attributes_are_all_that_code_uses_only_these_count(code: str) -> None:
    assert not is_noticed("account.fee", code, of_object="self.name", of_class="cls.name")
    assert not is_noticed("Account.rate", code, of_object="self.name", of_class="cls.name")


async def _waiting(thing: Any) -> tuple[ChangeToken, ChangeToken, ChangeToken]:
    """Return the tokens of a tool that uses an object: at first, while somebody waits for that, and once it is set."""
    tool = notebook("async def act(): return thing", thing=thing)["act"]
    before = tool_change_token(tool)
    wait = {asyncio.Event: "wait", threading.Event: "wait"}.get(type(thing), "get")
    run = getattr(thing, wait)
    task = asyncio.ensure_future(run() if isinstance(thing, asyncio.Event | asyncio.Queue) else asyncio.to_thread(run))
    while not (getattr(thing, "_waiters", ()) or getattr(thing, "_getters", ()) or _threads_at(thing)):
        await asyncio.sleep(0)
    waited = tool_change_token(tool)
    thing.set() if wait == "wait" else thing.put_nowait(1)
    changed = tool_change_token(tool)
    await task
    return before, waited, changed


def _threads_at(thing: Any) -> object:
    return getattr(getattr(thing, "_cond", getattr(thing, "not_empty", None)), "_waiters", ())


@pytest.mark.parametrize("kind", [asyncio.Event, asyncio.Queue, threading.Event, queue.Queue])
def test_who_waits_for_an_object_is_no_change_of_it(kind: type) -> None:
    async def tokens() -> tuple[ChangeToken, ChangeToken, ChangeToken]:
        return await _waiting(kind())

    before, waited, changed = asyncio.run(tokens())

    assert waited == before
    assert changed != before


def test_an_attribute_of_ones_own_class_counts_whatever_its_name() -> None:
    cell = "class Room:\n    def __init__(self): self._waiters = ['a']\nroom = Room()\ndef act(): return room\n"
    names = notebook(cell, __name__="threading_of_ours")
    before = tool_change_token(names["act"])

    names["room"]._waiters.append("b")

    assert tool_change_token(names["act"]) != before
