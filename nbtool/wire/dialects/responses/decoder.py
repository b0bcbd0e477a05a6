"""A reply in the Responses dialect, from bytes to deltas.

A reply is a list of output items that are streamed, completed, and repeated in the final event. A server may send only
one of these stages, and later ones are more authoritative: so each stage adds what is still missing.

See https://platform.openai.com/docs/api-reference/responses-streaming.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from nbtool.errors import InvalidReply, WireError
from nbtool.events import (
    CallDelta,
    Delta,
    ProviderDelta,
    RefusalDelta,
    ReplyEnd,
    StopReason,
    StreamNotice,
    TextDelta,
    ThinkingDelta,
    UsageDelta,
)
from nbtool.text import shorten
from nbtool.wire.arguments import arguments_text
from nbtool.wire.dialects.reply_notices import moderation_notices, removal_notices
from nbtool.wire.dialects.responses.output_items import (
    CALLS,
    Item,
    OutputItem,
    OutputItems,
    arguments,
    is_call,
    is_x_search,
    parse_generated_image,
    read_usage,
    requested_actions,
    texts,
)
from nbtool.wire.dialects.responses.provider_parts import item_notice, provider_parts
from nbtool.wire.dialects.stream_reader import StreamReader
from nbtool.wire.dialects.usage_fields import CumulativeUsage
from nbtool.wire.framing.provider_errors import error_in_body, provider_error
from nbtool.wire.framing.value_types import require_object, require_objects
from nbtool.wire.reply import MAX_ITEMS, TRUNCATED_REASONS, require_few_items, up_to_ceiling

_TEXT_DELTAS: dict[str, Callable[[str], Delta]] = {
    "text": TextDelta,
    "refusal": RefusalDelta,
    "summary": ThinkingDelta,
    "reasoning": ThinkingDelta,
}
_TEXT_EVENTS = {
    "response.output_text.delta": ("text", "message"),
    "response.refusal.delta": ("refusal", "message"),
    "response.reasoning_summary_text.delta": ("summary", "reasoning"),
    "response.reasoning_text.delta": ("reasoning", "reasoning"),
}
_WHOLE_TEXTS = {
    "response.output_text.done": ("text", "message", "text"),
    "response.refusal.done": ("refusal", "message", "refusal"),
    "response.reasoning_summary_text.done": ("summary", "reasoning", "text"),
    "response.reasoning_text.done": ("reasoning", "reasoning", "text"),
}
"""The events that repeat a text; some servers send nothing else of it."""

_PART_EVENTS = frozenset({"response.content_part.done", "response.reasoning_summary_part.done"})
_PARTS = {
    "output_text": "response.output_text.done",
    "refusal": "response.refusal.done",
    "reasoning_text": "response.reasoning_text.done",
    "summary_text": "response.reasoning_summary_text.done",
}
"""The parts of an item that hold a text, and the events that do too."""

_TRANSCRIPT = "response.audio.transcript.delta"
_SOUND = frozenset({"response.audio.delta", "response.audio.done"})
NO_SOUND = StreamNotice("The reply has sound, which is not read on this wire; only its transcript is shown.", "warning")

_CALL_EVENTS = {
    "response.function_call_arguments.delta": ("function_call", "delta"),
    "response.function_call_arguments.done": ("function_call", "done"),
    "response.custom_tool_call_input.delta": ("custom_tool_call", "delta"),
    "response.custom_tool_call_input.done": ("custom_tool_call", "done"),
}
_ENDS = frozenset({"response.completed", "response.incomplete"})
MAX_PHASE = 40
"""Maximum number of characters of a message's phase."""

_FAILURES = frozenset({"response.failed", "response.cancelled"})
_LENGTHS = ("", "max_output_tokens", "max_tokens", "max_messages")
_COMPLETE = frozenset({"completed", "complete", "incomplete"})


Position = tuple[str, str, Any]
"""The position of a text: its item, its kind, and for reasoning its part."""


