"""Rounds that repeat their calls: a poll, a denial and new results do not end a turn; a loop does."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import count
from typing import Any

import pandas as pd
import pytest

from nbtool import Chat, Denied, tool
from nbtool.chain.limits import Limits
from nbtool.chat.batch.earlier_maps.earlier_turns import has_more_room
from nbtool.chat.chat import TurnSettings
from nbtool.chat.turn import Turn
from nbtool.errors import BadUsage
from nbtool.testing import ScriptedReply, ScriptedWire, call
from nbtool.tools.calls.repeats import WAIT_SECONDS, can_repeat, count_repeats, is_repeated
from nbtool.turn_state import Call


@tool(run="auto")
def job_status(job: str) -> str:
    "State of a job."
    return f"{job} is running"


@tool(run="auto")
def wait(seconds: float) -> str:
    "Wait."
    return f"waited {seconds} s"


@tool
def remove(path: str) -> str:
    "Remove a file."
    return path


POLL = call("job_status", job="a")
WAIT = call("wait", seconds=1)


def run(replies: Sequence[ScriptedReply], *tools: Any, text: str = "Done.", **settings: Any) -> Turn:
    """Run a turn whose model calls tools and then answers."""
    with ScriptedWire([*replies, text]) as wire:
        return Chat(wire=wire, tools=tools or [job_status, wait], **{"max_rounds": 50, **settings}).send("Go.")


@pytest.mark.parametrize(
    "replies",
    [[POLL, WAIT] * 6, [POLL, call("job_status", job="b")] * 6, [POLL, POLL, WAIT] * 4, [POLL, [POLL, WAIT]] * 6],
    ids=["waits", "another job", "two and a wait", "with and without a wait"],
)
def test_equal_calls_with_others_between_them_are_no_loop(replies: list[ScriptedReply]) -> None:
    turn = run(replies)

    assert (turn.text, turn.end_reason, turn.notices) == ("Done.", "", ())
    assert turn.stats.rounds == len(replies) + 1


@pytest.mark.promise("bounded")
@pytest.mark.parametrize("batch", [POLL, [POLL, WAIT]], ids=["one call", "two calls"])
@pytest.mark.parametrize("before", [[], [WAIT, WAIT], [POLL, WAIT]])
def test_equal_calls_with_equal_results_in_a_row_end_the_turn_and_the_notice_names_them(
    batch: ScriptedReply, before: list[ScriptedReply]
) -> None:
    turn = run([*before, batch, batch, batch])

    (notice,) = turn.notices
    assert (turn.end_reason, turn.text, turn.stats.rounds) == ("repetition", "Done.", len(before) + 4)
    assert "`job_status`" in notice.text
    assert "3 times" in notice.text
    assert "max_repeats" in notice.text


def test_denied_calls_do_not_end_the_turn() -> None:
    turn = run([call("remove", path="a")] * 6, remove, approver=lambda _: Denied("Not now."))

    assert [record.status for record in turn.calls] == ["denied"] * 6
    assert (turn.text, turn.end_reason) == ("Done.", "")


def test_withheld_results_do_not_end_the_turn() -> None:
    @tool(run="auto", result="always")
    def salary(name: str) -> int:
        "A salary."
        return len(name)

    turn = run([call("salary", name="Ada")] * 5, salary)

    assert {record.status for record in turn.calls} == {"withheld"}
    assert turn.end_reason == ""


def test_failed_calls_that_are_repeated_end_the_turn() -> None:
    turn = run([call("no_such_tool", path="a")] * 3)

    assert turn.end_reason == "repetition"


def test_a_new_result_of_the_same_call_is_progress() -> None:
    numbers = count()

    @tool(run="auto")
    def step() -> int:
        "Step."
        return next(numbers) // 2

    assert run([call("step")] * 9, step).end_reason == ""


def test_results_that_the_model_has_by_reference_only_are_compared_by_their_content() -> None:
    numbers = count()

    @tool(run="auto", result="reference")
    def next_rows() -> pd.DataFrame:
        "The next rows."
        return pd.DataFrame({"row": [next(numbers)]})

    @tool(run="auto", result="reference")
    def first_rows() -> pd.DataFrame:
        "The first rows."
        return pd.DataFrame({"row": [0]})

    assert run([call("next_rows")] * 6, next_rows).end_reason == ""
    assert run([call("first_rows")] * 3, first_rows).end_reason == "repetition"


@pytest.mark.parametrize(("seconds", "counts"), [(0.01, True), (WAIT_SECONDS, False), (30.0, False)])
def test_a_call_that_waited_itself_does_not_count(seconds: float, counts: bool) -> None:
    record = Call("call_1", "wait_for", "{}", 1, status="ok", shown="running", started=100.0, seconds=seconds)

    assert can_repeat([record]) is counts
    assert is_repeated([record], [record]) is counts
    assert count_repeats([replace(record, round=n) for n in (1, 2, 3)]) == 3 * counts


@pytest.mark.parametrize(("limit", "reason"), [(2, "repetition"), (6, "repetition"), (7, ""), (None, "")])
def test_the_limit_of_repeats_is_a_setting(limit: int | None, reason: str) -> None:
    replies = [POLL] * min(limit or 6, 6)

    assert run(replies, max_repeats=limit).end_reason == reason
    assert Chat(max_repeats=limit).limits == Limits(max_repeats=limit)


@pytest.mark.parametrize("value", [1, 0, True, 2.5, "3"])
def test_another_limit_of_repeats_is_refused(value: Any) -> None:
    with pytest.raises(BadUsage, match="max_repeats"):
        Limits(max_repeats=value)


@pytest.mark.parametrize(
    ("settings", "replies", "advice"),
    [
        ({}, [POLL] * 4, "send another prompt, or run the cell again with a larger `--set max_repeats=NUMBER`"),
        ({"max_rounds": 3}, [POLL, WAIT, POLL], "or run the cell again with a larger `--set max_rounds=NUMBER`"),
        ({"max_calls": 1}, [POLL, POLL], "or run the cell again with a larger `--set max_calls=NUMBER`"),
        ({}, [POLL, "", POLL], "send another prompt."),
    ],
)
def test_a_call_in_a_final_reply_names_the_setting_of_the_limit_that_was_reached(
    settings: dict[str, int], replies: list[ScriptedReply], advice: str
) -> None:
    last = [] if "max_rounds" in settings else ["Done."]
    with ScriptedWire([*replies, *last]) as wire:
        turn = Chat(wire=wire, tools=[job_status, wait], **settings).send("Go.")

    assert any(advice in notice.text for notice in turn.notices)


def test_the_rounds_of_an_earlier_version_do_not_count() -> None:
    with ScriptedWire([*[POLL] * 5, "Done.", POLL, "Again."]) as wire:
        chat = Chat(wire=wire, tools=[job_status], max_repeats=6)
        first = chat.send("Go.")
        chat.limits = Limits()
        again = chat.rerun(first, from_round=5)

    assert (first.end_reason, again.end_reason, again.text) == ("", "", "Again.")


def test_the_repeats_of_an_earlier_turn_are_counted_from_its_record() -> None:
    turn = run([WAIT, POLL, POLL, POLL])

    assert count_repeats(turn.calls) == 3
    assert count_repeats([]) == 0
    assert not has_more_room(turn, Limits())
    assert has_more_room(turn, Limits(max_repeats=4))
    assert has_more_room(turn, Limits(max_repeats=None))


def test_the_limit_can_be_set_for_one_turn() -> None:
    with ScriptedWire([*[POLL] * 5, "Done."]) as wire:
        settings = TurnSettings(limits=Limits(max_repeats=6))
        turn = Chat(wire=wire, tools=[job_status]).send("Go.", settings=settings)

    assert turn.end_reason == ""
