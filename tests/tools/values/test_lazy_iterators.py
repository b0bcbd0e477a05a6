"""Iterators in the result of a tool: their items are taken once, within a bound, and never those of a person's own."""

from __future__ import annotations

import csv
import io
import itertools
import json
from collections.abc import AsyncIterator, Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from nbtool import tool
from nbtool.tools.values.lazy_iterators import MAX_SEARCHED, MAX_TAKEN, contains_iterators, take_iterators
from nbtool.tools.values.model_text import render
from nbtool.turn_state import Call
from tests.tools.calling import ToolHarness, ask_for, make_harness


class Countdown:
    """An iterator of a person's own class."""

    def __init__(self, start: int) -> None:
        self.number = start

    def __iter__(self) -> Iterator[int]:
        return self

    def __next__(self) -> int:
        if not self.number:
            raise StopIteration
        self.number -= 1
        return self.number


LAZY: list[tuple[Callable[[], Any], Any]] = [
    (lambda: map(str.upper, ["a", "b"]), ["A", "B"]),
    (lambda: zip([1, 2], "ab", strict=True), [[1, "a"], [2, "b"]]),
    (lambda: filter(None, [0, 1]), [1]),
    (lambda: enumerate("a"), [[0, "a"]]),
    (lambda: reversed([1, 2]), [2, 1]),
    (lambda: iter([1]), [1]),
    (lambda: itertools.chain([1], [2]), [1, 2]),
    (lambda: itertools.groupby("aab"), [["a", ["a", "a"]], ["b", ["b"]]]),
    (lambda: csv.reader(io.StringIO("a,b\n1,2")), [["a", "b"], ["1", "2"]]),
    (lambda: Countdown(2), [1, 0]),
    (lambda: {"n": 1, "rows": (number for number in range(2))}, {"n": 1, "rows": [0, 1]}),
    (lambda: [map(abs, [-1]), ("x", iter("ab"))], [[1], ["x", ["a", "b"]]]),
    (lambda: (map(abs, row) for row in [[-1], [-2]]), [[1], [2]]),
]


def run(function: Callable[..., Any], **settings: Any) -> tuple[Call, ToolHarness]:
    harness = make_harness(tool(function, name="give", run="auto", **settings))
    return harness.run(ask_for("give")), harness


@pytest.mark.parametrize(("make", "items"), LAZY)
def test_the_items_of_an_iterator_are_read_and_stay_there_for_the_next_tool(make: Any, items: Any) -> None:
    record, harness = run(lambda: make())

    assert json.loads(record.shown.partition("\n[")[0]) == items
    stored = harness.runtime.variables.value(record.reference)
    assert json.loads(render(stored).text) == items
    assert json.loads(render(stored).text) == items


def test_an_endless_iterator_is_taken_in_part_and_says_so() -> None:
    record, harness = run(lambda: {"all": itertools.count()})

    assert "$VAR_REF" in record.shown
    assert len(harness.runtime.variables.value(record.reference)["all"]) == MAX_TAKEN
    assert "more items" in record.shown
    few = take_iterators(itertools.count(), max_items=2)
    assert render(few).text == '[0, 1, "… count: the first 2 items were taken, and there are more"]'
    assert not render(few).is_complete


def test_an_error_of_an_item_is_the_error_of_the_tool() -> None:
    record, _ = run(lambda: map(int, ["1", "x"]))

    assert (record.status, "invalid literal" in record.shown) == ("error", True)


async def async_rows() -> Any:
    return map(abs, [-1])


async def async_items() -> AsyncIterator[Any]:
    yield map(abs, [-1])


@pytest.mark.parametrize("function", [async_rows, async_items])
def test_iterators_of_async_tools_are_taken_too(function: Any) -> None:
    record, _ = run(function)

    assert "[1]" in record.shown


def test_iterators_from_an_executor_are_taken_too() -> None:
    with ThreadPoolExecutor(1) as pool:
        record, _ = run(lambda: map(abs, [-1]), executor=pool)

    assert record.shown.startswith("[1]")


def test_an_iterator_of_the_notebook_is_neither_read_nor_used_up() -> None:
    numbers = iter([1, 2])
    harness = make_harness(tool(lambda it: it, name="same", run="auto"), notebook={"numbers": numbers})
    harness.runtime.variables.expose("numbers", readable=True)

    text = harness.runtime.variables.text("numbers")
    harness.run(ask_for("same", it="$VAR_REF{{numbers}}"))

    assert text.startswith("list_iterator, ")
    assert list(numbers) == [1, 2]


def test_what_holds_something_open_is_not_read() -> None:
    file = io.StringIO("a\nb")
    record, _ = run(lambda: [file])

    assert "$VAR_REF" in record.shown
    assert file.read() == "a\nb"


def test_the_search_for_iterators_is_bounded_and_ends_in_a_ring() -> None:
    ring: list[Any] = [1]
    ring.append(ring)

    assert not contains_iterators(ring)
    assert not contains_iterators([*range(MAX_SEARCHED), iter([1])])
    assert contains_iterators([*range(10), iter([1])])
    assert take_iterators(ring) is ring


def test_an_iterator_in_two_places_gives_its_items_to_both() -> None:
    numbers = iter([1, 2])

    taken = take_iterators({"first": numbers, "again": [numbers]})

    assert taken == {"first": [1, 2], "again": [[1, 2]]}
    assert taken["again"][0] is taken["first"]
