"""Whatever kind of object is closed, a result or an error that has it in a text or in a container is closed too."""

from __future__ import annotations

import array
import collections
import dataclasses
import decimal
import json
import types
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
import xarray as xr
from hypothesis import given, settings
from hypothesis import strategies as st

from nbtool import Chat, tool
from nbtool.testing import ScriptedWire, call

SECRET = "SENTINEL-77"
MASKED = "SENTINEL"


class Frame(pd.DataFrame):  # type: ignore[misc]  # pandas has no types here
    pass


class Table(dict[str, str]):
    pass


class Names(list[str]):
    pass


@dataclasses.dataclass
class Box:
    held: Any


class Holder:
    def __init__(self, held: Any) -> None:
        self.held = held

    def __repr__(self) -> str:
        return f"Holder({self.held!r})"


Pair = collections.namedtuple("Pair", "a b")

KINDS: dict[str, Callable[[], Any]] = {
    "bytearray": lambda: bytearray(SECRET.encode()),
    "deque": lambda: collections.deque([SECRET]),
    "OrderedDict": lambda: collections.OrderedDict(a=SECRET),
    "Counter": lambda: collections.Counter([SECRET]),
    "defaultdict": lambda: collections.defaultdict(list, a=[SECRET]),
    "mappingproxy": lambda: types.MappingProxyType({"a": SECRET}),
    "exception": lambda: ValueError(SECRET),
    "namedtuple": lambda: Pair(SECRET, 1),
    "subclass of dict": lambda: Table(a=SECRET),
    "subclass of list": lambda: Names([SECRET]),
    "subclass of a frame": lambda: Frame({"c": [SECRET]}),
    "text with quotes and lines": lambda: f'It\'s\n"{SECRET}"',
    "dict": lambda: {"a": [{"b": SECRET}]},
    "list of 150,000": lambda: [SECRET, *[0] * 150_000],
    "frame": lambda: pd.DataFrame({"c": [SECRET, "other"], "n": [1, 2]}),
    "series": lambda: pd.Series([SECRET, "other"]),
    "array": lambda: np.array([SECRET, "other"]),
    "polars": lambda: pl.DataFrame({"c": [SECRET, "other"]}),
    "set": lambda: {SECRET, "other"},
}


def in_error_name(it: Any) -> Any:
    raise type(str(it)[:60].replace("\n", " "), (Exception,), {})


def values_of(it: Any) -> Any:
    """Put the same values into lists."""
    if isinstance(it, pd.DataFrame):
        return [it.to_dict(), it.values.tolist()]
    if isinstance(it, pl.DataFrame):
        return it.to_dict(as_series=False)
    if isinstance(it, collections.abc.Mapping):
        return {"rows": [[key, it[key]] for key in it]}
    return [*it] if hasattr(it, "__iter__") and not isinstance(it, str | bytearray) else [it]


FORMS: dict[str, Callable[[Any], Any]] = {
    "str": lambda it: f"It is {it!s}.",
    "repr": lambda it: f"It is {it!r}.",
    "repr of a text of it": lambda it: repr(f"It is {it!s}."),
    "json": lambda it: json.dumps([it] if not isinstance(it, dict | list | str) else it, default=repr),
    "list": lambda it: [it],
    "deque": lambda it: collections.deque([it]),
    "values of a dict": lambda it: {"a": it}.values(),
    "dataclass": Box,
    "object": Holder,
    "namespace": lambda it: types.SimpleNamespace(held=it),
    "exception": lambda it: RuntimeError(it),
    "name of an error": in_error_name,
    "the same values elsewhere": values_of,
}

ROOM = [(kind, form) for kind in KINDS for form in FORMS if (kind, form) != ("Counter", "the same values elsewhere")]
"""Every kind in every form; the keys of a Counter, which its values count, are a part of it and may be told."""


@pytest.mark.nightly
@pytest.mark.rest
@pytest.mark.promise("by-reference")
@pytest.mark.parametrize(("kind", "form"), ROOM)
def test_no_form_of_a_closed_object_is_sent(kind: str, form: str) -> None:
    def give(it: Any) -> Any:
        """Give it in another form."""
        return FORMS[form](it)

    wire = ScriptedWire([call("give", it="$VAR_REF{{it}}"), "Done.", "Again."])
    chat = Chat(wire=wire, tools=[tool(give, run="auto")])
    chat.expose(it=KINDS[kind]())
    chat.send("Go.")
    chat.send("And?")

    assert MASKED not in "".join(str(message) for prompt in wire.prompts for message in prompt.messages)


