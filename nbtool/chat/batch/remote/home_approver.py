"""On a worker: the approver of its turns, which passes each question home and waits for the decision."""

from __future__ import annotations

import asyncio
from contextvars import ContextVar
from dataclasses import dataclass
from typing import ClassVar
from uuid import uuid4

from nbtool.chat.batch.remote.asked_question import pack_question, read_decision
from nbtool.chat.batch.remote.home_link import HomeLink
from nbtool.tools.approval import Decision, Question

_decided_by: ContextVar[str] = ContextVar("nbtool_decided_by", default="approver")
"""Who decided the question of the current task: several questions are open at a time."""


@dataclass(frozen=True, slots=True)
class HomeApprover:
    """Asks at home. Without an answer nothing is approved: the question ends with the turn that waits for it."""

    link: HomeLink
    uses_remembered: bool = True

    asks_person: ClassVar[bool] = True
    """Whether a person is asked is checked at home, by the rules of both machines."""

    @property
    def name(self) -> str:
        """Who decided."""
        return _decided_by.get()

    async def ask(self, question: Question) -> Decision:
        """Pass a question home and return the decision.

        Raises:
            nbtool.errors.ApprovalError: it cannot be sent, or what came back is no decision about it.
        """
        asking, text = uuid4().hex, pack_question(question)
        try:
            answer = await asyncio.wrap_future(self.link.ask("ask", asking, text=text))
        except asyncio.CancelledError:
            self.link.tell("withdraw", asking=asking)
            raise
        resolution = read_decision(answer, question)
        _decided_by.set(resolution.by)
        return resolution.decision