class ResponsesDecoder(StreamReader):
    """Decodes one reply."""

    dialect = "responses"
    kinds = frozenset({*_TEXT_EVENTS, *_CALL_EVENTS})

    def __init__(self) -> None:
        super().__init__()
        self._output_items = OutputItems()
        self._has_sound = False
        self._last: dict[str, Position] = {}  # by kind: the position of the newest text
        self._usage = CumulativeUsage(read_usage)

    def _decode_document(self, response: Any, deltas: list[Delta]) -> None:
        """Parse a whole body: an error, a finished response, or one in progress."""
        if not isinstance(response, dict):
            raise error_in_body(response) or InvalidReply("The reply is JSON, but no response.", fix=_FIX)
        status = response.get("status")
        if response.get("error") or f"response.{status}" in _FAILURES:
            self._reconcile_items(response, deltas)  # the text so far is kept
            raise provider_error(response if response.get("error") else f"The response has {status}.")
        if not isinstance(response.get("output"), list):
            raise _error_in_response(response) or InvalidReply("The reply has no `output`.", fix=_FIX)
        if status is None or _text(response, "status") in _COMPLETE:
            self._emit_end(response, deltas)
        else:
            self._reconcile_items(response, deltas)
            self.pending = _text(response, "status")

    def _decode_event(self, kind: str, event: Item, deltas: list[Delta]) -> None:
        """Parse one event; irrelevant and unknown events are ignored."""
        if kind in _PART_EVENTS and isinstance(part := event.get("part"), dict):
            kind, event = _PARTS.get(_text(part, "type"), ""), {**event, **part}
        if kind in _TEXT_EVENTS:
            self._decode_text(*_TEXT_EVENTS[kind], event, deltas)
        elif kind in _WHOLE_TEXTS:
            self._decode_whole_text(*_WHOLE_TEXTS[kind], event, deltas)
        elif kind == _TRANSCRIPT or kind in _SOUND:
            self._decode_sound(kind, event, deltas)
        elif kind in _CALL_EVENTS:
            self._decode_arguments(*_CALL_EVENTS[kind], event, deltas)
        elif kind in ("response.output_item.added", "response.output_item.done"):
            item = require_object(event.get("item"), "An item of the reply")
            if kind.endswith("added"):
                self._item_added(event, item, deltas)
            else:
                self._finish_item(self._output_items.on_done(event, item), item, deltas)
        else:
            self._decode_state(kind, event, deltas)

    def _decode_state(self, kind: str, event: Item, deltas: list[Delta]) -> None:
        """Parse an event about the response as a whole."""
        response = event.get("response")
        response = response if isinstance(response, dict) else {}
        if kind in _FAILURES or (kind in _ENDS and response.get("error")):
            self._reconcile_items(response, deltas)
            raise provider_error(response.get("error") or f"The response has {kind.removeprefix('response.')}.")
        self.pending = "queued" if kind == "response.queued" else ""
        if kind not in _ENDS:
            self._count(response, deltas)
        if kind == "response.incomplete":
            self._emit_end({**response, "status": "incomplete"}, deltas)
        elif kind == "response.completed":
            self._emit_end({**response, "status": response.get("status") or "completed"}, deltas)
        elif kind == "error" or (event.get("error") and not kind.startswith("response.")):
            raise provider_error(event.get("error") or _untyped_error(event))
        elif not kind and (error := error_in_body(event)):
            raise error

    def _decode_text(self, kind: str, item_type: str, event: Item, deltas: list[Delta]) -> None:
        text = event.get("delta")
        if isinstance(text, str) and text:
            output_item = self._output_items.on_delta(event, item_type)
            kind = "reasoning" if output_item.type == "reasoning" and kind != "summary" else kind
            output_item.add(kind, text)
            output_item.started.add((kind, _part_index(event)))
            part = event.get("summary_index", event.get("content_index")) if output_item.type == "reasoning" else None
            deltas.append(self._emit_text(output_item, text, (output_item.key, kind, part)))

    def _decode_whole_text(self, kind: str, item_type: str, field: str, event: Item, deltas: list[Delta]) -> None:
        """Handle the repetition of a text, which is new if no fragment of it came."""
        output_item = self._output_items.on_delta(event, item_type)
        if (kind, _part_index(event)) not in output_item.started:
            self._decode_text(kind, item_type, {**event, "delta": event.get(field)}, deltas)

    def _decode_sound(self, kind: str, event: Item, deltas: list[Delta]) -> None:
        """Handle sound, which these events carry without its format: its transcript is the text."""
        if kind == _TRANSCRIPT and isinstance(text := event.get("delta"), str):
            deltas.append(TextDelta(text))
        if not self._has_sound:
            deltas.append(NO_SOUND)
        self._has_sound = True

    def _decode_arguments(self, item_type: str, stage: str, event: Item, deltas: list[Delta]) -> None:
        """Handle a fragment of a call's arguments, or all of them."""
        output_item = self._output_items.on_delta(event, item_type)
        if output_item.type not in CALLS or is_x_search(output_item.item):
            return
        if stage == "done":
            self._emit_call(output_item, {**event, "type": item_type}, deltas)
        elif text := arguments_text(event.get("delta")):
            final = not isinstance(event["delta"], str)  # what is no text cannot be a piece of one
            (output_item.replace if final else output_item.add)("call", text)
            deltas.append(CallDelta(output_item.key, arguments=text, final=final))

    def _item_added(self, event: Item, item: Item, deltas: list[Delta]) -> None:
        output_item = self._output_items.on_added(event, item)
        is_new, output_item.item = not output_item.item, output_item.item or item
        if is_new and is_call(item):
            self._emit_call(output_item, item, deltas)

    def _finish_item(self, output_item: OutputItem, item: Item, deltas: list[Delta]) -> None:
        """Handle a completed item, and emit what the fragments did not contain."""
        output_item.item = item
        if output_item.type in CALLS and not is_x_search(item):
            self._emit_call(output_item, item, deltas)
            return
        _label(output_item, deltas)
        for kind, parts in texts(item).items():
            size, text = output_item.sizes.get(kind, 0), "".join(parts)
            if len(text) <= size or not text.startswith(output_item.text(kind)):
                continue
            output_item.replace(kind, text)
            for position, missing in enumerate([text[size:]] if size else parts):
                part = None if size or output_item.type != "reasoning" else position
                deltas.append(
                    self._emit_text(output_item, missing, self._last[kind] if size else (output_item.key, kind, part))
                )
        if output_item.is_emitted:
            return
        others: list[Delta] = [entry for entry in (item_notice(item), parse_generated_image(item)) if entry]
        others += map(ProviderDelta, provider_parts(item))
        output_item.is_emitted = bool(others)
        deltas += others

    def _emit_text(self, output_item: OutputItem, text: str, position: Position) -> Delta:
        """Build the delta of a text; another item, or another part of the reasoning, starts a paragraph."""
        kind = position[1]
        previous, self._last[kind] = self._last.get(kind), position
        delta = _TEXT_DELTAS[kind](text)
        if previous not in (None, position) and isinstance(delta, TextDelta | ThinkingDelta):
            delta.is_new = True
        if previous != position and isinstance(delta, TextDelta):
            delta.phase = output_item.phase = _phase(output_item.item)
        return delta

    def _emit_call(self, output_item: OutputItem, item: Item, deltas: list[Delta]) -> None:
        """Emit what a stage of a call's item adds: its id, its name, its final arguments."""
        name = (_text(item, "call_id") or output_item.name[0], _text(item, "name") or output_item.name[1])
        text = arguments(item)
        is_new = bool(text) and not output_item.is_same("call", text)
        if is_new or name != output_item.name:
            output_item.name = name
            deltas.append(CallDelta(output_item.key, *name, arguments=text if is_new else "", final=is_new))
        if is_new:
            output_item.replace("call", text)

    def _finish(self, deltas: list[Delta]) -> None:  # noqa: ARG002 - without a final event the reply is incomplete
        self._is_finished = True

    def _reconcile_items(self, response: Item, deltas: list[Delta]) -> tuple[list[Item], bool]:
        """Apply the items of the final event; return all items in order, and whether all are complete.

        Some servers send an empty list or omit items: the streamed items are used then.
        """
        items = list(up_to_ceiling(require_objects(response.get("output"), "An item of the reply"), is_call))
        streamed = list(self._output_items.all)
        pairs = self._output_items.on_final(items[:MAX_ITEMS])
        for output_item, item in pairs:
            self._output_items.finish(output_item)
            self._finish_item(output_item, item, deltas)
        require_few_items(len(items))
        self._count(response, deltas)
        final = {output_item.key for output_item, _ in pairs}
        if any(output_item.key not in final for output_item in streamed):
            items = [output_item.item for output_item in self._output_items.all if output_item.is_done]
        return items, all(output_item.is_done for output_item in self._output_items.all)

    def _count(self, response: Item, deltas: list[Delta]) -> None:
        """Note the model that answers, and the usage of a response so far."""
        self._usage.set_model(response.get("model"))
        if usage := self._usage.add(response.get("usage")):
            deltas.append(UsageDelta(usage))

    def _emit_end(self, response: Item, deltas: list[Delta]) -> None:
        items, is_complete = self._reconcile_items(response, deltas)
        deltas += moderation_notices(response.get("moderation"))
        deltas += removal_notices(response.get("input_transformations"))
        stop_reason = _stop_reason(response, items)
        explanation = "; ".join(requested_actions(items))
        if explanation and stop_reason == "end":
            stop_reason = "action"
        # A truncated reply is rebuilt from its parts, and so is one with items that cannot be answered.
        is_held = is_complete and bool(items) and stop_reason not in TRUNCATED_REASONS and not explanation
        finish_reason = _text(response, "status")
        if stop_reason == "error":
            finish_reason = _text(response["incomplete_details"], "reason")
        deltas.append(ReplyEnd(stop_reason, finish_reason, items if is_held else None, explanation))
        self.pending = ""
        self._is_finished = True