secret_texts = st.text("abc 0-\\'\"\n", max_size=12).map(lambda text: f"{SECRET}{text}")
closed_objects = st.recursive(
    secret_texts | secret_texts.map(str.encode),
    lambda inner: st.one_of(
        st.lists(inner, min_size=1, max_size=3),
        st.lists(inner, min_size=1, max_size=3).map(tuple),
        st.lists(inner, min_size=1, max_size=3).map(collections.deque),
        st.dictionaries(st.text("abc", max_size=3), inner, min_size=1, max_size=3),
        inner.map(Box),
        inner.map(lambda value: Pair(value, 1)),
        inner.map(ValueError),
    ),
    max_leaves=5,
)


@pytest.mark.promise("by-reference")
@settings(max_examples=15)
@given(
    value=closed_objects, form=st.sampled_from(sorted(FORMS)), inner=st.sampled_from(["list", "str", "repr", "json"])
)
def test_no_form_of_a_form_of_any_closed_object_is_sent(value: Any, form: str, inner: str) -> None:
    def give(it: Any) -> Any:
        """Give it in another form."""
        return FORMS[form](FORMS[inner](it))

    wire = ScriptedWire([call("give", it="$VAR_REF{{it}}"), "Done.", "Again."])
    chat = Chat(wire=wire, tools=[tool(give, run="auto")])
    chat.expose(it=value)
    chat.send("Go.")
    chat.send("And?")

    assert MASKED not in "".join(str(message) for prompt in wire.prompts for message in prompt.messages)


TABLES: dict[str, Callable[[], Any]] = {
    "structured array": lambda: np.array([(SECRET, 90210), ("b", 2)], dtype=[("who", "U16"), ("n", "i8")]),
    "record of an array": lambda: np.array([(SECRET, 90210)], dtype=[("who", "U16"), ("n", "i8")])[0],
    "records": lambda: np.rec.array([(SECRET, 90210), ("b", 2)], dtype=[("who", "U16"), ("n", "i8")]),
    "masked array": lambda: np.ma.masked_array([90210, 2, 3], mask=[0, 1, 0]),
    "matrix": lambda: np.array([[90210, 2], [3, 4]]),
    "array of objects": lambda: np.array([{"a": SECRET}, [SECRET]], dtype=object),
    "array of bytes": lambda: np.array([SECRET.encode(), b"b"]),
    "array of times": lambda: np.array(["1990-02-10T09:02:10", "1990-02-11"], dtype="M8[s]"),
    "array of numbers": lambda: np.array([90210.0, 2.0, 0.5]),
    "array of the standard library": lambda: array.array("q", [90210, 2, 3]),
    "range": lambda: range(90210, 90215),
    "user list": lambda: collections.UserList([SECRET, "b"]),
    "user dict": lambda: collections.UserDict(a=SECRET, b="other"),
    "chain map": lambda: collections.ChainMap({"a": SECRET}, {"b": "other"}),
    "structs of polars": lambda: pl.DataFrame({"s": [{"a": SECRET, "b": 90210}, {"a": "x", "b": 2}]}),
    "lists of polars": lambda: pl.DataFrame({"s": [[SECRET, "b"], ["c"]]}),
    "categories of polars": lambda: pl.Series("x", [SECRET, "other"], dtype=pl.Categorical),
    "large frame of polars": lambda: pl.DataFrame({"s": [f"{SECRET}-{at}" for at in range(20_000)]}),
    "index": lambda: pd.Index([SECRET, "other"]),
    "index of two levels": lambda: pd.MultiIndex.from_tuples([(SECRET, 1), ("b", 2)]),
    "categories": lambda: pd.Categorical([SECRET, "other"]),
    "array of pandas": lambda: pd.array([SECRET, "other"]),
    "labels of rows": lambda: pd.DataFrame({"v": [1, 2]}, index=[SECRET, "b"]),
    "time": lambda: pd.Timestamp("1990-02-10 09:02:10"),
    "frame": lambda: pd.DataFrame({"c": [SECRET, "b", "c"], "n": [1, 2, 90210], "f": [0.1, 2 / 3, 7.25]}),
    "large frame": lambda: pd.DataFrame({"c": [f"{SECRET}-{at}" for at in range(20_000)], "n": range(20_000)}),
    "large array": lambda: np.array([f"{SECRET}-{at}" for at in range(30_000)]),
    "array of xarray": lambda: xr.DataArray([SECRET, "other"], dims="x"),
    "numbers of xarray": lambda: xr.DataArray([90210, 2, 3], dims="x"),
    "dataset": lambda: xr.Dataset({"v": ("x", [90210, 2, 3])}),
}
"""Everything that holds values in an order of its own."""


