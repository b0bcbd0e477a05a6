from __future__ import annotations

from typing import Any

import pytest

from nbtool.view.explorer_messages import CELL_ACTIONS, CellRequest, parse_message
from nbtool.view.message_fields import MAX_ROUND, QUERY_LIMIT

ENVELOPE = {"v": 1, "nonce": "n", "id": "p-1"}


def parse_content(**content: Any) -> Any:
    return parse_message({**ENVELOPE, **content}, nonce="n")


@pytest.mark.parametrize("kind", ["hello", "totals", "rich", "formulas"])
def test_a_message_without_more_is_read(kind: str) -> None:
    found = parse_content(kind=kind)

    assert (found.kind, found.message_id) == (kind, "p-1")


def test_a_turn_a_search_and_a_cell_are_read() -> None:
    assert parse_content(kind="open", turn="turn_1").turn_id == "turn_1"
    assert parse_content(kind="search", text="cheapest <b>").text == "cheapest <b>"
    assert parse_content(kind="cell", action="rerun", turn="t", round=2, call="").cell == CellRequest("rerun", "t", 2)
    assert {parse_content(kind="cell", action=action, turn="t").cell.action for action in CELL_ACTIONS} == set(
        CELL_ACTIONS
    )


@pytest.mark.parametrize(
    "content",
    [
        {"kind": "run"},
        {"kind": "hello", "code": "import os"},
        {"kind": "hello", "turn": "t"},
        {"kind": ["hello"]},
        {"kind": "hello", "nonce": "other"},
        {"kind": "hello", "v": 2},
        {"kind": "hello", "id": "x" * 65},
        {"kind": "hello", "id": 5},
        {"kind": "open"},
        {"kind": "open", "turn": "../../etc"},
        {"kind": "open", "turn": 5},
        {"kind": "search", "text": "x" * (QUERY_LIMIT + 1)},
        {"kind": "search", "text": None},
        {"kind": "cell", "action": "delete", "turn": "t"},
        {"kind": "cell", "action": ["rerun"], "turn": "t"},
        {"kind": "cell", "action": "rerun", "turn": "t\nimport os"},
        {"kind": "cell", "action": "rerun", "turn": "t", "round": MAX_ROUND + 1},
        {"kind": "cell", "action": "rerun", "turn": "t", "round": True},
        {"kind": "cell", "action": "rerun", "turn": "t", "round": -1},
        {"kind": "cell", "action": "bind", "turn": "t", "call": "x; y"},
        {"kind": "cell", "action": "rerun", "turn": "t", "text": "x"},
    ],
)
def test_anything_else_is_not_one_of_ours(content: dict[str, Any]) -> None:
    assert parse_content(**content) is None


@pytest.mark.parametrize("content", [None, "hello", [], 5])
def test_what_is_no_message_is_none(content: object) -> None:
    assert parse_message(content, nonce="n") is None
