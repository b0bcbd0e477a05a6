from __future__ import annotations

import json
from dataclasses import fields
from typing import Any, get_args, get_type_hints

import pytest

from nbtool.errors import UnreadableEvent
from nbtool.event_json import MAX_DEPTH, dump_event, load_event, load_events
from nbtool.events import (
    CallAsked,
    CallReady,
    Event,
    MessageAppended,
    Notice,
    RepeatedQuestion,
    ReplyFinished,
    UsageDelta,
)
from nbtool.messages import (
    Citation,
    Link,
    Media,
    Message,
    Native,
    ProviderCall,
    Refusal,
    Text,
    Thinking,
    ToolCall,
    ToolResult,
    Usage,
)
from tests.resolved import plain, reference

MESSAGE = Message(
    "assistant",
    (
        Text("Hi"), Thinking("Hm"), Refusal("no"), Media("image/png", b"\xff\xfe\xfb?>"), Media("image/png", url="https://x"),
        ToolCall("f", '{"a": 1}', "id", "call_1", None, True, ("mended",)),
        ToolResult("f", "text", "id", "call_1", True, (Media("audio/wav", b""),)),
        ProviderCall("code", "1", "1"), Citation(Link("https://x", "X"), "so"),
    ),
    Native("chat", "host", "model", {"any": ["thing"]}),
)  # fmt: skip
SAMPLES: dict[str, Any] = {
    "str": "text", "int": 7, "float": 0.5, "bool": True, "Message": MESSAGE, "Usage": Usage(1, 2, 3, 4, 0.5),
    "Message | None": MESSAGE,
    "Media": Media("image/png", b"\x00"),
    "ProviderCall | Citation": ProviderCall("web_search", "rain", "wet", (Link("https://x", "X"),)),
    "RepeatedQuestion | None": RepeatedQuestion("changed", problem="p"),
    "Any": {"a": [1]}, "float | None": 0.25, "tuple[str, ...]": ("a", "b"),
    "tuple[str, ...] | None": ("a", "b"),
    "tuple[Media, ...]": (Media("image/png", b"\x00"),),
    "dict[str, ResolvedArgument]": {"a": reference("df['a']", "list, 2 items"), "b": plain("1")},
    "dict[str, str]": {"a": "b"}, "dict[str, Any]": {"a": {"b": 1}}, "StopReason": "end", "CallStatus": "ok",
    "dict[str, dict[str, Any]]": {"a": {"columns": ["b"], "rows": [[1]]}},
    "TurnStatus": "error", "NoticeTopic": "no_stop_reason", "Gate": "run", "Phase": "tool", "TreeOp": "hide",
}  # fmt: skip


@pytest.mark.parametrize("kind", get_args(Event), ids=lambda kind: kind.__name__)
def test_every_event_comes_back_as_it_was(kind: Any) -> None:
    hints = get_type_hints(kind)
    values = {
        field.name: SAMPLES[str(field.type)] if str(field.type) in SAMPLES else get_args(hints[field.name])[0]
        for field in fields(kind)
    }
    event: Event = kind(**values)

    assert load_event(dump_event(event)) == event
    assert load_event(json.loads(dump_event(event))) == event


def test_what_json_does_not_know_is_written_by_its_type() -> None:
    schema = {"default": object(), "inf": float("inf")}
    event = CallAsked("c", "run", "d", "t", "{}", schema=schema)

    assert json.loads(dump_event(event))["schema"] == {"default": "<object>", "inf": None}


def test_lone_surrogates_do_not_keep_an_event_from_being_written() -> None:
    event = CallReady("c", "f\ud800", 1, "{}", {"a\ud800": plain("b\udfff")}, ("m\ud800",))

    assert load_event(dump_event(event)) == CallReady(
        "c", "f\ufffd", 1, "{}", {"a\ufffd": plain("b\ufffd")}, ("m\ufffd",)
    )


@pytest.mark.parametrize(
    ("data", "why"),
    [
        ("[", "invalid JSON"),
        ("[1]", "object"),
        ('{"kind": "notice"}', "notice.text"),
        ('{"kind": "notice", "text": 3}', "notice.text"),
        ('{"kind": "notice", "text": "a", "level": "loud"}', "notice.level"),
        ('{"kind": "nothing", "text": "a"}', "nothing"),
        ('{"text": "a"}', "kind"),
        ('{"kind": "notice", "text": "\\ud800"}', "invalid JSON"),
        ('{"kind": "turn_ended", "seconds": NaN}', "invalid JSON"),
        ('{"kind": "turn_ended", "seconds": 1e999}', "too large"),
        (b"\xff", "invalid JSON"),
        ("[" * 100_000, "invalid JSON"),
        ({"kind": "notice", "text": object()}, "invalid JSON"),
        ({"kind": "reply_end", "stop_reason": "end", "native": 10**40}, r"integer of 2\*\*63 or more"),
    ],
)
def test_what_is_no_event_is_refused_in_one_line(data: Any, why: str) -> None:
    with pytest.raises(UnreadableEvent, match=why) as refused:
        load_event(data)

    assert "\n" not in str(refused.value)
    assert len(str(refused.value)) < 600


def test_data_deeper_than_anything_that_is_written_is_refused() -> None:
    deep: Any = 1
    for _ in range(MAX_DEPTH + 1):
        deep = [deep]

    with pytest.raises(UnreadableEvent, match="levels deep"):
        load_event({"kind": "reply_end", "stop_reason": "end", "native": deep})


def test_fields_that_are_not_known_are_dropped() -> None:
    event = load_event({"kind": "notice", "text": "a", "__class__": "os.system", "later": {"x": 1}})

    assert event == Notice("a")


def test_of_several_events_the_wrong_one_is_named() -> None:
    with pytest.raises(UnreadableEvent, match="Event 2: "):
        load_events([dump_event(Notice("a")), '{"kind": "no"}'])


def test_several_events_are_read_in_their_order() -> None:
    reply = ReplyFinished(1, MESSAGE, "end", Usage(), True)
    events: list[Event] = [UsageDelta(Usage(1)), MessageAppended(MESSAGE), reply]

    assert load_events(map(dump_event, events)) == events
