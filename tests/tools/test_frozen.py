"""What was shown is what runs, for every kind of object, every way to change it, and every way to change a tool.

A room is an enumeration: kinds of objects with the ways they can change between the question and the run, and ways a
tool can change. Each either asks again, or says that it cannot be watched and is asked about right before it runs.
"""

from __future__ import annotations

import abc
import array
import asyncio
import ctypes
import enum
import functools
import io
import itertools
import json
import logging
import os
import pprint
import re
import sqlite3
import threading
import types
import weakref
from collections import ChainMap, Counter, OrderedDict, UserDict, UserList, defaultdict, deque, namedtuple
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextvars import ContextVar
from dataclasses import dataclass, field, fields, replace
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
import xarray as xr
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import BaseModel

from nbtool.events import Difference, Event
from nbtool.tools import Approved, Denied, Policy, tool
from nbtool.tools.approval import BY_POLICY, Question, Resolution, RunMode
from nbtool.tools.content_hash import builtins, live, live_instances
from nbtool.tools.content_hash import change_token as limits
from nbtool.tools.content_hash.change_token import change_token
from nbtool.tools.tool import Tool, as_tools
from tests.tools.calling import ToolHarness, ask_for, make_harness

Change = Callable[[Any], object]
Pair = namedtuple("Pair", "a b")


class Account:
    kind = "plain"

    def __init__(self, to: Any) -> None:
        self.to = to


class Slotted:
    __slots__ = ("to",)

    def __init__(self, to: Any) -> None:
        self.to = to


class HalfSlotted(Slotted):
    pass


@dataclass
class Record:
    to: Any
    more: list[int] = field(default_factory=list)


class Model(BaseModel):
    to: list[int]


class Names(list[Any]):
    pass


class Table(dict[str, Any]):
    pass


class Shape(tuple[Any, ...]):
    pass


class Ordered(OrderedDict[str, Any]):
    pass


class Defaults(defaultdict[str, Any]):
    pass


class Queue(deque[Any]):
    pass


class Grid(np.ndarray):  # type: ignore[type-arg]  # any shape
    pass


class Lying:
    """Runs code whenever one looks at it."""

    def __init__(self, to: Any) -> None:
        object.__setattr__(self, "to", to)

    def __getattribute__(self, name: str) -> Any:
        raise AssertionError(name)

    def __eq__(self, other: object) -> bool:
        raise AssertionError

    def __hash__(self) -> int:
        raise AssertionError


class Colour(enum.Enum):
    RED = 1


def frame(columns: int = 2, rows: int = 3) -> pd.DataFrame:
    return pd.DataFrame({f"c{place}": np.arange(rows, dtype=float) for place in range(columns)})


def set_item(place: Any, value: Any = 99) -> Change:
    return lambda it: it.__setitem__(place, value)


def cell(row: int = 0, column: int = -1, value: Any = 99.0) -> Change:
    def change(it: Any) -> None:
        it.iloc[row, column] = value

    return change


def attribute(name: str, value: Any) -> Change:
    return lambda it: setattr(it, name, value)


def swap_key(it: dict[Any, Any]) -> None:
    it[True] = it.pop(1)


def closing_over(it: Any) -> Callable[[], Any]:
    return lambda: it


def with_a_property() -> Any:
    return type("Made", (), {"to": property(lambda _: "alice")})()


def of_a_class_of_its_own() -> Any:
    meta = type("Meta", (type,), {"to": "alice"})
    return meta("Made", (), {})()


STORED = Account("alice")


class Quiet(abc.ABCMeta):
    def __getattribute__(cls, name: str) -> Any:
        return super().__getattribute__(name)


RUNS: list[str] = []


class Guarded(abc.ABCMeta):
    def __getattribute__(cls, name: str) -> Any:
        RUNS.append(name)
        return super().__getattribute__(name)


def abstract(meta: type = abc.ABCMeta) -> Any:
    """Give an abstract class, by whose metaclass nothing else is registered with it."""
    return types.new_class("Shape", (), {"metaclass": meta}, lambda body: body.update(__module__=__name__))


def masked(dtype: str) -> Any:
    return pd.Series([0, None, 0], dtype=dtype)


def unmasked(value: Any) -> Change:
    """Change what lies under the mask."""
    return lambda it: it.array._data.__setitem__(1, value)


def noted(index: Any) -> None:
    index.note = "mallory"


class Settings(types.ModuleType):
    pass


def padded(kind: str = "i1") -> Any:
    """Give an array whose only field takes a part of its bytes."""
    return np.zeros(2, dtype={"names": ["a"], "formats": [kind], "offsets": [0], "itemsize": 16})


LOOP = asyncio.new_event_loop()
LOOP.close()


