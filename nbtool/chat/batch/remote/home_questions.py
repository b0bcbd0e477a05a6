"""At home: ask what workers ask, with the approver and the queue of the chat, and send the decisions back.

A question has a digest of its own here, so none of a worker can take the place of one of this process, and what is
remembered here neither answers it nor comes of it. It is withdrawn when its call was stopped, its worker was lost or
the map is at its end; what has no decision then does not run.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field, replace

from nbtool.chat.batch.remote.asked_question import NO_FORM, pack_decision, read_question
from nbtool.errors import NbtoolError
from nbtool.events import Event
from nbtool.threads.caller_thread import CallerThread
from nbtool.tools.approval import BY_POLICY, ApprovalQueue, Approver, AskFunction, Question, Resolution
from nbtool.tools.calls.approval_request import find_decision
from nbtool.tools.mcp.questions.form import InvalidForm, form_parameters, secret_fields

MAX_OPEN = 2_000
"""Maximum questions that are open at a time; what a worker asks beyond is denied."""

NO_DECISION = ""
"""The answer to what is no question: the worker denies the call."""

LOGIN_FIX = "Sign in first where the workers find the login, or remove on=."
"""What to do where a tool on a worker connects to an MCP server that asks for a login."""

Reply = Callable[[str], None]
"""Sends an answer to a worker that waits for it."""


@dataclass
class HomeQuestions:
    """Answers the questions of one map; its methods run on nbtool's background loop."""

    approvals: ApprovalQueue
    approver: Approver | AskFunction
    _open: dict[str, tuple[str, asyncio.Task[None], Reply]] = field(default_factory=dict)
    _caller_thread: CallerThread = field(default_factory=CallerThread)
    _is_open: bool = False

    def open(self, caller_thread: CallerThread) -> None:
        """Begin to ask; a synchronous approver runs on this thread."""
        self._caller_thread, self._is_open = caller_thread, True

    async def close(self) -> None:
        """Withdraw what is open."""
        self._is_open = False
        tasks = [task for _, task, _ in self._open.values()]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    def ask(self, asking: str, text: str, run: str, reply: Reply) -> None:
        """Ask a question of a run, once."""
        if self._is_open and asking not in self._open:  # else the map is at its end
            task = asyncio.create_task(self._answer(asking, text, reply))
            self._open[asking] = (run, task, reply)
            task.add_done_callback(lambda _: self._open.pop(asking, None))  # also if it was cancelled before it began

    def withdraw(self, asking: str) -> None:
        """Ask no more."""
        if found := self._open.get(asking):
            found[1].cancel()  # which takes it out of the queue

    def end(self, run: str) -> None:
        """Withdraw the questions of a run that has ended, whose worker was lost, or whose prompts another run has.

        Its worker may still be there, and wait.
        """
        for asking, reply in [(asking, reply) for asking, (other, _, reply) in self._open.items() if other == run]:
            self.withdraw(asking)
            reply(NO_DECISION)

    async def _answer(self, asking: str, text: str, reply: Reply) -> None:
        reply(await self._decide(text, asking))

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
            fix = LOGIN_FIX if question.needs_person else ""
            return Resolution(question.denial(f"{NO_FORM} {problem}.", fix=fix), BY_POLICY)
        return await find_decision(
            question,
            approvals=self.approvals,
            approver=self.approver,
            caller_thread=self._caller_thread,
            emit=_ignore,  # the worker writes question and decision to the journal, which come home with the turn
            must_ask=True,
        )


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
