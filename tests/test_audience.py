"""What is content and what is not, and the form of content without what is hidden in it."""

from __future__ import annotations

import json
import re

import pytest

from nbtool.audience import for_audience, hide_content, map_content
from nbtool.events import CallReady, Event, ReplyFinished, ResolvedArgument, ResolvedReference, TurnEnded, TurnStarted
from nbtool.messages import Media, Message, Native, Text, ToolCall, ToolResult, Usage


def hide(text: str) -> str:
    return re.sub("private|49301", "…", text)


def test_what_is_of_the_envelope_is_never_hidden_and_all_content_is() -> None:
    native = Native("private", "private", "private", {"private": ["private", 49301, True, None]}, "private")
    call = ToolCall("private", '{"private": 49301}', "private", "private")
    message = Message("assistant", (Text("private"), call), native, "private")
    event = ReplyFinished(49301, message, "end", Usage(49301), complete=True, seconds=49301.0, finish_reason="private")
    hidden = for_audience(event, "journal", hide=hide)

    assert (hidden.round, hidden.seconds, hidden.usage, hidden.finish_reason) == (49301, 49301.0, Usage(49301), "…")
    assert hidden.message.message_id == "private"
    assert hidden.message.parts == (
        Text("…"),
        ToolCall("…", '{"…": "…"}', "private", "private"),
    )
    assert hidden.message.native == Native("private", "private", "…", {"…": ["…", "…", True, None]}, "private")


def test_the_names_of_arguments_are_content() -> None:
    resolved = {"private": ResolvedArgument("private", (ResolvedReference("private", "private", "private"),))}
    event = CallReady("private", "f", 1, "{}", resolved, glances={"private": {"rows": [["private"]]}})
    hidden = for_audience(event, "journal", hide=hide)

    assert hidden.call_id == "private"
    assert hidden.described == {"…": ResolvedArgument("…", (ResolvedReference("…", "…", "…"),))}
    assert hidden.glances == {}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('{"id": "private", "n": 49301}', '{"id": "…", "n": "…"}'),
        ('{"body": "{\\"id\\": \\"pri\\\\u0076ate\\"}"}', '{"body": "{\\"id\\": \\"…\\"}"}'),
        ('["pri\\u0076ate", 1.10]', '["…", 1.1]'),
        ('{"a": "private", "a": 1}', '{"a": "…", "a": 1}'),
        ('{"a": 1.10, "b": [1e400]}', '{"a": 1.10, "b": [1e400]}'),
        ('{"a": "private"', '{"a": "…"'),
        ("[" * 100_000 + "private", "[" * 100_000 + "…"),
    ],
)  # fmt: skip
def test_a_text_that_is_json_stays_json_and_one_without_private_values_stays_as_it_is(text: str, expected: str) -> None:
    assert hide_content(text, hide) == expected


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16", "utf-16-le", "utf-32"])
@pytest.mark.parametrize("mime", ["text/plain", "application/json", "application/octet-stream"])
def test_data_that_is_text_is_searched_whatever_its_type_and_encoding(mime: str, encoding: str) -> None:
    result = ToolResult("f", "t", media=(Media(mime, json.dumps({"id": "private words"}).encode(encoding)),))
    data = for_audience(result, "journal", hide=hide).media[0].data

    assert data
    assert json.loads(data.decode(encoding)) == {"id": "… words"}


def test_the_data_of_a_picture_are_not_searched() -> None:
    picture = Media("image/png", b"\x89PNG private", name="private")

    assert for_audience(picture, "journal", hide=hide) == Media("image/png", b"\x89PNG private", name="…")


def test_what_has_nothing_to_hide_is_the_same_object() -> None:
    events: list[Event] = [
        TurnStarted("t", "m", Message("user", (Text("Hi"),)), 1.0, tools=("f",)),
        TurnEnded("completed", "Hi", Usage(), 1, 0, 1.0),
        CallReady("c", "f", 1, '{"a": 1}'),
    ]

    assert all(for_audience(event, "journal", hide=hide) is event for event in events)
    assert all(for_audience(event, "export") is event for event in events)


def test_content_of_an_event_is_changed_and_its_ids_are_not() -> None:
    event = CallReady("__MASK_1__", "__MASK_1__", 1, '{"to": "__MASK_1__"}')
    restored = map_content(event, lambda text: text.replace("__MASK_1__", "Ada"))

    assert (restored.call_id, restored.name, restored.arguments) == ("__MASK_1__", "Ada", '{"to": "Ada"}')
