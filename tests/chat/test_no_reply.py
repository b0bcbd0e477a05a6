"""A question is never dropped from the history it was asked in, whatever became of its turn."""

from __future__ import annotations

import asyncio
import threading
from typing import Any, get_args

import pytest

from nbtool import Chat
from nbtool.chain.limits import Limits
from nbtool.chat.chat import TurnSettings
from nbtool.chat.prompt_context import NO_REPLY, HistoryMode
from nbtool.errors import AuthenticationFailed
from nbtool.events import TurnStatus
from nbtool.testing import ScriptedWire

ENDS = ("completed", "cancelled", "timeout", "error")


class Holding:
    """Holds the first request of a chat until its turn is stopped or out of time."""

    hook_seconds = None

    def __init__(self) -> None:
        self.reached = threading.Event()
        self.is_spent = False

    async def on_before_request(self, _: object) -> None:
        if not self.is_spent:
            self.is_spent = True
            self.reached.set()
            await asyncio.Event().wait()


def chat_after(status: str, mode: HistoryMode) -> tuple[Chat, ScriptedWire]:
    """Give a chat in which a question got no reply, and the wire of the next one."""
    first: dict[str, Any] = {"completed": "", "error": AuthenticationFailed("The key was refused.")}
    wire = ScriptedWire([*([first[status]] if status in first else []), "An answer."])
    holding = Holding()
    chat = Chat(wire=wire, history=mode, plugins=[] if status in first else [holding])
    turn = chat.start(
        "The first question", settings=TurnSettings(limits=Limits(seconds=0.1 if status == "timeout" else None))
    )
    if status == "cancelled":
        assert holding.reached.wait(240)
        turn.cancel()
    turn.done.result(240)
    assert turn.status == status
    return chat, wire


@pytest.mark.parametrize("mode", get_args(HistoryMode))
@pytest.mark.parametrize("status", ENDS)
def test_a_question_without_a_reply_is_reported_later_with_why_there_was_none(status: str, mode: HistoryMode) -> None:
    chat, wire = chat_after(status, mode)
    chat.send("The second question")

    actual = [(message.role, message.text) for message in wire.prompts[-1].messages]
    before = [] if mode == "none" else [("user", "The first question"), ("assistant", NO_REPLY[status])]
    assert actual == [*before, ("user", "The second question")]


def test_every_way_a_turn_ends_has_its_words() -> None:
    assert set(NO_REPLY) == set(get_args(TurnStatus)) - {"running", "waiting", "parked"}


def test_an_empty_first_reply_is_reported_and_kept_as_the_reason() -> None:
    turn = Chat(wire=ScriptedWire([""])).send("Hi")

    notices = [event for event in turn.log if event.kind == "notice"]
    assert [(event.topic, event.level) for event in notices] == [("empty", "warning")]
    assert (turn.status, turn.end_reason) == ("completed", "empty")
