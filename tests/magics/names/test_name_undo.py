from __future__ import annotations

import gc
import random
import sqlite3
from array import array
from collections.abc import Callable, Iterator
from queue import SimpleQueue
from threading import Lock
from typing import Any

import numpy as np
import pandas as pd
import pytest

from nbtool.errors import BadUsage
from nbtool.magics.names.name_undo import NameChanges, TurnChanges
from nbtool.magics.names.object_contents import MAX_WATCHED_BYTES
from nbtool.magics.notebook.cell_changes import CellChange


class Frame:
    """Stands for an object with weak references."""

    def __init__(self, rows: int = 0) -> None:
        self.rows = rows


def record(names: dict[str, Any], work: Callable[[], object], **bounds: int) -> tuple[NameChanges, TurnChanges | None]:
    changes = NameChanges(names, **bounds)
    return changes, turn(changes, work)


def turn(changes: NameChanges, work: Callable[[], object], turn_id: str = "turn_1") -> TurnChanges | None:
    watch = changes.watch()
    watch.read_contents()
    work()
    return changes.record(turn_id, watch)


def test_added_replaced_deleted_and_changed_names_are_distinguished() -> None:
    names: dict[str, Any] = {"kept": [1], "old": 1, "away": 2, "grown": [1]}

    def work() -> None:
        names["new"], names["old"] = 3, 4
        del names["away"]
        names["grown"].append(2)

    _, recorded = record(names, work)

    assert recorded
    assert recorded.describe() == "Names: added `new`; replaced `old`; deleted `away`; changed in place `grown`"


def test_a_turn_that_changed_nothing_is_not_recorded() -> None:
    changes, recorded = record({"a": [1]}, lambda: None)

    assert recorded is None
    assert not changes.latest(["turn_1"])


def test_cells_that_a_turn_of_a_client_changed_are_undone_without_names() -> None:
    names: dict[str, Any] = {"kept": 1}
    changes = NameChanges(names)
    changes.record_cells("turn_1", [CellChange("inserted", "new", source="x")])
    changes.record_cells("turn_2", [])

    recorded = changes.find("turn_1")

    assert recorded
    assert (recorded.describe(), recorded.can_be_undone) == ("Cells: 1 inserted", True)
    assert changes.find("turn_2") is None
    assert changes.latest(["turn_1", "turn_2"]) == "turn_1"


def test_names_of_the_shell_and_private_ones_do_not_count() -> None:
    names: dict[str, Any] = {}

    assert record(names, lambda: names.update(_=1, _i3="x", In=[], Out={}, __builtins__=object()))[1] is None


def test_former_objects_are_put_back_themselves_and_new_names_removed() -> None:
    frame = Frame()
    names: dict[str, Any] = {"df": frame, "gone": [7]}

    def work() -> None:
        names["df"], names["new"] = Frame(), 1
        del names["gone"]

    changes, _ = record(names, work)
    said = changes.undo("turn_1")

    assert names == {"df": frame, "gone": [7]}
    assert names["df"] is frame
    assert said == "Put back `df`, `gone`. Removed `new`."
    with pytest.raises(BadUsage, match="changed nothing, was undone already, or is not among the last"):
        changes.undo("turn_1")


@pytest.mark.promise("undo-keeps-edits")
@pytest.mark.parametrize("since", [lambda names: names.update(a=9), lambda names: names.pop("a")])
def test_a_name_that_was_changed_since_is_left_alone_and_the_others_are_undo(
    since: Callable[[dict[str, Any]], object],
) -> None:
    names: dict[str, Any] = {"a": 1, "b": 1}
    changes, _ = record(names, lambda: names.update(a=2, b=2))
    since(names)
    person = names.get("a")

    said = changes.undo("turn_1")

    assert (names.get("a"), names["b"]) == (person, 1)
    assert said == "Put back `b`. You have changed `a` since: `%chat undo turn_1 --replace` overwrites that."
    assert changes.undo("turn_1", replace=True) == "Put back `a`."
    assert names["a"] == 1


@pytest.mark.promise("undo-keeps-edits")
def test_what_was_made_by_the_turn_and_changed_in_place_since_is_left_alone() -> None:
    names: dict[str, Any] = {"a": [1]}
    changes, _ = record(names, lambda: names.update(a=[2]))
    names["a"].append(3)

    with pytest.raises(BadUsage, match=r"Nothing was put back. You have changed `a` since"):
        changes.undo("turn_1")
    assert names["a"] == [2, 3]


def counting() -> Iterator[int]:
    yield from range(9)


