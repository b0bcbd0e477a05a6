"""The keys that a kernel uses are taken out of each request, once for each message."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from nbtool.chain import request_filter
from nbtool.chain.hooks import RequestContext
from nbtool.chain.request_filter import RequestFilter
from nbtool.events import Notice
from nbtool.messages import Media, Message, Native, Text, Thinking, ToolCall, ToolResult, assistant, results, user
from nbtool.secret import Secret
from nbtool.wire.base import ToolSpec
from nbtool.wire.framing import known_secrets
from nbtool.wire.framing.known_secrets import remember_secrets
from tests.chain.running import run

KEY = "sk-filter-5c81d0e7"
LATER = "sk-later-11d2c3b4"


@pytest.fixture(autouse=True)
def known(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(known_secrets, "_known", type(known_secrets._known)())
    remember(KEY)


def remember(*keys: str) -> None:
    remember_secrets(SimpleNamespace(secrets=[Secret(key) for key in keys]))


def request(*messages: Message, history: tuple[Message, ...] = (), **fields: Any) -> RequestContext:
    turn: Any = SimpleNamespace(history=history, state={})
    return RequestContext(turn, 1, [*history, *messages], **fields)


MESSAGES = [
    (user(f"Use {KEY}"), "the prompt"),
    (user(Media("text/csv", f"a,b\n1,{KEY}\n".encode(), name="keys.csv")), "the prompt"),
    (results(ToolResult("read", f"It is {KEY}")), "the result of read"),
    (results(ToolResult("read", "", media=(Media("text/plain", KEY.encode()),))), "the result of read"),
    (Message("tool", (Text(KEY),)), "a result"),
    (assistant(ToolCall("log_in", f'{{"key": "{KEY}"}}')), "a reply"),
    (assistant(Thinking(f"I saw {KEY}")), "a reply"),
]


@pytest.mark.parametrize(("message", "place"), MESSAGES)
def test_a_key_is_in_no_part_of_a_request_and_its_place_is_named(message: Message, place: str) -> None:
    sent = request(message)
    notice = RequestFilter().hide_secrets(sent)

    assert KEY not in repr(sent.messages)
    assert KEY.encode() not in repr(sent.messages).encode()
    assert all(KEY.encode() not in (part.data or b"") for part in sent.messages[0].parts if isinstance(part, Media))
    assert notice == request_filter.describe([place])


def test_options_are_sent_as_they_were_written() -> None:
    options = {"tools": [{"type": "mcp", "authorization": KEY}]}
    sent = request(user("Hello"), options=options)

    assert RequestFilter().hide_secrets(sent) == ""
    assert sent.options == {"tools": [{"type": "mcp", "authorization": KEY}]}


def test_a_definition_keeps_its_numbers_and_its_form() -> None:
    parameters = {"type": "object", "properties": {"key": {"default": KEY, "maxLength": 20}}}
    plain = ToolSpec("plain", "Plain.", {"type": "object"})
    sent = request(user("Hello"), tools=[plain, ToolSpec("log_in", f"Key: {KEY}", parameters)])
    RequestFilter().hide_secrets(sent)

    assert sent.tools[0] is plain
    assert sent.tools[1].description == "Key: •••"
    assert sent.tools[1].parameters["properties"] == {"key": {"default": "•••", "maxLength": 20}}
    assert parameters["properties"] == {"key": {"default": KEY, "maxLength": 20}}


def test_a_native_form_with_a_key_is_not_sent_and_another_one_as_it_came() -> None:
    whole = Message("assistant", (Text("Fine."),), Native("chat", "a", "m", {"signature": "x"}))
    signed = Message("assistant", (Text("Fine."),), Native("chat", "a", "m", {"text": KEY}))
    sent = request(whole, signed)
    RequestFilter().hide_secrets(sent)

    assert sent.messages[0] is whole
    assert sent.messages[1].native is None
    assert sent.messages[1].text == "Fine."


def test_no_message_is_searched_twice_until_another_key_is_known(monkeypatch: pytest.MonkeyPatch) -> None:
    searched: list[Message] = []
    for_audience = request_filter.for_audience
    monkeypatch.setattr(
        request_filter,
        "for_audience",
        lambda one, *args, **named: searched.append(one) or for_audience(one, *args, **named),
    )
    messages = (user("Hello"), assistant("Good day"), user(f"I use {LATER}"))
    requests = RequestFilter()
    for _ in range(3):
        sent = request(*messages)
        requests.hide_secrets(sent)
    assert len(searched) == 3
    assert all(one is message for one, message in zip(sent.messages, messages, strict=True))

    remember(LATER)
    first, second = request(*messages), request(*messages)
    requests.hide_secrets(first)
    requests.hide_secrets(second)

    assert len(searched) == 6
    assert first.messages[2].text == "I use •••"
    assert first.messages[2] is second.messages[2]  # dialects keep its encoding


def test_a_place_is_named_once_in_a_turn_and_never_for_an_earlier_one() -> None:
    earlier, requests = user(f"Use {KEY}"), RequestFilter()
    sent = request(user("Go on"), history=(earlier,))
    assert requests.hide_secrets(sent) == ""
    assert sent.messages[0].text == "Use •••"

    sent = request(user(KEY))
    assert "The prompt" in requests.hide_secrets(sent)
    again = RequestContext(sent.turn, 2, [user(KEY)])
    assert requests.hide_secrets(again) == ""


def test_nothing_is_searched_while_no_key_is_known(monkeypatch: pytest.MonkeyPatch) -> None:
    known_secrets._known.clear()
    sent = request(user("Hello"))

    monkeypatch.setattr(request_filter, "for_audience", lambda *_, **__: pytest.fail("searched"))
    assert RequestFilter().hide_secrets(sent) == ""


def test_a_turn_says_where_the_key_was_and_its_history_stays_as_it_is() -> None:
    class Asks:
        def on_before_request(self, sent: RequestContext) -> None:
            sent.system = f"The key is {KEY}."

    ran = run(["Fine."], Asks(), history=[user(KEY)])

    assert KEY not in repr(ran.wire.prompts)
    assert ran.turn.history[0].text == KEY
    assert [event.text for event in ran.events if isinstance(event, Notice)] == [
        request_filter.describe(["the system text"])
    ]
