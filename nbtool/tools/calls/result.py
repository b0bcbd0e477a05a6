"""Deliver the result of a call: render it, pass the result gate, store it, and set the text for the model."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from nbtool.errors import BadUsage, NbtoolError, ToolFailed
from nbtool.events import WHOLE_RESULT
from nbtool.messages import Media
from nbtool.policy import site_policy
from nbtool.text import format_size, left_out
from nbtool.threads.thread_pool import run_with_timeout
from nbtool.tools.approval import Released, ResultMode
from nbtool.tools.approval.question import RESULT_PREVIEW
from nbtool.tools.calls.approval_request import gate_mode, policy_reason, refused_call
from nbtool.tools.calls.bound_call import BoundCall
from nbtool.tools.calls.call_ended import CallEnded
from nbtool.tools.calls.disclosure import UnreadableValues, may_leak
from nbtool.tools.calls.runtime import RunningCall, ToolRuntime
from nbtool.tools.calls.site_rules import ERROR_TEXT
from nbtool.tools.calls.traceback import own_traceback
from nbtool.tools.execution.runner import ToolRun
from nbtool.tools.values.display_form import has_notebook_display, notebook_display
from nbtool.tools.values.model_text import Rendered, format_error, is_cheap, render, render_or_preview, truncate
from nbtool.tools.values.result_media import MAX_MEDIA, MAX_MEDIA_BYTES, ResultMedia, extract_media, may_have_media
from nbtool.tools.values.table_preview import MAX_RESULT_ROWS, TablePreview, preview_table
from nbtool.tools.values.type_and_shape import describe
from nbtool.tools.values.type_names import declared_name

CANCELLED_RUN = "The call was stopped while it ran, because the turn was stopped."
"""The outcome of a call that had begun when its turn was stopped."""

REFERENCE_MIN_CHARS = 200
"""Minimum number of characters of a plain result that is stored as a reference."""

EDITED_NOTICE = "[The user changed the arguments before this call ran; the result is for the changed arguments.]"
"""Sent to the model before the outcome. The edited arguments are not sent: they may be private."""

UNKNOWN_REASONS = {
    "running": "The call was cancelled, but its tool cannot be stopped and is still running",
    "perhaps": "The call was cancelled, but if its tool had started in its executor, it may still be running",
    "lost": "The call had started on a worker of Dask that was lost, and is not run again",
}


@dataclass(frozen=True, slots=True)
class ResultDelivery:
    """The delivery of an outcome to the model.

    Args:
        name: the variable under which the result is stored.
        runtime: the services that the call uses.
    """

    run: RunningCall
    bound: BoundCall
    name: str
    runtime: ToolRuntime

    async def deliver(self, tool_run: ToolRun) -> None:
        """Set the outcome of the call.

        Raises:
            CallEnded: nothing is delivered, or a person withheld it.
        """
        self.run.stop_clock()  # a result that waits for a person takes no longer
        if tool_run.status == "unknown":
            raise CallEnded("unknown", f"{UNKNOWN_REASONS[tool_run.remaining]}: its outcome is unknown.")
        if tool_run.status == "cancelled":
            raise CallEnded("cancelled", CANCELLED_RUN)
        self.run.outcome.shown = "The tool ran, and the turn was cancelled before its result was delivered."
        if tool_run.status == "error":
            await self._deliver_error(tool_run.outcome.error)
        else:
            await self._deliver_result(tool_run.outcome.value)

    async def _deliver_result(self, value: Any) -> None:
        call, outcome = self.run.record, self.run.outcome
        call.result = value
        mode = await self._result_mode()
        is_withheld = mode == "reference" or self._is_withheld(mode)
        is_unreadable = call.is_unreadable = is_withheld or await self._is_unreadable(value)
        outcome.is_described = is_unreadable
        if mode == "reference":
            outcome.seen = await self._seen_by_person(value)
        rendered = _describe_unreadable(value) if is_unreadable else await self._render_in_time(value)
        has_view = not (is_unreadable or is_cheap(value))  # a plain value is all in its text
        edited, is_guarded, found = None, False, await self._extract_media(value) if has_view else ResultMedia()
        if more := found.omitted_images:
            limit = f"at most {MAX_MEDIA} of up to {format_size(MAX_MEDIA_BYTES)} are"
            note = f"[{left_out(more, 'images')}, which are not attached: {limit}]"
            rendered = replace(rendered, text=f"{rendered.text}\n{note}")
        table = await self._preview(value) if rendered.is_object and has_view else {}
        display = await self._notebook_display(value) if has_view and not (table or found.media) else {}
        asks = mode == "always" or (call.received_unreadable and not is_unreadable)
        if asks and not is_withheld:
            is_guarded = not self.runtime.check_results  # which guards every later reading of it too
            edited = await self._pass_result_gate(rendered.text, found.images, table=table)
        if edited is not None:  # a part that the person removed must not be reachable by a reference
            value, rendered, is_unreadable = edited, render(edited, self.runtime.budget), False
        elif not is_unreadable:
            if found.media:
                call.images, outcome.media = found.images, found.media
            outcome.media_left_out = found.omitted
            outcome.table, outcome.display = table, display
        if self.bound.tool.stores_result:
            is_released_in_part = is_guarded and (rendered.is_object or not rendered.is_complete)
            rendered = self._store(value, rendered, readable=not is_unreadable and not is_released_in_part)
            self._store_arguments()
        self.run.finish("ok", self._with_edit_notice(rendered.text))

    async def _render_in_time(self, value: Any) -> Rendered:
        if is_cheap(value):
            return render_or_preview(value, self.runtime.budget)
        render_value = partial(render_or_preview, value, self.runtime.budget)
        outcome = await run_with_timeout(render_value, self.runtime.render_seconds)
        if outcome is None or outcome.error:
            return Rendered(f"{describe(value)} (rendering it took too long)", is_complete=False, is_object=True)
        rendered: Rendered = outcome.value
        return rendered

    def _is_withheld(self, mode: ResultMode) -> bool:
        """Whether the administrator's policy allows only a description of the outcome."""
        return not site_policy().values_may_leave and not (self.bound.tool.is_value_free and mode == "never")

    async def _is_unreadable(self, value: Any) -> bool:
        """Whether a result is an unreadable input of the call; also if the comparison takes too long."""
        if self.runtime.has_unreadable_input:
            return True
        if not (self.bound.tool.resolves_references or self.run.record.received_unreadable):
            return False  # a tool that takes names, not objects, reads on purpose, and asks first
        if not (self.bound.unreadable_links or self.runtime.variables.has_unreadable):
            return False
        unreadable = UnreadableValues(self.bound, self.runtime.variables)
        if unreadable.is_empty:
            return unreadable.is_in_result(value)
        outcome = await run_with_timeout(partial(unreadable.is_in_result, value), self.runtime.render_seconds)
        return outcome is None or outcome.error is not None or bool(outcome.value)

    async def _may_leak(self, error: BaseException | None) -> bool:
        """Whether an error may quote an unreadable input of the call; also if the comparison takes too long."""
        outcome = await run_with_timeout(
            partial(may_leak, error, self.bound, self.runtime.variables), self.runtime.render_seconds
        )
        return outcome is None or outcome.error is not None or bool(outcome.value)

    async def _extract_media(self, value: Any) -> ResultMedia:
        """Return the media of a result; none if they are not rendered in time."""
        if not may_have_media(value):
            return ResultMedia()
        outcome = await run_with_timeout(partial(extract_media, value), self.runtime.render_seconds)
        return (outcome.value if outcome else None) or ResultMedia()

    async def _seen_by_person(self, value: Any) -> dict[str, Any]:
        """Return what the person sees of a result of which the model gets a reference."""
        table = await self._preview(value)
        display = {} if table else await self._notebook_display(value)
        parts = {"text": (await self._render_in_time(value)).text, "table": table, "display": display}
        return {name: part for name, part in parts.items() if part}

    async def _preview(self, value: Any) -> TablePreview:
        """Return the first rows of a table if they are read in time."""
        outcome = await run_with_timeout(partial(preview_table, value, MAX_RESULT_ROWS), self.runtime.render_seconds)
        return (outcome.value if outcome else None) or {}

    async def _notebook_display(self, value: Any) -> dict[str, str]:
        """Return what a notebook would show for a result if its class says so in time."""
        if not has_notebook_display(value):
            return {}
        outcome = await run_with_timeout(partial(notebook_display, value), self.runtime.render_seconds)
        return (outcome.value if outcome else None) or {}

    async def _deliver_error(self, error: BaseException | None) -> None:
        mode = await self._result_mode()
        if self._is_withheld(mode):
            self.run.outcome.is_described = True
            text = ERROR_TEXT.format(name=declared_name(type(error)))
            self.run.finish("error", self._with_edit_notice(text), text)
            return
        text = _error_message(error)
        has_unreadable = self.runtime.has_unreadable_input or self.run.record.received_unreadable
        may_leak = has_unreadable or await self._may_leak(error)
        if mode != "never" or may_leak:
            edited = await self._pass_result_gate(text, error_type=type(error))
            if edited is not None:  # a part that the person removed may also be in a line of source
                text = render(edited, self.runtime.budget).text
                self.run.finish("error", self._with_edit_notice(text), text)
                return
        if error is not None and not isinstance(error, ToolFailed):
            self.run.outcome.traceback = own_traceback(error, text)
        self.run.finish("error", self._with_edit_notice(text), text)

    async def _result_mode(self) -> ResultMode:
        """Return the stricter one of the tool's mode and that of the chat: what is withheld is not asked about."""
        find_context = partial(self.runtime.context_of, self.run.record)
        mode: ResultMode = await gate_mode(
            self.bound, "result", self.runtime.policy_seconds, self.runtime.emit, find_context
        )  # type: ignore[assignment]  # of this gate
        return "always" if self.runtime.check_results and mode != "reference" else mode

    def _with_edit_notice(self, text: str) -> str:
        return f"{EDITED_NOTICE}\n{text}" if self.run.record.edited else text

    async def _pass_result_gate(
        self,
        text: str,
        images: tuple[Media, ...] = (),
        *,
        table: TablePreview | None = None,
        error_type: type | None = None,
    ) -> str | None:
        """Pass the result gate; return the text that a person wrote in place of this one and its images."""
        question = self.bound.question(self.run.call_id, "result", text, media=images)
        context = self.runtime.context_of(self.run.record)
        reason = await policy_reason(self.bound, "result", self.runtime.policy_seconds, context)
        question = replace(
            question,
            glances={RESULT_PREVIEW: table} if table else question.glances,
            recipient=self.runtime.recipient,
            notes=(*question.notes, *filter(None, [reason])),
        )
        resolution = await self.runtime.request_decision(question, self.run.record)
        if isinstance(resolution.decision, Released):
            return resolution.decision.text
        subject = f"the text of its error ({declared_name(error_type)})" if error_type else "its result"
        raise refused_call(resolution, subject=subject)

    def _store(self, value: Any, rendered: Rendered, *, readable: bool) -> Rendered:
        """Store the result as a variable and add its name to the text for the model if useful."""
        tool = self.bound.tool
        text = rendered.text if rendered.is_complete and not rendered.is_object else None
        store = partial(
            self.runtime.variables.store_result,
            value=value,
            text=text,
            description=f"Result of {tool.name}.",
            readable=readable,
        )
        try:
            name = store(self.name)
        except BadUsage:  # an exposed variable has the name in `store_as`
            name = store(self.runtime.variables.reserve_name(tool.name))
        self.run.outcome.reference = name
        if rendered.is_complete and not rendered.is_object and len(rendered.text) < REFERENCE_MIN_CHARS:
            return rendered
        if rendered.is_complete:
            return replace(rendered, text=f"{rendered.text}{WHOLE_RESULT.format(name=name)}")
        self.run.outcome.whole = describe(value)
        note = f"[Shown in part; the whole ({self.run.outcome.whole}): $VAR_REF{{{{{name}}}}}]"
        return replace(rendered, text=f"{rendered.text}\n{note}")

    def _store_arguments(self) -> None:
        """Store long arguments as a variable too: they are truncated in later turns."""
        if len(self.bound.arguments_json) < REFERENCE_MIN_CHARS:
            return
        name = self.run.outcome.reference.removesuffix("_result") + "_args"
        arguments, text = self.bound.arguments, self.bound.arguments_text
        with suppress(BadUsage):  # an exposed variable has this name; the record still has the arguments
            self.run.record.arguments_reference = self.runtime.variables.store_result(
                name, arguments, text, description=f"Arguments of {self.bound.tool.name}."
            )


def _describe_unreadable(value: Any) -> Rendered:
    text = f"{describe(value)}\n[Exposed by reference only: its values are not sent]"
    return Rendered(text, is_complete=False, is_object=True)


def _error_message(error: BaseException | None) -> str:
    """Return the text of an error for the model: a tool's own message, or type and message."""
    if isinstance(error, ToolFailed):
        return render(str(error) or "The tool failed.").text
    if isinstance(error, NbtoolError) or error is None:
        return render(str(error)).text
    return truncate(format_error(error))
