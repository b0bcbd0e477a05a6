from __future__ import annotations

import datetime as dt
import decimal
import enum
import functools
import math
import os
import subprocess
import sys
import time
import types
import zoneinfo
from collections import OrderedDict, defaultdict, namedtuple
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import Any, ClassVar

import numpy as np
import pandas as pd
import polars as pl
import pydantic
import pytest

from nbtool.tools.content_hash import content_hash, content_hash_or_reason
from nbtool.tools.content_hash.code import global_data

KERNEL = """
import datetime as dt, enum, zoneinfo
from dataclasses import dataclass
import numpy as np, pandas as pd, polars as pl
from nbtool.tools.content_hash import content_hash

@dataclass
class Point:
    x: int
    tags: set

class Colour(enum.Enum):
    RED = "r"

LIMIT = {"b", "a", "c"}

def shift(point, by=2):
    return point.x + by

def shift_twice(point):
    return shift(shift(point))

values = [
    None, True, 7, -(2**70), 1.5, float("nan"), 2 + 1j, "ä\\ud800", b"x", [1, "a", None], (1, (2,)), {"a": [1], 2: {3}},
    {"a", "b", "c", 1, None}, frozenset("abc"), dt.datetime(2026, 1, 2, tzinfo=zoneinfo.ZoneInfo("Europe/Berlin")),
    Point(1, {"x", "y"}), Colour.RED, shift, shift_twice, len, dt, np,
    np.arange(12.0).reshape(3, 4).T, np.array(["a", None], dtype=object), np.float32(2), np.zeros(3, "i4,f8"),
    pd.read_csv(CSV), pd.read_csv(CSV).convert_dtypes(), pd.Series(["a", None, "b"], dtype="category"),
    pd.Series(pd.date_range("2026", periods=3, tz="UTC")), pd.period_range("2026", periods=2, freq="M"),
    pl.read_csv(CSV), pl.Series("d", [dt.date(2026, 1, 1), None]), pl.Series("n", [[1, 2], None]),
]
print([content_hash(value) for value in values])
"""
CSV = Path(__file__).parents[3] / "notebooks" / "data" / "penguins.csv"


def in_a_kernel(folder: Path, seed: int) -> str:
    script = folder / "cells.py"
    script.write_text(f"CSV = {str(CSV)!r}\n{KERNEL}")
    environment = {**os.environ, "PYTHONHASHSEED": str(seed), "PYTHONPATH": str(Path(__file__).parents[3])}
    made = subprocess.run([sys.executable, script], env=environment, capture_output=True, text=True, check=True)
    return made.stdout


@pytest.mark.sampled(0)
def test_the_same_content_has_the_same_content_hash_in_every_kernel(tmp_path: Path) -> None:
    one, other = in_a_kernel(tmp_path, 1), in_a_kernel(tmp_path, 2)

    words = one.strip("[]\n").split(", ")
    assert one == other
    assert "None" not in one
    assert len(set(words)) == len(words) == 34


@dataclass
class Row:
    name: str
    values: list[int] = field(default_factory=list)


@dataclass(slots=True)
class Slotted:
    x: int


class Model(pydantic.BaseModel):
    x: int = 1


class Colour(enum.Enum):
    RED = 1
    BLUE = 2


Pair = namedtuple("Pair", "a b")
FRAME = pd.DataFrame({"a": [1, 2], "s": ["x", None]})
ALIKE: list[tuple[Any, Any]] = [
    (1, True), (1, 1.0), (0.0, -0.0), ("a", b"a"), ([1, 2], (1, 2)), ([1, [2]], [[1], 2]), (["ab", "c"], ["a", "bc"]),
    ([None, 1], [1, None]), ({"a": 1}, {"a": 2}), ({"a": 1}, [("a", 1)]), ({1}, {2}), ({1}, frozenset({1})),
    (dt.date(2026, 1, 1), dt.datetime(2026, 1, 1)), (decimal.Decimal("1.0"), decimal.Decimal("1.00")),
    (Row("a", [1]), Row("a", [2])), (Slotted(1), Slotted(2)), (Model(x=1), Model(x=2)), (Colour.RED, Colour.BLUE),
    (Pair(1, 2), (1, 2)), (np.arange(4), np.arange(4).reshape(2, 2)), (np.arange(4), np.arange(4.0)),
    (np.array([1, 2], ">i4"), np.array([1, 2], "<i4")), (np.zeros((2, 3)), np.zeros((3, 2))),
    (np.array(["2026"], "M8[D]"), np.array(["2026"], "M8[s]")),
    (FRAME, FRAME.rename(columns={"a": "b"})), (FRAME, FRAME[::-1]), (FRAME, FRAME.astype({"a": float})),
    (FRAME, FRAME.fillna("")), (FRAME, FRAME.set_axis([1, 2])), (FRAME["a"], FRAME["a"].rename("b")),
    (pd.Series([1, None], dtype="Int64"), pd.Series([1, 2], dtype="Int64")),
    (pd.Series(["a"], dtype="category"), pd.Series(["b"], dtype="category")),
    (pd.Series(pd.to_datetime(["2026"]).tz_localize("UTC")), pd.Series(pd.to_datetime(["2026"]).tz_localize("CET"))),
    (pl.DataFrame({"a": [1, None]}), pl.DataFrame({"a": [1, 0]})), (pl.DataFrame({"a": [1]}), pl.DataFrame({"b": [1]})),
    (pl.Series([[1], [2]]), pl.Series([[1, 2]])), (lambda x: x + 1, lambda x: x + 2),
    (functools.partial(len, []), functools.partial(len, [1])), (math, np),
]  # fmt: skip


