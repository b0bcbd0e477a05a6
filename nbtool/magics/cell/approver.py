"""Who answers the approval questions of a turn: the available options, best first.

The order: a click in the running cell, a line of input, a click after the cell has ended, the policy. What is
available is detected, not derived from versions: a click needs a page that has sent hello; a line of input needs a
front end that supports it, or a terminal; a turn is parked only if somebody could answer it later. If nobody can be
asked, the call is denied with that reason. No question waits without notice.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from typing import Any, ClassVar, Literal

from nbtool.blocks.confusables import escape_confusables
from nbtool.blocks.question import MODEL, effect_text, format_remarks, notice_text, summarize_request
from nbtool.blocks.sanitize import escape_invisible, one_line
from nbtool.chat.reviewer import Reviewer
from nbtool.chat.turn import Turn
from nbtool.errors import AlreadyDecided, Cancelled
from nbtool.magics.cell.form_input import fill_in_by_input, read_line
from nbtool.magics.cell.passing_line import PassingLine
from nbtool.tools.approval import (
    BY_INPUT,
    BY_NOBODY,
    BY_POLICY,
    Answer,
    ApprovalQueue,
    Approved,
    Decision,
    Denied,
    Question,
    Released,
    Undecided,
    Withheld,
)
from nbtool.tools.execution.threads import CallerThreadRunner
from nbtool.turn_place import REMOVED_SECONDS, PlaceState, TurnPlace

Mode = Literal["ask", "input", "park", "auto", "deny"]

PAGE_READY_SECONDS = 10.0
"""How long to wait for a page's hello before the next option is tried; loading the first widget is slow."""

WITH_PAGE: frozenset[PlaceState] = frozenset(("present", "seen", "gone"))
"""The states of a turn's place in which there is a page."""


UNSEEN_SECONDS = 600.0
"""How long a question waits in a page that does not show it, unless `answer_within` says so; then the turn parks."""


@dataclass(frozen=True, slots=True)
class PlaceSeconds:
    """How long a question waits for its place in a page.

    `removed`: before a question whose view was removed is shown again.
    `again`: for a page to draw what was shown again; then the turn is parked.
    `unseen`: in a page that has not drawn it, because its cell is out of view; then the turn is parked.
    `notice`: of these, before the cell says so.
    """

    removed: float = REMOVED_SECONDS
    again: float = 5.0
    unseen: float = UNSEEN_SECONDS
    notice: float = 1.0


PAGE_NOTICE_SECONDS = 1.0
"""Seconds of that wait after which the cell says what it waits for; a page that is open has connected by then."""

UNPAGED_INPUT = "a line of input follows"
UNPAGED_PARK = "the cell ends, and the call waits for a decision"
UNPAGED_DENY = "the call is denied"
WAITING_FOR_PAGE = "Waiting up to {seconds:g} s for a page of this notebook to connect; without one, {next}."

SCROLL_TO_CELL = "A question waits in this output: scroll to the cell to answer it."
UNPAGED_HINT = "No page of this notebook has connected. {cause} Or use `--approve later` or `--approve input`."

PARKED_SECONDS = 24 * 60 * 60.0
"""How long a question stays open after its cell has ended, unless set otherwise."""

NO_TIMED_LINE = (
    "A line of input cannot be closed here when the seconds of `answer_within` are over, so the call was denied."
)
UNTIMED_FIX = "Leave out `answer_within`."
NO_ONE_TO_ASK = "Nobody can be asked here (no page and no line of input), so the call was denied."
RUN_UNASKED_FIX = 'Add `--approve auto`, or set `run="auto"` on the tool.'
RELEASE_UNASKED_FIX = "Add `--approve auto`."
SENSITIVE_FIX = "Its tool always asks, even with `--approve auto`: run the cell where a page or a terminal can answer."
PERSON_FIX = "Run the cell where a page or a terminal can answer."
DENIED_BY_FLAG = "This turn was started with --approve deny."


