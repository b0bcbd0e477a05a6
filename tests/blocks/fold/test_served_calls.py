"""The calls of programs as one document: whose they are, how many are shown, and what the page makes of the patches."""

from __future__ import annotations

import json
from typing import Any

import pytest

from nbtool.blocks.fold.served_calls import DROPPED_AT_ONCE, FOR_CLIENT, MAX_SHOWN, NAME_LENGTH, ServedCalls
from nbtool.events import CallDecided, CallFinished, CallStarted, Event, Notice, TextDelta, TurnEnded, TurnStarted
from nbtool.messages import Usage, user
from tests.blocks.fold.test_turn_events import apply_patches, call, end_event, question_event, ready

FAILURE = "A plugin failed."
HISTORY = "%chat -c mcp:agent history"


def begin() -> list[Event]:
    return [TurnStarted("t", "agent", user("agent calls price."), 1.0), *call(), ready()]


def finish(status: Any = "ok") -> list[Event]:
    return [
        CallStarted("call_1", 1.0), CallFinished("call_1", "price", 1, status, "4.2", seconds=0.3),
        TextDelta("The result was returned to agent."), end_event(),
    ]  # fmt: skip


def show(calls: ServedCalls, key: str, *events: Event, client: str = "agent") -> list[Any]:
    calls.add(key, client, HISTORY)
    return [patch for event in events for patch in calls.feed(key, event)]


def shown(calls: ServedCalls) -> list[Any]:
    return list(calls.document()["blocks"])


def test_two_calls_with_the_same_id_are_two_rows_that_say_who_asked_and_the_patches_make_the_document() -> None:
    calls = ServedCalls("served:1")

    patches = [
        *show(calls, "a", *begin(), Notice("Sent with cell [1]", topic="aside"), *finish(), client="one"),
        *show(calls, "b", *begin(), Notice("Nearly out of tokens", "warning"), question_event(), client="two"),
    ]

    rows = shown(calls)
    assert apply_patches(json.loads(json.dumps(patches))) == rows
    assert [(row["id"], row["kind"]) for row in rows] == [
        ("a.call_1", "call"), ("b.call_1", "call"), ("b.n1", "notice"),
    ]  # fmt: skip
    assert [row["facts"].rpartition(" · ")[2] for row in rows[:2]] == ["one", "two"]
    assert rows[1]["question"]["ask"][-1] == FOR_CLIENT.format(client="two")


def test_the_card_is_live_while_a_call_is_under_way_and_saved_as_ended_between_two() -> None:
    calls = ServedCalls("served:1")
    states = [calls.head["status"]]

    show(calls, "a", *begin(), question_event())
    show(calls, "b", *begin())
    states.append(calls.head["status"])
    saved = calls.saved()["head"]["status"]
    for event in (CallDecided("call_1", "run", "d1", "denied", "button"), *finish("denied")):
        calls.feed("a", event)
    states.append(calls.head["status"])
    for event in finish():
        calls.feed("b", event)
    states.append(calls.head["status"])

    assert states == ["parked", "waiting", "running", "parked"]
    assert (saved, calls.saved()["head"]["status"], calls.head["end"]) == ("parked", "completed", "")


@pytest.mark.parametrize("status", ["error", "timeout"])
def test_an_error_outside_of_a_call_is_a_notice_below_it(status: Any) -> None:
    calls = ServedCalls("served:1")

    patches = show(calls, "a", *begin(), TurnEnded(status, "", Usage(), 1, 1, 1.0, error=FAILURE))

    end = shown(calls)[-1]
    assert apply_patches(patches) == shown(calls)
    assert (end["id"], end["level"], end["text"]) == ("a.end", "error", FAILURE)


def test_the_oldest_calls_make_room_an_open_one_stays_and_a_line_says_how_many_are_left_out() -> None:
    calls = ServedCalls("served:1")
    show(calls, "open", *begin(), question_event())
    for number in range(MAX_SHOWN):
        show(calls, f"c{number}", *begin(), *finish())

    note, first, *others = shown(calls)
    assert note["text"] == f"{DROPPED_AT_ONCE} earlier calls are not shown here: `{HISTORY}`"
    assert first["id"] == "open.call_1"
    assert [row["id"] for row in others] == [f"c{number}.call_1" for number in range(DROPPED_AT_ONCE, MAX_SHOWN)]


def test_calls_that_are_all_open_are_all_shown() -> None:
    calls = ServedCalls("served:1")

    for number in range(2 * MAX_SHOWN):
        assert calls.add(f"c{number}", "agent", HISTORY) == []
        for event in begin():
            calls.feed(f"c{number}", event)

    assert len(shown(calls)) == 2 * MAX_SHOWN


def test_the_name_of_a_client_is_one_short_visible_line() -> None:
    calls = ServedCalls("served:1")

    show(calls, "a", *begin(), question_event(), client="a\n\u202eb" + "x" * 100)

    row = shown(calls)[0]
    name = row["facts"].rpartition(" · ")[2]
    assert len(name) <= NAME_LENGTH + len("\\u{202e}")
    assert not {"\n", "\u202e"} & set(name + "".join(row["question"]["ask"]))
