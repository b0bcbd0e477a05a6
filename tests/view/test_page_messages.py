from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nbtool.view.actions import ActionId
from nbtool.view.message_fields import REASON_LIMIT, TEXT_LIMIT
from nbtool.view.page_messages import NAME_LIMIT, TURN_ACTIONS, BindRequest, TurnMessage, parse_message

DIGEST = "sha256:0f"


def message(kind: str, **values: Any) -> dict[str, Any]:
    return {"v": 1, "turn": "t", "nonce": "n", "id": "p-1", "kind": kind, **values}


def parse_content(content: Any) -> TurnMessage | None:
    return parse_message(content, turn_id="t", nonce="n")


@pytest.mark.parametrize("kind", ["hello", "stop", "resync", "ping", "rich", "formulas"])
def test_a_plain_message_is_accepted(kind: Any) -> None:
    assert parse_content(message(kind)) == TurnMessage(kind, "p-1")


@pytest.mark.parametrize(
    ("content", "verdict"),
    [
        (message("approve", digest=DIGEST), {"verdict": "approved", "remember": None, "arguments": None}),
        (
            message("approve", digest=DIGEST, remember="tool", arguments={"a": 1}),
            {"verdict": "approved", "remember": "tool", "arguments": {"a": 1}},
        ),
        (
            message("approve", digest=DIGEST, arguments='{"a": 12345678901234567890}'),
            {"verdict": "approved", "remember": None, "arguments": {"a": 12345678901234567890}},
        ),
        (message("deny", digest=DIGEST), {"verdict": "denied", "reason": ""}),
        (message("deny", digest=DIGEST, reason="no"), {"verdict": "denied", "reason": "no"}),
        (message("release", digest=DIGEST), {"verdict": "released", "text": None}),
        (message("release", digest=DIGEST, text=""), {"verdict": "released", "text": ""}),
        (message("withhold", digest=DIGEST, reason="secret"), {"verdict": "withheld", "reason": "secret"}),
    ],
)
def test_a_decision_is_accepted_with_all_its_fields(content: dict[str, Any], verdict: dict[str, Any]) -> None:
    found = parse_content(content)

    assert found is not None
    assert (found.digest, found.verdict) == (DIGEST, verdict)


@pytest.mark.parametrize(
    ("said", "binding"),
    [
        ({}, BindRequest("c1")),
        ({"name": None}, BindRequest("c1")),
        ({"name": "prices"}, BindRequest("c1", "prices")),
        ({"name": "prices", "replace": True}, BindRequest("c1", "prices", replace=True)),
    ],
)
def test_a_call_whose_result_is_to_get_a_name_is_accepted(said: dict[str, Any], binding: BindRequest) -> None:
    assert parse_content(message("bind", call_id="c1", **said)) == TurnMessage("bind", "p-1", binding=binding)


def test_a_call_to_stop_is_accepted_by_its_id() -> None:
    assert parse_content(message("stop_call", call_id="call_1")) == TurnMessage("stop_call", "p-1", call_id="call_1")


@pytest.mark.parametrize("said", [{}, {"call_id": ""}, {"call_id": 7}, {"call_id": "a b"}, {"call_id": "c", "x": 1}])
def test_a_call_to_stop_without_a_valid_id_is_dropped(said: dict[str, Any]) -> None:
    assert parse_content(message("stop_call", **said)) is None


@pytest.mark.parametrize("action", TURN_ACTIONS)
def test_what_is_to_be_done_with_a_turn_is_accepted(action: ActionId) -> None:
    assert parse_content(message("act", action=action)) == TurnMessage("act", "p-1", action=action)


