from __future__ import annotations

import json
from typing import Any

import pytest

from nbtool.blocks.display_limits import FIELD_LIMIT
from nbtool.blocks.fold.turn_events import Transcript
from nbtool.events import (
    CallAsked,
    CallDecided,
    CallDelta,
    CallFinished,
    CallPending,
    CallProgress,
    CallReady,
    CallStarted,
    ErrorRaised,
    Event,
    MessageAppended,
    Notice,
    RefusalDelta,
    ReplyFinished,
    RequestStarted,
    Retrying,
    TextDelta,
    ThinkingDelta,
    TurnEnded,
    TurnParked,
    TurnStarted,
    UsageDelta,
)
from nbtool.messages import Message, Text, Thinking, ToolCall, Usage, assistant, user
from tests.blocks.turns import fold
from tests.resolved import plain

ARGUMENTS = '{"ticker": "ACME"}'


def blocks(*events: Event) -> list[Any]:
    return list(fold(*events).document()["blocks"])


def call(call_id: str = "call_1") -> list[Event]:
    return [CallDelta("0", name="price", call_id=call_id), CallDelta("0", arguments=ARGUMENTS, call_id=call_id)]


def ready(call_id: str = "call_1") -> CallReady:
    return CallReady(call_id, "price", 1, ARGUMENTS, {"ticker": plain("'ACME'")})


def question_event(call_id: str = "call_1", *, digest: str = "d1") -> CallAsked:
    return CallAsked(call_id, "run", digest, "price", ARGUMENTS, "Latest close.")


def end_event(status: Any = "completed", **values: Any) -> TurnEnded:
    return TurnEnded(status, "", Usage(3, 4), 1, 1, 2.5, **values)


def apply_patches(patches: list[Any]) -> list[Any]:
    """What a page makes of the patches: the same four deeds as in store.ts."""
    made: dict[str, Any] = {}
    for patch in patches:
        match patch["op"]:
            case "open":
                made[patch["block"]["id"]] = dict(patch["block"])
            case "extend":
                made[patch["id"]][patch["field"]] += patch["text"]
            case "update":
                made[patch["id"]].update(patch["set"])
            case _:
                pass
    return list(made.values())


def test_prose_of_one_kind_grows_in_one_block() -> None:
    made = blocks(TextDelta("Hel"), TextDelta("lo"), ThinkingDelta("hm"), TextDelta("!"), RefusalDelta("No."))

    assert [(block["kind"], block["text"], block["refusal"]) for block in made] == [
        ("text", "Hello", False), ("thinking", "hm", False), ("text", "!", False), ("text", "No.", True),
    ]  # fmt: skip
    assert [block["state"] for block in made] == ["whole", "whole", "whole", "open"]


def test_a_delta_costs_a_patch_of_its_own_size_and_never_the_whole_text_again() -> None:
    transcript = fold(TextDelta("x" * 10_000))

    patches = transcript.feed(TextDelta("yes"))

    assert patches == [{"op": "extend", "id": "b0", "field": "text", "text": "yes"}]


def test_the_patches_make_the_document() -> None:
    transcript = Transcript()
    events = [
        TurnStarted("t", "practice:default", user("hi"), 1.0), RequestStarted(1), ThinkingDelta("hm"), TextDelta("So"),
        *call(), ReplyFinished(1, assistant("So"), "tools", Usage(1, 2), True), ready(), question_event(),
        CallDecided("call_1", "run", "d1", "approved", "button"), CallStarted("call_1", 1.0),
        CallProgress("call_1", "half", 0.5), CallFinished("call_1", "price", 1, "ok", "4.2", seconds=0.3),
        RequestStarted(2), TextDelta("It is "), TextDelta("4.2"), Notice("Nearly out of tokens", "warning"),
        end_event(),
    ]  # fmt: skip

    patches = [patch for event in events for patch in transcript.feed(event)]

    assert apply_patches(json.loads(json.dumps(patches))) == transcript.document()["blocks"]


@pytest.mark.parametrize(
    ("events", "state"),
    [
        ([], "writing"),
        ([ready()], "ready"),
        ([ready(), question_event()], "waiting"),
        ([ready(), question_event(), CallDecided("call_1", "run", "d1", "approved", "button")], "ready"),
        ([ready(), question_event(), CallDecided("call_1", "run", "d1", "denied", "button")], "denied"),
        ([ready(), CallStarted("call_1", 1.0)], "running"),
        ([ready(), CallStarted("call_1", 1.0), CallFinished("call_1", "price", 1, "ok", "4.2")], "ok"),
        ([CallFinished("call_1", "price", 1, "not_found", "There is no tool price.")], "not_found"),
        ([ready(), end_event("cancelled")], "not_run"),
        ([ready(), question_event(), end_event("cancelled")], "not_run"),
        ([ready(), question_event(), end_event("parked")], "waiting"),
        ([ready(), CallStarted("call_1", 1.0), end_event("error")], "unknown"),
    ],
)
def test_a_call_is_in_the_state_its_last_event_says(events: list[Event], state: str) -> None:
    (block,) = blocks(*call(), *events)

    assert block["state"] == state


