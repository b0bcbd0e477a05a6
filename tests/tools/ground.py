"""What the machine of the gates stands on: a real desk, tools that write down what they do, and clicks.

What was shown is written down in words of its own when it is shown: nothing of nbtool's digests is in it.
"""

from __future__ import annotations

import asyncio
import json
import threading
from concurrent.futures import Future
from contextvars import ContextVar
from dataclasses import dataclass, field, replace
from typing import Any

import pytest
from hypothesis.stateful import RuleBasedStateMachine

from nbtool.chat.journal import Journal, TurnWriter
from nbtool.errors import ApprovalError
from nbtool.events import Event
from nbtool.messages import ToolCall
from nbtool.tools import Approved, Released, tool
from nbtool.tools.approval import Question, ResultMode, RunMode, RunPolicy, Undecided
from nbtool.tools.calls.call_run import run_call
from nbtool.tools.calls.runtime import ToolRuntime, current_call
from nbtool.tools.toolset import Toolset
from nbtool.tools.variables.store import Variables
from nbtool.turn_state import Call, TurnState

SECONDS = 30
ASKS = ("act", "once", "pay", "guarded")
"""Tools that ask before they run; `free` and `secret` do not."""
RUN: dict[str, RunMode] = {"once": "ask_once", "free": "auto", "secret": "auto"}
"""How a tool asks, where it does not ask always."""


@dataclass(frozen=True)
class Effect:
    """What a call does, in the machine's own words: nothing of nbtool's digests is in it."""

    tool: str
    version: int
    n: int
    objects: str
    arguments: dict[str, Any] = field(default_factory=dict, compare=False)


@dataclass
class PendingCall:
    """A call that was made: what ran of it, and what was allowed."""

    call: ToolCall
    task: asyncio.Task[Call]
    shown: dict[str, Effect] = field(default_factory=dict)
    allowed: list[Effect] = field(default_factory=list)
    ran: list[Effect] = field(default_factory=list)


@dataclass
class State:
    """What a tool works with, and what can be changed in place."""

    version: int


def words_of(it: Any) -> str:
    """Say which object this is and what is in it; a text is only what it says."""
    return json.dumps(it if isinstance(it, str) else [id(it), it])


CURRENT: ContextVar[GateMachine] = ContextVar("ground")
"""Where the tools write down what they do: a context variable, which is no part of what a tool is."""


