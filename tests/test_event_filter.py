"""What of a log an audience gets while a result may be withheld, and after."""

from __future__ import annotations

from dataclasses import dataclass, field

import pytest

from nbtool.audience import AUDIENCES, OWN, TEXT, Audience
from nbtool.event_filter import EventFilter, filter_events, hidden_calls
from nbtool.events import (
    BY_ERROR,
    CallDecided,
    CallFinished,
    CallProgress,
    CallReady,
    CallStarted,
    Event,
    Notice,
    TextDelta,
    TurnStarted,
)
from nbtool.messages import user

SHARED = tuple(audience for audience in AUDIENCES if audience != "person")
PRINTED = "printed"


def log(*, verdict: str = "withheld", is_old: bool = False) -> list[Event]:
    """Return the log of a guarded call with one inside; `is_old`: without the marks of this version."""
    inner: list[Event] = [
        CallReady("c2", "g", 1, '{"a": "inner"}', inside="" if is_old else "c1"), CallStarted("c2", 1.0, guarded=True),
        CallProgress("c2", PRINTED, guarded=not is_old), CallFinished("c2", "g", 1, "ok", "inner"),
    ]  # fmt: skip
    return [
        CallReady("c1", "f", 1, "{}"), CallStarted("c1", 1.0, guarded=True),
        CallProgress("c1", PRINTED, 0.5, not is_old),
        *([] if is_old else inner), CallDecided("c1", "result", "d", verdict, "button"),  # type: ignore[arg-type]  # one of them
        CallFinished("c1", "f", 1, "ok" if verdict == "released" else "withheld", "said"),
    ]  # fmt: skip


@pytest.mark.parametrize("is_old", [False, True])
@pytest.mark.parametrize("audience", SHARED)
def test_what_goes_with_a_withheld_result_reaches_nobody(audience: Audience, is_old: bool) -> None:
    events = filter_events(log(is_old=is_old), audience)

    assert PRINTED not in repr(events)
    assert "inner" not in repr(events)
    assert [event.fraction for event in events if isinstance(event, CallProgress)] == [0.5]


@pytest.mark.parametrize("audience", SHARED)
def test_what_goes_with_a_released_result_may_be_read(audience: Audience) -> None:
    events = filter_events(log(verdict="released"), audience)

    assert repr(events).count(PRINTED) == 2
    assert "inner" in repr(events)
    assert hidden_calls(log(verdict="released")) == set()


@dataclass
class CallNoted:
    """An event of a call of which the filter knows nothing but its fields."""

    call_id: str = field(metadata=OWN)
    text: str = field(metadata=TEXT)
    count: int = field(default=0, metadata=OWN)


@pytest.mark.parametrize("audience", SHARED)
def test_an_event_of_a_call_that_is_new_has_no_content_inside_a_call_that_may_be_withheld(audience: Audience) -> None:
    only = EventFilter(audience)
    for event in log()[:4]:
        only.feed(event)

    assert only.feed(CallNoted("c2", "inner", 3)) == CallNoted("c2", "", 3)  # type: ignore[type-var]  # a new kind
    assert only.feed(CallNoted("c3", "another", 3)) == CallNoted("c3", "another", 3)  # type: ignore[type-var]  # likewise


def test_a_stream_does_not_know_yet_that_a_result_is_released() -> None:
    stream = EventFilter("log")
    events = [stream.feed(event) for event in log(verdict="released")]

    assert PRINTED not in repr(events)
    assert "said" in repr(events)


def test_calls_that_claim_to_be_inside_each_other_end_the_search() -> None:
    events: list[Event] = [
        CallReady("a", "f", 1, "{}", inside="b"), CallReady("b", "f", 1, "{}", inside="a"),
        CallReady("c", "f", 1, "{}", inside="c"), CallStarted("a", 1.0, guarded=True),
    ]  # fmt: skip

    assert hidden_calls(events) == {"b"}


@pytest.mark.parametrize("audience", ["log", "span"])
def test_a_turn_inside_a_guarded_call_has_no_content_in_logs_and_spans(audience: Audience) -> None:
    stream = EventFilter(audience)
    started = stream.feed(TurnStarted("t", "m", user("private"), 1.0, guarded=True))
    events = [started, stream.feed(TextDelta("private")), stream.feed(Notice("private"))]

    assert stream.has_no_content
    assert all(events)
    assert "private" not in repr(events)


@pytest.mark.parametrize("audience", SHARED)
def test_the_text_of_an_approver_s_error_stays_on_this_machine(audience: Audience) -> None:
    events: list[Event] = [
        CallDecided("c", "run", "d", "denied", BY_ERROR, "private"), Notice("private", topic="wrong_answer"),
        CallFinished("c", "f", 1, "denied", "said", reason="private"),
    ]  # fmt: skip

    assert ("private" in repr(filter_events(events, audience))) is (audience in ("journal", "notebook"))
