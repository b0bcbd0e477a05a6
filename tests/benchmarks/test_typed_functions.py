"""The benchmark of right calls through typed functions, on a suite of this file, and its page."""

from __future__ import annotations

from typing import Any

import pytest

from benchmarks.typed_functions import changes_of, reason_of, right_arguments, table_of, try_call

FUNCTIONS = [
    {
        "name": "bank.pay",
        "description": "Pay.",
        "parameters": {
            "type": "dict",
            "required": ["sum"],
            "properties": {
                "sum": {"type": "float"},
                "kind": {"type": "string", "enum": ["cash", "card"]},
                "place": {"type": "tuple", "items": {"type": "integer"}},
                "data": {"type": "dict", "properties": {"note": {"type": "string"}}},
            },
        },
    }
]


@pytest.mark.parametrize(
    ("accepted", "changes"),
    [
        ({"sum": [2.5], "kind": ["", "cash"], "data": [{"note": ["a", "b"]}]}, ()),
        ({"sum": [2]}, ("int to float",)),
        ({"sum": [2.5], "place": [[1, 2]]}, ("list to tuple",)),
    ],
)
def test_a_right_call_arrives_with_what_its_types_ask_for(accepted: dict[str, list[Any]], changes: tuple[str]) -> None:
    outcome = try_call("q", FUNCTIONS, "bank.pay", right_arguments(accepted))

    assert (outcome.refusal, outcome.changes) == ("", changes)


@pytest.mark.parametrize(
    "arguments",
    [{}, {"sum": "2"}, {"sum": 2.5, "kind": "Cash"}, {"sum": 2.5, "kind": 1}, {"sum": 2.5, "data": {"name": "a"}}],
)
def test_what_the_schema_forbids_is_refused_with_a_known_reason(arguments: dict[str, Any]) -> None:
    outcome = try_call("q", FUNCTIONS, "bank.pay", arguments)

    assert outcome.is_forbidden
    assert reason_of(outcome) != outcome.refusal
    assert table_of({"small": [outcome]}).count("| small | 1 | 0 (0.0%) | - | 1 | 1 |") == 1


def test_a_value_that_is_lost_or_differs_is_a_change() -> None:
    lost, differing = changes_of({"a": [1], "b": 2}, {"a": ["1"]})

    assert "'b'" in lost
    assert differing.split() == ["int", "to", "str"]
    assert list(changes_of({"a": 1}, {"a": 2})) == ["another value"]