@dataclass(slots=True)
class CellApprover:
    """The approver of a cell's turn.

    `place` is where the turn is on the pages, None if there is no page, and `show_again` displays it again in its cell.
    `can_input` is whether a line of input would reach a person, `can_park` whether somebody could answer after the
    cell. An unanswered question is denied after `timeout` seconds, those of a line of input from when it is shown; None
    means `PARKED_SECONDS` after the cell has ended, and no limit before. `on_question` gets the digest of each question
    that waits for a person in the running cell. `input_place` says where this front end asks for a line,
    and `no_page_cause` why no page may connect there. `first_reviewer` is a model that is asked first.
    """

    turn: Turn
    approvals: ApprovalQueue
    mode: Mode = "ask"
    place: TurnPlace | None = None
    show_again: Callable[[], object] = field(default=lambda: None, repr=False)
    can_input: bool = False
    can_park: bool = False
    timeout: float | None = None
    on_question: Callable[[str], object] = field(default=lambda _: None, repr=False)
    input_place: str = ""
    no_page_cause: str = ""
    first_reviewer: Reviewer | None = None
    place_seconds: PlaceSeconds = PlaceSeconds()
    methods: list[str] = field(default_factory=list)
    has_waited_for_page: bool = False
    page_wait: asyncio.Lock = field(default_factory=asyncio.Lock, repr=False)

    asks_person: ClassVar[bool] = True

    @property
    def name(self) -> str:
        """The option used last; an immediate decision is attributed to it."""
        return self.methods[-1] if self.methods else "approver"

    @property
    def reviewer(self) -> Reviewer | None:
        """The model that is asked before the person; none where the mode decides."""
        return self.first_reviewer if self.mode not in ("auto", "deny") else None

    @property
    def uses_remembered(self) -> bool:
        """Return whether remembered approvals apply: not when everything is denied."""
        return self.mode != "deny"

    async def ask(self, question: Question) -> Answer:
        """Answer with the best available option; `Undecided` leaves the question in the queue, for a click.

        An interrupt while it asks is no answer: it stops the turn, which withdraws the question.
        """
        try:
            return await self._answer(question)
        except Cancelled:
            return Undecided()

    async def _answer(self, question: Question) -> Answer:
        if self.mode == "deny":
            return self._record(BY_POLICY, question.denial(DENIED_BY_FLAG))
        if self.mode == "auto" and not (question.sensitive or question.person_rule):
            return self._record(BY_POLICY, Approved() if question.gate == "run" else Released())
        if self.mode == "park" or not self.turn.caller_thread.is_attached:
            return await self._park(question)
        if self.mode != "input" and self.place and await self._has_page(self.place):
            self.methods.append("click")
            self.on_question(question.digest)
            return await self._wait_while_shown(question, self.place)
        if self.can_input and (self.timeout is None or self.turn.caller_thread.can_interrupt):
            self.on_question(question.digest)
            decision = await self._ask_by_input(question)
            if not question.needs_person:
                return self._record(BY_INPUT, decision)
            with suppress(AlreadyDecided):  # what an approver returns cannot approve it
                self.approvals.decide(question.digest, decision, by=BY_INPUT)
            return self._record(BY_INPUT, Undecided())
        return await self._park(question)

    async def _has_page(self, place: TurnPlace) -> bool:
        """Wait for a page, and say so unless it connects soon; return whether there is one, even if nobody sees it.

        Questions at the same time wait together; after one wait in vain, a later question only checks for a page.
        """
        async with self.page_wait:
            if place.state == "not_drawn" and not self.has_waited_for_page:
                unpaged = UNPAGED_INPUT if self.can_input else UNPAGED_PARK if self.can_park else UNPAGED_DENY
                rest = max(0.0, PAGE_READY_SECONDS - PAGE_NOTICE_SECONDS)
                text = WAITING_FOR_PAGE.format(seconds=rest, next=unpaged)
                await self._wait_unshown(place, WITH_PAGE, min(PAGE_NOTICE_SECONDS, PAGE_READY_SECONDS), rest, text)
                self.has_waited_for_page = place.state == "not_drawn"
            return place.state != "not_drawn"

    async def _wait_while_shown(self, question: Question, place: TurnPlace) -> Answer:
        """Leave a question in the queue for a click; park its turn once nobody can see it, or could see it in time."""
        try:
            async with asyncio.timeout(self.timeout):
                await self._wait_until_lost(place)
        except TimeoutError:
            if place.state == "seen":
                return self._expire(question)
        return await self._park(question)

    async def _wait_until_lost(self, place: TurnPlace) -> None:
        """Return when the place of the turn is gone and showing it again did not help, or no page ever drew it."""
        seconds = self.place_seconds
        while True:
            if place.state == "seen":
                await place.wait_for({"gone"}, None)
            elif place.state == "present":
                rest = None if self.timeout else seconds.unseen
                if not await self._wait_unshown(place, {"seen", "gone"}, seconds.notice, rest, SCROLL_TO_CELL):
                    return
            elif not await place.wait_for({"seen"}, seconds.removed):
                await self._in_cell(self.show_again)
                if not await self._wait_unshown(place, {"seen"}, seconds.again, 0.0):
                    return

    async def _wait_unshown(
        self, place: TurnPlace, states: Collection[PlaceState], seconds: float, rest: float | None, text: str = ""
    ) -> bool:
        """Wait until the place has one of these states, and as long as the cell says a text; return whether it has.

        This is nobody's time: no page shows the question.
        """
        with self.turn.waiting.preparing():
            if await place.wait_for(states, seconds) or rest == 0:
                return place.state in states
            line = PassingLine(text)
            try:
                await self._in_cell(line.show)
                return await place.wait_for(states, rest)
            finally:  # a click in the page that has connected ends this wait as well
                line.clear()

    async def _park(self, question: Question) -> Answer:
        """Let the cell end and leave the question in the queue, if somebody could answer it later."""
        if not self.can_park or (self.mode == "input" and self.turn.caller_thread.is_attached):
            if question.person_rule:
                denial = question.denial(f"{NO_ONE_TO_ASK} {question.person_rule}", fix=PERSON_FIX)
                return self._record("nobody", denial)
            if self.can_input:
                return self._record(BY_NOBODY, question.denial(NO_TIMED_LINE, fix=UNTIMED_FIX))
            allowed = RUN_UNASKED_FIX if question.gate == "run" else RELEASE_UNASKED_FIX
            has_reason = bool(question.notes)  # a policy that asks for a reason is not to be switched off
            fix = SENSITIVE_FIX if question.sensitive else PERSON_FIX if has_reason else allowed
            return self._record(BY_NOBODY, question.denial(NO_ONE_TO_ASK, fix=fix))
        timeout = self.timeout or PARKED_SECONDS
        self.methods.append("park")
        await self.turn.park(question.digest, timeout)
        return await self._wait_for_click(question, timeout)

    async def _wait_for_click(self, question: Question, timeout: float | None) -> Answer:
        """Leave a question in the queue and deny it when its time is over; an earlier decision ends this wait."""
        if timeout is not None:
            await asyncio.sleep(timeout)
            return self._expire(question)
        return Undecided()

    def _expire(self, question: Question) -> Answer:
        """Deny a question whose time is over, unless it was decided meanwhile."""
        with suppress(AlreadyDecided):
            self.approvals.expire(question.digest)
        return Undecided()

    async def _ask_by_input(self, question: Question) -> Decision:
        """Ask with a line of input, which shows the question; a decision by another option closes the line.

        So does the denial when its time is over, which begins when the line is shown: lines come one after another.
        """
        self.approvals.mark_shown(question.digest)
        ask = fill_in_by_input if question.is_form else ask_by_input
        loop, is_shown = asyncio.get_running_loop(), asyncio.Event()
        is_unpaged = bool(self.has_waited_for_page and self.no_page_cause)
        cause = UNPAGED_HINT.format(cause=self.no_page_cause) if is_unpaged else ""
        hint = PassingLine(" ".join(filter(None, [self.input_place, cause])))
        if self.input_place:
            await self._in_cell(hint.show)
        expiry = asyncio.ensure_future(self._expire_after(is_shown, question))
        try:
            answer: Decision = await self._in_cell(
                partial(ask, question), on_start=lambda: loop.call_soon_threadsafe(is_shown.set)
            )
        finally:
            expiry.cancel()
            hint.clear()
        return answer

    async def _expire_after(self, is_shown: asyncio.Event, question: Question) -> None:
        await is_shown.wait()
        await self._wait_for_click(question, self.timeout)

    async def _in_cell(self, work: Callable[[], Any], on_start: Callable[[], object] = lambda: None) -> Any:
        """Run a function on the thread of the cell, where it can ask and print; it is stopped if this is cancelled.

        `on_start` is called there right before.
        """
        runner = CallerThreadRunner(self.turn.caller_thread)
        runner.on_start = on_start
        try:
            outcome = await runner.run(work)
        except asyncio.CancelledError:
            runner.stop()
            raise
        if outcome.error:
            raise outcome.error
        return outcome.value

    def _record(self, method: str, decision: Answer) -> Answer:
        self.methods.append(method)
        return decision


def ask_by_input(question: Question) -> Decision:
    """Ask with one line of input; only a plain yes is consent, any other text is the reason of a denial."""
    try:
        answer = read_line(input_prompt(question))
    except EOFError:
        return question.denial("The input was closed before an answer was entered.")
    if answer.lower() in ("y", "yes"):
        return Approved() if question.gate == "run" else Released()
    reason = "" if answer.lower() in ("", "n", "no") else answer
    return Denied(reason) if question.gate == "run" else Withheld(reason)


def input_prompt(question: Question) -> str:
    """Format a question for a line of input: the notice, the sentence, all arguments, and the effect."""
    summary = summarize_request(question)
    arguments = escape_confusables(escape_invisible(question.shown))
    prompt = "Run it?" if question.gate == "run" else f"Send this to {one_line(question.recipient or MODEL, 80)}?"
    first = [format_remarks(question.again, question.notes), notice_text(question.notice)]
    parts = [*first, summary, arguments, effect_text(question.effect), f"{prompt} [y = yes, or type a reason for no] "]
    return "\n".join(part for part in parts if part)