def listed(it: Any) -> Any:
    if isinstance(it, pl.DataFrame):
        return it.to_dicts()
    if isinstance(it, pd.DataFrame):
        return it.reset_index().values.tolist() if it.index.dtype != "int64" else it.to_dict(orient="split")
    if isinstance(it, xr.DataArray | xr.Dataset):
        return it.to_dict()
    if isinstance(it, pd.Timestamp):
        return it.to_pydatetime()
    if isinstance(it, collections.abc.Mapping):
        return [*it.values()]
    return it.tolist() if hasattr(it, "tolist") else it.to_list() if hasattr(it, "to_list") else [*it]


def as_column(it: Any) -> Any:
    values = listed(it)
    return pd.DataFrame({"it": values, "at": range(len(values))})


def as_printed(it: Any) -> str:
    return it.to_string() if hasattr(it, "to_string") else str(as_array(it))


def as_array(it: Any) -> Any:
    if isinstance(it, xr.Dataset):
        return it["v"].to_numpy()
    return np.asarray(listed(it) if isinstance(it, collections.UserList | collections.abc.Mapping) else it)


REPEATS: dict[str, Callable[[Any], Any]] = {
    "lists": listed,
    "json": lambda it: json.dumps(listed(it), default=str),
    "python": lambda it: repr(listed(it)),
    "array": as_array,
    "array of texts": lambda it: as_array(it).astype(str),
    "printed": as_printed,
    "labelled array": lambda it: xr.DataArray(as_array(it)),
}
COLUMNS = [name for name in TABLES if not any(word in name for word in ("frame", "polars", "xarray", "dataset", "time",
           "rows", "matrix", "record of", "levels"))]  # fmt: skip
ABRIDGED = {
    *((kind, "printed") for kind in ("large frame of polars", "large array", "record of an array")),
    *((kind, form) for kind in ("structs of polars", "lists of polars") for form in ("printed", "array of texts")),
    *((kind, "array of texts") for kind in ("structured array", "record of an array", "records", "array of objects",
                                            "index of two levels")),
}  # fmt: skip
"""What numpy does not write as texts, or prints abridged."""
EVERY_REPEAT = [
    *((kind, form, REPEATS[form]) for kind in TABLES for form in REPEATS if (kind, form) not in ABRIDGED),
    *((kind, "column of a frame", as_column) for kind in COLUMNS),
    *(("frame", name, way) for name, way in {
        "json by columns": lambda it: it.to_json(),
        "lines of json": lambda it: it.to_json(orient="records", lines=True),
        "csv with labels": lambda it: it.to_csv(),
        "page": lambda it: it.to_html(),
    }.items()),
]  # fmt: skip


@pytest.mark.nightly
@pytest.mark.rest
@pytest.mark.promise("by-reference")
@pytest.mark.parametrize(("kind", "form", "way"), EVERY_REPEAT, ids=lambda one: one if isinstance(one, str) else "")
def test_the_values_of_a_closed_table_are_sent_in_no_other_container_and_no_text(
    kind: str, form: str, way: Callable[[Any], Any]
) -> None:
    def give(it: Any) -> Any:
        """Give its values in another form."""
        return way(it)

    wire = ScriptedWire([call("give", it="$VAR_REF{{it}}"), "Done."])
    chat = Chat(wire=wire, tools=[tool(give, run="auto")])
    chat.expose(it=TABLES[kind]())
    turn = chat.send("Go.")

    actual = "".join(str(message) for prompt in wire.prompts for message in prompt.messages)
    assert turn.calls[0].status == "ok", (form, turn.calls[0].shown)
    assert [word for word in (MASKED, "90210", "1990-02-10", "09:02:10") if word in actual] == []


MAKES: dict[str, Callable[[list[Any]], Any]] = {
    "array": np.array,
    "series": pd.Series,
    "index": pd.Index,
    "frame": lambda values: pd.DataFrame({"n": values, "at": range(len(values))}),
    "polars": lambda values: pl.DataFrame({"n": values}),
    "series of polars": lambda values: pl.Series("n", values),
    "xarray": lambda values: xr.DataArray(values, dims="x"),
    "user list": collections.UserList,
}