def test_the_head_says_that_a_parked_turn_waits_and_that_it_goes_on() -> None:
    transcript = fold(*call(), ready(), question_event(), TurnParked("d1", 2.0))
    parked = transcript.head["status"]

    transcript.feed(CallDecided("call_1", "run", "d1", "approved", "button"))

    assert (parked, transcript.head["status"]) == ("parked", "running")


def test_a_question_is_shown_until_it_is_decided_and_the_head_says_that_the_turn_waits() -> None:
    transcript = fold(*call(), ready(), question_event())
    waiting = transcript.document()

    transcript.feed(CallDecided("call_1", "run", "d1", "approved", "button", edited=True))
    decided = transcript.document()

    assert waiting["head"]["status"] == "waiting"
    assert waiting["blocks"][0]["question"]["digest"] == "d1"  # type: ignore[typeddict-item,index]
    assert decided["head"]["status"] == "running"
    assert decided["blocks"][0]["question"] is None  # type: ignore[typeddict-item]
    assert decided["blocks"][0]["decisions"][0]["by"] == "button"  # type: ignore[typeddict-item]


def test_the_turn_waits_as_long_as_any_question_is_open() -> None:
    transcript = fold(*call("call_1"), *call("call_2"), question_event("call_1"), question_event("call_2", digest="d2"))

    transcript.feed(CallDecided("call_1", "run", "d1", "denied", "button"))

    assert transcript.head["status"] == "waiting"


def test_a_final_call_delta_replaces_the_arguments_that_came_before() -> None:
    (block,) = blocks(*call(), CallDelta("0", arguments='{"ticker":"GLOB"}', final=True, call_id="call_1"))

    assert block["arguments"] == '{"ticker":"GLOB"}'


def test_calls_of_two_rounds_with_the_same_key_stay_apart() -> None:
    made = blocks(RequestStarted(1), CallDelta("0", name="a"), RequestStarted(2), CallDelta("0", name="b"))

    assert [block["name"] for block in made] == ["a", "b"]


def test_a_reply_that_was_not_streamed_is_folded_from_its_message() -> None:
    message = Message("assistant", (Thinking("hm"), Text("Hello"), ToolCall("price", ARGUMENTS, call_id="call_1")))

    made = blocks(RequestStarted(1), ReplyFinished(1, message, "tools", Usage(), True))

    assert [block["kind"] for block in made] == ["thinking", "text", "call"]
    assert made[1]["state"] == "whole"
    assert made[2]["arguments"] == ARGUMENTS


def test_the_finished_message_decides_its_prose() -> None:
    made = blocks(
        RequestStarted(1), TextDelta("Dear [NAME]"), ReplyFinished(1, assistant("Dear Jo"), "end", Usage(), True)
    )

    assert made[0]["text"] == "Dear Jo"


@pytest.mark.parametrize(
    ("complete", "reason", "state"), [(True, "end", "whole"), (True, "length", "cut"), (False, "end", "cut")]
)
def test_only_the_providers_signal_makes_a_reply_whole(complete: bool, reason: Any, state: str) -> None:
    made = blocks(RequestStarted(1), TextDelta("So"), ReplyFinished(1, assistant("So"), reason, Usage(), complete))

    assert made[0]["state"] == state


def test_prose_that_is_still_open_when_a_turn_is_cancelled_is_marked_as_cut() -> None:
    assert blocks(TextDelta("So"), end_event("cancelled"))[0]["state"] == "cut"


def test_a_text_of_a_call_is_shown_up_to_its_limit_and_the_rest_is_counted() -> None:
    transcript = Transcript()

    patches = [
        patch
        for event in [*call(), *(CallProgress("call_1", "x" * 1000) for _ in range(100))]
        for patch in transcript.feed(event)
    ]

    (block,) = transcript.document()["blocks"]
    assert len(block["progress"]) == FIELD_LIMIT  # type: ignore[typeddict-item]
    assert block["more"] == {"progress": 100_000 - FIELD_LIMIT}  # type: ignore[typeddict-item]
    assert apply_patches(patches) == transcript.document()["blocks"]