WATCHED: dict[str, tuple[Callable[[], Any], Change]] = {
    "list": (lambda: [1], lambda it: it.append(2)),
    "list of 20,000": (lambda: [0] * 20_000, set_item(-1, 1)),
    "dict": (lambda: {"a": 1}, set_item("a")),
    "type of a key": (lambda: {1: "a"}, swap_key),
    "order of a dict": (lambda: {"a": 1, "b": 2}, lambda it: it.update(a=it.pop("a"))),
    "key that is no text": (lambda: {(1, 2): "a"}, lambda it: it.update({(1, 3): it.pop((1, 2))})),
    "tuple of a list": (lambda: ([1],), lambda it: it[0].append(2)),
    "set": (lambda: {1}, lambda it: it.add(2)),
    "deque": (lambda: deque([1]), lambda it: it.append(2)),
    "OrderedDict": (lambda: OrderedDict(a=1, b=2), lambda it: it.move_to_end("a")),
    "defaultdict": (lambda: defaultdict(list, a=[1]), lambda it: it["a"].append(2)),
    "Counter": (lambda: Counter("ab"), lambda it: it.update("a")),
    "ChainMap": (lambda: ChainMap({"a": 1}), set_item("b")),
    "UserDict": (lambda: UserDict(a=1), set_item("a")),
    "UserList": (lambda: UserList([1]), set_item(0)),
    "what is registered with an abstract class": (lambda: abstract()(), lambda it: type(it).register(Account)),
    "abstract class with a metaclass of its own": (lambda: abstract(Quiet), lambda it: it.register(Account)),
    "data under the mask of a column of Int64": (lambda: masked("Int64"), unmasked(9)),
    "data under the mask of a column of Float64": (lambda: masked("Float64"), unmasked(9)),
    "data under the mask of a column of boolean": (lambda: masked("boolean"), unmasked(True)),
    "data under the mask of a frame": (lambda: masked("Int64").to_frame(), lambda it: unmasked(9)(it.iloc[:, 0])),
    "data under the mask of an index": (lambda: pd.Index(masked("Int64")), unmasked(9)),
    "attribute of an index": (lambda: pd.Index([1, 2]), noted),
    "attribute of the index of a frame": (lambda: frame(rows=2), lambda it: noted(it.index)),
    "object in an index": (lambda: pd.Index([[1], [2]], dtype=object), lambda it: it[0].append(3)),
    "bytearray": (lambda: bytearray(b"a"), set_item(0, 98)),
    "memoryview": (lambda: memoryview(bytearray(b"ab")), set_item(0, 98)),
    "array.array": (lambda: array.array("d", [1.0]), set_item(0, 2.0)),
    "BytesIO": (lambda: io.BytesIO(b"ab"), lambda it: it.write(b"c")),
    "StringIO": (lambda: io.StringIO("ab"), lambda it: it.read(1)),
    "SimpleNamespace": (lambda: types.SimpleNamespace(to="a"), attribute("to", "b")),
    "slice": (lambda: slice([1]), lambda it: it.stop.append(2)),
    "plain object": (lambda: Account("alice"), attribute("to", "mallory")),
    "object inside an object": (lambda: Account(Account("alice")), lambda it: setattr(it.to, "to", "mallory")),
    "new attribute": (lambda: Account("alice"), attribute("more", 1)),
    "slots": (lambda: Slotted("alice"), attribute("to", "mallory")),
    "slots and a dict": (lambda: HalfSlotted("alice"), attribute("more", 1)),
    "dataclass": (lambda: Record("alice"), lambda it: it.more.append(1)),
    "pydantic model": (lambda: Model(to=[1]), lambda it: it.to.append(2)),
    "namedtuple": (lambda: Pair([1], 2), lambda it: it.a.append(2)),
    "subclass of list": (lambda: Names([1]), lambda it: it.append(2)),
    "attribute of a subclass of list": (lambda: Names([1]), attribute("to", 1)),
    "subclass of dict": (lambda: Table(a=1), set_item("a")),
    "subclass of OrderedDict": (lambda: Ordered(a=1, b=2), lambda it: it.move_to_end("a")),
    "subclass of defaultdict": (lambda: Defaults(list), attribute("default_factory", set)),
    "subclass of deque": (lambda: Queue([1]), lambda it: it.append(2)),
    "slot that was empty": (lambda: Slotted.__new__(Slotted), attribute("to", "mallory")),
    "property of its class": (
        lambda: with_a_property(), lambda it: setattr(type(it), "to", property(lambda _: "mallory"))
    ),
    "subclass of tuple": (lambda: Shape([[1]]), lambda it: it[0].append(2)),
    "attribute of an enumeration": (lambda: Colour.RED, lambda it: setattr(it, "to", object())),
    "nested": (lambda: [{"a": (Account({1}),)}], lambda it: it[0]["a"][0].to.add(2)),
    "list inside itself": (lambda: (it := [1]) and (it.append(it) or it), lambda it: it.append(2)),
    "the same list twice": (lambda: [it := [1], it], set_item(1, [2])),
    "array": (lambda: np.zeros(3), set_item(0, 1.0)),
    "array of 9 MB": (lambda: np.zeros(9_000_000 // 8), set_item(-1, 1.0)),
    "array of objects": (lambda: np.array([[1], "a"], dtype=object), lambda it: it[0].append(2)),
    "part of an array": (lambda: np.zeros((4, 4))[::2, ::2], set_item((1, 1), 1.0)),
    "structured array": (lambda: np.zeros(2, dtype=[("a", "i4")]), set_item(0, (1,))),
    "masked array": (lambda: np.ma.masked_array([1, 2], [0, 0], fill_value=9), set_item(0, np.ma.masked)),
    "subclass of array": (lambda: np.zeros(3).view(Grid), set_item(0, 1.0)),
    "dict of arrays": (lambda: {"a": np.zeros(3)}, lambda it: it["a"].__setitem__(0, 1.0)),
    "frame": (frame, cell()),
    "51st column": (lambda: frame(60), cell(column=55)),
    "long column name": (
        lambda: pd.DataFrame({"x" * 70 + "a": [1]}), attribute("columns", ["x" * 70 + "b"])
    ),
    "attrs of a frame": (frame, lambda it: it.attrs.update(to="mallory")),
    "attrs of a series": (lambda: pd.Series([1]), lambda it: it.attrs.update(to="mallory")),
    "list in a cell": (lambda: pd.DataFrame({"a": [[1]]}), lambda it: it["a"][0].append(2)),
    "object in a cell": (lambda: pd.DataFrame({"a": [Account("alice")]}), lambda it: setattr(it["a"][0], "to", "m")),
    "frame of 150,000 rows": (lambda: frame(rows=150_000), cell(row=-1)),
    "text column": (lambda: pd.DataFrame({"a": ["x"]}), cell(column=0, value="y")),
    "categories": (lambda: pd.DataFrame({"a": pd.Categorical(["x"], ["x", "y"])}), cell(column=0, value="y")),
    "row labels": (frame, attribute("index", [7, 8, 9])),
    "list of frames": (lambda: [frame()], lambda it: cell()(it[0])),
    "series": (lambda: pd.Series([1.0]), set_item(0, 2.0)),
    "name of a series": (lambda: pd.Series([1.0], name="a"), attribute("name", "b")),
    "name of an index": (lambda: pd.Index([1], name="a"), attribute("name", "b")),
    "names of an index": (lambda: pd.MultiIndex.from_tuples([(1, 2)], names=["a", "b"]),
        attribute("names", ["a", "c"])),
    "polars cell": (lambda: pl.DataFrame({"a": [1]}), set_item((0, "a"), 2)),
    "polars list cell": (
        lambda: pl.DataFrame({"a": [[1]]}), lambda it: it.replace_column(0, pl.Series("a", [[2]]))
    ),
    "polars object cell": (
        lambda: pl.DataFrame({"a": pl.Series([Account("alice")], dtype=pl.Object)}),
        lambda it: setattr(it["a"][0], "to", "mallory"),
    ),
    "polars series": (lambda: pl.Series([1]), set_item(0, 2)),
    "DataArray": (lambda: xr.DataArray(np.zeros(3)), set_item(0, 1.0)),
    "Dataset": (lambda: xr.Dataset({"a": ("x", np.zeros(3))}), lambda it: it["a"].values.__setitem__(0, 1.0)),
    "attrs of a Dataset": (lambda: xr.Dataset({"a": ("x", np.zeros(3))}), lambda it: it.attrs.update(to="mallory")),
    "encoding of a DataArray": (lambda: xr.DataArray(np.zeros(3)), lambda it: it.encoding.update(scale=2)),
    "what a function closes over": (lambda: closing_over([1]), lambda it: it.__closure__[0].cell_contents.append(2)),
    "what a partial holds": (lambda: functools.partial(max, [1]), lambda it: it.args[0].append(2)),
    "object of a bound method": (lambda: [1].append, lambda it: it(2)),
    "attribute of a frame": (frame, lambda it: object.__setattr__(it, "to", "mallory")),
    "flag of a frame": (frame, lambda it: setattr(it.flags, "allows_duplicate_labels", False)),
    "frequency of an index": (lambda: pd.date_range("2024", periods=3), attribute("freq", None)),
    "flag of an array": (lambda: np.zeros(3), lambda it: setattr(it.flags, "writeable", False)),
    "encoding of a Dataset": (lambda: xr.Dataset({"a": ("x", np.zeros(3))}), lambda it: it.encoding.update(scale=2)),
    "class of its class": (lambda: of_a_class_of_its_own(), lambda it: setattr(type(type(it)), "to", "mallory")),
    "metadata of a type of numpy": (
        lambda: np.zeros(1, dtype=np.dtype("i4", metadata={"to": ["alice"]})),
        lambda it: it.dtype.metadata["to"].append("mallory"),
    ),
    "attribute of a polars frame": (lambda: pl.DataFrame({"a": [1]}), attribute("to", "mallory")),
    "attribute of a polars series": (lambda: pl.Series([1]), attribute("to", "mallory")),
    "order that a column of polars claims": (
        lambda: pl.DataFrame({"a": [2, 1]}), lambda it: it.replace_column(0, it["a"].set_sorted())
    ),
    "attribute of a BytesIO": (lambda: io.BytesIO(b"ab"), attribute("name", "mallory.csv")),
    "attribute of a StringIO": (lambda: io.StringIO("ab"), attribute("name", "mallory.csv")),
    "unit of a Timestamp": (
        lambda: [pd.Timestamp("2024").as_unit("s")], lambda it: it.append(it.pop().as_unit("ns"))
    ),
    "what a Dataset calls when it is closed": (lambda: xr.Dataset({"a": 1}), lambda it: it.set_close(print)),
    "what a DataArray calls when it is closed": (lambda: xr.DataArray(np.zeros(3)), lambda it: it.set_close(print)),
    "name of a function": (lambda: closing_over(1), attribute("__name__", "mallory")),
    "docstring of a function": (lambda: closing_over(1), attribute("__doc__", "mallory")),
    "annotations of a function": (lambda: closing_over(1), attribute("__annotations__", {"to": "mallory"})),
    "module of one's own": (lambda: types.ModuleType("settings"), attribute("to", "mallory")),
    "module of one's own with a class of its own": (lambda: Settings("settings"), attribute("to", "mallory")),
    "bytes between the fields of an array": (lambda: padded(), lambda it: it.view("u1").__setitem__(5, 7)),
    "bytes between the fields of an array that is read backwards": (
        lambda: padded()[::-1], lambda it: it.base.view("u1").__setitem__(5, 7)
    ),
    "bytes between the fields of an array of objects": (
        lambda: padded("O"), lambda it: np.ctypeslib.as_array((ctypes.c_char * 32).from_address(it.ctypes.data))
        .__setitem__(31, b"x")
    ),
    "field that a view of an array leaves out": (
        lambda: np.zeros(2, dtype=[("a", "i4"), ("b", "i4")])[["a"]], lambda it: it.base.__setitem__("b", 5)
    ),
    "weak reference": (lambda: weakref.ref(STORED), lambda it: setattr(it(), "to", object())),
}  # fmt: skip
"""Kinds of objects, and how each is changed in place: every one is noticed."""

UNWATCHED: dict[str, tuple[Callable[[], Any], Change]] = {
    "generator": (lambda: (n for n in range(9)), next),
    "iterator": (lambda: iter([1, 2, 3]), next),
    "map": (lambda: map(str, range(9)), next),
    "count": (itertools.count, next),
    "file that is not buffered": (lambda: open_unbuffered(), lambda it: it.read(1)),
    "finalizer": (lambda: weakref.finalize(STORED, print), lambda it: it.detach()),
    "connection": (lambda: open_connection(), attribute("isolation_level", None)),
    "lock": (threading.Lock, lambda it: it.acquire()),
    "exception": (lambda: ValueError("alice"), attribute("args", ("mallory",))),
    "sparse column": (lambda: pd.DataFrame({"a": pd.arrays.SparseArray([0, 1]), "b": [1.0, 2.0]}), cell(column=1)),
    "Categorical": (lambda: pd.Categorical(["x"], ["x", "y"]), set_item(0, "y")),
    "object with a generator": (lambda: Account(n for n in range(9)), lambda it: next(it.to)),
    "list with an iterator": (lambda: [iter([1, 2, 3])], lambda it: next(it[0])),
    "installed module": (lambda: json, attribute("to", "mallory")),
    "logger": (lambda: logging.getLogger("nbtool-tests.frozen"), attribute("disabled", True)),
    "thread": (lambda: threading.Thread(), attribute("name", "mallory")),
    "event loop": (lambda: LOOP, lambda it: it.set_debug(True)),
    "executor": (lambda: ThreadPoolExecutor(1), attribute("_max_workers", 2)),
    "ContextVar": (lambda: ContextVar("to", default="alice"), lambda it: it.set("mallory")),
}
"""Kinds whose changes cannot be noticed, and are said to be so."""


def taking(seen: list[Any], **options: Any) -> Any:
    def use(it: Any) -> str:
        """Use an object."""
        seen.append(it)
        return "used"

    return tool(use, **options)


def changing_approver(change: Callable[[], object] = lambda: None, *, times: int = 1) -> tuple[list[Question], Any]:
    """Give an approver that approves everything, after a change the first `times`, and what it was asked."""
    questions: list[Question] = []

    def approve(question: Question) -> Approved:
        questions.append(question)
        if len(questions) <= times:
            change()
        return Approved()

    return questions, approve


@pytest.mark.nightly
@pytest.mark.rest
@pytest.mark.promise("shown-is-run")
@pytest.mark.parametrize("kind", WATCHED)
def test_an_object_that_changed_in_place_while_it_was_asked_about_is_asked_about_again(kind: str) -> None:
    make, change = WATCHED[kind]
    it, seen = make(), []
    questions, approve = changing_approver(lambda: change(it))
    harness = make_harness(taking(seen), notebook={"it": it}, expose=["it"], approver=approve)
    record = harness.run(ask_for("use", it="$VAR_REF{{it}}"))

    assert [question.again and question.again.reason for question in questions] == [None, "changed"]
    assert questions[1].again is not None
    assert questions[1].again.differences
    assert record.status == "ok"
    assert seen[0] is it


HOLDERS: list[Callable[[Any], Any]] = [
    lambda it: it, lambda it: [it], lambda it: (1, it), lambda it: {"a": it}, lambda it: deque([it]), Account, Slotted,
    Record, lambda it: Names([it]), lambda it: types.SimpleNamespace(to=it), lambda it: functools.partial(print, it),
    closing_over, lambda it: {"a": {"b": [it]}},
]  # fmt: skip
watched_kinds = st.sampled_from(
    sorted(kind for kind in WATCHED if not re.search(r"MB|,000", kind))
)  # large ones are slow
holders = st.lists(st.sampled_from(HOLDERS), max_size=2)


def held_by(holders: list[Callable[[Any], Any]], it: Any) -> Any:
    for hold in holders:
        it = hold(it)
    return it


@pytest.mark.promise("shown-is-run")
@settings(max_examples=25)
@given(kind=watched_kinds, holders=holders)
def test_an_object_that_changed_anywhere_inside_another_is_asked_about_again_without_its_content(
    kind: str, holders: list[Callable[[Any], Any]]
) -> None:
    make, change = WATCHED[kind]
    it, seen = make(), []
    questions, approve = changing_approver(lambda: change(it))
    harness = make_harness(taking(seen), notebook={"it": held_by(holders, it)}, expose=["it"], approver=approve)
    record = harness.run(ask_for("use", it="$VAR_REF{{it}}"))

    assert [question.again and question.again.reason for question in questions] == [None, "changed"]
    assert questions[1].again is not None
    assert not [one for one in questions[1].again.differences if one.is_content]
    assert (record.status, len(seen)) == ("ok", 1)


@pytest.mark.promise("shown-is-run")
@settings(max_examples=25)
@given(kind=watched_kinds, holders=holders, times=st.integers(1, 3))
def test_an_approval_to_remember_covers_an_object_until_it_changes_anywhere_inside(
    kind: str, holders: list[Callable[[Any], Any]], times: int
) -> None:
    make, change = WATCHED[kind]
    it = make()
    questions, approve = changing_approver()
    tools = taking([], run="ask_once")
    harness = make_harness(tools, notebook={"it": held_by(holders, it)}, expose=["it"], approver=approve)
    for _ in range(times):
        harness.run(ask_for("use", it="$VAR_REF{{it}}"))
    assert [question.notes for question in questions] == [()]
    change(it)
    harness.run(ask_for("use", it="$VAR_REF{{it}}"))

    assert len(questions) == 2


def test_a_frame_that_grew_in_place_is_asked_about_again_with_its_shape_before_and_after() -> None:
    frame = pd.DataFrame({"a": range(344)})
    questions, approve = changing_approver(lambda: frame.insert(1, "b", 0))
    harness = make_harness(taking([]), notebook={"it": frame}, expose=["it"], approver=approve)
    record = harness.run(ask_for("use", it="$VAR_REF{{it}}"))

    assert (record.status, len(questions)) == ("ok", 2)
    assert questions[1].again is not None
    (difference,) = questions[1].again.differences
    assert difference.before == "it: DataFrame, 344 rows by 1 column: a (int64)"
    assert difference.after == "it: DataFrame, 344 rows by 2 columns: a (int64), b (int64)"


def differences_after(change: Callable[[Any], object], it: Any, *, read: bool) -> tuple[Difference, ...]:
    """Give the differences of the second question, after a change while the first one was pending."""
    questions, approve = changing_approver(lambda: change(it))
    harness = make_harness(taking([]), notebook={"it": it}, expose=["it"], approver=approve)
    harness.runtime.variables.expose("it", readable=read)
    harness.run(ask_for("use", it="$VAR_REF{{it}}"))
    assert questions[1].again is not None
    return questions[1].again.differences


def test_what_was_added_to_a_readable_object_is_shown() -> None:
    shape, content = differences_after(lambda it: it.append("gold"), ["tea"], read=True)

    assert shape == Difference("the argument 'it'", "it: list, 1 item", "it: list, 2 items")
    assert content == Difference("what is in it", "", "gold", is_content=True)


def test_what_was_replaced_in_a_readable_object_is_shown() -> None:
    (content,) = differences_after(lambda it: it.update(to="mallory"), {"to": "alice"}, read=True)

    assert content == Difference("what is in it", "to: alice", "to: mallory", is_content=True)


@pytest.mark.nightly
@pytest.mark.rest
@pytest.mark.promise("by-reference")
@pytest.mark.parametrize("kind", WATCHED)
def test_nothing_of_what_changed_in_a_closed_object_is_shown(kind: str) -> None:
    make, change = WATCHED[kind]
    differences = differences_after(change, make(), read=False)

    assert not [one for one in differences if one.is_content]
    assert [(one.before, one.after) for one in differences if one.what.startswith("what is in")] in ([], [("", "")])


@pytest.mark.nightly
@pytest.mark.rest
@pytest.mark.parametrize("kind", WATCHED)
def test_an_object_that_did_not_change_is_asked_about_once(kind: str) -> None:
    questions, approve = changing_approver()
    harness = make_harness(taking([]), notebook={"it": WATCHED[kind][0]()}, expose=["it"], approver=approve)

    assert harness.run(ask_for("use", it="$VAR_REF{{it}}")).status == "ok"
    assert [question.notes for question in questions] == [()]


@pytest.mark.nightly
@pytest.mark.rest
@pytest.mark.promise("shown-is-run")
@pytest.mark.parametrize("kind", WATCHED)
def test_a_remembered_approval_does_not_cover_an_object_that_changed(kind: str) -> None:
    make, change = WATCHED[kind]
    it = make()
    questions, approve = changing_approver()
    harness = make_harness(taking([], run="ask_once"), notebook={"it": it}, expose=["it"], approver=approve)
    for _ in range(2):
        harness.run(ask_for("use", it="$VAR_REF{{it}}"))
    assert len(questions) == 1
    change(it)
    harness.run(ask_for("use", it="$VAR_REF{{it}}"))

    assert len(questions) == 2


@pytest.mark.promise("shown-is-run")
def test_reading_what_is_registered_with_a_class_runs_nothing_of_its_metaclass() -> None:
    kind = abstract(Guarded)
    RUNS.clear()

    assert change_token(kind) == change_token(kind)
    assert not RUNS


CONNECTIONS: list[sqlite3.Connection | io.FileIO] = []


def open_connection() -> sqlite3.Connection:
    """Open a database that is closed after the test, which Python 3.13 and newer warn about."""
    CONNECTIONS.append(connection := sqlite3.connect(":memory:", check_same_thread=False))
    return connection


def open_unbuffered() -> io.FileIO:
    """Open this file without a buffer; it is closed after the test."""
    CONNECTIONS.append(file := io.FileIO(__file__))
    return file


@pytest.fixture(autouse=True)
def close_connections() -> Iterator[None]:
    yield
    while CONNECTIONS:
        CONNECTIONS.pop().close()


@pytest.mark.promise("shown-is-run")
@pytest.mark.parametrize("kind", UNWATCHED)
def test_what_cannot_be_watched_says_so_and_is_asked_about_again_right_before_it_runs(kind: str) -> None:
    make, change = UNWATCHED[kind]
    it = make()
    questions, approve = changing_approver(lambda: change(it))
    harness = make_harness(taking([], run="ask_once"), notebook={"it": it}, expose=["it"], approver=approve)
    harness.run(ask_for("use", it="$VAR_REF{{it}}"))

    assert all("cannot be watched for changes" in "".join(question.notes) for question in questions)
    assert questions[-1].again is not None
    assert questions[-1].again.reason in ("unwatched", "changed")  # part of it may be watched all the same
    assert len(questions) >= 2
    assert not harness.runtime.approvals.remembered()


def test_an_approval_of_the_very_call_is_not_remembered_where_it_cannot_be_watched() -> None:
    it = iter([1, 2])
    harness = make_harness(taking([]), notebook={"it": it}, expose=["it"], approver=lambda _: Approved(remember="call"))
    record = harness.run(ask_for("use", it="$VAR_REF{{it}}"))

    assert record.status == "denied"
    assert "remembered" in record.reason


def test_an_approval_of_the_tool_covers_what_cannot_be_watched() -> None:
    questions, _ = changing_approver()
    approver = lambda question: questions.append(question) or Approved(remember="tool")  # type: ignore[func-returns-value]  # noqa: E731
    harness = make_harness(taking([]), notebook={"it": iter([1, 2])}, expose=["it"], approver=approver)
    harness.run(ask_for("use", it="$VAR_REF{{it}}"))
    harness.run(ask_for("use", it="$VAR_REF{{it}}"))

    assert len(questions) == 2  # both for the first call


def test_nothing_of_an_object_runs_when_its_token_is_made() -> None:
    it = Lying("alice")
    before = change_token(it)
    object.__setattr__(it, "to", "mallory")

    assert change_token(it).digest != before.digest
    assert not before.problem


@pytest.mark.promise("bounded")
@pytest.mark.parametrize("bound", [{"max_bytes": 1_000}, {"max_items": 10}, {"seconds": -1.0}], ids=str)
def test_an_object_beyond_the_bounds_cannot_be_watched(bound: Any) -> None:
    it = [Account("x" * 100) for _ in range(2_000)]

    assert change_token(it, **bound).problem


def test_every_kind_that_is_read_has_a_row() -> None:
    """Each type with a reader of its own is one that the room above changes in place, or one that cannot change."""
    made = {base for room in (WATCHED, UNWATCHED) for make, _ in room.values() for base in type(make()).__mro__}
    constant = {
        type(None), type(...), type(NotImplemented), bool, int, float, complex, bytes, str, frozenset, range,
        types.MappingProxyType, types.CodeType, live.re.Pattern, object,
        *(kind for kind in all_classes() if kind.__module__ in CONSTANT_MODULES),
    }  # fmt: skip
    code = {types.MethodType, type, staticmethod, classmethod, property, types.FunctionType}
    ids = {id(kind) for kind in made | constant | code}
    readers = {**builtins._HASH_FUNCTIONS, **live._WRITERS, **live_instances.BASES}

    classes = all_classes()
    assert [kind for kind in classes if id(kind) in readers and id(kind) not in ids] == []
    assert readers.keys() <= {id(kind) for kind in classes}


CONSTANT_MODULES = {
    "datetime",
    "decimal",
    "fractions",
    "uuid",
    "pathlib",
    "pathlib._local",
    "zoneinfo",
    "nbtool.tools.values.named_parts",
}


def all_classes() -> list[type]:
    """Give every class of this process, past what metaclasses say."""
    found: dict[int, type] = {id(object): object}
    waiting: list[type] = [object]
    while waiting:
        for kind in type.__subclasses__(waiting.pop()):
            if id(kind) not in found:
                found[id(kind)] = kind
                waiting += [] if issubclass(kind, type) else [kind]
    return list(found.values())


# --- what a policy, an approver, an effect, a plugin gets ---


def spoil(arguments: Any) -> None:
    arguments["items"].append(99)
    arguments["more"] = 1


def spoiling_policy(gate: str) -> Any:
    def policy(arguments: Any) -> str:
        spoil(arguments)
        return "ask_always" if gate == "run" else "never"

    return policy


def spoiling_effect(items: list[int]) -> str:
    items.append(99)
    return "items"


def spoiling_approver(question: Question) -> Approved:
    spoil(question.arguments)
    question.schema["properties"].clear()  # type: ignore[index]  # a plain copy
    question.resolved.clear()  # type: ignore[attr-defined]  # a plain copy
    question.remember_keys.clear()  # type: ignore[attr-defined]  # a plain copy
    return Approved()


def spoiling_listener(change: Any) -> None:
    spoil(change.question.arguments)


def take_items(seen: list[Any], policy: Policy = Policy(), effect: Any = None) -> Tool:  # noqa: B008 - frozen
    def take(items: list[int]) -> int:
        """Take items."""
        seen.append(list(items))
        return len(items)

    (made,) = as_tools(take)
    return Tool(
        take, "take", "", made.parameters, policy, digest=made.digest, identity=made.identity, preview_effect=effect
    )


SPOILERS: dict[str, Callable[[list[Any]], ToolHarness]] = {
    "policy of the run": lambda seen: make_harness(
        take_items(seen, Policy(spoiling_policy("run"))), approver=lambda _: Approved()
    ),
    "policy of the result": lambda seen: make_harness(
        take_items(seen, Policy("ask_always", spoiling_policy("result"))), approver=lambda _: Approved()
    ),
    "effect": lambda seen: make_harness(take_items(seen, effect=spoiling_effect), approver=lambda _: Approved()),
    "approver": lambda seen: make_harness(take_items(seen), approver=spoiling_approver),
}


@pytest.mark.promise("shown-is-run")
@pytest.mark.parametrize("spoiler", SPOILERS)
def test_a_receiver_of_the_arguments_cannot_change_what_runs(spoiler: str) -> None:
    seen: list[Any] = []
    harness = SPOILERS[spoiler](seen)
    record = harness.run(ask_for("take", items=[1]))

    assert record.status == "ok"
    assert seen == [[1]]
    assert [json.loads(asked.shown) for asked in harness.of("call_asked")] == [{"items": [1]}]


def test_a_listener_of_the_queue_and_a_reader_of_its_questions_get_copies() -> None:
    seen: list[Any] = []

    def approve(_: Question) -> Approved:
        for pending in harness.runtime.approvals.pending():
            spoil(pending.arguments)
        return Approved()

    harness = make_harness(take_items(seen), approver=approve)
    harness.runtime.approvals.add_listener(spoiling_listener)
    harness.run(ask_for("take", items=[1]))

    assert seen == [[1]]


def test_arguments_of_a_decision_are_copied_when_it_is_put_into_the_queue() -> None:
    seen: list[Any] = []
    own = {"items": [7]}
    ruled: list[Resolution] = []

    def received(change: Any) -> None:
        if change.kind == "decided":
            ruled.append(change.resolution)
            own["items"].append(99)

    harness = make_harness(take_items(seen), approver=lambda _: Approved(arguments=own))
    harness.runtime.approvals.add_listener(received)
    harness.run(ask_for("take", items=[1]))

    assert seen == [[7]]


def test_a_listener_that_changes_the_arguments_of_a_resolution_changes_nothing_that_runs() -> None:
    seen: list[Any] = []

    def spoil_ruling(change: Any) -> None:
        if change.resolution:
            change.resolution.decision.arguments["items"].append(99)

    harness = make_harness(take_items(seen), approver=lambda _: Approved(arguments={"items": [7]}))
    harness.runtime.approvals.add_listener(spoil_ruling)
    harness.run(ask_for("take", items=[1]))

    assert seen == [[7]]


# --- ways a tool can change -------------------------------------------------------------------------------------------


@dataclass
class Bank:
    """What a tool works with, and a way to change it."""

    function: Any
    change: Callable[[], object]


def wrapped(function: Any, note: str) -> Any:
    @functools.wraps(function)
    def outer(*arguments: Any, **named: Any) -> Any:
        return (note, function(*arguments, **named))

    return outer


class Sender:
    def __init__(self, to: str) -> None:
        self.to = to

    def send(self, n: int) -> str:
        """Send."""
        return f"{n} to {self.to}"

    def __call__(self, n: int) -> str:
        return self.send(n)


SETTINGS = {"to": "alice"}


def helper() -> str:
    return "alice"


def uses_a_global(n: int) -> str:
    return f"{n} to {SETTINGS['to']}"


def uses_a_helper(n: int) -> str:
    return f"{n} to {helper()}"


def _of_method() -> Bank:
    sender = Sender("alice")
    return Bank(sender.send, lambda: setattr(sender, "to", "mallory"))


def _of_instance() -> Bank:
    sender = Sender("alice")
    sender.__name__ = "send"  # type: ignore[attr-defined]  # a callable object needs a name
    return Bank(tool(sender.__call__, name="send"), lambda: setattr(sender, "to", "mallory"))


def _of_closure() -> Bank:
    to = ["alice"]

    def send(n: int) -> str:
        return f"{n} to {to[0]}"

    return Bank(send, lambda: to.__setitem__(0, "mallory"))


def _of_cell() -> Bank:
    to = "alice"

    def send(n: int) -> str:
        return f"{n} to {to}"

    def change() -> None:
        nonlocal to
        to = "mallory"

    return Bank(send, change)


def _of_defaults() -> Bank:
    def send(n: int, to: Any = ["alice"]) -> str:  # noqa: B006 - the change in place is the subject
        return f"{n} to {to[0]}"

    return Bank(send, lambda: send.__defaults__[0].__setitem__(0, "mallory"))  # type: ignore[index]  # there is one


def _of_code() -> Bank:
    def send(n: int) -> str:
        return f"{n} to alice"

    def other(n: int) -> str:
        return f"{n} to mallory"

    return Bank(send, lambda: setattr(send, "__code__", other.__code__))


def _of_partial() -> Bank:
    to = ["alice"]

    def send(n: int, to: Any) -> str:
        return f"{n} to {to[0]}"

    return Bank(tool(functools.partial(send, to=to), name="send"), lambda: to.__setitem__(0, "mallory"))


def _of_wrapper() -> Bank:
    def send(n: int) -> str:
        return f"{n} to alice"

    outer = wrapped(send, "first")
    return Bank(outer, lambda: setattr(outer, "__code__", wrapped(send, "second").__code__.replace(co_name="other")))


def _of_global() -> Bank:
    return Bank(tool(types.FunctionType(uses_a_global.__code__, globals(), "send"), name="send"),
                lambda: SETTINGS.update(to="mallory"))  # fmt: skip


def _of_helper() -> Bank:
    def mallory() -> str:
        return "mallory"

    return Bank(tool(types.FunctionType(uses_a_helper.__code__, globals(), "send"), name="send"),
                lambda: globals().update(helper=mallory))  # fmt: skip


def _of_class() -> Bank:
    class Mailer(Sender):
        def send(self, n: int) -> str:
            return f"{n} to {self.to_whom()}"

        def to_whom(self) -> str:
            return "alice"

    return Bank(Mailer("alice").send, lambda: setattr(Mailer, "to_whom", lambda _: "mallory"))


def _of_registry() -> Bank:
    kind = abstract()

    def send(n: int) -> str:
        return "mallory" if isinstance(n, kind) else "alice"

    return Bank(send, lambda: kind.register(int))


def _of_cache() -> Bank:
    to = ["alice"]

    @functools.lru_cache
    def send(n: int) -> str:
        return f"{n} to {to[0]}"

    return Bank(tool(send, name="send"), lambda: to.__setitem__(0, "mallory"))


def _of_static() -> Bank:
    class Office:
        to = "alice"

        @staticmethod
        def send(n: int) -> str:
            return f"{n} to {Office.to}"

    return Bank(Office.send, lambda: setattr(Office, "to", "mallory"))


def _of_a_large_world() -> Bank:
    large = np.zeros(limits.MAX_TOOL_BYTES // 8 + 1)

    def send(n: int) -> str:
        return f"{n} {len(large)}"

    def other(n: int) -> str:
        return f"{n} to mallory {len(large)}"

    return Bank(send, lambda: setattr(send, "__code__", other.__code__))


@dataclass
class Order:
    """Its own methods are written from its fields, and name none of them."""

    to: str = "alice"


READERS: dict[str, Callable[[Any], object]] = {
    "str": str,
    "format": "{.to}".format,
    "f-string": lambda it: f"{it}",
    "comparison": lambda it: it == Order(),
    "replace": replace,
    "fields": fields,
    "pprint": pprint.pformat,
    "frame of a library": lambda it: pd.DataFrame([it]),
    "sorting": lambda it: sorted([it, it], key=repr),
}
"""Ways in which code reads an object of the person's own without naming what it reads."""


def _read_by(read: Callable[[Any], object]) -> Callable[[], Bank]:
    def make() -> Bank:
        order = Order()

        def send(n: int) -> str:
            return f"{n} to {read(order)}"

        return Bank(send, lambda: setattr(order, "to", "mallory"))

    return make


def _of_pattern() -> Bank:
    order = Order()

    def send(n: int) -> str:
        match order:
            case Order(to=who):
                return f"{n} to {who}"
        return ""

    return Bank(send, lambda: setattr(order, "to", "mallory"))


def _of_returned_object() -> Bank:
    order = Order()

    def send(n: int) -> list[Any]:
        return [n, order]

    return Bank(send, lambda: setattr(order, "to", "mallory"))


def _of_listed_objects() -> Bank:
    orders = [Order()]

    def send(n: int) -> str:
        return f"{n} to {[str(one) for one in orders]}"

    return Bank(send, lambda: setattr(orders[0], "to", "mallory"))


def _of_objects_taken_out() -> Bank:
    orders = deque([Order()])

    def send(n: int) -> str:
        return f"{n} to {orders.copy().pop()}"

    return Bank(send, lambda: setattr(orders[0], "to", "mallory"))


def _of_members_of_a_set() -> Bank:
    sender = Sender("alice")
    senders = {sender}

    def send(n: int) -> str:
        return f"{n} to {vars_of(senders.copy().pop())}"

    return Bank(send, lambda: setattr(sender, "to", "mallory"))


def vars_of(it: Any) -> str:
    return str(it.__reduce_ex__(2))


def _of_attributes_of_attributes() -> Bank:
    office = types.SimpleNamespace(inside=types.SimpleNamespace(order=Order()))

    def send(n: int) -> str:
        return f"{n} to {office.inside.order}"

    return Bank(send, lambda: setattr(office.inside.order, "to", "mallory"))


def _of_attribute() -> Bank:
    sender = Sender(Order())  # type: ignore[arg-type]  # a recipient with more to it
    return Bank(sender.send, lambda: setattr(sender.to, "to", "mallory"))


def _of_printed_self() -> Bank:
    @dataclass
    class Office:
        to: Order

        def send(self, n: int) -> str:
            return f"{n} to {self}"

    office = Office(Order())
    return Bank(office.send, lambda: setattr(office.to, "to", "mallory"))


def _of_executed_code() -> Bank:
    names: dict[str, Any] = {"to": "alice"}
    exec("def send(n: int) -> str: return f'{n} to {to}'", names)
    return Bank(names["send"], lambda: names.update(to="mallory"))


def _of_globals_by_text() -> Bank:
    names: dict[str, Any] = {"to": "alice", "__name__": "__main__"}
    exec("def send(n: int) -> str: return f'{n} to ' + globals()['to']", names)
    return Bank(names["send"], lambda: names.update(to="mallory"))


def _of_own_module() -> Bank:
    names: dict[str, Any] = {"office": types.ModuleType("office_of_a_person"), "__name__": "__main__"}
    exec("def to_whom() -> str: return to\nto = 'alice'", vars(names["office"]))
    exec("def send(n: int) -> str: return f'{n} to {office.to_whom()}'", names)
    return Bank(names["send"], lambda: setattr(names["office"], "to", "mallory"))


def _of_weak_reference() -> Bank:
    order = Order()
    found = weakref.ref(order)
    names = {"found": found, "kept": order}
    exec("def send(n: int) -> str: return f'{n} to {found().to}'", names)
    return Bank(names["send"], lambda: setattr(order, "to", "mallory"))


TOOL_CHANGES: dict[str, Callable[[], Bank]] = {
    **{f"object that is read by {name}": _read_by(read) for name, read in READERS.items()},
    "object that is matched": _of_pattern,
    "object that is returned": _of_returned_object,
    "object in a list": _of_listed_objects,
    "object that is taken out of a container": _of_objects_taken_out,
    "object in a set": _of_members_of_a_set,
    "object in attributes of attributes": _of_attributes_of_attributes,
    "object in an attribute": _of_attribute,
    "object that is written out by its own method": _of_printed_self,
    "global of code that was executed": _of_executed_code,
    "global that is named by a text": _of_globals_by_text,
    "global of a module of one's own": _of_own_module,
    "object behind a weak reference": _of_weak_reference,
    "object of a method": _of_method,
    "callable object": _of_instance,
    "what it closes over, in place": _of_closure,
    "what it closes over, bound anew": _of_cell,
    "default in place": _of_defaults,
    "its code": _of_code,
    "what a partial holds": _of_partial,
    "code of a wrapper": _of_wrapper,
    "global data": _of_global,
    "global function": _of_helper,
    "another method of its class": _of_class,
    "what is registered with an abstract class": _of_registry,
    "what a cached function closes over": _of_cache,
    "attribute of the class of a static method": _of_static,
}
TOO_LARGE = {"code of a function that closes over more than is read": _of_a_large_world}
"""Tools with more than is read, all of whose changes may go unnoticed but those of their code."""
POLICIES = ("ask_always", "ask_once")


@pytest.fixture(autouse=True)
def _globals() -> Any:
    before = helper
    yield
    SETTINGS["to"] = "alice"
    globals()["helper"] = before


@pytest.mark.promise("shown-is-run")
@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize("way", [*TOOL_CHANGES, *TOO_LARGE])
def test_a_tool_that_changed_while_it_was_asked_about_is_asked_about_again(way: str, policy: Any) -> None:
    bank = {**TOOL_CHANGES, **TOO_LARGE}[way]()
    questions, approve = changing_approver(bank.change)
    harness = make_harness(tool(bank.function, name="send", run=policy), approver=approve)
    record = harness.run(ask_for("send", n=1))

    assert record.status == "ok"
    assert [question.again and question.again.reason for question in questions] == [None, "changed"]


@pytest.mark.promise("shown-is-run")
@pytest.mark.parametrize("way", TOOL_CHANGES)
def test_an_approval_to_remember_does_not_cover_a_tool_that_changed_before_it_was_given(way: str) -> None:
    bank, questions = TOOL_CHANGES[way](), list[Question]()

    def approve(question: Question) -> Approved:
        questions.append(question)
        if len(questions) == 1:
            bank.change()
        return Approved(remember="tool")

    harness = make_harness(tool(bank.function, name="send"), approver=approve)

    assert harness.run(ask_for("send", n=1)).status == "ok"
    assert [question.again and question.again.reason for question in questions] == [None, "changed"]


@pytest.mark.promise("shown-is-run")
@pytest.mark.parametrize("way", TOOL_CHANGES)
@pytest.mark.parametrize("scope", ["call", "tool"])
def test_a_remembered_approval_does_not_cover_a_tool_that_changed(way: str, scope: Any) -> None:
    bank = TOOL_CHANGES[way]()
    count: list[int] = []
    harness = make_harness(
        tool(bank.function, name="send"),
        approver=lambda _: count.append(1) or Approved(remember=scope),  # type: ignore[func-returns-value]
    )
    for _ in range(2):
        harness.run(ask_for("send", n=1))
    assert len(count) == 1
    bank.change()
    harness.run(ask_for("send", n=1))

    assert len(count) == 2


@pytest.mark.promise("shown-is-run")
@pytest.mark.parametrize("way", TOO_LARGE)
@pytest.mark.parametrize("policy", POLICIES)
def test_a_tool_with_more_than_can_be_watched_is_asked_about_once_more_right_before_it_runs(
    way: str, policy: Any
) -> None:
    questions, approve = changing_approver(lambda: None)
    harness = make_harness(tool(TOO_LARGE[way]().function, name="send", run=policy), approver=approve)
    for _ in range(2):
        assert harness.run(ask_for("send", n=1)).status == "ok"

    assert [question.again and question.again.reason for question in questions] == [None, "unwatched"] * 2
    assert all("too large" in question.notes[0] and not question.can_remember_call for question in questions)


@pytest.mark.promise("shown-is-run")
@pytest.mark.parametrize("way", TOO_LARGE)
def test_a_tool_with_more_than_can_be_watched_is_remembered_as_a_tool_until_its_code_changes(way: str) -> None:
    bank, count = TOO_LARGE[way](), list[int]()
    harness = make_harness(
        tool(bank.function, name="send"),
        approver=lambda _: count.append(1) or Approved(remember="tool"),  # type: ignore[func-returns-value]
    )
    for _ in range(2):
        harness.run(ask_for("send", n=1))
    assert len(count) == 2  # the second time right before it ran
    bank.change()
    harness.run(ask_for("send", n=1))

    assert len(count) == 4


@pytest.mark.promise("shown-is-run")
def test_a_wrapper_that_was_redefined_over_the_same_function_is_another_tool() -> None:
    def send(n: int) -> str:
        """Send."""
        return f"{n} to alice"

    def other(function: Any) -> Any:
        @functools.wraps(function)
        def outer(*arguments: Any, **named: Any) -> Any:
            return ("mallory", function(*arguments, **named))

        return outer

    questions, approve = changing_approver(lambda: harness.runtime.tools.add(tool(other(send))))
    harness = make_harness(tool(wrapped(send, "first")), approver=approve)
    record = harness.run(ask_for("send", n=1))

    assert [question.again and question.again.reason for question in questions] == [None, "changed"]
    assert record.result[0] == "mallory"


def test_what_a_tool_s_own_approved_run_changes_asks_nothing_again() -> None:
    sent: list[int] = []

    @tool(run="ask_once")
    def send(n: int) -> int:
        """Send."""
        sent.append(n)
        return len(sent)

    questions, approve = changing_approver()
    harness = make_harness(send, approver=approve)
    for _ in range(3):
        harness.run(ask_for("send", n=1))
    harness.run_lent(ask_for("send", n=2), ask_for("send", n=3))

    assert sorted(json.loads(question.shown)["n"] for question in questions) == [1, 2, 3]


def write_at(kind: str, call_id: str, pipe: int, finished: asyncio.Event | None) -> Callable[[Event], Any]:
    """Return what writes into a pipe at an event of a call, and waits there until another call has finished."""

    async def emit(event: Event) -> None:
        if event.kind == "call_finished" and finished:
            finished.set()
        if event.kind == kind and event.call_id == call_id:  # type: ignore[union-attr]  # an event of a call
            os.write(pipe, b"x")
            if finished:
                await finished.wait()

    return emit


@pytest.mark.parametrize("waits", [True, False])
@pytest.mark.parametrize("moment", ["call_asked", "call_decided"])
def test_a_call_that_is_shown_while_a_run_changes_its_tool_is_asked_about_once(moment: str, *, waits: bool) -> None:
    """The run ends once the call is asked about, or decided: before the next look at the tool, or at any time then."""
    sent: list[int] = []
    asked: list[int] = []
    changed, may_end = os.pipe(), os.pipe()  # numbers: no part of what the tool is

    def wait_until_changed(arguments: dict[str, Any]) -> RunMode:
        if arguments["n"] == 2:
            os.read(changed[0], 1)
        return "ask_once"

    @tool(run=wait_until_changed)
    def send(n: int) -> int:
        """Send."""
        sent.append(n)
        if n == 1:
            os.write(changed[1], b"x" * 9)  # the policy may be asked again
            os.read(may_end[0], 1)
        return len(sent)

    async def approve(question: Question) -> Approved:
        asked.append(json.loads(question.shown)["n"])
        return Approved()

    harness, second = make_harness(send, approver=approve), ask_for("send", n=2)
    write = write_at(moment, second.call_id, may_end[1], asyncio.Event() if waits else None)
    harness.runtime.emit = harness.runtime.state.recorded(write)
    records = harness.run_lent(ask_for("send", n=1), second)
    for end in (*changed, *may_end):
        os.close(end)

    assert (asked, [record.status for record in records], sent) == ([1, 2], ["ok", "ok"], [1, 2])


# --- what is remembered ---


@pytest.mark.promise("fails-closed")
def test_what_a_policy_allowed_is_not_remembered() -> None:
    class Auto:
        name = BY_POLICY

        def ask(self, _: Question) -> Approved:
            return Approved()

    harness = make_harness(taking([], run="ask_once"), approver=Auto())
    assert harness.run(ask_for("use", it=1)).status == "ok"

    assert not harness.runtime.approvals.remembered()


@pytest.mark.promise("fails-closed")
def test_a_remembered_approval_does_not_count_where_everything_is_denied() -> None:
    class Deny:
        uses_remembered = False

        def ask(self, _: Question) -> Denied:
            return Denied("no")

    harness = make_harness(taking([], run="ask_once"), approver=lambda _: Approved())
    assert harness.run(ask_for("use", it=1)).status == "ok"
    assert harness.runtime.approvals.remembered()
    harness.runtime.approver = Deny()

    assert harness.run(ask_for("use", it=1)).status == "denied"
