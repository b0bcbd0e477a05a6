"""Every way in which a reply can fail after it began, streamed and whole: what was written is kept, and so is why."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from nbtool import Chat, tool
from nbtool.blocks.render.mimebundle import TURN_MIME
from nbtool.chat.conversation import restore
from nbtool.chat.journal import journal
from nbtool.chat.turn import Turn
from nbtool.event_json import load_events
from nbtool.wire.dialects.responses import decoder as responses
from nbtool.wire.providers.model_kinds import MEDIA_KINDS
from nbtool.wire.registry import WIRES
from tests.chaos import event, finish, head, serve, serve_each, text, whole

WHY = {"code": "server_error", "message": "The machine is on fire."}
TEXT = "It begins"
CALL = {"id": "c1", "type": "function", "function": {"name": "act", "arguments": "{}"}}


def chat(*, streamed: bool, reason: str | None = None, error: Any = None, inner: Any = None) -> list[bytes]:
    part = {"role": "assistant", "content": TEXT, "tool_calls": [{**CALL, "index": 0}]}
    choice = {"index": 0, "finish_reason": reason, **({"error": inner} if inner else {})}
    more = {"error": error} if error else {}
    if not streamed:
        return [whole(200, {"choices": [{**choice, "message": part}], **more})]
    return [
        head(),
        event({"choices": [{"index": 0, "delta": part}]}),
        event({"choices": [{**choice, "delta": {}}], **more}),
    ]


def of_responses(status: str, *, streamed: bool, error: Any = None) -> list[bytes]:
    said = {"type": "message", "id": "m", "content": [{"type": "output_text", "text": TEXT}]}
    act = {"type": "function_call", "id": "f", "call_id": "c1", "name": "act", "arguments": "{}"}
    response = {"status": status, "error": error, "output": [said, act]}
    if not streamed:
        return [whole(200, response)]
    delta = {"type": "response.output_text.delta", "item_id": "m", "output_index": 0, "delta": TEXT}
    return [head(), event(delta), event({"type": f"response.{status}", "response": response})]


def anthropic(*, streamed: bool) -> list[bytes]:
    error = {"type": "error", "error": {"type": "api_error", **WHY}}
    if not streamed:
        act = {"type": "tool_use", "id": "c1", "name": "act", "input": {}}
        return [whole(200, {"content": [{"type": "text", "text": TEXT}, act], **error})]
    begin = {"type": "message_start", "message": {"id": "m", "content": []}}
    text = {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": TEXT}}
    return [head(), event(begin), event(text), event(error)]


def gemini(*, streamed: bool) -> list[bytes]:
    act = {"functionCall": {"name": "act", "args": {}}}
    reply = {"candidates": [{"content": {"role": "model", "parts": [{"text": TEXT}, act]}}]}
    error = {"error": {"code": 500, "status": "INTERNAL", "message": WHY["message"]}}
    if not streamed:
        return [whole(200, json.dumps([reply, error]).encode())]
    return [head(), event(reply), event(error)]


Way = tuple[str, Callable[..., list[bytes]], str]

WAYS: dict[str, Way] = {
    "chat: an error as the reason": ("chat", lambda **how: chat(reason="error", **how), "broke off"),
    "chat: an error in the choice": ("chat", lambda **how: chat(reason="error", inner=WHY, **how), "on fire"),
    "chat: an error beside the choices": ("chat", lambda **how: chat(error=WHY, **how), "on fire"),
    "chat: an error beside a reason": ("chat", lambda **how: chat(reason="error", error=WHY, **how), "on fire"),
    "anthropic: an error": ("anthropic", anthropic, "on fire"),
    "gemini: an error": ("gemini", gemini, "on fire"),
}
"""How a reply can fail: its dialect, its bytes, and what is told of it."""

for _event in sorted(responses._FAILURES):
    _status = _event.removeprefix("response.")
    WAYS[f"responses: {_status}"] = ("responses", lambda _s=_status, **how: of_responses(_s, **how), f"has {_status}")
for _event in sorted(responses._FAILURES | responses._ENDS):
    _status = _event.removeprefix("response.")
    WAYS[f"responses: {_status} with an error"] = (
        "responses", lambda _s=_status, **how: of_responses(_s, error=WHY, **how), "on fire",
    )  # fmt: skip


@pytest.fixture(autouse=True)
def _book(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.setenv("NBTOOL_HOME", str(tmp_path / "home"))
    journal.cache_clear()
    yield
    journal.cache_clear()


def in_turn(turn: Turn) -> tuple[str, str]:
    return turn.text, str(turn.error)


def in_saved_turn(turn: Turn) -> tuple[str, str]:
    document = json.dumps(turn._repr_mimebundle_()[TURN_MIME])
    return document, document


def in_plain_text(turn: Turn) -> tuple[str, str]:
    text = str(turn._repr_mimebundle_()["text/plain"])
    return text, text


def in_journal(turn: Turn) -> tuple[str, str]:
    recalled = restore.restore_turn(load_events(journal().events(turn.turn_id)))
    assert recalled.status == turn.status
    return recalled.text, str(recalled.error)


PLACES: dict[str, Callable[[Turn], tuple[str, str]]] = {
    "the turn": in_turn,
    "the saved turn": in_saved_turn,
    "the plain text": in_plain_text,
    "the journal": in_journal,
}


def test_every_dialect_that_has_prose_has_a_way() -> None:
    assert {wire for wire, _, _ in WAYS.values()} == set(WIRES) - set(MEDIA_KINDS)


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("streamed", [True, False], ids=["streamed", "whole"])
@pytest.mark.parametrize("way", WAYS)
def test_a_reply_that_fails_keeps_its_text_and_the_reason_and_runs_none_of_its_calls(
    way: str, streamed: bool, place: str
) -> None:
    wire, make, why = WAYS[way]
    ran: list[str] = []

    def act() -> str:
        """Act."""
        ran.append("act")
        return "done"

    with serve(*make(streamed=streamed)) as server:
        talk = Chat("m", base_url=server.url, wire=wire, tools=[act])
        turn = talk.send("Go")
    said, reason = PLACES[place](turn)

    assert turn.status == "error"
    assert TEXT in said
    assert why in reason
    assert ran == []
    assert len(server.requests) == 1


def test_a_request_that_is_refused_after_a_call_is_sent_again_and_the_call_does_not_run_again() -> None:
    ran: list[str] = []

    @tool(run="auto")
    def act() -> str:
        "Act."
        ran.append("act")
        return "done"

    delta = {"tool_calls": [{**CALL, "index": 0}]}
    called = [head(), event({"choices": [{"index": 0, "delta": delta}]}), finish("tool_calls")]
    busy = [whole(429, {"error": {"message": "slow down"}}, retry_after="0")]
    with serve_each(called, busy, [head(), text("It is done."), finish()]) as server:
        turn = Chat("tiny", base_url=server.url, tools=[act]).send("Act.")

    assert (turn.text, ran) == ("It is done.", ["act"])
    assert server.requests[1].body == server.requests[2].body
