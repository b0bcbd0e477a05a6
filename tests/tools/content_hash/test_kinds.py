"""Fingerprints of the rarer kinds of objects, and what is said where there is none."""

from __future__ import annotations

import datetime as dt
import functools
import inspect
import linecache
import math
import sys
import types
from collections import Counter, deque
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pydantic
import pytest
import xarray
from xarray.core.indexing import LazilyIndexedArray

from nbtool.tools.content_hash import builtins, content_hash, content_hash_or_reason
from nbtool.tools.content_hash.code import NOTEBOOK, global_data
from nbtool.tools.content_hash.hasher import Hasher, OverLimit
from nbtool.tools.values.named_parts import MultipartResult

PERIODS = pd.Series(pd.period_range("2026", periods=2, freq="M"))
INDEX = pd.MultiIndex.from_tuples([(1, "a"), (2, "b")], names=["n", "s"])
RECORDS = np.array([(1, 2.0), (3, 4.0)], dtype=[("a", "i4"), ("b", "f8")])
DIFFERENT: list[tuple[Any, Any]] = [
    (np.float32(2), np.float64(2)), (np.float32(2), np.float32(3)),
    (RECORDS, RECORDS[::-1]), (RECORDS, np.array([(1, 2.0), (3, 4.0)], dtype=[("a", "i4"), ("c", "f8")])),
    (np.zeros((0, 3)), np.zeros((3, 0))), (np.zeros(0), np.zeros(0, int)),
    (np.array(["a", None], dtype=object), np.array([None, "a"], dtype=object)),
    (np.arange(6).reshape(2, 3).T, np.arange(6).reshape(3, 2)),
    (pd.Series([1, 2], INDEX), pd.Series([1, 2], INDEX.rename(["m", "s"]))),
    (pd.Series([1, 2], INDEX), pd.Series([1, 2], INDEX[::-1])),
    (PERIODS, PERIODS[::-1]), (PERIODS, pd.Series(pd.period_range("2026", periods=2, freq="Q"))),
    (pd.Timestamp("2026-01-01"), pd.Timestamp("2026-01-01", tz="UTC")), (pd.Timedelta("1s"), pd.Timedelta("2s")),
    (pd.NaT, pd.NA), (pd.NaT, None),
    (pl.Series(["a", "b"], dtype=pl.Categorical), pl.Series(["b", "a"], dtype=pl.Categorical)),
    (pl.Series([dt.date(2026, 1, 1), None]), pl.Series([dt.date(2026, 1, 2), None])),
    (pl.Series([dt.date(2026, 1, 1)]), pl.Series([dt.datetime(2026, 1, 1)])),
    ([2**70, 1], [2**71, 1]), ([b"ab", b"c"], [b"a", b"bc"]), ([1.0, 2.0], [2.0, 1.0]), ([True], [False]),
    (deque([1], maxlen=1), deque([1], maxlen=2)), (Counter("aab"), {"a": 2, "b": 1}),
    (dt.time(1, 2, fold=0), dt.time(1, 2, fold=1)), (dt.timedelta(1), dt.timedelta(2)),
    (MultipartResult("one", a=1), MultipartResult("two", a=1)), (MultipartResult("one", a=1), MultipartResult("one",
    a=2)), (types.MappingProxyType({"a": 1}), types.MappingProxyType({"a": 2})), (range(3), range(4)),
    (b"a", b"b"), (bytearray(b"a"), bytearray(b"b")), (pl.Series(["a"]), pl.Series(["b"])),
    (pd.DataFrame({"a": [1]}), pd.DataFrame({"a": [1]}).rename_axis(columns="n")),
    ([].append, {}.update), (len, "".join), (1 + 2j, 2 + 1j),
]  # fmt: skip


@pytest.mark.parametrize(("one", "other"), DIFFERENT, ids=range(len(DIFFERENT)))
def test_rarer_values_that_differ_have_other_fingerprints(one: Any, other: Any) -> None:
    first, second = content_hash(one), content_hash(other)

    assert first is not None
    assert second is not None
    assert first != second
    assert content_hash(one) == first


def test_columns_with_missing_values_are_compared_by_what_is_there() -> None:
    kinds = ["boolean", "Float32", "Float64", *(f"{sign}Int{bits}" for sign in ("", "U") for bits in (8, 16, 32, 64))]
    pairs = [(pd.Series([1, None], dtype=kind), pd.Series([0, None], dtype=kind)) for kind in kinds]
    pairs.append((pd.Series(["a", None], dtype="string"), pd.Series(["b", None], dtype="string")))
    words = [(content_hash(one), content_hash(other)) for one, other in pairs]

    assert [None for both in words if None in both] == []
    assert len({word for both in words for word in both}) == 2 * len(pairs)


