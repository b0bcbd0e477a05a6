from __future__ import annotations

from typing import Any

import pytest

from nbtool.view.heard import REASON_LIMIT, TEXT_LIMIT, Heard, read

DIGEST = "sha256:0f"


def message(kind: str, **values: Any) -> dict[str, Any]:
    return {"v": 1, "turn": "t", "nonce": "n", "id": "p-1", "kind": kind, **values}


def heard(content: Any) -> Heard | None:
    return read(content, turn_id="t", nonce="n")


@pytest.mark.parametrize("kind", ["hello", "stop", "resync", "ping"])
def test_a_plain_message_is_heard(kind: Any) -> None:
    assert heard(message(kind)) == Heard(kind, "p-1")


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
def test_a_decision_is_heard_with_all_it_says(content: dict[str, Any], verdict: dict[str, Any]) -> None:
    found = heard(content)

    assert found is not None
    assert (found.digest, found.verdict) == (DIGEST, verdict)


@pytest.mark.parametrize(
    "content",
    [
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
    ],
)  # fmt: skip
def test_anything_else_is_not_heard(content: Any) -> None:
    assert heard(content) is None
