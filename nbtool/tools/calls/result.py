"""What became of a call that ran: written out, shown at the second gate, remembered, and told to the model."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from nbtool.errors import BadUsage, NbtoolError, ToolFailed
from nbtool.messages import Media
from nbtool.shorten import left_out
from nbtool.thread_pool import off_loop
from nbtool.tools.approval import Question, Released, ResultWord, Ruling, RunWord
from nbtool.tools.calls.binding import Bound
from nbtool.tools.calls.disclosure import ClosedValues, may_quote
from nbtool.tools.calls.gates import refused_text, word_of
from nbtool.tools.calls.record import CallRecord, Closed, count_images_left_out, images_in
from nbtool.tools.calls.traceback import own_traceback
from nbtool.tools.execution.runner import Ended
from nbtool.tools.values.describe import declared_name, describe
from nbtool.tools.values.media import may_be_seen, pictures_in
from nbtool.tools.values.render import Rendered, cut, error_text, is_quick, preview, render
from nbtool.tools.variables.store import Variables

RENDER_SECONDS = 5.0
"""Seconds that writing out a result may take."""

REFERENCE_FROM = 200
"""Characters from which on a plain result is offered as a reference."""

CHANGED = "[The user changed the arguments before this call ran.]"
"""What the model is told before the outcome; not what they are: a person need not tell it."""

UNKNOWN = {
    "running": "its tool cannot be stopped and is still running",
    "perhaps": "had its tool begun at its executor, it may still be running",
}


@dataclass(frozen=True, slots=True)
class Delivery:
    """The way of an outcome to the model.

    `ask` gets a ruling on a question of the second gate; under `name` the result is remembered. `from_closed` says that
    a script made the call which had been given closed values: the result may be made of them. `is_checked`: a person is
    asked about any result, whatever the tool's policy says.
    """

    bound: Bound
    record: CallRecord
    variables: Variables
    budget: int
    ask: Callable[[Question], Awaitable[Ruling]]
    name: str
    from_closed: bool = False
    is_checked: bool = False

    async def deliver(self, ended: Ended) -> None:
        """Give the record its outcome.

        Raises:
            Closed: nothing is to be delivered, or a person withheld it.
        """
        if ended.status == "unknown":
            raise Closed("unknown", f"The call was cancelled, but {UNKNOWN[ended.left]}: its outcome is unknown.")
        if ended.status == "cancelled":
            raise Closed("cancelled", "The call was cancelled.")
        self.record.shown = "The tool ran, and the turn was cancelled before its result was delivered."
        if ended.status == "error":
            await self._failure(ended.outcome.error)
        else:
            await self._result(ended.outcome.value)

    async def _result(self, value: Any) -> None:
        self.record.result = value
        is_closed = self.record.is_closed = await self._is_closed(value)
        drawn = _described(value) if is_closed else await _drawn(value, self.budget)
        edited, images = None, () if is_closed else images_in(value)
        if images and (more := count_images_left_out(value)):
            drawn = replace(drawn, text=f"{drawn.text}\n[{left_out(more, 'images')}, which are not attached]")
        if await self._word() == "always" or (self.record.took_closed and not is_closed):
            edited = await self._released(drawn.text, images)
        if edited is not None:  # what the person took out must not be kept where a reference could reach it
            value, drawn, is_closed = edited, render(edited, self.budget), False
        elif not is_closed:
            self.record.images = images
            await self._drawn(value)
        if self.bound.tool.remembered:
            drawn = self._remembered(value, drawn, readable=not is_closed)
            self._remember_arguments()
        self.record.end("ok", self._noted(drawn.text))

    async def _is_closed(self, value: Any) -> bool:
        """Whether a result is what the call was given by reference alone; what cannot be compared in time is."""
        if self.from_closed:
            return True
        if not (self.bound.tool.resolve or self.record.took_closed):
            return False  # a tool that takes names, not objects, reads on purpose, and asks before it does
        closed = ClosedValues(self.bound, self.variables)
        if closed.is_empty:
            return closed.is_handed_back(value)
        outcome = await off_loop(partial(closed.is_handed_back, value), RENDER_SECONDS)
        return outcome is None or outcome.error is not None or bool(outcome.value)

    async def _may_quote(self, error: BaseException | None) -> bool:
        """Whether an error may quote what its call was given by reference alone, or cannot be compared in time."""
        if error is None:
            return False
        outcome = await off_loop(partial(may_quote, error, self.bound, self.variables), RENDER_SECONDS)
        return outcome is None or outcome.error is not None or bool(outcome.value)

    async def _drawn(self, value: Any) -> None:
        """Keep what of a result can be seen and heard, where it draws itself in time."""
        if may_be_seen(value):
            outcome = await off_loop(partial(pictures_in, value), RENDER_SECONDS)
            if outcome and outcome.value:
                self.record.pictures, self.record.pictures_left_out = outcome.value

    async def _failure(self, error: BaseException | None) -> None:
        text = _failure_text(error)
        may_tell = self.from_closed or self.record.took_closed or await self._may_quote(error)
        if await self._word() != "never" or may_tell:
            edited = await self._released(text, failed=type(error))
            if edited is not None:  # what the person took out may stand in a line of source, too
                text = render(edited, self.budget).text
                self.record.end("error", self._noted(text), text)
                return
        if error is not None and not isinstance(error, ToolFailed):
            self.record.traceback = own_traceback(error)
        self.record.end("error", self._noted(text), text)

    async def _word(self) -> RunWord | ResultWord:
        return "always" if self.is_checked else await word_of(self.bound, "result")

    def _noted(self, text: str) -> str:
        return f"{CHANGED}\n{text}" if self.record.edited else text

    async def _released(self, text: str, images: tuple[Media, ...] = (), *, failed: type | None = None) -> str | None:
        """Pass the second gate; gives the text that a person put in place of this one, and of its images."""
        ruling = await self.ask(self.bound.question(self.record.call_id, "result", text, media=images))
        if isinstance(ruling.decision, Released):
            return ruling.decision.text
        of = f"the text of its error ({declared_name(failed)})" if failed else "its result"
        raise Closed("withheld", refused_text(ruling.decision, of=of), getattr(ruling.decision, "reason", ""))

    def _remembered(self, value: Any, drawn: Rendered, *, readable: bool) -> Rendered:
        """Keep the result as a variable and, where that is of use, tell the model its name."""
        tool = self.bound.tool
        text = drawn.text if drawn.is_whole and not drawn.is_object else None
        keep = partial(
            self.variables.remember, value=value, text=text, description=f"Result of {tool.name}.", readable=readable
        )
        try:
            name = keep(self.name)
        except BadUsage:  # an exposed variable has the name that the author chose
            name = keep(self.variables.next_name(tool.name))
        self.record.reference = name
        if drawn.is_whole and not drawn.is_object and len(drawn.text) < REFERENCE_FROM:
            return drawn
        what = "Whole result" if drawn.is_whole else f"Shown in part; the whole ({describe(value)})"
        return Rendered(f"{drawn.text}\n[{what}: $VAR_REF{{{{{name}}}}}]", drawn.is_whole, drawn.is_object)

    def _remember_arguments(self) -> None:
        """Keep long arguments as a variable too: later turns are told them cut short."""
        written = self.bound.shown
        name = self.record.reference.removesuffix("_result") + "_args"
        if len(written) >= REFERENCE_FROM:
            with suppress(BadUsage):  # an exposed variable has this name; the record has the arguments all the same
                self.record.arguments_reference = self.variables.remember(
                    name, self.bound.arguments, written, description=f"Arguments of {self.bound.tool.name}."
                )


def _described(value: Any) -> Rendered:
    text = f"{describe(value)}\n[It was exposed by reference only: its values stay in the notebook]"
    return Rendered(text, is_whole=False, is_object=True)


async def _drawn(value: Any, budget: int) -> Rendered:
    if is_quick(value):
        return preview(value, budget)
    outcome = await off_loop(partial(preview, value, budget), RENDER_SECONDS)
    if outcome is None or outcome.error:
        return Rendered(f"{describe(value)} (it cannot be shown in time)", is_whole=False, is_object=True)
    drawn: Rendered = outcome.value
    return drawn


def _failure_text(error: BaseException | None) -> str:
    """Write an error for the model: a tool's own words, or type and message."""
    if isinstance(error, ToolFailed):
        return render(str(error) or "The tool failed.").text
    if isinstance(error, NbtoolError) or error is None:
        return render(str(error)).text
    return cut(error_text(error))