@dataclass
class Node:
    above: Any = None


@dataclass(slots=True)
class Slotted:
    x: int
    y: int


class Odd:
    """Has made something of its own of its fields."""

    @property
    def __dict__(self) -> Any:  # type: ignore[override]  # hostile on purpose
        return {"x": 1}


OddRecord = dataclass(type("OddRecord", (Odd,), {"__annotations__": {"x": int}, "x": 1}))


@dataclass(init=False)
class Computed:
    x: int

    @property
    def x(self) -> int:  # type: ignore[no-redef]  # the field is hidden on purpose
        raise AssertionError("nothing of an object runs")


def test_what_lies_inside_itself_is_written_as_the_level_it_lies_on() -> None:
    inside: dict[str, Any] = {}
    inside["a"] = inside
    deeper: dict[str, Any] = {"a": {}}
    deeper["a"]["a"] = deeper["a"]
    node = Node()
    node.above = node

    words = [content_hash(one) for one in (inside, deeper, node, Node(Node()))]
    assert None not in words
    assert len(set(words)) == 4


def test_a_slot_that_holds_nothing_yet_is_empty() -> None:
    half = Slotted.__new__(Slotted)
    half.x = 1

    assert content_hash(half) == content_hash(Slotted(1, None))  # type: ignore[arg-type]  # empty is written as None
    assert content_hash(half) != content_hash(Slotted(1, 2))


@pytest.mark.parametrize(
    ("value", "why"),
    [
        (Computed(), "the field 'x' of Computed is not a plain attribute"),
        (OddRecord(), "OddRecord overrides `__dict__`"),
        (pd.Series([1, 0], dtype=pd.SparseDtype(int)), "a column of SparseDtype cannot be compared"),
        (pl.Series([object()], dtype=pl.Object), "object cannot be compared"),
        (
            xarray.DataArray(xarray.Variable("x", LazilyIndexedArray(np.arange(3)))),
            "an xarray whose values are not in memory cannot be compared",
        ),
        (pl.DataFrame.__new__(pl.DataFrame), "it cannot be read (AttributeError)"),
        (types.ModuleType("made_up"), "the module cannot be compared"),
    ],
    ids=range(7),
)
def test_why_an_object_has_no_content_hash_is_reported(value: Any, why: str) -> None:
    assert content_hash_or_reason(value).reason == why
    assert content_hash([value]) is None


def test_a_list_of_too_many_values_is_not_compared() -> None:
    builtins.hash_column([1, 2, 3], Hasher(), max_leaves=3)

    with pytest.raises(OverLimit, match="it is too large to compare"):
        builtins.hash_column([1, 2, 3, 4], Hasher(), max_leaves=3)


def test_where_python_itself_can_go_no_deeper_it_is_reported() -> None:
    deep: Any = 1
    for _ in range(90):
        deep = [deep]
    limit = sys.getrecursionlimit()
    sys.setrecursionlimit(len(inspect.stack()) + 60)
    try:
        actual = content_hash_or_reason(deep)
    finally:
        sys.setrecursionlimit(limit)

    assert actual.reason == "it is nested too deep to compare"
    assert content_hash(deep) is not None


# --- code -----------------------------------------------------------------------------------------------------


def notebook(source: str, **around: Any) -> dict[str, Any]:
    """Run a cell, with its source known as IPython makes it known."""
    names: dict[str, Any] = {"__name__": NOTEBOOK, **around}
    file = f"<cell {abs(hash(source))}>"
    linecache.cache[file] = (len(source), None, source.splitlines(keepends=True), file)
    exec(compile(source, file, "exec"), names)
    return names


def test_a_function_that_calls_itself_has_a_content_hash() -> None:
    source = "def count(n):\n    return count(n - {}) if n else 0\n"
    one, same, other = (notebook(source.format(step))["count"] for step in (1, 1, 2))

    assert content_hash(one) == content_hash(same) is not None
    assert content_hash(one) != content_hash(other)


CLASS = """
class {base}:
    pass

class Kind({base}):
    unit: {hint} = {unit}
    sort = {sort}

    def weigh(self):
        return {body}

    @property
    def half(self):
        return {half}

    @staticmethod
    def made():
        return {made}

def outer():
    return Kind()
"""
AS_IT_WAS = {"base": "Bird", "hint": "str", "unit": "'g'", "sort": "int", "body": "1", "half": "2", "made": "3"}


