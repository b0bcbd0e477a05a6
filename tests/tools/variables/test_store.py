from __future__ import annotations

import os
import threading

import numpy as np
import pandas as pd
import pytest
from pydantic import SecretStr

from nbtool.errors import BadUsage, UnknownReference
from nbtool.tools.variables.store import MAX_INVALID, Variables, size_of


def test_an_exposed_name_is_whatever_it_means_when_it_is_used() -> None:
    notebook = {"x": [1]}
    variables = Variables(notebook)
    variables.expose("x")
    notebook["x"] = second = [2]

    assert variables.value("x") is second
    assert variables.text("x") == "[2]"


@pytest.mark.promise("dead-reference")
def test_a_name_that_the_notebook_lost_is_visibly_gone() -> None:
    notebook = {"x": 1}
    variables = Variables(notebook)
    variables.expose("x")
    del notebook["x"]

    with pytest.raises(UnknownReference, match="no longer defined"):
        variables.value("x")
    assert variables.describe("x").startswith("'x' ")


def test_the_notebook_may_be_a_function() -> None:
    def look(name: str) -> int:
        return {"x": 7}[name]

    variables = Variables(look)
    variables.expose("x")

    assert variables.value("x") == 7


@pytest.mark.promise("only-exposed")
def test_only_what_was_exposed_can_be_reached() -> None:
    variables = Variables({"x": 1, "password": 2})
    variables.expose("x")

    with pytest.raises(UnknownReference, match=r"Variables: x\."):
        variables.value("password")


def test_what_is_hidden_says_so() -> None:
    variables = Variables({"x": 1})
    variables.expose("x")
    variables.unexpose("x")
    variables.unexpose("never")

    with pytest.raises(UnknownReference, match="no longer exposed"):
        variables.get("x")


@pytest.mark.parametrize("name", ["", "a b", "a{b", "x" * 129, "a\n"])
def test_a_name_that_no_reference_could_say_is_refused(name: str) -> None:
    with pytest.raises(BadUsage, match="is not a valid variable name"):
        Variables().expose(name, 1)


def test_exposing_what_is_not_there_is_refused() -> None:
    with pytest.raises(BadUsage, match="'x' cannot be exposed"):
        Variables({}).expose("x")


class Key(SecretStr):
    """A secret of a type of the user's own."""


@pytest.mark.parametrize("value", [os.environ, os.environb, SecretStr("k"), Key("k")])
def test_secrets_are_not_exposed(value: object) -> None:
    with pytest.raises(BadUsage, match="contains secrets"):
        Variables().expose("x", value)
    with pytest.raises(BadUsage, match="contains secrets"):
        Variables({"x": value}).expose("x")


def test_a_live_name_that_came_to_hold_secrets_is_not_given_out() -> None:
    notebook: dict[str, object] = {"x": 1}
    variables = Variables(notebook)
    variables.expose("x")
    notebook["x"] = os.environ

    with pytest.raises(UnknownReference, match="contains secrets"):
        variables.value("x")


def test_results_are_numbered_by_tool_and_never_take_a_name_twice() -> None:
    variables = Variables({"price_2_result": 1})
    variables.expose("price_2_result")

    assert variables.reserve_name("price") == "price_1_result"
    assert variables.reserve_name("price") == "price_3_result"
    assert variables.reserve_name("other") == "other_1_result"


def test_a_result_cannot_take_the_place_of_an_exposed_variable_nor_the_other_way_round() -> None:
    variables = Variables({"x": 1, "y": 2})
    variables.expose("x")
    variables.store_result("y", [2])

    with pytest.raises(BadUsage, match="is an exposed variable"):
        variables.store_result("x", [1])
    with pytest.raises(BadUsage, match="is already a result"):
        variables.expose("y")


def test_a_result_is_written_out_once() -> None:
    class Counting:
        count = 0

        def __repr__(self) -> str:
            Counting.count += 1
            return "counted"

    variables = Variables()
    variables.store_result("r", Counting())

    assert variables.text("r") == variables.text("r") == "counted"
    assert Counting.count == 1


def test_the_least_recently_used_entry_goes_first_and_is_reported_to_be_gone() -> None:
    variables = Variables(max_entries=3)
    for name in "abc":
        variables.store_result(name, name)
    variables.get("a")
    variables.store_result("d", "d")

    assert [entry.name for entry in variables.list_entries()] == ["d", "a", "c"]
    with pytest.raises(UnknownReference, match=r"'b' no longer exists: it was evicted to free memory"):
        variables.value("b")


def test_bytes_are_bounded_too() -> None:
    variables = Variables(max_bytes=3_000_000)
    variables.store_result("big", np.zeros(250_000))
    variables.store_result("bigger", np.zeros(300_000))

    assert [entry.name for entry in variables.list_entries()] == ["bigger"]


def test_pinned_entries_stay_and_the_newest_always_does() -> None:
    variables = Variables(max_entries=1)
    variables.store_result("a", 1)
    variables.pin("a")
    variables.store_result("b", 2)
    variables.store_result("c", 3)

    assert {entry.name for entry in variables.list_entries()} == {"a", "c"}
    assert not variables.remove("a")
    variables.pin("a", pinned=False)
    assert variables.remove("a")