@pytest.mark.parametrize(("one", "other"), ALIKE)
def test_values_that_differ_have_other_fingerprints(one: Any, other: Any) -> None:
    first, second = content_hash(one), content_hash(other)

    assert first is not None
    assert second is not None
    assert first != second


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ({3, 1, 2}, {2, 1, 3}),
        ([1.5] * 9, [1.5] * 9),
        (np.arange(6).reshape(2, 3).T.copy(order="F"), np.arange(6).reshape(2, 3).T.copy(order="C")),
        (np.arange(10)[::2], np.arange(10)[::2].copy()),
        (FRAME, FRAME.copy()),
        (FRAME, pd.concat([FRAME[:1], FRAME[1:]])),
        (pl.Series("a", [0, 1, None])[1:], pl.Series("a", [1, None])),
        (pl.concat([pl.DataFrame({"a": ["x"]}), pl.DataFrame({"a": ["y"]})]), pl.DataFrame({"a": ["x", "y"]})),
        (OrderedDict(a=1), OrderedDict(a=1)),
        (defaultdict(list, a=[1]), defaultdict(list, a=[1])),
    ],
)
def test_how_a_value_lies_in_memory_does_not_matter(one: Any, other: Any) -> None:
    assert content_hash(one) == content_hash(other) is not None


def test_an_object_inside_itself_has_a_content_hash() -> None:
    one: list[Any] = [1]
    one.append(one)
    other: list[Any] = [1]
    other.append([1])

    assert content_hash(one) is not None
    assert content_hash(one) != content_hash(other)


class Hostile:
    """Runs something wherever it is touched."""

    touched: ClassVar[list[str]] = []

    def __getattribute__(self, name: str) -> Any:
        Hostile.touched.append(name)
        return object.__getattribute__(self, name)

    def __reduce__(self) -> Any:
        Hostile.touched.append("__reduce__")
        return (str, ())

    def __repr__(self) -> str:
        Hostile.touched.append("__repr__")
        return ""

    def __eq__(self, other: object) -> bool:
        Hostile.touched.append("__eq__")
        return True

    def __hash__(self) -> int:
        Hostile.touched.append("__hash__")
        return 1

    def __len__(self) -> int:
        Hostile.touched.append("__len__")
        return 1

    def __iter__(self) -> Any:
        Hostile.touched.append("__iter__")
        return iter(())


class HostileMeta(type):
    def __hash__(cls) -> int:
        Hostile.touched.append("meta hash")
        return 1

    def __eq__(cls, other: object) -> bool:
        Hostile.touched.append("meta eq")
        return True

    def __getattribute__(cls, name: str) -> Any:
        Hostile.touched.append(f"meta {name}")
        return type.__getattribute__(cls, name)


class HostileClass(Hostile, metaclass=HostileMeta):
    pass


class HostileText(str):
    __slots__ = ()

    def encode(self, *_: Any) -> bytes:  # type: ignore[override]  # hostile on purpose
        Hostile.touched.append("encode")
        return b""

    def __str__(self) -> str:
        Hostile.touched.append("__str__")
        return ""


class HostileFrame(pd.DataFrame):
    @property
    def shape(self) -> Any:
        Hostile.touched.append("shape")
        return (0, 0)


class HostileArray(np.ndarray):
    def tobytes(self, *_: Any) -> bytes:
        Hostile.touched.append("tobytes")
        return b""


@dataclass
class HostileField:
    x: int

    def __getattribute__(self, name: str) -> Any:
        Hostile.touched.append(name)
        return object.__getattribute__(self, name)


