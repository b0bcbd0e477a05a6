"""At home: the turns that run on workers. They are written to the journal here, and only here it is said what starts.

A prompt belongs to the run that was last allowed to send it. No call of another run starts: its worker was taken for
lost. What such a run still does is written all the same, and its answer is taken if no other one has come.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection, Coroutine, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

from pydantic_core import to_json

from nbtool.chat.batch.answers import Answer, AnswerPort
from nbtool.chat.batch.prompts import PromptItem
from nbtool.chat.batch.remote.engine import WorkerEngine
from nbtool.chat.batch.remote.home_budgets import HomeBudgets
from nbtool.chat.batch.remote.home_link import NO_HOME
from nbtool.chat.batch.remote.home_questions import NO_DECISION, HomeQuestions
from nbtool.chat.batch.remote.lost_worker import lost_before_calls
from nbtool.chat.batch.remote.packed_error import pack_error, unpack_error
from nbtool.chat.batch.remote.shared_rates import HomeRates
from nbtool.chat.batch.remote.worker_message import CLOSED, NO, STOP, YES, WorkerMessage, WorkerPlace, read_message
from nbtool.chat.conversation import restore
from nbtool.chat.journal import TurnWriter, journal, redactor_for
from nbtool.chat.turn import Turn
from nbtool.errors import Cancelled, NbtoolError, UnreadableEvent
from nbtool.events import (
    CallReady,
    CallStarted,
    Event,
    TextDelta,
    ThinkingDelta,
    TurnStarted,
)
from nbtool.threads.loop import background_loop

CLOSE_SECONDS = 2.0
"""Seconds that the end of a map waits for answers on their way: those to a worker that was lost may take long."""

Prompts = Sequence[tuple[PromptItem, str]]


@dataclass(slots=True)
class _RemoteTurn:
    """A turn on a worker, as far as its events have arrived."""

    writer: TurnWriter
    log: list[Event] = field(default_factory=list)

    @property
    def has_started(self) -> bool:
        """Whether its start has arrived."""
        return any(isinstance(event, TurnStarted) for event in self.log)

    def restore(self) -> Turn | None:
        """Return the turn; None if its start has not arrived."""
        return restore.restore_turn(self.log) if self.has_started else None


@dataclass(slots=True)
class SentPrompt:
    """A prompt that was handed over, with its turns; `run` is the one that may go on with it.

    It `has_acted` once a call of it was allowed to start.
    """

    item: PromptItem
    key: str
    chunk_id: str
    run: str = ""
    has_acted: bool = False
    is_answered: bool = False
    turns: dict[str, _RemoteTurn] = field(default_factory=dict)
    names: dict[str, str] = field(default_factory=dict)

    def versions(self) -> list[Turn]:
        """Return the last turn that started and those of its worker that it continues, the latest first."""
        turns = {turn_id: turn for turn_id, entry in self.turns.items() if (turn := entry.restore())}
        versions = []
        latest = next(reversed(turns.values()), None)
        while latest:
            versions.append(latest)
            latest = turns.pop(latest.state.began.told_from, None) if latest.state.began else None
        return versions


class HomeTurns:
    """What the workers of one map do; its methods run on nbtool's background loop, but for `receive`.

    `read` returns the value of a turn. Calls of the `free_tools` have no effects, and start without being asked about.
    """

    def __init__(  # noqa: PLR0913 - who decides what
        self,
        engine: WorkerEngine,
        read: Callable[[Turn], Any],
        rates: HomeRates,
        *,
        questions: HomeQuestions | None = None,
        budgets: HomeBudgets | None = None,
        plugins: Sequence[object] = (),
        free_tools: Collection[str] = (),
    ) -> None:
        self._engine, self._read, self._rates = engine, read, rates
        self._questions, self._plugins, self._free_tools = questions, plugins, free_tools
        self._budgets = budgets
        self._tasks: set[asyncio.Task[None]] = set()
        self._asks: dict[str, asyncio.Task[None]] = {}
        self._chat_id = ""
        self._port: AnswerPort | None = None
        self._prompts: dict[str, SentPrompt] = {}
        self._chunks: dict[str, Sequence[SentPrompt]] = {}
        self._places: dict[str, WorkerPlace] = {}
        self._is_stopped = False
        self._writes: set[asyncio.Future[None]] = set()
        self._replies: dict[WorkerPlace, dict[str, str]] = {}
        self._replying: dict[WorkerPlace, asyncio.Task[None]] = {}

    def open(self, chat_id: str, port: AnswerPort) -> None:
        """Begin to take what workers say; their turns are journalled under this chat."""
        self._chat_id, self._port = chat_id, port
        if self._budgets:
            self._budgets.caller_thread = port.caller_thread
        if self._questions:
            self._questions.open(port.caller_thread)

    async def close(self) -> None:
        """Take nothing more, once what was said is written and answered."""
        if self._questions:
            await self._questions.close()
        self._cancel_asks()
        await self._settle()
        self._port, self._chunks = None, {}
        for place in self._places.values():  # of runs that were given up
            self._reply(place, STOP, CLOSED)
        if self._replying:
            await asyncio.wait(self._replying.values(), timeout=CLOSE_SECONDS)

    def stop(self) -> None:
        """Let no more calls start, and have the workers stop their prompts."""
        self._is_stopped = True
        self._cancel_asks()
        for place in self._places.values():
            self._reply(place, STOP, "")

    def receive(self, texts: Sequence[str], place: WorkerPlace) -> None:
        """Take messages of a worker, on a thread of its engine."""
        messages = [message for text in texts if (message := read_message(text))]
        with suppress(RuntimeError):  # the loop is at its end, with this process
            background_loop().call_soon(lambda: self._take_all(messages, place))

    def add_chunk(self, chunk_id: str, prompts: Prompts) -> None:
        """Allow the prompts of a chunk to be sent."""
        sent = [SentPrompt(prompt, key, chunk_id) for prompt, key in prompts]
        self._chunks[chunk_id] = sent
        self._prompts |= {sent_prompt.key: sent_prompt for sent_prompt in sent}

    async def end_chunk(self, chunk_id: str) -> list[SentPrompt]:
        """Let nothing of a chunk start any more; return its prompts without an answer."""
        sent = self._chunks.pop(chunk_id, ())
        for sent_prompt in sent:
            self._end_turns(sent_prompt)
            self._stop_run(sent_prompt.run)
        await self._settle()
        return [sent_prompt for sent_prompt in sent if not sent_prompt.is_answered]

    async def _settle(self) -> None:
        while waits := {*self._writes, *self._tasks}:
            await asyncio.wait(waits)

    def _cancel_asks(self) -> None:
        """Ask nobody any more whether a budget is raised, and let no request wait."""
        for task in self._asks.values():
            task.cancel()
        self._rates.end_all()

    def _take_all(self, messages: Sequence[WorkerMessage], place: WorkerPlace) -> None:
        for message in messages:
            self._take(message, place)

    def _take(self, message: WorkerMessage, place: WorkerPlace) -> None:
        match message.kind:
            case "begin":
                self._reply(place, message.asking, to_json(self._begin(message, place)).decode())
            case "wait" | "rates":
                self._take_rates(message, place)
            case "done":
                self._end_run(message.run)
                self._reply(place, message.asking, YES)
            case "ask" | "withdraw":
                self._take_question(message, place)
            case "used":
                if self._budgets:
                    self._begin_task(self._budgets.count(message.turn_id, message.text))
            case "event" | "may_start" | "may_send" | "answer":
                self._take_events(message, place)

    def _take_question(self, message: WorkerMessage, place: WorkerPlace) -> None:
        if self._questions is None or self._port is None:
            self._reply(place, message.asking, NO_DECISION)
        elif message.kind == "ask":
            reply = partial(self._reply, place, message.asking)
            self._questions.ask(message.asking, message.text, message.run, reply)
        else:
            self._questions.withdraw(message.asking)

    def _begin(self, message: WorkerMessage, place: WorkerPlace) -> list[str]:
        """Give a run the prompts of its chunk, but for those that have an answer, or a call that was allowed to start.

        The run that had them before was lost: else the engine would not have begun another one.
        """
        if self._is_stopped or message.text not in self._chunks:
            return []
        given = [chunk for chunk in self._chunks[message.text] if not (chunk.is_answered or chunk.has_acted)]
        for sent_prompt in given:
            self._end_turns(sent_prompt)
            self._end_run(sent_prompt.run)
            sent_prompt.run = message.run
        self._places[message.run] = place
        return [sent_prompt.key for sent_prompt in given]

    def _end_run(self, run: str) -> None:
        """Send nothing more of a run."""
        self._places.pop(run, None)
        self._stop_run(run)

    def _stop_run(self, run: str) -> None:
        self._rates.end(run)
        if self._questions:
            self._questions.end(run)

    def _take_rates(self, message: WorkerMessage, place: WorkerPlace) -> None:
        """Answer when a request may be sent: none of a run that was stopped or given up."""
        if message.kind == "rates":
            self._rates.note(message.run, message.text)
        elif message.run in self._places and not self._is_stopped:
            self._rates.ask(message.run, message.text, partial(self._reply, place, message.asking))
        else:
            self._reply(place, message.asking, NO)

    def _take_events(self, message: WorkerMessage, place: WorkerPlace) -> None:
        prompt = self._prompts.get(message.key)
        if prompt is None or prompt.is_answered or self._port is None:
            if message.asking:  # nothing more of this prompt is sent
                self._reply(place, message.asking, NO if message.kind != "may_send" else _pack(Cancelled(NO_HOME)))
            return
        try:
            events = message.load_events()
        except NbtoolError as error:
            self._end_message(message, place, prompt, error)
            return
        may_start = not self._is_stopped and message.run == prompt.run and prompt.chunk_id in self._chunks
        if message.kind == "may_start" and not may_start:
            events = [event for event in events if not isinstance(event, CallStarted)]
        self._write(message, place, prompt, events, may_start=may_start)

    def _write(
        self, message: WorkerMessage, place: WorkerPlace, prompt: SentPrompt, events: list[Event], *, may_start: bool
    ) -> None:
        """Write events to the journal; what waits for them goes on once they are there."""
        turn = prompt.turns.get(message.turn_id)
        if turn is None:
            hide = redactor_for(self._plugins, message.turn_id)
            turn = _RemoteTurn(TurnWriter(journal(), self._chat_id, message.turn_id, hide=hide))
            prompt.turns[message.turn_id] = turn
        turn.log += events
        prompt.names |= {event.call_id: event.name for event in events if isinstance(event, CallReady)}
        started = [event for event in events if isinstance(event, CallStarted)]
        acted = [event for event in started if prompt.names.get(event.call_id) not in self._free_tools]
        prompt.has_acted = prompt.has_acted or bool(acted)
        written = asyncio.get_running_loop().create_future()
        self._writes.add(written)

        def end(error: BaseException | None) -> None:
            self._writes.discard(written)
            written.set_result(None)
            self._end_message(message, place, prompt, error, may_start=may_start)

        lasting = [
            event for event in events if not (isinstance(event, TextDelta | ThinkingDelta) and _keep(turn, event))
        ]
        try:
            if lasting:
                turn.writer.begin_write(lasting, end)
            else:  # after what was sent before: the answer that reached a limit says why others were not sent
                self._begin_task(self._end_after(tuple(self._writes - {written}), end))
        except Exception as error:  # noqa: BLE001 - what cannot be written does not start
            end(error)

    async def _end_after(
        self, writes: Sequence[asyncio.Future[None]], end: Callable[[BaseException | None], None]
    ) -> None:
        if writes:
            await asyncio.wait(writes)
        end(None)

    def _end_message(
        self,
        message: WorkerMessage,
        place: WorkerPlace,
        prompt: SentPrompt,
        error: BaseException | None,
        *,
        may_start: bool = False,
    ) -> None:
        if message.kind == "may_send" and self._is_stopped:
            self._reply(place, message.asking, _pack(Cancelled(NO_HOME)))
        elif message.kind == "may_send":
            self._asks[message.turn_id] = task = asyncio.create_task(self._allow_request(message, place, prompt))
            task.add_done_callback(lambda _: self._asks.pop(message.turn_id, None))
        elif message.asking:
            is_done = (may_start or message.kind != "may_start") and not error
            self._reply(place, message.asking, YES if is_done else NO)
        elif message.kind == "answer":
            self._add_answer(message, prompt, error if isinstance(error, UnreadableEvent) else None)

    def _begin_task(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    def _end_turns(self, prompt: SentPrompt) -> None:
        """Release what budgets have reserved for turns that go on no more."""
        if self._budgets:
            for turn_id in prompt.turns:
                if asked := self._asks.get(turn_id):
                    asked.cancel()
                self._begin_task(self._budgets.end(turn_id))

    async def _allow_request(self, message: WorkerMessage, place: WorkerPlace, prompt: SentPrompt) -> None:
        """Answer whether a request may be sent: with nothing, or with the error of a budget."""
        turn = prompt.turns.get(message.turn_id)
        error: NbtoolError | None = None
        if self._budgets and turn:

            async def emit(event: Event) -> None:
                turn.log.append(event)
                await turn.writer.write(event)

            error = await self._budgets.may_send(message.turn_id, message.text, emit)
        self._reply(place, message.asking, _pack(error) if error else "")

    def _add_answer(self, message: WorkerMessage, prompt: SentPrompt, problem: BaseException | None) -> None:
        if self._port is None or prompt.is_answered:
            return
        if message.run != prompt.run and not self._is_whole(message, prompt):
            return
        prompt.is_answered = True
        self._port.add(self._make_answer(message, prompt, problem))
        prompt.turns, prompt.names = {}, {}

    def _is_whole(self, message: WorkerMessage, prompt: SentPrompt) -> bool:
        """Whether the answer of a run that was taken for lost is one: without an error, and from its beginning."""
        turn = prompt.turns.get(message.turn_id)
        return not (message.error or message.is_unsent) and turn is not None and turn.has_started

    def _make_answer(self, message: WorkerMessage, prompt: SentPrompt, problem: BaseException | None) -> Answer:
        error = unpack_error(message.error) if message.error else problem
        answer = Answer(prompt.item.index, prompt.item.label, prompt.item.prompt)
        if message.is_unsent:
            return replace(answer, error=(self._port and self._port.stop_reason()) or error)
        try:
            turn = prompt.turns[message.turn_id].restore() if message.turn_id in prompt.turns else None
            if error or turn is None:
                if turn and turn.error and isinstance(error, NbtoolError):
                    turn.error = error
                return replace(answer, turn=turn, error=error or lost_before_calls())
        except NbtoolError as unreadable:
            return replace(answer, error=error or unreadable)
        try:
            return replace(answer, turn=turn, value=self._read(turn))
        except NbtoolError as unreadable:
            return replace(answer, turn=turn, error=unreadable)

    def _reply(self, place: WorkerPlace, asking: str, text: str) -> None:
        """Send an answer to a worker, together with those that wait for the one before."""
        self._replies.setdefault(place, {})[asking] = text
        if place not in self._replying:
            self._replying[place] = asyncio.create_task(self._send_replies(place))

    async def _send_replies(self, place: WorkerPlace) -> None:
        try:
            while answers := self._replies.pop(place, None):
                with suppress(Exception):  # the worker or the engine is gone, and what it asked with it
                    await asyncio.to_thread(self._engine.answer, place, answers)
        finally:
            self._replying.pop(place, None)


def _pack(error: NbtoolError) -> str:
    return to_json(pack_error(error)).decode()


def _keep(turn: _RemoteTurn, delta: TextDelta | ThinkingDelta) -> bool:
    """Have the writer join a piece of a reply with others."""
    turn.writer.buffer(delta)
    return True


def continued_versions(prompt: SentPrompt, continued: Mapping[str, Sequence[Turn]]) -> list[Turn]:
    """Return the turns of a prompt that another one can go on from, the latest first."""
    return [*prompt.versions(), *continued.get(prompt.key, ())]
