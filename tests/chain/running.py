"""What the chain's tests share: one turn, run by an engine against a scripted model."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field

from nbtool.chain.cancel_signal import CancelSignal
from nbtool.chain.engine import Engine
from nbtool.chain.hooks import TurnContext
from nbtool.chain.limits import Limits
from nbtool.chain.request import Outcome, ReplySource
from nbtool.chain.usage_meter import Meter
from nbtool.events import Event
from nbtool.messages import Message, user
from nbtool.testing import ScriptedReply, ScriptedWire


@dataclass
class RunResult:
    outcome: Outcome
    wire: ScriptedWire
    turn: TurnContext
    events: list[Event] = field(default_factory=list)

    def of(self, kind: str) -> list[Event]:
        return [event for event in self.events if event.kind == kind]


def run(
    replies: Sequence[ScriptedReply],
    *plugins: object,
    limits: Limits | None = None,
    cancel: CancelSignal | None = None,
    history: Sequence[Message] = (),
    abilities: Sequence[str] = (),
    reply_source: ReplySource | None = None,
    wire: type[ScriptedWire] = ScriptedWire,
) -> RunResult:
    limits = limits or Limits()
    events: list[Event] = []

    async def emit(event: Event) -> None:
        events.append(event)

    async def turn() -> RunResult:
        context = TurnContext(
            "turn_1", user("Hello"), tuple(history), limits, emit, cancel or CancelSignal(), Meter(limits)
        )
        endpoint = wire(replies, abilities=abilities)
        outcome = await Engine(context, endpoint, plugins, reply_source=reply_source).run()
        return RunResult(outcome, endpoint, context, events)

    return asyncio.run(turn())
