"""At home: ask what workers ask, with the approver and the queue of the chat, and send the decisions back.

A question has a digest of its own here, so none of a worker can take the place of one of this process, and what is
remembered here neither answers it nor comes of it. It is withdrawn when its call was stopped, its worker was lost or
the map is at its end; what has no decision then does not run.
"""

from __future__ import annotations

import asyncio
from contextlib import suppress
from dataclasses import dataclass, field

from nbtool.chat.batch.remote.asked_question import NO_FORMS, WorkerQuestion, pack_decision, read_question
from nbtool.chat.batch.remote.engine import WorkerEngine
from nbtool.errors import NbtoolError
from nbtool.events import Event
from nbtool.threads.caller_thread import CallerThread
from nbtool.threads.loop import background_loop
from nbtool.tools.approval import BY_POLICY, ApprovalQueue, Approver, AskFunction, Question, Resolution
from nbtool.tools.calls.approval_request import find_decision

LOOK_SECONDS = 1.0
"""Seconds between two looks at whether the workers of open questions are still there."""

MAX_OPEN = 2_000
"""Maximum questions that are open at a time; what a worker asks beyond is denied."""

NO_DECISION = ""
"""The answer to what is no question: the worker denies the call."""


@dataclass
class HomeQuestions:
    """Answers the questions of one map; its methods run on nbtool's background loop."""

    engine: WorkerEngine
    approvals: ApprovalQueue
    approver: Approver | AskFunction
    _open: dict[str, tuple[WorkerQuestion, asyncio.Task[None]]] = field(default_factory=dict)
    _caller_thread: CallerThread = field(default_factory=CallerThread)
    _looking: asyncio.Task[None] | None = None

    async def open(self, caller_thread: CallerThread) -> None:
        """Begin to hear questions; a synchronous approver runs on this thread."""
        self._caller_thread = caller_thread
        loop = background_loop()
        await asyncio.to_thread(self.engine.listen, lambda asked: loop.call_soon(lambda: self._take(asked)))
        self._looking = asyncio.create_task(self._withdraw_lost())

    async def close(self) -> None:
        """Withdraw what is open."""
        tasks = [task for _, task in self._open.values()]
        for task in (*tasks, *([self._looking] if self._looking else [])):
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        self._looking = None

    def _take(self, asked: WorkerQuestion) -> None:
        """Ask a question, once, or withdraw it."""
        if self._looking is None:  # the map is at its end
            return
        if asked.text is None:
            self._withdraw(asked.asking)
        elif asked.asking not in self._open:
            self._open[asked.asking] = (asked, asyncio.create_task(self._answer(asked, asked.text)))

    def _withdraw(self, asking: str) -> None:
        if found := self._open.get(asking):
            found[1].cancel()  # which takes it out of the queue

    async def _answer(self, asked: WorkerQuestion, text: str) -> None:
        try:
            answer = await self._decide(text, asked.asking)
            with suppress(Exception):  # the worker or the engine is gone, and the question with it
                await asyncio.to_thread(self.engine.answer, asked, answer)
        finally:
            self._open.pop(asked.asking, None)

    async def _decide(self, text: str, asking: str) -> str:
        """Return the decision as it is sent; for what is no question an answer that is no decision."""
        try:
            question, digest = await asyncio.to_thread(read_question, text, asking)
        except NbtoolError:
            return NO_DECISION
        return pack_decision(digest, await self._ask(question)) if len(self._open) <= MAX_OPEN else NO_DECISION

    async def _ask(self, question: Question) -> Resolution:
        if question.is_form or question.needs_person:
            return Resolution(question.denial(NO_FORMS), BY_POLICY)
        return await find_decision(
            question,
            approvals=self.approvals,
            approver=self.approver,
            caller_thread=self._caller_thread,
            emit=_ignore,  # the worker writes question and decision to the journal, which come home with the turn
            must_ask=True,
        )

    async def _withdraw_lost(self) -> None:
        while True:
            await asyncio.sleep(LOOK_SECONDS)
            asked = [one for one, _ in self._open.values()]
            if asked:
                with suppress(Exception):  # the engine is gone: the map ends
                    for one in await asyncio.to_thread(self.engine.find_lost, asked):
                        self._withdraw(one.asking)


async def _ignore(_: Event) -> None:
    """Drop an event."""
