from __future__ import annotations

from typing import Any

import pytest

from nbtool.wire.prompted.call_python import MAX_DEPTH, MAX_LENGTH, end_of_call_list, find_call_list, parse_python_calls


@pytest.mark.parametrize(
    ("text", "calls"),
    [
        ("look()", [("look", {})]),
        ("[look(a=1), look(a=2)]", [("look", {"a": 1}), ("look", {"a": 2})]),
        ("look(a=1), say(b='x')", [("look", {"a": 1}), ("say", {"b": "x"})]),
        ("['look(a=1)', 'look(a=2)']", [("look", {"a": 1}), ("look", {"a": 2})]),
        ("web.search.look(a=None)", [("web.search.look", {"a": None})]),
        ("look(a=-1, b=-2.5, c=True)", [("look", {"a": -1, "b": -2.5, "c": True})]),
        ("look(a=[1, (2, 'x')], b={'k': [-1]})", [("look", {"a": [1, [2, "x"]], "b": {"k": [-1]}})]),
        (r"look(a='\d')", [("look", {"a": r"\d"})]),
    ],
)
def test_calls_with_named_literals_are_read(text: str, calls: list[tuple[str, dict[str, Any]]]) -> None:
    assert [(call.name, call.args) for call in parse_python_calls(text) or ()] == calls


@pytest.mark.parametrize(
    "text",
    [
        "look(1)", "look(a=b)", "look(a=1+1)", "look(a=f'{b}')", "look(a=-True)", "look(a=-'x')", "look(a=~1)",
        "look(**{'a': 1})", "look(a=1, a=2)", "look(a={1: 2})", "look(a={**b})", "look(a=b'x')", "look(a=...)",
        "look(a=[i for i in b])", "look()()", "look[0]()", "(lambda: 1)()", "look(a=1", "look", "[]", "()", "'look'",
        "['look']", "look(a=1) + look(a=2)", "look(a={1, 2})", "look(a=1j)",
    ],
)  # fmt: skip
def test_anything_else_is_no_call(text: str) -> None:
    assert parse_python_calls(text) is None


def test_a_list_that_nests_too_deep_or_is_too_long_is_not_read() -> None:
    def nested(depth: int) -> str:
        return f"look(a={'[' * depth}{']' * depth})"

    assert parse_python_calls(nested(MAX_DEPTH - 1)) is not None
    assert parse_python_calls(nested(MAX_DEPTH)) is None
    assert parse_python_calls(f"look(a={'x' * MAX_LENGTH!r})") is None


@pytest.mark.parametrize(
    ("text", "start"), [("[look(", 0), ("see [ a.b (x", 4), ("[1]", -1), ("look()", -1), ("[(", -1), ("[1(", -1)]
)
def test_a_list_of_calls_begins_at_a_name_and_a_bracket(text: str, start: int) -> None:
    assert find_call_list(text) == start


def test_a_list_is_looked_for_from_a_place_on() -> None:
    assert find_call_list("[a()] [b()]", 1) == 6


@pytest.mark.parametrize(
    ("text", "end"),
    [
        ("[look(a=')]')] tail", 14),
        ('[look(a="""]""")]', 17),
        ("[look(a={'k': [1]})]", 20),
        ("[look(a=1)", -1),
        ("[look(a=1])", -1),
        ("[look(a='", -1),
        ("]", -1),
    ],
)
def test_the_end_of_a_list_is_where_its_own_bracket_closes(text: str, end: int) -> None:
    assert end_of_call_list(text, 0) == end


def test_a_list_that_nests_too_deep_has_no_end() -> None:
    assert end_of_call_list("[" * MAX_DEPTH + "]" * MAX_DEPTH, 0) == 2 * MAX_DEPTH
    assert end_of_call_list("[" * (MAX_DEPTH + 1) + "]" * (MAX_DEPTH + 1), 0) == -1