KINDS: dict[str, tuple[Callable[[], Any], Callable[[Any], object]]] = {
    "an array": (lambda: array("i", [1]), lambda value: value.append(2)),
    "an instance": (Frame, lambda value: setattr(value, "rows", 2)),
    "a class": (lambda: type("Own", (), {"a": 1}), lambda value: setattr(value, "a", 2)),
    "a function": (lambda: lambda: 1, lambda value: setattr(value, "limit", 2)),
    "a text of a subclass": (lambda: type("Text", (str,), {})("a"), lambda value: setattr(value, "mark", 2)),
}
UNSEEN: dict[str, tuple[Callable[[], Any], Callable[[Any], object]]] = {
    "a generator": (counting, next),
    "a lock inside": (lambda: {"lock": Lock()}, lambda value: value.update(a=1)),
    "a queue": (SimpleQueue, lambda value: value.put(1)),
    "a connection": (lambda: sqlite3.connect(":memory:"), lambda value: value.execute("CREATE TABLE t (a)")),
    "a source of random numbers": (lambda: random.Random(1), lambda value: value.random()),
    "a large object": (lambda: bytearray(MAX_WATCHED_BYTES + 1), lambda value: value.append(1)),
}


@pytest.mark.promise("undo-keeps-edits")
@pytest.mark.parametrize("kind", [*KINDS, *UNSEEN])
@pytest.mark.parametrize("former", [{}, {"a": 1}])
def test_no_object_that_may_have_been_changed_in_place_since_is_overwritten(kind: str, former: dict[str, int]) -> None:
    make, change = {**KINDS, **UNSEEN}[kind]
    value, names = make(), dict[str, Any](former)
    changes, _ = record(names, lambda: names.update(a=value))
    change(value)

    with pytest.raises(BadUsage, match=f"You {'have' if kind in KINDS else 'may have'} changed `a` since"):
        changes.undo("turn_1")
    assert names["a"] is value
    changes.undo("turn_1", replace=True)
    assert names == former


@pytest.mark.parametrize("kind", [*KINDS, "a module"])
def test_an_object_that_is_as_the_turn_left_it_is_overwritten(kind: str) -> None:
    value = random if kind == "a module" else KINDS[kind][0]()
    names: dict[str, Any] = {}
    changes, _ = record(names, lambda: names.update(a=value))

    assert changes.undo("turn_1") == "Removed `a`."


def test_an_object_that_there_was_no_time_to_read_is_not_overwritten() -> None:
    names: dict[str, Any] = {}
    changes, _ = record(names, lambda: names.update(long=[[number] for number in range(300_000)], after=[1], number=1))

    assert changes.undo("turn_1").startswith("Removed `number`. You may have changed `long`, `after` since, which")
    assert names["after"] == [1]


def test_a_name_whose_object_of_the_turn_no_longer_exists_counts_as_changed() -> None:
    names: dict[str, Any] = {"a": 1}
    changes, _ = record(names, lambda: names.update(a=Frame()))
    names["a"] = None
    gc.collect()

    with pytest.raises(BadUsage, match="You have changed `a` since"):
        changes.undo("turn_1")


def test_objects_changed_in_place_are_named_and_not_undo() -> None:
    names: dict[str, Any] = {"a": [1], "b": 1}

    def work() -> None:
        names["a"].append(2)
        names["b"] = 2

    changes, recorded = record(names, work)

    assert recorded
    assert recorded.can_be_undone
    assert changes.undo("turn_1") == "Put back `b`. `a` changed in place: no former state is kept."
    assert names == {"a": [1, 2], "b": 1}


@pytest.mark.parametrize(
    ("change", "line"),
    [
        (lambda names: names.update(b=2), "COMMAND takes this back."),
        (lambda names: (names.update(b=2), names["a"].append(2)),
         "`a` changed in place: no former state is kept. COMMAND takes back the rest."),
        (lambda names: names["a"].append(2),
         "Nothing of this can be taken back. `a` changed in place: no former state is kept."),
        (lambda names: names.update(large=None, b=2),
         "`large` cannot be put back: what would be kept for that exceeds 512 MB. COMMAND takes back the rest."),
        (lambda names: (names.update(large=None), names["a"].append(2)),
         "Nothing of this can be taken back. `a` changed in place: no former state is kept. `large` cannot be put "
         "back: what would be kept for that exceeds 512 MB."),
    ],
)  # fmt: skip
def test_the_line_of_a_turn_says_what_cannot_come_back(change: Callable[[Any], object], line: str) -> None:
    names: dict[str, Any] = {"a": [1], "b": 1, "large": bytearray(10_000)}
    _, recorded = record(names, lambda: change(names), max_bytes=5_000)

    assert recorded
    assert recorded.describe_undo("COMMAND") == line


BIG = 80 * 1024 * 1024


