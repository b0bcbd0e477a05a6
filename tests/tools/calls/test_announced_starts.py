"""Neighbouring calls that ask nothing: one start announces them, so that the disk is waited for once."""

from __future__ import annotations

from typing import Any

from nbtool import Approved, Chat, Denied, tool
from nbtool.chat.conversation.restore import restore_turn
from nbtool.chat.turn import Turn
from nbtool.events import CallFinished, CallStarted
from nbtool.testing import ScriptedApprover, ScriptedWire, call
from nbtool.turn_state import fold

ran: list[int] = []


@tool(run="auto")
def note(n: int) -> int:
    """Note a number."""
    ran.append(n)
    return n


@tool
def asking(n: int) -> int:
    """Return a number if a person agrees."""
    return n


@tool(run="auto")
async def awaited(n: int) -> int:
    """Note a number on a loop."""
    ran.append(n)
    return n


def play(*calls: Any, approver: ScriptedApprover | None = None) -> Turn:
    ran.clear()
    chat = Chat(wire=ScriptedWire([list(calls), "Done."]), tools=[note, asking, awaited], approver=approver)
    return chat.send("Go.")


def starts_of(turn: Turn) -> list[tuple[int, list[int], bool]]:
    """Return of each start its argument, those of the calls that it announces, and whether it was announced."""
    number = {one.call_id: int(one.resolved["n"].text) for one in turn.calls}
    found = [event for event in turn.log if isinstance(event, CallStarted)]
    return [(number[one.call_id], [number[other] for other in one.announces], one.announced) for one in found]


def test_the_first_start_announces_the_calls_that_only_wait_for_it() -> None:
    turn = play(*(call("note", n=n) for n in range(4)))

    assert starts_of(turn) == [(0, [1, 2, 3], False), (1, [], True), (2, [], True), (3, [], True)]
    assert ran == [0, 1, 2, 3]


def test_a_call_alone_announces_nothing() -> None:
    assert starts_of(play(call("note", n=1))) == [(1, [], False)]


def test_a_call_that_asks_is_announced_by_none_and_announces_those_after_it() -> None:
    calls = [call("note", n=0), call("note", n=1), call("asking", n=2), call("note", n=3), call("note", n=4)]

    turn = play(*calls, approver=ScriptedApprover([Approved()]))

    assert starts_of(turn) == [
        (0, [1], False),
        (1, [], True),
        (2, [3, 4], False),
        (3, [], True),
        (4, [], True),
    ]


def test_a_denied_call_starts_nothing_and_the_calls_after_it_go_on() -> None:
    calls = [call("asking", n=0), call("note", n=1), call("note", n=2)]

    turn = play(*calls, approver=ScriptedApprover([Denied("no")]))

    assert starts_of(turn) == [(1, [2], False), (2, [], True)]
    assert ran == [1, 2]


def test_calls_that_wait_for_none_are_announced_by_none() -> None:
    turn = play(call("awaited", n=0), call("awaited", n=1))

    assert sorted(starts_of(turn)) == [(0, [], False), (1, [], False)]


def test_an_announced_call_that_has_to_be_asked_about_after_all_starts_by_itself() -> None:
    @tool(run="auto")
    def replace_note() -> None:
        """Let the other tool ask."""
        chat.tools.remove("note")
        chat.tools.add(tool(asking, name="note"))

    with ScriptedApprover([Approved({"n": 7})]) as person:
        wire = ScriptedWire([[call("replace_note"), call("note", n=1)], "Done."])
        chat = Chat(wire=wire, tools=[replace_note, note], approver=person)
        turn = chat.send("Go.")

    first, second = (event for event in turn.log if isinstance(event, CallStarted))
    asked = next(at for at, event in enumerate(turn.log) if event.kind == "call_asked")
    assert first.announces == (second.call_id,)
    assert not second.announced
    assert second.edited == '{"n": 7}'
    assert [one.status for one in restore_turn(turn.log[: asked + 1]).calls] == ["ok", "not_run"]


def test_of_an_announced_call_it_is_unknown_after_a_kill_whether_it_started() -> None:
    turn = play(call("note", n=0), call("note", n=1), call("note", n=2))
    first = next(at for at, event in enumerate(turn.log) if isinstance(event, CallStarted))
    on_disk = turn.log[: first + 1]

    restored = restore_turn(on_disk)

    assert [one.status for one in restored.calls] == ["unknown", "unknown", "unknown"]


def test_of_a_call_that_no_start_announced_it_is_known_after_a_kill_that_it_did_not_start() -> None:
    turn = play(call("note", n=0), call("asking", n=1), call("note", n=2), approver=ScriptedApprover([Approved()]))
    first = next(at for at, event in enumerate(turn.log) if isinstance(event, CallStarted))

    restored = restore_turn(turn.log[: first + 1])

    assert [one.status for one in restored.calls] == ["unknown", "not_run", "not_run"]


def test_an_announced_call_of_a_stopped_turn_has_not_run() -> None:
    ran.clear()

    @tool(run="auto")
    def stop_turn() -> None:
        """Stop the turn that makes this call."""
        turns[0].abort()

    chat = Chat(wire=ScriptedWire([[call("stop_turn"), call("note", n=1), call("note", n=2)]]), tools=[stop_turn, note])
    turns = [chat.compose("Go.")]
    turns[0].start().done.result()

    turn = turns[0]
    ends = {event.name: event.status for event in turn.log if isinstance(event, CallFinished)}
    assert ran == []
    assert ends["note"] == "cancelled"
    assert [one.started for one in turn.calls[1:]] == [None, None]
    assert [one.may_have_started for one in turn.calls[1:]] == [False, False]
    assert [one.may_have_started for one in fold(turn.log).calls[1:]] == [False, False]
