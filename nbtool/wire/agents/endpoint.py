"""The endpoint of a turn of an agent, whose conversation lives elsewhere: a round ends with a call of the notebook."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field

from nbtool.errors import AgentStopped, IncompleteReply, LimitReached, Unsupported, WireError
from nbtool.events import CallDelta, Delta, ProviderDelta, ReplyEnd, StreamNotice, UsageDelta
from nbtool.messages import Message, ProviderCall, Text, ToolResult
from nbtool.secret import Secret
from nbtool.text import count_of
from nbtool.wire.agents.agent import DIALECT, AgentEndpoint
from nbtool.wire.agents.agent_host import REPEATED, AgentHost
from nbtool.wire.agents.mapping import STOP_REASONS, prompt_params, read_usage
from nbtool.wire.agents.process import one_line
from nbtool.wire.agents.profiles import LEVEL, PROVIDER
from nbtool.wire.agents.relay import as_arguments
from nbtool.wire.agents.session import AgentSession, Item, PromptEnd, PromptRun, RelayCall
from nbtool.wire.agents.session_record import EarlierSession, SessionRecord
from nbtool.wire.agents.transcript import write_transcript
from nbtool.wire.base import Prompt
from nbtool.wire.transport import traffic

DENY_SECONDS = 0.2
"""Seconds between two looks for questions that nobody waits for."""

QUIET = "{label} has sent nothing for {seconds:g} s. Some agents repeat requests to their model without saying so."
NO_RESULT = "The turn has no result for this call."
NO_MORE = "No more tool calls are possible in this turn: answer the person now."

OPTIONS_FIX = "Leave the options out, or choose a model."


@dataclass(frozen=True, slots=True)
class TurnPlace:
    """The place of a turn for an agent: digests of the turns `before` it, and of those with it (`after`).

    `record` is where the session of the chat is noted for a later kernel.
    """

    before: str
    after: str
    record: SessionRecord = field(default_factory=SessionRecord)


@dataclass(slots=True)
class AgentTurn:
    """The endpoint of one turn of an agent.

    Args:
        withdraw: denies the open questions of the turn, with the reason.
        token_limit: returns the tokens that the turn may still use; None if there is no limit.
    """

    endpoint: AgentEndpoint
    agent: AgentHost
    place: TurnPlace
    withdraw: Callable[[str], None] = field(repr=False)
    token_limit: Callable[[], int | None] = field(default=lambda: None, repr=False)
    dialect: str = DIALECT
    provider: str = PROVIDER
    abilities: frozenset[str] = frozenset()
    _session: AgentSession | None = None
    _run: PromptRun | None = None
    _is_taken: bool = False
    _has_sent: bool = False
    _refused: int = 0
    _deadline: asyncio.TimerHandle | None = None

    @property
    def host(self) -> str:
        """The agent."""
        return self.endpoint.host

    @property
    def model(self) -> str:
        """The name of the agent."""
        return self.endpoint.model

    @property
    def secrets(self) -> list[Secret]:
        """The values that only this agent gets, and the token of its tools."""
        return [*self.endpoint.secrets, *([self._session.relay.token] if self._session else [])]

    async def stream(self, prompt: Prompt) -> AsyncGenerator[Delta, None]:
        """Send a prompt, or the results of its calls, and yield what the agent says until its next call or its end.

        Raises:
            nbtool.errors.WireError: the agent ends, or was ended for what it did.
        """
        if prompt.options:
            names = ", ".join(sorted(prompt.options))
            raise Unsupported(f"{self.host} takes no request options ({one_line(names, 100)}).", fix=OPTIONS_FIX)
        if self._run is None:
            async for notice in self._begin(prompt):
                yield notice
        else:
            self._answer_calls(prompt)
        assert self._run
        async for delta in self._read(self._run, is_final=prompt.is_final):
            yield delta

    async def end(self) -> None:
        """End the turn: its prompt is cancelled if it still runs, and none of its calls waits any longer."""
        self._set_deadline(None)
        session, self._session = self._session, None
        try:
            if session:
                session.on_stop = _ignore
                await session.end_prompt()
                if self._has_sent:
                    session.line = self.place.after
                    self._note(session, session.line)
        finally:
            if self._is_taken:
                self._is_taken = False
                self.agent.release()

    async def _begin(self, prompt: Prompt) -> AsyncGenerator[Delta, None]:
        """Send the last messages of the person, to a session that has seen those before."""
        before, new = split_messages(prompt.messages)
        texts = []
        if self._session is None:
            session, notices = await self._open(prompt)
            for notice in notices:
                yield StreamNotice(notice)
            if session.line != self.place.before and (transcript := write_transcript(before)):
                texts.append(transcript)
                yield StreamNotice(REPEATED.format(label=self.endpoint.profile.label))
            if session.given_system != prompt.system:
                texts.append(_instructions(prompt.system, is_first=not session.given_system))
                session.given_system = prompt.system
        assert self._session
        takes_images = self._session.abilities.takes_images
        params = prompt_params(self._session.session_id, new, texts, takes_images=takes_images)
        self._note(self._session, "")
        self._run, self._has_sent = self._session.begin_prompt(params), True

    async def _open(self, prompt: Prompt) -> tuple[AgentSession, list[str]]:
        """Return the session of the turn, and what is to be said of it."""
        self.agent.take()
        self._is_taken = True
        endpoint = self.endpoint
        session, notices = await self.agent.prepare(
            endpoint.profile, endpoint.command, prompt.tools, self.place.before, self.place.record.read()
        )
        self._session, session.on_stop = session, self._give_up
        return session, notices

    def _note(self, session: AgentSession, line: str) -> None:
        self.place.record.write(EarlierSession(session.profile.name, session.session_id, line))

    def _answer_calls(self, prompt: Prompt) -> None:
        """Hand the results of the last round to the calls that wait for them, with what else is to be said."""
        assert self._run
        _, new = split_messages(prompt.messages)
        found = {result.id: result for message in new for result in message.results}
        notes = [
            part.text for message in new if message.role == "user" for part in message.parts if isinstance(part, Text)
        ]
        waiting = [call for call in self._run.calls.values() if not call.answer.done()]
        for call in waiting:
            result = found.get(call.id) or ToolResult(call.name, NO_RESULT, is_error=True)
            if call is waiting[-1] and notes:
                result = ToolResult(
                    call.name, "\n\n".join([result.text, *notes]), media=result.media, is_error=result.is_error
                )
            traffic.record(self.host, len(result.text.encode()) + sum(len(part.data or b"") for part in result.media))
            call.answer.set_result(result)
        self._run.calls.clear()
        self._set_deadline(None)

    async def _read(self, run: PromptRun, *, is_final: bool) -> AsyncGenerator[Delta, None]:
        """Yield what arrives, until a call of the notebook or the end of the prompt."""
        calls: list[RelayCall] = []
        quiet: float | None = self.agent.limits.quiet
        while True:
            item = await _next_item(run, calls, quiet, self.agent.limits.gather)
            if item is None and not calls:
                yield StreamNotice(QUIET.format(label=self.endpoint.profile.label, seconds=quiet), "warning")
                quiet = None
            elif item is None or isinstance(item, PromptEnd):
                for delta in self._end_of(item) if item else self._round(calls):
                    yield delta
                return
            elif isinstance(item, RelayCall):
                self._take_call(item, calls, is_final=is_final)
            elif isinstance(item, WireError):
                for delta in _shown(run):
                    yield delta
                raise item.changed()
            else:
                yield item
                self._check_tokens()

    def _take_call(self, call: RelayCall, calls: list[RelayCall], *, is_final: bool) -> None:
        """Add a call to the round, unless no more are possible, or the agent does not wait for it any more."""
        if is_final:
            self._refuse(call)
        elif not call.answer.done():
            calls.append(call)

    def _round(self, calls: Sequence[RelayCall]) -> Iterator[Delta]:
        """Yield the calls of a round; their questions are denied before the agent gives up."""
        assert self._session
        self._set_deadline(min(self.endpoint.profile.call_seconds, self.agent.limits.call))
        for number, call in enumerate(calls):
            yield CallDelta(str(number), call.id, call.name, as_arguments(call.arguments))
        yield UsageDelta(self._session.costs.take(read_usage({})))
        yield ReplyEnd("tools", "tool_use")

    def _set_deadline(self, seconds: float | None) -> None:
        """Deny the questions of the turn after some seconds; None: as long as its calls wait, they may be open."""
        if self._deadline:
            self._deadline.cancel()
        reason = f"{self.endpoint.profile.label} does not wait any longer."
        loop = asyncio.get_running_loop()
        self._deadline = None if seconds is None else loop.call_later(seconds, self._give_up, reason)

    def _give_up(self, reason: str) -> None:
        """Deny the questions that are open, and those that the calls of this round ask later: nobody waits for them."""
        self.withdraw(reason)
        self._set_deadline(DENY_SECONDS)

    def _refuse(self, call: RelayCall) -> None:
        """Answer a call of a final reply with the reason why it does not run.

        Raises:
            AgentStopped: the agent goes on calling.
        """
        self._refused += 1
        if not call.answer.done():
            call.answer.set_result(ToolResult(call.name, NO_MORE, is_error=True))
        if self._refused > self.agent.limits.max_refused:
            raise AgentStopped(
                f"{self.endpoint.profile.label} made {count_of(self._refused, 'call')} after it got the answer that no"
                " more are possible, so it was stopped."
            )

    def _check_tokens(self) -> None:
        """Check what the agent says of its context against the tokens that the turn may use.

        Raises:
            LimitReached: it has more.
        """
        limit = self.token_limit()
        used = self._session.costs.context_tokens if self._session else 0
        if limit is not None and used > limit:
            raise LimitReached(f"{self.host} uses {count_of(used, 'token')}, more than the turn may use.")

    def _end_of(self, item: PromptEnd) -> Iterator[Delta]:
        """Yield the end of a prompt: its usage, and why it ended.

        Raises:
            IncompleteReply: the agent ended it without an answer.
        """
        assert self._session
        self._run = None
        yield UsageDelta(self._session.costs.take(read_usage(item.result)))
        reason = str(item.result.get("stopReason", ""))
        if reason not in STOP_REASONS:
            raise IncompleteReply(
                f"{self.endpoint.profile.label} ended its answer by itself ({one_line(reason, 40) or 'no reason'})."
            )
        yield ReplyEnd(STOP_REASONS[reason], reason, native=self._record())

    def _record(self) -> dict[str, object]:
        """Return what the journal has of the session."""
        assert self._session
        session = self._session
        return {
            "agent": self.endpoint.profile.name,
            "about": " ".join(filter(None, (session.abilities.about, session.abilities.version))),
            "protocol": session.abilities.protocol,
            "mode": session.mode,
            "level": LEVEL,
            "session": session.session_id,
        }


async def _next_item(run: PromptRun, calls: list[RelayCall], quiet: float | None, gather: float) -> Item | None:
    """Return what arrives next; None if nothing does for `gather` seconds after a call, or for `quiet` seconds.

    Calls that the agent has given up meanwhile are removed.
    """
    while True:
        is_gathering = bool(calls)
        with suppress(TimeoutError):
            async with asyncio.timeout(gather if is_gathering else quiet):
                return await run.items.get()
        calls[:] = [call for call in calls if not call.answer.done()]
        if calls or not is_gathering:
            return None


def split_messages(messages: Sequence[Message]) -> tuple[Sequence[Message], Sequence[Message]]:
    """Return the messages up to the last one of the model, and those after it, which are new to the agent."""
    last = next((at for at in range(len(messages) - 1, -1, -1) if messages[at].role == "assistant"), -1)
    return messages[: last + 1], messages[last + 1 :]


def _instructions(system: str, *, is_first: bool) -> str:
    """Return the system text as a part of a prompt."""
    if not system:
        return "[nbtool] The instructions before no longer apply."
    heading = "Instructions for this session" if is_first else "The instructions are now these"
    return f"[nbtool] {heading}:\n{system}"


def _shown(run: PromptRun) -> Iterator[Delta]:
    """Yield the change of a file that an agent was stopped for; what else it tried is in the error."""
    what, diffs = run.shown
    if diffs:
        yield ProviderDelta(ProviderCall(what, output=diffs, was_stopped=True))


def _ignore(_: str) -> None:
    """Do nothing: the turn has ended."""