@pytest.mark.sampled(2)
@pytest.mark.parametrize(
    ("make", "change"),
    [
        (lambda: np.zeros(BIG // 8), lambda array: array.__iadd__(1)),
        (lambda: np.zeros(BIG // 16), lambda array: array.__setitem__(1_321_987, 1.0)),
        (lambda: np.zeros(4 * BIG // 8), lambda array: array.__iadd__(1)),
        (lambda: np.zeros((1000, BIG // 8000)).T, lambda array: array.__iadd__(1)),
        (lambda: pd.DataFrame({"a": np.zeros(BIG // 16), "b": np.zeros(BIG // 16)}),
         lambda frame: frame.__setitem__("b", 1.0)),
        (lambda: bytearray(BIG), lambda data: data.__setitem__(slice(None), b"1" * BIG)),
        (lambda: {"weights": [np.zeros(BIG // 8)]}, lambda held: held["weights"][0].__iadd__(1)),
    ],
    ids=["all of an array", "one value", "320 MB", "not contiguous", "a column", "bytes", "inside containers"],
)  # fmt: skip
def test_a_large_object_that_was_changed_in_place_is_named(
    make: Callable[[], Any], change: Callable[[Any], object]
) -> None:
    names: dict[str, Any] = {"big": make(), "other": np.zeros(10), "small": [1]}

    def work() -> None:
        change(names["big"])
        names["small"].append(2)

    _, recorded = record(names, work)

    assert recorded
    assert recorded.describe() == "Names: changed in place `big`, `small`"


def test_a_turn_that_only_changed_objects_in_place_cannot_be_undone() -> None:
    names: dict[str, Any] = {"a": [1]}
    changes, recorded = record(names, lambda: names["a"].append(2))

    assert recorded
    assert not recorded.can_be_undone
    with pytest.raises(BadUsage, match=r"Nothing was put back. `a` changed in place: no former state is kept."):
        changes.undo("turn_1")


def test_contents_that_nobody_read_before_the_first_call_are_not_claimed_to_have_changed() -> None:
    names: dict[str, Any] = {"a": [1]}
    changes = NameChanges(names)
    watch = changes.watch()
    names["a"].append(2)

    assert changes.record("turn_1", watch) is None


def test_former_objects_beyond_the_bound_are_released_with_a_remark() -> None:
    names: dict[str, Any] = {"large": b"x" * 5_000, "small": 1}
    changes, recorded = record(names, lambda: names.update(large=1, small=2), max_bytes=1_000)

    assert recorded
    assert "`large` cannot be put back" in recorded.describe_lost()
    assert changes.undo("turn_1").startswith("Put back `small`. `large` cannot be put back")
    assert names == {"large": 1, "small": 1}


def test_a_list_that_a_turn_made_counts_since_it_is_kept_alive_for_the_comparison() -> None:
    names: dict[str, Any] = {}
    changes, recorded = record(names, lambda: names.update(many=list(range(1_000)), frame=Frame()), max_bytes=1_000)

    assert recorded
    assert recorded.kept_bytes == 0
    assert changes.undo("turn_1").startswith("Removed `frame`. `many` cannot be put back")
    assert "many" in names


class Proxy:
    """Stands for an object that raises whatever it is asked, as some proxies do."""

    __slots__ = ()

    def __getattribute__(self, name: str) -> Any:
        raise RuntimeError(name)


def test_an_object_that_raises_when_it_is_looked_at_is_no_obstacle() -> None:
    first, second = Proxy(), Proxy()
    names: dict[str, Any] = {"a": first, "b": first, "c": first}

    def work() -> None:
        names["a"], names["new"] = second, second
        del names["b"]

    changes, recorded = record(names, work)

    assert recorded
    assert recorded.describe() == "Names: added `new`; replaced `a`; deleted `b`"
    assert changes.undo("turn_1") == "Put back `a`, `b`. Removed `new`."
    assert names["a"] is names["b"] is first


def test_the_objects_of_older_turns_are_released_first() -> None:
    former = Frame()
    names: dict[str, Any] = {"a": former, "b": b"x" * 2_000}
    changes = NameChanges(names, max_bytes=2_900)
    turn(changes, lambda: names.update(a=1), "turn_1")
    turn(changes, lambda: names.update(b=1), "turn_2")

    with pytest.raises(BadUsage, match="`a` cannot be put back"):
        changes.undo("turn_1")
    assert changes.undo("turn_2") == "Put back `b`."


def test_no_more_turns_are_remembered_than_the_bound() -> None:
    names: dict[str, Any] = {}
    changes = NameChanges(names, max_turns=2)
    for number in range(3):
        turn(changes, lambda number=number: names.update(a=number), f"turn_{number}")  # type: ignore[misc]  # a bound default

    assert changes.find("turn_0") is None
    assert changes.latest(["turn_0", "turn_1", "turn_2"]) == "turn_2"
    with pytest.raises(BadUsage, match="not among the last 2 turns that changed something"):
        changes.undo("turn_0")
