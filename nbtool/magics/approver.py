"""Who answers a question of this turn: the ladder of roads to the desk.

Best first: a click in the running cell, a line of input, a click after the cell has ended, the policy. Which ones are
open is learnt, not guessed from versions: a click needs a page that said hello over the ears; a line of input needs a
front end that takes one, or a terminal; a turn is parked only where somebody could answer it later. Where nobody can
be asked, the call is denied and the reason says so. Nothing waits in silence.
"""

from __future__ import annotations

import asyncio
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from threading import Event as ThreadEvent
from typing import Literal

from nbtool.blocks.confusables import unmasked
from nbtool.blocks.question import effect_of, notice_of, remarks_of, sentence_of
from nbtool.blocks.resolved import resolved_shapes
from nbtool.blocks.sanitize import visible
from nbtool.chat.turn import Turn
from nbtool.errors import AlreadyDecided
from nbtool.tools.approval import BY_POLICY, ApprovalQueue, Approved, Decision, Denied, Question, Released, Withheld
from nbtool.tools.execution.threads import CallerThreadRunner

Mode = Literal["ask", "input", "park", "auto", "deny"]

HELLO_SECONDS = 10.0
"""How long a page may take to say hello before the next road is tried; loading the first widget is slow."""

PARKED_SECONDS = 24 * 60 * 60.0
"""How long a question stays open once its cell has ended, unless the person said otherwise."""

NOBODY = "Nobody can be asked here (no page and no line of input), so the call was denied."
BY_MODE = "This turn was started with --approve deny."


@dataclass(slots=True)
class Roads:
    """The approver of a cell's turn.

    `hello` is set when the page can be heard; None where there is no page. `may_input` says whether a line of
    input would reach a person, `may_park` whether somebody could answer after the cell. A question that nobody
    answers is refused after `within` seconds; None means `PARKED_SECONDS` once the cell has ended, and no bound before.
    """

    turn: Turn
    desk: ApprovalQueue
    mode: Mode = "ask"
    hello: ThreadEvent | None = None
    may_input: bool = False
    may_park: bool = False
    within: float | None = None
    taken: list[str] = field(default_factory=list)

    @property
    def name(self) -> str:
        """The road that was taken last; a decision that is given at once is said to be by it."""
        return self.taken[-1] if self.taken else "approver"

    @property
    def uses_remembered(self) -> bool:
        """Whether an approval that is remembered counts: not where everything is denied."""
        return self.mode != "deny"

    async def ask(self, question: Question) -> Decision | None:
        """Answer by the best open road; None leaves the question on the desk, for a click."""
        if self.mode == "deny":
            return self._by(BY_POLICY, question.denial(BY_MODE))
        if self.mode == "auto" and not question.sensitive:
            return self._by(BY_POLICY, Approved() if question.gate == "run" else Released())
        if self.mode == "park" or not self.turn.lent.is_attached:
            return await self._park(question)
        if self.mode != "input" and self.hello and await asyncio.to_thread(self.hello.wait, HELLO_SECONDS):
            self.taken.append("click")
            return await self._left(question, self.within)
        if self.may_input:
            return self._by("input", await self._line(question))
        return await self._park(question)

    async def _park(self, question: Question) -> Decision | None:
        """Let the cell end and leave the question on the desk, where somebody could come back to it."""
        if not self.may_park or (self.mode == "input" and self.turn.lent.is_attached):
            return self._by("nobody", question.denial(NOBODY))
        within = self.within or PARKED_SECONDS
        self.taken.append("park")
        await self.turn.park(question.digest, within)
        return await self._left(question, within)

    async def _left(self, question: Question, within: float | None) -> Decision | None:
        """Leave a question on the desk, and refuse it when its time is over; deciding it before ends this wait."""
        if within is not None:
            await asyncio.sleep(within)
            with suppress(AlreadyDecided):
                self.desk.expire(question.digest)
        return None

    async def _line(self, question: Question) -> Decision:
        """Ask in a line of input; a decision that comes by another road closes the line."""
        line = CallerThreadRunner(self.turn.lent, lambda: None)
        try:
            outcome = await line.run(partial(ask_by_input, question))
        except asyncio.CancelledError:
            line.stop()
            raise
        if outcome.error:
            raise outcome.error
        answer: Decision = outcome.value
        return answer

    def _by(self, road: str, decision: Decision | None) -> Decision | None:
        self.taken.append(road)
        return decision


def ask_by_input(question: Question) -> Decision:
    """Ask in one line of input; only a plain yes is consent, any other words are the reason of a no."""
    try:
        answer = input(asked_in_line(question)).strip()
    except EOFError:
        return question.denial("The input ended before an answer came.")
    if answer.lower() in ("y", "yes"):
        return Approved() if question.gate == "run" else Released()
    reason = "" if answer.lower() in ("", "n", "no") else answer
    return Denied(reason) if question.gate == "run" else Withheld(reason)


def asked_in_line(question: Question) -> str:
    """Write a question for a line of input: the notice, the sentence, all that is asked about, and what will change."""
    resolved = resolved_shapes(question.resolved)
    said = sentence_of(question.gate, question.tool, question.shown, resolved, len(question.media))
    whole = unmasked(visible(question.shown))
    asked = "Run it?" if question.gate == "run" else "Show this to the model?"
    first = [remarks_of(question.again, question.notes), notice_of(question.notice)]
    parts = [*first, said, whole, effect_of(question.effect), f"{asked} [y = yes, or say why not] "]
    return "\n".join(part for part in parts if part)
