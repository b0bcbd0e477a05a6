"""Every way in which a reply can stop short of an answer, and every place where that is told and kept."""

from __future__ import annotations

import json
from collections.abc import Callable
from itertools import groupby
from pathlib import Path
from typing import Any, get_args

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nbtool import Chat
from nbtool.blocks.render.mimebundle import TURN_MIME
from nbtool.chat.conversation import restore
from nbtool.chat.journal import journal
from nbtool.chat.prompt_context import HistoryMode, history_messages
from nbtool.chat.turn import Turn
from nbtool.event_json import load_events
from nbtool.events import EndReason, Notice, TurnEnded
from nbtool.messages import Message
from nbtool.wire.dialects.anthropic.decoder import STOP_REASONS as ANTHROPIC_STOPS
from nbtool.wire.dialects.chat_completions.reply_fields import STOP_REASONS as CHAT_STOPS
from nbtool.wire.dialects.gemini.decoder import STOP_REASONS as GEMINI_STOPS
from tests.chaos import serve_each, whole

REPLY = "How is it done?"


def chat(
    content: str | None = "So", reason: str = "stop", choice: dict[str, Any] | None = None, **message: Any
) -> bytes:
    said = {"role": "assistant", "content": content, **message}
    choices = [{"index": 0, "message": said, "finish_reason": reason, **(choice or {})}]
    return whole(200, {"choices": choices})


def responses(*output: dict[str, Any], reason: str = "") -> bytes:
    status = {"status": "incomplete", "incomplete_details": {"reason": reason}} if reason else {"status": "completed"}
    return whole(200, {**status, "output": list(output)})


def anthropic(reason: str, *content: dict[str, Any], **more: Any) -> bytes:
    return whole(200, {"type": "message", "content": list(content), "stop_reason": reason, **more})


def gemini(reason: str, *parts: dict[str, Any], **more: Any) -> bytes:
    candidate = {"content": {"role": "model", "parts": list(parts)}, "finishReason": reason, "index": 0, **more}
    return whole(200, {"candidates": [candidate]})


def blocked_prompt(reason: str, **more: Any) -> bytes:
    return whole(200, {"promptFeedback": {"blockReason": reason, **more}})


def part(kind: str, **values: str) -> dict[str, Any]:
    return {"type": "message", "content": [{"type": kind, **values}]}


TEXT = {"type": "text", "text": "So"}
THOUGHT = {"type": "thinking", "thinking": "Hm.", "signature": "s"}
SO = part("output_text", text="So")
WHY = {"stop_details": {"type": "refusal", "category": "cyber", "explanation": "It could do harm."}}
FOUND = {"content_filter_results": {"violence": {"filtered": True}, "hate": {"filtered": False}}}
REASONING = {
    "type": "reasoning", "encrypted_content": "c2lnbmVk", "summary": [{"type": "summary_text", "text": "Hm."}],
}  # fmt: skip

Way = tuple[str, bytes, EndReason, str]