def test_a_name_that_comes_back_is_alive_again() -> None:
    variables = Variables()
    variables.store_result("a", 1)
    variables.remove("a")
    variables.store_result("a", 2)

    assert variables.value("a") == 2
    assert not variables.remove("never")


def test_the_list_of_the_dead_is_bounded() -> None:
    variables = Variables(max_invalid=2)
    for name in "abc":
        variables.store_result(name, 1)
        variables.remove(name)

    with pytest.raises(UnknownReference, match="no variable 'a'"):
        variables.get("a")
    with pytest.raises(UnknownReference, match="was removed"):
        variables.get("c")


def test_notes_can_be_written_changed_and_distinguished_from_results() -> None:
    variables = Variables()
    variables.store_note("todo", "first", description="what is left", tags=["plan"])
    note = variables.store_note("todo", tags=["plan", "b"])

    assert (note.value, note.description, note.tags) == ("first", "what is left", ("plan", "b"))
    assert variables.store_note("empty", "").value == ""
    with pytest.raises(BadUsage, match="needs a value"):
        variables.store_note("new")
    variables.store_result("r", 1)
    with pytest.raises(BadUsage, match="it is a result"):
        variables.store_note("r", "x")
    variables.pin("todo")
    with pytest.raises(BadUsage, match="cannot be overwritten"):
        variables.store_note("todo", "x")


def test_many_threads_may_write_at_once() -> None:
    variables = Variables(max_entries=50)

    def fill(number: int) -> None:
        for _ in range(40):
            variables.store_result(variables.reserve_name(f"t{number % 2}"), number)

    threads = [threading.Thread(target=fill, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert len(variables.list_entries()) == 50
    assert variables.reserve_name("t0") == "t0_161_result"


@pytest.mark.parametrize(
    ("value", "least", "most"),
    [
        (np.zeros(1000), 8000, 8000),
        (pd.DataFrame({"a": np.zeros(1000)}), 8000, 9000),
        (pd.Series(np.zeros(1000)), 8000, 9000),
        ("x" * 1000, 1000, 1100),
        ([0.5] * 1000, 20_000, 60_000),
        ({"a": ["x" * 100] * 100}, 10_000, 30_000),
        ([[[[["deep"]]]]], 50, 1000),
        (object(), 1000, 1000),
    ],
)
def test_sizes_are_estimated_without_walking_everything(value: object, least: int, most: int) -> None:
    assert least <= size_of(value) <= most


def test_an_object_that_cannot_report_its_size_still_has_one() -> None:
    class Odd:
        __module__ = "numpy.odd"
        nbytes = "many"

    assert 0 < size_of(Odd()) < 100


def test_an_exposed_variable_that_is_gone_is_no_object_of_any_name() -> None:
    notebook = {"a": [1]}
    variables = Variables(notebook)
    variables.expose("a")
    value = notebook.pop("a")

    assert variables.describe("a").startswith("'a' ")
    assert not any(one is value for one in variables.unreadable_objects())


def test_names_that_are_there_again_are_not_reported_to_be_gone() -> None:
    variables = Variables({})
    name = variables.store_result("kept", [1], description="")
    variables.invalidate([name, "lost"], "it was in another chat")

    assert variables.value(name) == [1]
    with pytest.raises(UnknownReference, match="it was in another chat"):
        variables.value("lost")


def test_only_so_many_lost_names_are_remembered() -> None:
    variables = Variables({})
    variables.invalidate([f"n{number}" for number in range(MAX_INVALID + 1)], "it was in another chat")

    with pytest.raises(UnknownReference, match="it was in another chat"):
        variables.value("n1")
    with pytest.raises(UnknownReference) as raised:
        variables.value("n0")
    assert "another chat" not in str(raised.value)


def test_fresh_variables_have_the_bounds_of_the_old_ones() -> None:
    variables = Variables({}, max_entries=1, max_bytes=10_000).fork()
    names = [variables.store_result(f"n{number}", [number], description="") for number in range(2)]

    with pytest.raises(UnknownReference, match="evicted to free memory"):
        variables.value(names[0])
    assert variables.value(names[1]) == [1]
    assert variables.fork().list_entries() == ()


def test_a_short_text_of_its_own_can_be_closed_and_a_single_letter_cannot() -> None:
    notebook = {"pair": "".join(["a", "b"]), "letter": "a", "one": 1}
    variables = Variables(notebook)
    for name in notebook:
        variables.expose(name)

    assert variables.unreadable_objects() == [notebook["pair"]]


def test_what_is_erased_is_gone_though_it_was_pinned_and_exposed_names_and_rules_stay() -> None:
    variables = Variables({"x": 1})
    variables.expose("x")
    variables.set_rules([("rule", "A rule.", "")])
    for name in ("first", "second", "third"):
        variables.store_result(name, name)
    variables.pin("first")

    variables.erase(["first"], "its turn was erased")
    assert variables.value("second") == "second"
    with pytest.raises(UnknownReference, match="no longer exists: its turn was erased"):
        variables.get("first")

    variables.erase(None, "its turn was erased")
    assert {entry.name for entry in variables.list_entries()} == {"x", "rule"}
