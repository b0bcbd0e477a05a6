"""What the tests of tools share: a bench that writes down its events, and ways to make a call and run it."""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import Coroutine, Iterable
from concurrent.futures import Future
from dataclasses import dataclass, field
from typing import Any, TypeVar

from nbtool.events import Event
from nbtool.ids import new_id
from nbtool.messages import ToolCall
from nbtool.threads.caller_thread import CallerThread
from nbtool.threads.loop import background_loop
from nbtool.tools.calls.call_run import run_call
from nbtool.tools.calls.runtime import ToolRuntime
from nbtool.tools.toolset import Toolset
from nbtool.tools.variables.store import Variables
from nbtool.turn_state import Call, TurnState

T = TypeVar("T")


def ask_for(tool: str, /, **arguments: Any) -> ToolCall:
    text = json.dumps(arguments)
    return ToolCall(tool, text, id=new_id("native"), call_id=new_id("call"), runnable=True)


@dataclass
class ToolHarness:
    """A bench, the notebook behind it, and the events that its calls brought."""

    runtime: ToolRuntime
    notebook: dict[str, Any]
    events: list[Event] = field(default_factory=list)
    has_finished: threading.Event = field(default_factory=threading.Event)
    """Set when the first call has finished."""

    def run(self, *calls: ToolCall) -> Call:
        """Run calls one after another where nobody waits, and give the record of the last."""

        async def work() -> Call:
            for call in calls:
                record = await run_call(call, self.runtime, round=1)
            return record

        return asyncio.run(work())

    def run_lent(self, *calls: ToolCall) -> list[Call]:
        """Run calls at once, with this thread lent to them."""

        async def work() -> list[Call]:
            return list(await asyncio.gather(*(run_call(call, self.runtime, round=1) for call in calls)))

        return self.runtime.caller_thread.run_until(self.submit(work()))

    def submit(self, work: Coroutine[Any, Any, T]) -> Future[T]:
        """Start work with this thread lent to it, as a cell lends its own before a model asks for its first call."""
        self.runtime.caller_thread.attach()
        return background_loop().submit(work)

    def kinds(self) -> list[str]:
        return [event.kind for event in self.events]

    def of(self, kind: str) -> list[Any]:
        return [event for event in self.events if event.kind == kind]


def make_harness(
    *tools: Any, notebook: dict[str, Any] | None = None, expose: Iterable[str] = (), **settings: Any
) -> ToolHarness:
    names = {} if notebook is None else notebook
    variables = Variables(names)
    for name in expose:
        variables.expose(name)
    events: list[Event] = []
    has_finished = threading.Event()

    async def emit(event: Event) -> None:
        events.append(event)
        if event.kind == "call_finished":
            has_finished.set()

    state = TurnState()
    emit_applied = state.recorded(emit)
    runtime = ToolRuntime(
        Toolset("test", tools), variables, emit_applied, state, caller_thread=CallerThread(), **settings
    )
    return ToolHarness(runtime, names, events, has_finished)
