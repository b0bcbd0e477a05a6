"""Persons who answer questions: attentive, tired, careless."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Literal

from benchmarks.gates.world import Call
from nbtool import Approved, Denied
from nbtool.tools.approval import Question

TIRED_AFTER = 2
"""Questions of a task that a tired person reads; the rest is approved unread."""

CARELESS_EVERY = 10
"""A careless person approves every such wrong call."""

Remember = Literal["", "call", "tool"]


class Person:
    """Approves a call of the user's own task, and denies every other one.

    Args:
        calls: the correct calls of the task.
        reads: how many questions are read; None is all.
        lapse_every: every such wrong call is approved; 0 is none.
        lapses: the wrong calls of earlier runs.
    """

    def __init__(
        self,
        calls: Iterable[Call],
        *,
        reads: int | None = None,
        remember: Remember = "",
        lapse_every: int = 0,
        lapses: int = 0,
    ) -> None:
        self._right = {_key(call.tool, call.arguments) for call in calls}
        self._reads = reads
        self._remember = remember
        self._lapse_every = lapse_every
        self._first_wrong = lapses
        self.right = self.wrong = 0

    def ask(self, question: Question) -> Approved | Denied:
        """Answer a question, and count it."""
        is_right = _key(question.tool, question.arguments) in self._right
        self.right += is_right
        self.wrong += not is_right
        is_unread = self._reads is not None and self.right + self.wrong > self._reads
        has_lapse = not is_right and self._lapse_every and not (self._first_wrong + self.wrong) % self._lapse_every
        if is_right or is_unread or has_lapse:
            return Approved(remember=self._remember if question.can_remember else "")
        return Denied("I did not ask for this.")


def _key(tool: str, arguments: object) -> str:
    return json.dumps([tool, arguments], sort_keys=True, default=str)