WAYS: dict[str, Way] = {
    "a refusal": ("chat", chat(None, refusal="I will not."), "refused", ""),
    "a refusal under a filter": ("chat", chat(None, "content_filter", refusal="I will not."), "filtered", ""),
    "a filter": ("chat", chat("So", "content_filter", FOUND), "filtered", "violence"),
    "a filter that leaves nothing": ("chat", chat(None, "content_filter"), "filtered", ""),
    "a hidden filter": ("chat", chat("So", choice={"native_finish_reason": "SAFETY"}), "filtered", ""),
    "the length": ("chat", chat("So", "length"), "length", ""),
    "an unknown reason": ("chat", chat("So", "new_reason"), "broken_off", "new_reason"),
    "an unknown reason that leaves nothing": ("chat", chat(None, "new_reason"), "broken_off", "new_reason"),
    "responses: an unknown reason": ("responses", responses(SO, reason="new_reason"), "broken_off", "new_reason"),
    "anthropic: an unknown reason": ("anthropic", anthropic("new_reason", TEXT), "broken_off", "new_reason"),
    "thinking alone": ("chat", chat(None, reasoning_content="Hm."), "thinking_only", ""),
    "nothing at all": ("chat", chat(""), "empty", ""),
    "responses: a refusal": ("responses", responses(part("refusal", refusal="I will not.")), "refused", ""),
    "responses: a filter": ("responses", responses(SO, reason="content_filter"), "filtered", ""),
    "responses: a filter that leaves nothing": ("responses", responses(reason="content_filter"), "filtered", ""),
    "responses: the length": ("responses", responses(SO, reason="max_output_tokens"), "length", ""),
    "responses: thinking alone": ("responses", responses(REASONING), "thinking_only", ""),
    "responses: nothing at all": ("responses", responses(), "empty", ""),
    "responses: an approval": (
        "responses",
        responses({"type": "mcp_approval_request", "id": "a", "name": "drop", "server_label": "db", "arguments": "{}"}),
        "provider_action",
        "'drop' on 'db'",
    ),
    "responses: a computer": (
        "responses", responses(SO, {"type": "computer_call", "id": "c"}), "provider_action", "computer",
    ),
    "anthropic: a refusal": ("anthropic", anthropic("refusal", TEXT, **WHY), "refused", "It could do harm."),
    "anthropic: a refusal without a word": ("anthropic", anthropic("refusal", **WHY), "refused", "It could do harm."),
    "anthropic: the length": ("anthropic", anthropic("max_tokens", TEXT), "length", ""),
    "anthropic: thinking alone": (
        "anthropic", anthropic("end_turn", THOUGHT), "thinking_only", "",
    ),
    "anthropic: nothing at all": ("anthropic", anthropic("end_turn"), "empty", ""),
    "gemini: an unknown reason": ("gemini", gemini("NEW_REASON", {"text": "So"}), "broken_off", "NEW_REASON"),
    "gemini: a filter and its category": (
        "gemini", gemini("SAFETY", {"text": "So"}, safetyRatings=[
            {"category": "HARM_CATEGORY_DANGEROUS_CONTENT", "probability": "HIGH", "blocked": True},
            {"category": "HARM_CATEGORY_HARASSMENT", "probability": "LOW"},
        ]), "filtered", "dangerous content",
    ),
    "gemini: a filter that leaves nothing": ("gemini", gemini("PROHIBITED_CONTENT"), "filtered", ""),
    "gemini: a prompt that was blocked": (
        "gemini", blocked_prompt("SAFETY", blockReasonMessage="Not here."), "filtered",
        "the prompt was blocked: Not here.",
    ),
    "gemini: a prompt that was blocked without a word": (
        "gemini", blocked_prompt("BLOCKLIST"), "filtered", "the prompt was blocked: BLOCKLIST",
    ),
    "gemini: a call that cannot be read": (
        "gemini", gemini("MALFORMED_FUNCTION_CALL", finishMessage="Malformed function call: print("), "broken_off",
        "Malformed function call: print(",
    ),
    "gemini: thinking alone": ("gemini", gemini("STOP", {"text": "Hm.", "thought": True}), "thinking_only", ""),
    "gemini: nothing at all": ("gemini", gemini("STOP"), "empty", ""),
}  # fmt: skip
"""A reply that stops: the wire, the body, why its turn ended, and what the notice has to name."""

for _word, _expected in CHAT_STOPS.items():
    if _expected in ("filtered", "refused", "length"):
        WAYS[f"chat: {_word}"] = ("chat", chat("So", _word), _expected, "")
    if _expected == "error" and _word != "error":  # that word alone is an error of the request
        WAYS[f"chat: {_word}"] = ("chat", chat("So", _word), "broken_off", _word)
for _word, _expected in ANTHROPIC_STOPS.items():
    if _expected in ("filtered", "refused", "length"):
        WAYS[f"anthropic: {_word}"] = ("anthropic", anthropic(_word, TEXT), _expected, "")

for _word, _expected in GEMINI_STOPS.items():
    if _expected in ("filtered", "length"):
        WAYS[f"gemini: {_word}"] = ("gemini", gemini(_word, {"text": "So"}), _expected, "")
    if _expected == "error":
        WAYS[f"gemini: {_word}"] = ("gemini", gemini(_word, {"text": "So"}), "broken_off", _word)

OF_LIMITS = {"too_many_calls", "rounds", "calls", "tokens", "cost", "seconds", "repetition", "interrupted"}
"""Reasons that are limits of a turn, or the end of its kernel; their tests stand beside those."""