_FIX = "Check the address and the wire (`--set wire=NAME`)."


def _error_in_response(body: Item) -> WireError | None:
    """Return the error of a body without items, with or without an envelope."""
    return provider_error(_untyped_error(body)) if body.get("type") == "error" else error_in_body(body)


def _untyped_error(error: Item) -> Item:
    """Return an error without the type of its event."""
    return {key: value for key, value in error.items() if key != "type"}


def _stop_reason(response: Item, items: list[Item]) -> StopReason:
    """Return why a reply stopped; one with an incomplete call was cut off, whatever the response reports."""
    details = response.get("incomplete_details")
    reason = details.get("reason") if isinstance(details, dict) else None
    if reason == "content_filter":
        return "filtered"
    if isinstance(reason, str) and reason not in _LENGTHS:
        return "error"
    calls = [item for item in items if is_call(item)]
    if reason or response.get("status") == "incomplete" or any(call.get("status") == "incomplete" for call in calls):
        return "length"
    return "tools" if calls else "end"


def _label(output_item: OutputItem, deltas: list[Delta]) -> None:
    """Give the phase of a completed message to its text, if the text came before it."""
    if output_item.sizes.get("text") and (phase := _phase(output_item.item)) != output_item.phase:
        output_item.phase = phase
        deltas.append(TextDelta("", phase=phase))


def _part_index(event: Item) -> Any:
    """Return which part of its item a text belongs to."""
    return event.get("summary_index", event.get("content_index"))


def _phase(item: Item) -> str:
    """Return the phase of a message; see https://developers.openai.com/api/docs/guides/reasoning."""
    return shorten(_text(item, "phase"), MAX_PHASE)


def _text(item: Item, name: str) -> str:
    value = item.get(name)
    return value if isinstance(value, str) else ""