class GateMachine(RuleBasedStateMachine):
    """Calls that wait at a desk, and what is known of them."""

    def __init__(self) -> None:
        super().__init__()
        CURRENT.set(self)
        self.loop = asyncio.new_event_loop()
        self.moved = asyncio.Event()
        self.notebook: dict[str, Any] = {"x": [1], "y": {"a": 1}}
        self.former: list[Any] = []
        self.versions = dict.fromkeys((*ASKS, "free", "secret"), 1)
        self.states: dict[str, State] = {}
        self.made: dict[str, PendingCall] = {}
        self.seen: dict[str, Question] = {}
        self.decided: set[str] = set()
        self.remembered: dict[str, tuple[str, Any]] = {}
        self.events: list[Event] = []
        self.withheld: list[str] = []
        self.secrets = 0
        self.journal = Journal(None)
        writer = TurnWriter(self.journal, "chat", "turn")

        async def emit(event: Event) -> None:
            await writer.write(event)
            self.events.append(event)

        self.variables = Variables(self.notebook)
        self.variables.expose("x")
        self.variables.expose("y")
        self.tools = Toolset("gates", [self.make(name) for name in self.versions])
        state = TurnState()
        self.runtime = ToolRuntime(
            self.tools, self.variables, state.recorded(emit), state, approver=lambda _: Undecided()
        )
        self.runtime.approvals.add_listener(self.received)

    # --- the tools -------------------------------------------------------------------------------------------------

    def make(self, name: str) -> Any:
        """Define a tool anew: its code differs from that of its former self by its version."""
        state = self.states[name] = State(self.versions[name])

        def act(n: int, it: Any = None) -> str:
            """Write down what is done."""
            ground = CURRENT.get()
            ground.made[current_call().call_id].ran.append(Effect(name, state.version, n, words_of(it)))
            ground.secrets += 1
            return f"SECRET{ground.secrets}."

        def policy(arguments: Any) -> RunMode:
            arguments["n"] = 99  # a copy: it changes nothing
            return RUN.get(name, "ask_always")

        run: RunPolicy = policy if name in ("act", "once") else RUN.get(name, "ask_always")
        gate: ResultMode = "always" if name in ("secret", "guarded") else "never"
        return tool(act, name=name, run=run, result=gate, sensitive=name == "pay")

    def effect(self, name: str, arguments: Any) -> Effect:
        """Say what a call with these arguments would do now."""
        said = arguments.get("it")
        it = self.notebook[said[len("$VAR_REF{{") : -2]] if isinstance(said, str) and "$VAR_REF" in said else said
        return Effect(name, self.versions[name], arguments["n"], words_of(it), arguments)

    # --- waiting for signals ---------------------------------------------------------------------------------------

    def received(self, change: Any) -> None:
        question = change.question
        if change.kind == "asked":
            self.seen[question.digest] = replace(question, arguments=dict(question.arguments))
            if question.gate == "run":
                self.made[question.call_id].shown[question.digest] = self.effect(question.tool, question.arguments)
        self.loop.call_soon_threadsafe(self.moved.set)

    def settle(self) -> None:
        """Go on until every call has ended or waits for a person."""

        async def work() -> None:
            async with asyncio.timeout(SECONDS):
                while not all(made.task.done() or self.waits(made) for made in self.made.values()):
                    self.moved.clear()
                    if not all(made.task.done() or self.waits(made) for made in self.made.values()):
                        await self.moved.wait()

        self.loop.run_until_complete(work())
        self.learn()

    def waits(self, made: PendingCall) -> bool:
        return any(question.call_id == made.call.call_id for question in self.runtime.approvals.pending())

    # --- steps that the rules share --------------------------------------------------------------------------------

    def open(self) -> list[str]:
        return [question.digest for question in self.runtime.approvals.pending()]

    def closed(self) -> list[str]:
        return [digest for digest in self.seen if digest not in self.open()]

    def pick(self, which: int) -> str:
        return self.open()[which % len(self.open())]

    def click(self, digest: str, decision: Any, *, by: str, start: threading.Barrier) -> Future[None]:
        """Decide on a thread of its own, as a second page does."""
        done: Future[None] = Future()

        def work() -> None:
            start.wait(SECONDS)
            try:
                self.runtime.approvals.decide(digest, decision, by=by)
            except ApprovalError as error:
                done.set_exception(error)
            else:
                done.set_result(None)

        threading.Thread(target=work, daemon=True).start()
        return done

    def say_yes(self, digest: str, approved: Approved, text: str | None = None) -> None:
        question = self.seen[digest]
        if question.gate == "result":
            self.runtime.approvals.decide(digest, Released(text))
            self.withheld += [question.shown] if text is not None else []
        elif approved.remember and not question.can_remember:
            with pytest.raises(ApprovalError):
                self.runtime.approvals.decide(digest, approved)
            return
        else:
            self.allow(question, approved)
            self.runtime.approvals.decide(digest, approved)
        self.decided.add(digest)
        self.settle()

    def allow(self, question: Question, approved: Approved) -> None:
        """Write down what an approval allows: what was shown, or asked for in its place, if it is still the same.

        What has changed is asked about again, where no remembered approval covers it.
        """
        if question.gate != "run":
            return
        made = self.made[question.call_id]
        shown = made.shown[question.digest]
        is_edited = approved.arguments is not None
        now = self.effect(question.tool, approved.arguments if is_edited else question.arguments)
        is_same = now.version == shown.version if is_edited else now == shown
        if is_same or self.is_remembered(now.tool, now):
            made.allowed.append(now)

    def learn(self) -> None:
        """Write down, in the machine's own words, which approvals are remembered now."""
        known = {entry.approval_id: entry for entry in self.runtime.approvals.remembered()}
        for approval_id, entry in known.items():
            if approval_id not in self.remembered:
                arguments = json.loads(entry.shown)
                what = self.effect(entry.tool, arguments)
                self.remembered[approval_id] = (entry.scope, what)
                self.allow_covered()

    def allow_covered(self) -> None:
        """Write down that an approval which is remembered now allows the calls that wait and that it covers."""
        for question in self.seen.values():
            if question.gate == "run" and question.digest not in self.decided:
                now = self.effect(question.tool, question.arguments)
                if self.is_remembered(question.tool, now):
                    self.made[question.call_id].allowed.append(now)

    def begin(self, call: ToolCall) -> None:
        before = self.effect(call.name, call.args)
        task = self.loop.create_task(run_call(call, self.runtime, round=1))
        task.add_done_callback(lambda _: self.moved.set())
        self.made[call.call_id] = PendingCall(call, task)
        if call.name not in ASKS or self.is_remembered(call.name, before):
            self.made[call.call_id].allowed.append(before)

    def is_remembered(self, name: str, effect: Effect) -> bool:
        return name != "pay" and any(
            (what.tool, what.version) == (name, effect.version) if scope == "tool" else what == effect
            for scope, what in self.remembered.values()
        )