@pytest.fixture(autouse=True)
def _book(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.setenv("NBTOOL_HOME", str(tmp_path / "home"))
    journal.cache_clear()
    yield
    journal.cache_clear()


def run_stopped(way: str, history: HistoryMode = "compact") -> tuple[Turn, list[Any], Chat]:
    """Send a prompt to which a reply comes that stops, and one more; gives the first turn and the later requests."""
    wire, body, _, _ = WAYS[way]
    return run_reply(wire, body, history)


def run_reply(wire: str, body: bytes, history: HistoryMode) -> tuple[Turn, list[Any], Chat]:
    answers = {
        "chat": chat("Well."), "responses": responses(SO), "anthropic": anthropic("end_turn", TEXT),
        "gemini": gemini("STOP", {"text": "Well."}),
    }  # fmt: skip
    with serve_each([body], [answers[wire]]) as server:
        conversation = Chat("m", base_url=server.url, wire=wire, history=history)
        turn = conversation.send(REPLY)
        conversation.send("And now?")
    return turn, [request.json for request in server.requests[1:]], conversation


def in_view(turn: Turn) -> list[str]:
    document = turn._repr_mimebundle_()[TURN_MIME]
    return [block["text"] for block in document["blocks"] if block["kind"] == "notice"]


def in_turn(turn: Turn) -> list[str]:
    return [event.text for event in turn.log if isinstance(event, Notice) and event.topic == turn.end_reason]


def in_text(turn: Turn) -> list[str]:
    return [str(turn._repr_mimebundle_()["text/plain"])]


def in_journal(turn: Turn) -> list[str]:
    events = load_events(journal().events(turn.turn_id))
    assert [event.end_reason for event in events if isinstance(event, TurnEnded)] == [turn.end_reason]
    recalled = restore.restore_turn(events)
    assert recalled.end_reason == turn.end_reason
    assert [one.explanation for one in recalled.rounds] == [one.explanation for one in turn.rounds]
    assert recalled.end_note == turn.end_note
    return in_turn(recalled)


PLACES: dict[str, Callable[[Turn], list[str]]] = {
    "the turn": in_turn,
    "the saved turn": in_view,
    "the plain text": in_text,
    "the journal": in_journal,
}


def test_every_reason_that_is_no_limit_has_a_way() -> None:
    assert {end_reason for _, _, end_reason, _ in WAYS.values()} == set(get_args(EndReason)) - OF_LIMITS - {""}


@pytest.mark.nightly
@pytest.mark.rest
@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("way", WAYS)
def test_a_reply_that_stops_is_reported_in_one_line_and_kept_with_its_reason(way: str, place: str) -> None:
    _, _, end_reason, words = WAYS[way]
    turn, _, _ = run_stopped(way)

    actual = PLACES[place](turn)

    assert (turn.status, turn.end_reason) == ("completed", end_reason)
    assert len(actual) == 1
    assert words in actual[0]
    assert in_turn(turn)[0].rstrip(".")[:40] in actual[0]


@pytest.mark.nightly
@pytest.mark.rest
@pytest.mark.parametrize("history", [mode for mode in get_args(HistoryMode) if mode != "none"])
@pytest.mark.parametrize("way", WAYS)
def test_the_question_and_why_it_has_no_answer_are_in_the_next_request(way: str, history: HistoryMode) -> None:
    _, _, _, words = WAYS[way]
    turn, (request,), _ = run_stopped(way, history)
    sent = json.dumps(request, ensure_ascii=False)

    assert REPLY in sent
    assert "[nbtool]" in sent
    assert words in sent
    if turn.rounds[0].refusal:
        assert turn.rounds[0].refusal in sent
    roles = [one.get("role") for one in request.get("messages") or request.get("input") or request["contents"]]
    roles = [role for role, _ in groupby(roles) if role in ("user", "assistant", "model")]
    assert roles == ["user", "model" if "contents" in request else "assistant", "user"]


UNKNOWN: dict[str, Callable[[str], bytes]] = {
    "chat": lambda word: chat("So", word),
    "responses": lambda word: responses(SO, reason=word),
    "anthropic": lambda word: anthropic(word, TEXT),
    "gemini": lambda word: gemini(word, {"text": "So"}),
}


@settings(max_examples=8)
@given(
    wire=st.sampled_from(sorted(UNKNOWN)),
    word=st.text("abcxyzABC_", min_size=1, max_size=20).map(lambda word: f"zq{word}"),
    history=st.sampled_from([mode for mode in get_args(HistoryMode) if mode != "none"]),
)
def test_a_reply_that_stops_for_any_unknown_reason_names_it_everywhere_and_in_the_next_request(
    wire: str, word: str, history: HistoryMode
) -> None:
    turn, (request,), _ = run_reply(wire, UNKNOWN[wire](word), history)

    assert (turn.status, turn.end_reason) == ("completed", "broken_off")
    for place, read in PLACES.items():
        assert [word in text for text in read(turn)] == [True], place
    sent = json.dumps(request, ensure_ascii=False)
    assert REPLY in sent
    assert word in sent


def test_a_refusal_is_reported_as_one() -> None:
    turn, (request,), _ = run_stopped("a refusal")

    assert "[The model refused: I will not.]" in json.dumps(request)
    assert turn.natural_flow.startswith("[The model refused: I will not.]")
    assert all(isinstance(message, Message) for message in history_messages(turn, "native"))


def test_a_finished_answer_has_no_reason_and_no_notice() -> None:
    with serve_each([chat("Well.")]) as server:
        turn = Chat("m", base_url=server.url).send(REPLY)

    assert (turn.end_reason, turn.end_note) == ("", "")
    assert not [event for event in turn.log if isinstance(event, Notice) and event.topic]


def test_a_picture_alone_is_an_answer() -> None:
    image = {"type": "image_url", "image_url": {"url": "data:image/png;base64,iVBORw0KGgo="}}
    with serve_each([chat(None, images=[image])]) as server:
        turn = Chat("m", base_url=server.url).send(REPLY)

    assert (turn.status, turn.end_reason, len(turn.media), len(server.requests)) == ("completed", "", 1, 1)