@pytest.mark.promise("by-reference")
@settings(max_examples=15)
@given(
    values=st.lists(st.integers(10_000, 10**12), min_size=2, max_size=8, unique=True)
    | st.lists(st.text("abcdefgh", min_size=9, max_size=12), min_size=2, max_size=8, unique=True),
    kind=st.sampled_from(sorted(MAKES)),
    form=st.sampled_from(sorted(REPEATS)),
)
def test_no_value_of_any_closed_table_is_sent_in_another_container_or_a_text(
    values: list[Any], kind: str, form: str
) -> None:
    def give(it: Any) -> Any:
        """Give its values in another form."""
        return REPEATS[form](it)

    wire = ScriptedWire([call("give", it="$VAR_REF{{it}}"), "Done."])
    chat = Chat(wire=wire, tools=[tool(give, run="auto")])
    chat.expose(it=MAKES[kind](values))
    turn = chat.send("Go.")

    actual = "".join(str(message) for prompt in wire.prompts for message in prompt.messages)
    assert turn.calls[0].status == "ok", (form, turn.calls[0].shown)
    assert [value for value in values if str(value) in actual] == []


PENGUINS = pd.DataFrame({
    "kind": ["Adelie", "Gentoo", "Chinstrap"] * 100, "mass": range(3700, 4000), "share": [at / 7 for at in range(300)],
})  # fmt: skip
COMPUTED: dict[str, Callable[[Any], Any]] = {
    "mean": lambda it: it["mass"].mean(),
    "description": lambda it: it.describe(),
    "groups": lambda it: it.groupby("kind")["mass"].mean(),
    "first rows": lambda it: it.head(3),
    "filtered": lambda it: it[it["mass"] > 3800],
    "another column": lambda it: it.assign(double=it["mass"] * 2)[["kind", "double"]],
    "long array": lambda it: np.tile(it["mass"].to_numpy(), 30) * 2,
    "names": lambda it: it["kind"].unique().tolist(),
    "json": lambda it: json.dumps({"rows": len(it), "of": [1, 2]}),
    "words": lambda it: f"{len(it)} rows, on average {it['mass'].mean():.1f}.",
}


@pytest.mark.promise("by-reference")
@pytest.mark.parametrize(
    "value", [9021090210, 9021090210.0, decimal.Decimal(9021090210), np.int64(9021090210)], ids=type
)
@pytest.mark.parametrize("form", ["{}", "{:,}", "{:_}", "of {:,} in all", "EUR {:_}"])
def test_a_closed_number_is_sent_in_no_text_with_grouped_digits(value: Any, form: str) -> None:
    @tool(run="auto")
    def write(it: Any) -> str:
        """Write it."""
        return form.format(it)

    wire = ScriptedWire([call("write", it="$VAR_REF{{it}}"), "Done."])
    chat = Chat(wire=wire, tools=[write])
    chat.expose(it=value)
    chat.send("Go.")

    assert "9021090210" not in repr(wire.prompts).replace(",", "").replace("_", "")


@pytest.mark.parametrize("form", COMPUTED)
def test_what_is_computed_of_a_closed_table_is_sent(form: str) -> None:
    def compute(it: Any) -> Any:
        """Compute something."""
        return COMPUTED[form](it)

    chat = Chat(wire=ScriptedWire([call("compute", it="$VAR_REF{{it}}"), "Done."]), tools=[tool(compute, run="auto")])
    chat.expose(it=PENGUINS)
    turn = chat.send("Go.")

    assert "exposed by reference only" not in turn.calls[0].shown


@pytest.mark.promise("by-reference")
def test_a_closed_generator_that_is_handed_back_is_not_read() -> None:
    def give(it: Any) -> Any:
        """Give it back."""
        return it

    numbers: Iterator[str] = (text for text in [SECRET])
    wire = ScriptedWire([call("give", it="$VAR_REF{{it}}"), "Done."])
    chat = Chat(wire=wire, tools=[tool(give, run="auto")])
    chat.expose(it=numbers)
    chat.send("Go.")

    assert list(numbers) == [SECRET]


@pytest.mark.promise("by-reference")
def test_what_a_tool_computes_of_a_closed_object_is_sent() -> None:
    def compute(it: Any) -> Any:
        """Compute something."""
        return {"rows": len(it), "mean": float(it["n"].mean()), "names": [*it.columns]}

    wire = ScriptedWire([call("compute", it="$VAR_REF{{it}}"), "Done."])
    chat = Chat(wire=wire, tools=[tool(compute, run="auto")])
    chat.expose(it=KINDS["frame"]())
    turn = chat.send("Go.")

    assert json.loads(turn.calls[0].shown) == {"rows": 2, "mean": 1.5, "names": ["c", "n"]}
