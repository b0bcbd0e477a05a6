"""On a worker no call starts before home has said so; what only happened is sent with the next message that matters."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import pytest

from nbtool import Chat, tool
from nbtool.chat.batch.remote import HomeCheck, HomeLink, HomeWriter
from nbtool.chat.batch.remote.home_link import NO_HOME
from nbtool.chat.batch.remote.worker_message import NO, YES, WorkerMessage, read_message
from nbtool.chat.turn import Turn
from nbtool.errors import Cancelled
from nbtool.testing import ScriptedWire, call
from nbtool.threads.loop import wait_for_future

pytestmark = pytest.mark.promise("maps-once")


class Line:
    """A line to a home that says the same to every question; with an empty text it is gone when it is asked."""

    def __init__(self, answer: str) -> None:
        self.answer, self.said = answer, list[WorkerMessage]()

    def connect(self, _: str, receive: Callable[[Mapping[str, str]], None], lose: Callable[[], None]) -> None:
        """Keep where answers go."""
        self.receive, self.lose = receive, lose

    def send(self, texts: Sequence[str]) -> None:
        """Note messages, and answer those that ask."""
        for message in filter(None, map(read_message, texts)):
            self.said.append(message)
            if message.kind == "may_start" and not self.answer:
                self.lose()
            elif message.asking:
                self.receive({message.asking: self.answer})

    def has_home(self) -> bool:
        """Say that somebody is there."""
        return True

    def close(self) -> None:
        """Do nothing."""

    def __copy__(self) -> Line:
        return self


def run_turn(line: Line, ran: list[int], *, free: Sequence[str] = ()) -> Turn:
    """Run a turn with two calls in one round, then a reply if they may run."""

    @tool(run="auto")
    def act(n: int) -> int:
        """Act."""
        ran.append(n)
        return n

    link = HomeLink(line)
    link.open()
    check = HomeCheck(link)
    replies = [[call("act", n=1), call("act", n=2)], *(["done"] if line.answer == YES or free else [])]
    with ScriptedWire(replies) as wire:
        chat = Chat(wire=wire, tools=[act], plugins=[check])
        chat.make_writer = lambda turn: HomeWriter(link, check, "key", turn.turn_id, free)
        turn = chat.start("go")
        wait_for_future(turn.done, 30)
    link.close()
    return turn


@pytest.mark.parametrize("answer", [NO, "", "perhaps"])
def test_a_call_that_home_does_not_allow_does_not_run_and_its_turn_ends_before_the_next_request(answer: str) -> None:
    ran: list[int] = []
    turn = run_turn(Line(answer), ran)

    assert ran == []
    assert [one.status for one in turn.calls] == ["not_run", "not_run"]
    assert not any(one.started for one in turn.calls)
    assert isinstance(turn.error, Cancelled)
    assert NO_HOME in str(turn.error)


def test_a_call_starts_after_home_has_written_that_it_does_and_results_are_sent_at_once() -> None:
    ran: list[int] = []
    line = Line(YES)
    turn = run_turn(line, ran)
    sent = [(one.kind, [event["kind"] for event in one.events]) for one in line.said]

    assert (turn.text, ran) == ("done", [1, 2])
    assert sent[0][0] == "may_start"
    assert sent[0][1][0] == "turn_started"
    assert "call_started" in sent[0][1]
    assert sum("call_finished" in kinds for _, kinds in sent) == 2
    assert sent[-1] == ("done", [])


def test_calls_that_only_read_start_without_asking() -> None:
    ran: list[int] = []
    line = Line(NO)
    turn = run_turn(line, ran, free=["act"])

    assert (turn.text, ran) == ("done", [1, 2])
    assert "may_start" not in [one.kind for one in line.said]
