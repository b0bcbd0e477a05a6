"""What a person sees of a change in a value: the lines that were removed and added, bounded."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest

from nbtool.tools.values.content_lines import (
    MAX_CHANGES,
    MAX_DEPTH,
    MAX_LINE_CHARS,
    MAX_LINES,
    comparison_note,
    content_difference,
    content_lines,
)

CHANGES: dict[str, tuple[Any, Any, tuple[str, str]]] = {
    "an item added to a list": (["tea"], ["tea", "gold"], ("", "gold")),
    "an item removed from a tuple": (("tea", 3), ("tea",), ("3", "")),
    "an item changed in a nested list": ([{"to": "alice"}], [{"to": "bob"}], ("{'to': 'alice'}", "{'to': 'bob'}")),
    "a key changed in a dict": ({"to": "alice", "n": 1}, {"to": "bob", "n": 1}, ("to: alice", "to: bob")),
    "a type changed in a dict": ({1: 2}, {"1": 2.0}, ("1: 2", "1: 2.0")),
    "an item of a set": ({"a", "b"}, {"a", "c"}, ("b", "c")),
    "a line of a text": ("a\nb", "a\nc", ("b", "c")),
    "a cell of a frame": (pd.DataFrame({"a": [1, 2]}), pd.DataFrame({"a": [1, 3]}), ("1 | 2", "1 | 3")),
    "an item of a series": (pd.Series([1, 2]), pd.Series([1, 3]), ("1 | 2", "1 | 3")),
    "a cell of a polars frame": (pl.DataFrame({"a": ["x"]}), pl.DataFrame({"a": ["y"]}), ("x", "y")),
    "an item of a polars series": (pl.Series([1]), pl.Series([2]), ("1", "2")),
    "an item of an array": (np.array([1, 2]), np.array([1, 3]), ("2", "3")),
    "a row of an array": (np.array([[1, 2]]), np.array([[1, 3]]), ("1 | 2", "1 | 3")),
}


@pytest.mark.parametrize("change", CHANGES)
def test_a_change_is_shown_as_removed_and_added_lines(change: str) -> None:
    before, after, expected = CHANGES[change]
    first, second = content_lines(before), content_lines(after)

    assert first is not None
    assert second is not None
    assert content_difference(first, second) == expected
    assert comparison_note(first, second) == ""


class Loud:
    """An object whose code must not run."""

    def __repr__(self) -> str:
        raise AssertionError

    def __iter__(self) -> Any:
        raise AssertionError


class LoudList(list[Any]):
    """A list whose code must not run."""

    def __iter__(self) -> Any:
        raise AssertionError


DAMAGED = type("DataFrame", (), {"__module__": "pandas"})()
"""A frame of an unknown version: it has none of the attributes that are read."""


@pytest.mark.parametrize("value", [Loud(), LoudList([1]), 3, None, b"bytes", object, iter([1]), DAMAGED])
def test_other_values_have_no_lines(value: Any) -> None:
    assert content_lines(value) is None


def test_an_object_in_a_container_is_shown_by_its_type() -> None:
    found = content_lines([Loud(), LoudList([1]), {"a": Loud()}])

    assert found is not None
    assert found.lines == ("Loud", "LoudList", "{'a': Loud}")


BOUNDS: dict[str, tuple[Any, Callable[[tuple[str, ...]], bool]]] = {
    "lines": (list(range(3 * MAX_LINES)), lambda lines: len(lines) == MAX_LINES),
    "characters": (["x" * 100_000], lambda lines: len(lines[0]) < MAX_LINE_CHARS + 40 and "more]" in lines[0]),
    "nesting": ([[[[[[1]]]]]], lambda lines: lines == ("[[[list of 1]]]",) and MAX_DEPTH == 3),
    "items": ([[0] * 100], lambda lines: lines == (f"[{'0, ' * 50}… 50 items more]",)),
    "cells": (pd.DataFrame([[0] * 60]), lambda lines: lines[0].endswith(" | … 11 cells more")),
    "digits": ([10**5_000], lambda lines: lines == ("int of 16,610 bits",)),
    "line breaks": (["a\nb"], lambda lines: lines == ("a b",)),
}


@pytest.mark.parametrize("bound", BOUNDS)
def test_lines_are_bounded(bound: str) -> None:
    value, is_bounded = BOUNDS[bound]
    found = content_lines(value)

    assert found is not None
    assert is_bounded(found.lines), found.lines


def test_more_changes_than_are_shown_are_counted() -> None:
    before, after = content_lines([]), content_lines(list(range(MAX_CHANGES + 7)))

    assert before is not None
    assert after is not None
    assert content_difference(before, after)[1].split("\n")[MAX_CHANGES:] == ["… 7 lines more"]


def test_what_is_not_compared_is_reported() -> None:
    before, after = content_lines([0] * MAX_LINES), content_lines([0] * (MAX_LINES + 1))

    assert before is not None
    assert after is not None
    assert content_difference(before, after) == ("", "")
    assert comparison_note(before, after) == " (of 2,001 lines, the first 2,000 are compared)"