@pytest.mark.parametrize(
    "change",
    [
        {"base": "Fish"},
        {"hint": "int"},
        {"unit": "'kg'"},
        {"sort": "bool"},
        {"body": "5"},
        {"half": "5"},
        {"made": "5"},
    ],
    ids=lambda change: next(iter(change)),
)
def test_a_function_changes_with_the_classes_of_the_notebook_that_it_uses(change: dict[str, str]) -> None:
    def outer(**changes: str) -> Any:
        return notebook(CLASS.format(**{**AS_IT_WAS, **changes}))["outer"]

    one, same, other = outer(), outer(), outer(**change)

    assert content_hash(one) == content_hash(same) is not None
    assert content_hash(one) != content_hash(other)


def test_a_functions_defaults_belong_to_it() -> None:
    def made(default: Any, named: Any = 0) -> Any:
        def function(x: Any = default, *, y: Any = named) -> Any:
            return x, y

        return function

    assert content_hash(made(1)) == content_hash(made(1)) is not None
    assert content_hash(made(1)) != content_hash(made(2))
    assert content_hash(made(1, 1)) != content_hash(made(1, 2))


def test_what_a_function_holds_and_cannot_be_compared_counts_by_its_type() -> None:
    def made(held: Any) -> Any:
        def function(x: Any = held) -> Any:
            return x

        return function

    assert content_hash(made(object())) == content_hash(made(object())) is not None
    assert content_hash(made(object())) != content_hash(made(pydantic.SecretStr("x")))


def test_a_method_is_its_function_and_the_type_of_its_object() -> None:
    class Other(Node):
        def actual(self) -> str:
            return "told"

    class Another(Node):
        def actual(self) -> str:
            return "said"

    assert content_hash(Other(1).actual) == content_hash(Other(2).actual) is not None
    assert content_hash(Other(1).actual) != content_hash(Another(1).actual)


def test_a_class_of_a_script_is_its_source_and_any_other_its_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def in_script(rows: int) -> dict[str, Any]:
        file = tmp_path / f"script{rows}.py"
        file.write_text(f"class Table:\n    rows = {rows}\n\ndef load():\n    return Table()\n")
        main = types.ModuleType(NOTEBOOK)
        main.__file__ = str(file)
        exec(compile(file.read_text(), str(file), "exec"), vars(main))
        monkeypatch.setitem(sys.modules, NOTEBOOK, main)
        return {name: content_hash(vars(main)[name]) for name in ("Table", "load")}

    one, same, other = in_script(1), in_script(1), in_script(2)
    elsewhere = [type("Table", (), {"__module__": "library", "rows": rows}) for rows in (1, 2)]
    without_source = type("Elsewhere", (), {"__module__": NOTEBOOK})

    assert one == same
    assert None not in one.values()
    assert (one["Table"] != other["Table"], one["load"] != other["load"]) == (True, True)
    assert content_hash(elsewhere[0]) == content_hash(elsewhere[1]) is not None
    assert content_hash(without_source) not in (None, one["Table"], content_hash(elsewhere[0]))


def test_a_module_is_its_version_pythons_or_its_file(tmp_path: Path) -> None:
    def module(text: str = "", **known: Any) -> types.ModuleType:
        made = types.ModuleType("ours")
        file = tmp_path / f"{abs(hash(text))}.py"
        file.write_text(text)
        vars(made).update({"__file__": str(file), **known})
        return made

    assert content_hash(module("a = 1")) == content_hash(module("a = 1")) is not None
    assert content_hash(module("a = 1")) != content_hash(module("a = 2"))
    assert content_hash(module("a = 1", __version__="1")) == content_hash(module("a = 2", __version__="1"))
    assert content_hash(module("a = 1", __version__="1")) != content_hash(module("a = 1", __version__="2"))
    assert content_hash(module(__file__=str(tmp_path / "gone.py"))) is None
    assert content_hash(math) is not None


def test_a_partial_is_its_function_and_what_it_is_given_by_name_too() -> None:
    assert (
        content_hash(functools.partial(print, sep="a")) == content_hash(functools.partial(print, sep="a")) is not None
    )
    assert content_hash(functools.partial(print, sep="a")) != content_hash(functools.partial(print, end="a"))


def test_only_a_function_of_python_works_on_data_beside_its_arguments() -> None:
    names = notebook("LIMIT = 3\n\ndef cut(x):\n    return other(x)[:LIMIT]\n\ndef other(x):\n    return x\n")

    assert global_data(names["cut"]) == {"LIMIT": 3}
    assert global_data(len) == {}
    assert global_data([].append) == {}
