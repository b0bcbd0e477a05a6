"""At home: ask what workers ask, with the approver and the queue of the chat, and send the decisions back.

A question has a digest of its own here, so none of a worker can take the place of one of this process, and what is
remembered here neither answers it nor comes of it. It is withdrawn when its call was stopped, its worker was lost or
the map is at its end; what has no decision then does not run.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field, replace

from nbtool.chat.batch.remote.asked_question import NO_FORM, pack_decision, read_question
from nbtool.chat.batch.remote.engine import WorkerEngine
from nbtool.chat.batch.remote.worker_message import WorkerPlace
from nbtool.errors import NbtoolError
from nbtool.events import Event
from nbtool.threads.caller_thread import CallerThread
from nbtool.tools.approval import BY_POLICY, ApprovalQueue, Approver, AskFunction, Question, Resolution
from nbtool.tools.calls.approval_request import find_decision
from nbtool.tools.mcp.questions.form import InvalidForm, form_parameters, secret_fields

LOOK_SECONDS = 1.0
"""Seconds between two looks at whether the workers of open questions are still there."""

MAX_OPEN = 2_000
"""Maximum questions that are open at a time; what a worker asks beyond is denied."""

NO_DECISION = ""
"""The answer to what is no question: the worker denies the call."""


Reply = Callable[[WorkerPlace, str, str], None]
"""Sends an answer to a place, by the id under which was asked."""


@dataclass
class HomeQuestions:
    """Answers the questions of one map; its methods run on nbtool's background loop."""

    engine: WorkerEngine
    approvals: ApprovalQueue
    approver: Approver | AskFunction
    _open: dict[str, tuple[WorkerPlace, asyncio.Task[None]]] = field(default_factory=dict)
    _caller_thread: CallerThread = field(default_factory=CallerThread)
    _looking: asyncio.Task[None] | None = None

    def open(self, caller_thread: CallerThread) -> None:
        """Begin to ask; a synchronous approver runs on this thread."""
        self._caller_thread = caller_thread
        self._looking = asyncio.create_task(self._withdraw_lost())

    async def close(self) -> None:
        """Withdraw what is open."""
        tasks = [task for _, task in self._open.values()]
        for task in (*tasks, *([self._looking] if self._looking else [])):
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        self._looking = None

    def ask(self, asking: str, text: str, place: WorkerPlace, reply: Reply) -> None:
        """Ask a question of a worker, once."""
        if self._looking and asking not in self._open:  # else the map is at its end
            task = asyncio.create_task(self._answer(asking, text, place, reply))
            self._open[asking] = (place, task)

    def withdraw(self, asking: str) -> None:
        """Ask no more."""
        if found := self._open.get(asking):
            found[1].cancel()  # which takes it out of the queue

    async def _answer(self, asking: str, text: str, place: WorkerPlace, reply: Reply) -> None:
        try:
            reply(place, asking, await self._decide(text, asking))
        finally:
            self._open.pop(asking, None)

    async def _decide(self, text: str, asking: str) -> str:
        """Return the decision as it is sent; for what is no question an answer that is no decision."""
        try:
            question, digest = await asyncio.to_thread(read_question, text, asking)
        except NbtoolError:
            return NO_DECISION
        return pack_decision(digest, await self._ask(question)) if len(self._open) <= MAX_OPEN else NO_DECISION

    async def _ask(self, question: Question) -> Resolution:
        try:
            question = _check_form(question)
        except InvalidForm as problem:
            return Resolution(question.denial(f"{NO_FORM} {problem}."), BY_POLICY)
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
            places = [place for place, _ in self._open.values()]
            if places:
                with suppress(Exception):  # the engine is gone: the map ends
                    lost = set(await asyncio.to_thread(self.engine.find_lost, places))
                    for asking in [asking for asking, (place, _) in self._open.items() if place in lost]:
                        self.withdraw(asking)


def _check_form(question: Question) -> Question:
    """Return a question with what is known of its form, if it is one: a worker can send any.

    Raises:
        InvalidForm: it is none that a worker may ask to be filled in.
    """
    if not question.is_form:
        return question
    if question.needs_person:
        raise InvalidForm("it asks for a login")
    parameters = form_parameters(question.schema)
    if secret := secret_fields(parameters):
        raise InvalidForm(f"the field {secret[0]!r} seems to ask for a secret")
    return replace(question, schema=dict(parameters.schema))


async def _ignore(_: Event) -> None:
    """Drop an event."""
