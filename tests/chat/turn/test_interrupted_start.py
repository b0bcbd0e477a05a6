"""An interrupt anywhere while a turn is started: it is raised to the caller, and nobody waits for that turn forever."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from types import FrameType
from typing import Any

import pytest

from nbtool import Chat
from nbtool.chat.turn.turn import Turn
from nbtool.testing import ScriptedWire

WAIT_SECONDS = 20
STEPS = 200
"""More steps than a start has."""


class Interrupter:
    """Raises an interrupt at one bytecode instruction of `Turn.start`, the first time that it runs."""

    def __init__(self, at: int) -> None:
        self.at, self.count, self.turns = at, 0, list[Turn]()

    def trace(self, frame: FrameType, event: str, _: Any) -> Any:
        if frame.f_code is not Turn.start.__code__ or self.count > self.at:
            return None
        frame.f_trace_opcodes = True
        if event == "call":
            self.turns.append(frame.f_locals["self"])
            sys.settrace(
                self.trace
            )  # Python 3.12 looks at f_trace_opcodes then: github.com/python/cpython/issues/103615
        if event == "opcode":
            self.count += 1
            if self.count > self.at:
                raise KeyboardInterrupt
        return self.trace


@contextmanager
def tracing(interrupter: Interrupter) -> Iterator[None]:
    before = sys.gettrace()
    sys.settrace(interrupter.trace)
    try:
        yield
    finally:
        sys.settrace(before)


def test_an_interrupt_at_any_instruction_of_the_start_ends_the_turn() -> None:
    for at in range(STEPS):
        interrupter = Interrupter(at)
        with suppress(KeyboardInterrupt), ScriptedWire(["One."]) as wire, tracing(interrupter):
            Chat(wire=wire).send("Go")
        if interrupter.count <= at:
            break
        assert interrupter.turns[0].done.result(WAIT_SECONDS) is interrupter.turns[0], at
    else:
        pytest.fail("The start has more steps than are interrupted.")
    assert at > 15