def test_a_long_result_is_cut() -> None:
    (block,) = blocks(*call(), CallFinished("call_1", "price", 1, "ok", "y" * 1_000_000))

    assert len(block["result"]) == FIELD_LIMIT
    assert block["more"]["result"] == 1_000_000 - FIELD_LIMIT


def test_control_sequences_of_a_model_or_a_tool_are_dropped() -> None:
    made = blocks(TextDelta("\x1b[2Jhi"), *call(), CallFinished("call_1", "pr\x1b[1mice", 1, "ok", "\x1b]0;t\x07done"))

    assert made[0]["text"] == "hi"
    assert made[1]["result"] == "done"


def test_usage_adds_up_over_the_rounds_and_the_end_decides() -> None:
    transcript = fold(
        RequestStarted(1), ReplyFinished(1, assistant("a"), "end", Usage(10, 1), True),
        RequestStarted(2), UsageDelta(Usage(20, 2)),
    )  # fmt: skip
    running = transcript.head["usage"]["input_tokens"]

    transcript.feed(end_event())

    assert running == 30
    assert transcript.head["usage"]["input_tokens"] == 3


def test_what_happens_between_two_pieces_of_text_is_reported_in_the_head_and_forgotten() -> None:
    transcript = fold(RequestStarted(1), Retrying(1, 2.0, "rate limited"))
    retrying = transcript.head["activity"]
    transcript.feed(CallPending(1200))
    held = transcript.head["activity"]

    transcript.feed(TextDelta("x"))

    assert retrying == "Retrying in 2 s (rate limited)"
    assert held == "Writing a tool call (1,200 characters)"
    assert transcript.head["activity"] == ""


def test_an_error_of_a_request_is_reported_once_and_one_of_a_tool_by_its_own_row() -> None:
    transcript = fold(ErrorRaised("tool", "boom"), ErrorRaised("request", "429"), end_event("error", error="429"))

    assert transcript.head["error"] == "429"
    assert transcript.document()["blocks"] == []


def test_a_plugin_that_failed_is_a_warning_at_the_end() -> None:
    (block,) = blocks(ErrorRaised("hook", "budget: boom"), end_event("completed", error="budget: boom"))

    assert (block["kind"], block["level"], block["text"]) == ("notice", "warning", "budget: boom")


def test_a_plugin_that_ended_the_turn_is_reported_once() -> None:
    transcript = fold(ErrorRaised("hook", "no list"), end_event("error", error="no list", error_phase="hook"))

    assert transcript.document()["blocks"] == []
    assert transcript.head["error"] == "no list"


def test_each_of_several_plugins_that_failed_is_reported() -> None:
    transcript = fold(ErrorRaised("hook", "no list"), ErrorRaised("hook", "boom"), end_event("error", error="Several"))

    assert [block.get("text") for block in transcript.document()["blocks"]] == ["no list", "boom"]
    assert transcript.head["error"] == "Several"


def test_events_that_nobody_needs_to_see_change_nothing() -> None:
    assert Transcript().feed(MessageAppended(user("hi"))) == []


def test_text_is_the_prose_of_the_last_reply() -> None:
    assert fold(RequestStarted(1), TextDelta("a"), RequestStarted(2), TextDelta("b"), ThinkingDelta("x")).text == "b"


def test_a_result_is_shown_whole() -> None:
    transcript = Transcript()
    shown = "4955 rows\n" + "row 4955.1\n" * 200
    transcript.feed(CallFinished("c1", "f", 1, "ok", shown))

    block = transcript.block("c1")
    assert block["kind"] == "call"
    assert block["result"] == shown


def test_every_text_that_is_cut_says_how_much_more_there_was() -> None:
    long = "x" * (FIELD_LIMIT * 2)
    transcript = Transcript()
    feeds: list[Event] = [
        TurnStarted("t", "m", user(long), 1.0),
        CallReady("c1", "f", 1, "{}", {"df": plain(long)}),
        CallFinished("c1", "f", 1, "error", long, long, traceback=long),
        Notice(long),
        ErrorRaised("request", long),
    ]
    for event in feeds:
        transcript.feed(event)
    document = transcript.document()
    block, notice = document["blocks"]
    assert block["kind"] == "call"
    assert notice["kind"] == "notice"

    texts = [
        document["head"]["prompt"], block["resolved"]["df"]["text"], block["reason"], notice["text"],
        document["head"]["error"],
    ]  # fmt: skip
    assert all(text.endswith(" characters more") for text in texts)
    assert block["more"] == {"result": FIELD_LIMIT, "traceback": FIELD_LIMIT}
