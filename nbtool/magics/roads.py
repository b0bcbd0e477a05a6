"""Who answers a question of this turn: the ladder of roads to the desk.

Best first: a click in the running cell, a line of input, the policy. Which ones are open is learnt, not guessed from
versions: a click needs a page that said hello over the ears; a line of input needs a front end that takes one, or a
terminal. Where nobody can be asked, the call is denied and the reason says so. Nothing waits in silence.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from functools import partial
from threading import Event as ThreadEvent
from typing import Literal

from nbtool.blocks.plain import visible
from nbtool.loop import LentThread
from nbtool.tools.approval import Approved, Decision, Denied, Question, Released, Withheld

Mode = Literal["ask", "input", "auto", "deny"]

HELLO_SECONDS = 10.0
"""How long a page may take to say hello before the next road is tried; loading the first widget is slow."""

NOBODY = "Nobody can be asked here (no page and no line of input), so the call was denied."
BY_MODE = "This turn was started with --approve deny."


@dataclass(slots=True)
class Roads:
    """The approver of a cell's turn.

    `hello` is set when the page can be heard; None where there is no page. `may_input` says whether a line of
    input would reach a person.
    """

    lent: LentThread
    mode: Mode = "ask"
    hello: ThreadEvent | None = None
    may_input: bool = False
    taken: list[str] = field(default_factory=list)

    async def ask(self, question: Question) -> Decision | None:
        """Answer by the best open road; None leaves the question on the desk, for a click."""
        if self.mode == "deny":
            return self._by("policy", question.refusal(BY_MODE))
        if self.mode == "auto" and not question.sensitive:
            return self._by("policy", Approved() if question.gate == "run" else Released())
        if self.mode != "input" and self.hello and await asyncio.to_thread(self.hello.wait, HELLO_SECONDS):
            return self._by("click", None)
        if self.may_input:
            return self._by("input", await self.lent.run(partial(ask_by_input, question)))
        return self._by("nobody", question.refusal(NOBODY))

    def _by(self, road: str, decision: Decision | None) -> Decision | None:
        self.taken.append(road)
        return decision


def ask_by_input(question: Question) -> Decision:
    """Ask in one line of input; only a plain yes is consent, any other words are the reason of a no."""
    if question.gate == "run":
        asked = f"{question.tool} wants to run with {visible(question.shown)}\nRun it? [y = yes, or say why not] "
    else:
        asked = (
            f"{question.tool} returned: {visible(question.shown)}\nShow this to the model? [y = yes, or say why not] "
        )
    try:
        answer = input(asked).strip()
    except EOFError:
        return question.refusal("The input ended before an answer came.")
    if answer.lower() in ("y", "yes"):
        return Approved() if question.gate == "run" else Released()
    reason = "" if answer.lower() in ("", "n", "no") else answer
    return Denied(reason) if question.gate == "run" else Withheld(reason)
