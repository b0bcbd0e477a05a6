"""Whatever kind of object is closed, a result or an error that has it in a text or in a container is closed too."""

from __future__ import annotations

import collections
import dataclasses
import json
import types
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest

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


@pytest.mark.promise("by-reference")
@pytest.mark.parametrize(("kind", "form"), ROOM)
def test_no_form_of_a_closed_object_is_told(kind: str, form: str) -> None:
    def give(it: Any) -> Any:
        """Give it in another form."""
        return FORMS[form](it)

    wire = ScriptedWire([call("give", it="$VAR_REF{{it}}"), "Done.", "Again."])
    chat = Chat(wire=wire, tools=[tool(give, run="auto")])
    chat.expose(it=KINDS[kind]())
    chat.send("Go.")
    chat.send("And?")

    assert MASKED not in "".join(str(message) for prompt in wire.prompts for message in prompt.messages)


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
def test_what_a_tool_computes_of_a_closed_object_is_told() -> None:
    def compute(it: Any) -> Any:
        """Compute something."""
        return {"rows": len(it), "mean": float(it["n"].mean()), "names": [*it.columns]}

    wire = ScriptedWire([call("compute", it="$VAR_REF{{it}}"), "Done."])
    chat = Chat(wire=wire, tools=[tool(compute, run="auto")])
    chat.expose(it=KINDS["frame"]())
    turn = chat.send("Go.")

    assert json.loads(turn.calls[0].shown) == {"rows": 2, "mean": 1.5, "names": ["c", "n"]}