def test_nothing_of_an_object_runs() -> None:
    hostile = [
        Hostile(), HostileClass(), HostileText("a"), HostileFrame({"a": [1]}),
        np.zeros(2).view(HostileArray), np.array([Hostile()], dtype=object), types.SimpleNamespace(a=1),
        pd.Series([Hostile()], dtype=object), pd.DataFrame({"a": [HostileText("a")]}, dtype=object),
    ]  # fmt: skip
    wrapped = [[one] for one in hostile] + [{"a": one} for one in hostile]
    Hostile.touched.clear()

    words = [content_hash(one) for one in [*hostile, *wrapped]]
    assert Hostile.touched == []
    of_notebook = HostileMeta("Made", (Hostile,), {"__module__": "__main__", "made": HostileClass})
    Hostile.touched.clear()
    known = [content_hash(HostileField(1)), content_hash(HostileClass), content_hash(of_notebook)]

    assert Hostile.touched == []
    assert set(words) == {None}
    assert None not in known


def test_why_there_is_none_is_reported() -> None:
    deep: list[Any] = []
    for _ in range(1_000):
        deep = [deep]

    assert content_hash_or_reason(object()).reason == "object cannot be compared"
    assert content_hash_or_reason([open]).reason == ""
    assert content_hash_or_reason(deep).reason == "it is nested too deep to compare"
    assert content_hash_or_reason(pydantic.SecretStr("x")).reason == "SecretStr cannot be compared"


@pytest.mark.parametrize(
    ("bounds", "value"),
    [({"max_items": 10}, [[] for _ in range(11)]), ({"max_bytes": 10}, np.zeros(2)), ({"max_bytes": 10}, "a" * 11)],
)
def test_what_is_too_large_is_not_compared(bounds: Any, value: Any) -> None:
    assert content_hash_or_reason(value, **bounds).reason == "it is too large to compare"


@pytest.mark.parametrize("value", [np.zeros(1_000), [[] for _ in range(1_000)]], ids=["bytes", "objects"])
def test_what_takes_too_long_is_not_compared(value: Any) -> None:
    assert content_hash_or_reason(value, seconds=-1.0).reason == "it takes too long to compare"


def test_a_function_is_its_source_and_the_code_it_closes_over() -> None:
    def times(n: int) -> Any:
        return lambda x: n * x

    def either(function: Any) -> Any:
        return lambda x: function(x)

    assert content_hash(either(len)) == content_hash(either(len))
    assert content_hash(either(len)) != content_hash(either(max))
    assert content_hash(times(2)) == content_hash(times(3))
    assert (global_data(times(2)), global_data(times(3))) == ({"n": 2}, {"n": 3})
    assert content_hash(eval("lambda x: x + 1")) != content_hash(eval("lambda x: x + 2"))


def test_a_function_changes_with_the_functions_of_the_notebook_that_it_calls() -> None:
    def notebook(body: str) -> dict[str, Any]:
        around: dict[str, Any] = {"__name__": "__main__"}
        exec(f"def inner(x):\n    return {body}\n\ndef outer(x):\n    return inner(x)", around)
        return around

    assert content_hash(notebook("x")["outer"]) == content_hash(notebook("x")["outer"])
    assert content_hash(notebook("x")["outer"]) != content_hash(notebook("x + 1")["outer"])


def test_a_time_zone_without_a_name_of_its_own_is_not_known() -> None:
    class Zone(dt.tzinfo):
        pass

    assert content_hash(dt.datetime(2026, 1, 1, tzinfo=Zone())) is None
    assert content_hash(dt.datetime(2026, 1, 1, tzinfo=zoneinfo.ZoneInfo("CET"))) is not None
    assert content_hash(PurePosixPath("/a")) is not None


@pytest.mark.nightly
def test_large_arrays_and_frames_take_a_second_for_a_gigabyte() -> None:
    array = np.zeros(64_000_000)
    frame = pd.DataFrame(np.zeros((6_400_000, 10)))

    began = time.perf_counter()
    words = content_hash(array), content_hash(frame)
    seconds = time.perf_counter() - began

    assert None not in words
    assert seconds < 6


def test_an_xarray_in_memory_is_known_and_one_on_disk_is_not() -> None:
    xarray = pytest.importorskip("xarray")
    one = xarray.DataArray(np.arange(3.0), dims="x", coords={"x": [1, 2, 3]}, name="a")

    assert content_hash(one) == content_hash(one.copy())
    assert content_hash(one) != content_hash(one.assign_coords(x=[1, 2, 4]))
    assert content_hash(one.to_dataset()) not in (None, content_hash(one))
    assert content_hash(one.to_dataset(name="b")) not in (None, content_hash(one.to_dataset()))