@pytest.mark.nightly
@pytest.mark.rest
@pytest.mark.parametrize(
    "content",
    [
        message("act"), message("act", action="delete"), message("act", action=["rerun"]),
        message("act", action="version"), message("act", action="rerun", version=1),
        message("act", action="version", version=1),
        message("act", action="code", text="x"), message("rich", version="x"),
        None, "hello", [], {}, message("dance"), message("hello", extra=1), message(""),
        {**message("hello"), "kind": []},
        {**message("hello"), "v": 2}, {**message("hello"), "turn": "other"}, {**message("hello"), "nonce": ""},
        {**message("hello"), "nonce": None}, {**message("hello"), "id": ""}, {**message("hello"), "id": "x" * 65},
        {**message("hello"), "id": 7}, {**message("hello"), "id": "a b"}, message("hello", digest=DIGEST),
        message("approve"), message("approve", digest=""), message("approve", digest=7),
        message("approve", digest="x" * 201), message("approve", digest="<b>"),
        message("approve", digest=DIGEST, reason=""),
        message("approve", digest=DIGEST, remember="ever"), message("approve", digest=DIGEST, remember=True),
        message("approve", digest=DIGEST, arguments=[]), message("approve", digest=DIGEST, arguments="[]"),
        message("approve", digest=DIGEST, arguments="{"), message("approve", digest=DIGEST, arguments='{"a": NaN}'),
        message("approve", digest=DIGEST, arguments={"a": float("nan")}),
        message("approve", digest=DIGEST, arguments={"a": {1}}),
        message("approve", digest=DIGEST, arguments='{"a": "' + "x" * TEXT_LIMIT + '"}'),
        message("approve", digest=DIGEST, arguments="[" * 100_000), message("deny", digest=DIGEST, reason=7),
        message("deny", digest=DIGEST, reason="x" * (REASON_LIMIT + 1)), message("release", digest=DIGEST, text=7),
        message("release", digest=DIGEST, text="x" * (TEXT_LIMIT + 1)), message("withhold", digest=DIGEST, text="x"),
        message("bind"), message("bind", call_id=""), message("bind", call_id="a b"), message("bind", call_id=7),
        message("bind", call_id="c1", name="1x"), message("bind", call_id="c1", name="a.b"),
        message("bind", call_id="c1", name="class"), message("bind", call_id="c1", name="x" * (NAME_LIMIT + 1)),
        message("bind", call_id="c1", name=["x"]), message("bind", call_id="c1", replace="yes"),
        message("bind", call_id="c1", extra=1), message("bind", call_id="c1", digest=DIGEST),
    ],
)  # fmt: skip
def test_anything_else_is_ignored(content: Any) -> None:
    assert parse_content(content) is None


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=4,
)
MESSAGES: list[dict[str, Any]] = [
    message("hello"), message("stop_call", call_id="c1"), message("act", action="rerun"),
    message("approve", digest=DIGEST, arguments={"a": 1}), message("deny", digest=DIGEST, reason="no"),
    message("release", digest=DIGEST, text="x"), message("bind", call_id="c1", name="prices", replace=True),
]  # fmt: skip


@settings(max_examples=100)
@given(content=json_values, fields=st.dictionaries(st.text(max_size=6), json_values, min_size=1, max_size=2))
def test_no_content_of_another_form_is_a_message(content: Any, fields: dict[str, Any]) -> None:
    assert parse_content(content) is None
    for one in MESSAGES:
        assert parse_content(one) is not None
        if not fields.keys() & {*one, "version", "remember"}:
            assert parse_content(one | fields) is None


@settings(max_examples=150)
@given(one=st.sampled_from(MESSAGES), data=st.data())
def test_a_message_without_one_of_its_fields_or_of_another_turn_is_none(
    one: dict[str, Any], data: st.DataObject
) -> None:
    needed = data.draw(
        st.sampled_from([name for name in one if name in ("v", "turn", "nonce", "id", "kind", "digest")])
    )
    value = data.draw(json_values.filter(lambda value: value != one[needed]))
    assert parse_content({name: field for name, field in one.items() if name != needed}) is None
    if needed in ("v", "turn", "nonce"):
        assert parse_content(one | {needed: value}) is None
