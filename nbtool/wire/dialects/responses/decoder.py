"""A reply in the Responses dialect, from bytes to deltas.

A reply is a list of output items that grow, are done, and come once more in the final event. Each stage may be the
only one that a server sends, and the later the more authoritative: so every stage adds what is still missing.

See https://platform.openai.com/docs/api-reference/responses-streaming.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from nbtool.errors import BadReply, WireError
from nbtool.events import (
    CallDelta,
    Delta,
    MediaDelta,
    RefusalDelta,
    ReplyEnd,
    StopReason,
    TextDelta,
    ThinkingDelta,
    UsageDelta,
)
from nbtool.wire.dialects.responses.output_items import (
    CALLS,
    Item,
    Slot,
    Slots,
    arguments,
    picture,
    read_usage,
    texts,
    wanted_action,
)
from nbtool.wire.framing.provider_errors import provider_error, told_error
from nbtool.wire.framing.typed_events import TypedEvents
from nbtool.wire.reply import CUT_SHORT, MAX_ITEMS, require_few_items, up_to_ceiling

_PROSE: dict[str, Callable[[str], Delta]] = {
    "text": TextDelta,
    "refusal": RefusalDelta,
    "summary": ThinkingDelta,
    "reasoning": ThinkingDelta,
}
_PROSE_EVENTS = {
    "response.output_text.delta": ("text", "message"),
    "response.refusal.delta": ("refusal", "message"),
    "response.reasoning_summary_text.delta": ("summary", "reasoning"),
    "response.reasoning_text.delta": ("reasoning", "reasoning"),
}
_CALL_EVENTS = {
    "response.function_call_arguments.delta": ("function_call", "delta"),
    "response.function_call_arguments.done": ("function_call", "done"),
    "response.custom_tool_call_input.delta": ("custom_tool_call", "delta"),
    "response.custom_tool_call_input.done": ("custom_tool_call", "done"),
}
_ENDS = frozenset({"response.completed", "response.incomplete"})
_FAILURES = frozenset({"response.failed", "response.cancelled"})
_COMPLETE = frozenset({"completed", "complete", "incomplete"})


Place = tuple[str, str, Any]
"""Where a text stands: its item, its kind, and for reasoning its part."""


class ResponsesDecoder(TypedEvents):
    """One reply being read; `pending` is the status of one that the provider makes in the background."""

    dialect = "responses"
    pending = ""

    def __init__(self) -> None:
        super().__init__()
        self._slots = Slots()
        self._last: dict[str, Place] = {}  # by kind: where the newest text stands

    def _whole(self, response: Any, deltas: list[Delta]) -> None:
        """Read a whole body: an error, a response that is over, or one that is still being made."""
        if not isinstance(response, dict):
            raise told_error(response) or BadReply("The reply is JSON, but no response.", fix=_FIX)
        status = response.get("status")
        if response.get("error") or f"response.{status}" in _FAILURES:
            self._items(response, deltas)  # what was written until then is kept
            raise provider_error(response if response.get("error") else f"The response has {status}.")
        if not isinstance(response.get("output"), list):
            raise _told(response) or BadReply("The reply has no `output`.", fix=_FIX)
        if status is None or _text(response, "status") in _COMPLETE:
            self._end(response, deltas)
        else:
            self._items(response, deltas)
            self.pending = _text(response, "status")

    def _event(self, kind: str, event: Item, deltas: list[Delta]) -> None:
        """Read one event; those of no interest, and those nobody knows yet, are passed over."""
        item = event.get("item")
        if kind in _PROSE_EVENTS:
            self._prose(*_PROSE_EVENTS[kind], event, deltas)
        elif kind in _CALL_EVENTS:
            self._arguments(*_CALL_EVENTS[kind], event, deltas)
        elif kind == "response.output_item.added" and isinstance(item, dict):
            self._added(event, item, deltas)
        elif kind == "response.output_item.done" and isinstance(item, dict):
            self._settle(self._slots.done(event, item), item, deltas)
        else:
            self._state(kind, event, deltas)

    def _state(self, kind: str, event: Item, deltas: list[Delta]) -> None:
        """Read an event about the response as a whole."""
        response = event.get("response")
        response = response if isinstance(response, dict) else {}
        if kind in _FAILURES or (kind in _ENDS and response.get("error")):
            self._items(response, deltas)
            raise provider_error(response.get("error") or f"The response has {kind.removeprefix('response.')}.")
        self.pending = "queued" if kind == "response.queued" else ""
        if kind == "response.incomplete":
            self._end({**response, "status": "incomplete"}, deltas)
        elif kind == "response.completed":
            self._end({**response, "status": response.get("status") or "completed"}, deltas)
        elif kind == "error" or (event.get("error") and not kind.startswith("response.")):
            raise provider_error(event.get("error") or _untyped(event))
        elif not kind and (told := told_error(event)):
            raise told

    def _prose(self, kind: str, item_type: str, event: Item, deltas: list[Delta]) -> None:
        text = event.get("delta")
        if isinstance(text, str) and text:
            slot = self._slots.growing(event, item_type)
            kind = "reasoning" if slot.type == "reasoning" and kind != "summary" else kind
            slot.add(kind, text)
            part = event.get("summary_index", event.get("content_index")) if slot.type == "reasoning" else None
            deltas.append(self._written(kind, text, (slot.key, kind, part)))

    def _arguments(self, item_type: str, stage: str, event: Item, deltas: list[Delta]) -> None:
        """Take a fragment of a call's arguments, or the whole of them."""
        slot = self._slots.growing(event, item_type)
        if slot.type not in CALLS:
            return
        if stage == "done":
            self._call(slot, {**event, "type": item_type}, deltas)
        elif isinstance(text := event.get("delta"), str) and text:
            slot.add("call", text)
            deltas.append(CallDelta(slot.key, arguments=text))

    def _added(self, event: Item, item: Item, deltas: list[Delta]) -> None:
        slot = self._slots.begun(event, item)
        is_new, slot.item = not slot.item, slot.item or item
        if slot.type in CALLS and is_new:
            self._call(slot, item, deltas)

    def _settle(self, slot: Slot, item: Item, deltas: list[Delta]) -> None:
        """Take an item that is done, and pass on what did not come in fragments."""
        slot.item = item
        if slot.type in CALLS:
            self._call(slot, item, deltas)
            return
        for kind, parts in texts(item).items():
            size, text = slot.sizes.get(kind, 0), "".join(parts)
            if len(text) <= size or not text.startswith(slot.written(kind)):
                continue
            slot.replace(kind, text)
            for place, rest in enumerate([text[size:]] if size else parts):
                part = None if size or slot.type != "reasoning" else place
                deltas.append(self._written(kind, rest, self._last[kind] if size else (slot.key, kind, part)))
        if not slot.is_shown and (media := picture(item)):
            slot.is_shown = True
            deltas.append(MediaDelta(media))

    def _written(self, kind: str, text: str, place: Place) -> Delta:
        """Make the delta of a text; another item, or another part of the reasoning, is a paragraph of its own."""
        before, self._last[kind] = self._last.get(kind, place), place
        delta = _PROSE[kind](text)
        if before != place and isinstance(delta, TextDelta | ThinkingDelta):
            delta.is_new = True
        return delta

    def _call(self, slot: Slot, item: Item, deltas: list[Delta]) -> None:
        """Pass on what a form of a call's item adds: its id, its name, the arguments as they finally are."""
        named = (_text(item, "call_id") or slot.named[0], _text(item, "name") or slot.named[1])
        text = arguments(item)
        is_news = bool(text) and not slot.is_same("call", text)
        if is_news or named != slot.named:
            slot.named = named
            deltas.append(CallDelta(slot.key, *named, arguments=text if is_news else "", final=is_news))
        if is_news:
            slot.replace("call", text)

    def _finish(self, deltas: list[Delta]) -> None:  # noqa: ARG002 - without a final event the reply is incomplete
        self._is_done = True

    def _items(self, response: Item, deltas: list[Delta]) -> tuple[list[Item], bool]:
        """Settle the items of the final form; give all items in order, and whether none is missing or half made.

        Servers exist that send an empty list, or leave items out: what came while streaming then stands.
        """
        output = response.get("output")
        items = [item for item in output if isinstance(item, dict)] if isinstance(output, list) else []
        items = list(up_to_ceiling(items, lambda item: _text(item, "type") in CALLS))
        streamed = list(self._slots.all)
        pairs = self._slots.final(items[:MAX_ITEMS])
        for slot, item in pairs:
            self._slots.finish(slot)
            self._settle(slot, item, deltas)
        require_few_items(len(items))
        if (usage := read_usage(response.get("usage"))) is not None:
            deltas.append(UsageDelta(usage))
        final = {slot.key for slot, _ in pairs}
        if any(slot.key not in final for slot in streamed):
            items = [slot.item for slot in self._slots.all if slot.is_done]
        return items, all(slot.is_done for slot in self._slots.all)

    def _end(self, response: Item, deltas: list[Delta]) -> None:
        items, is_whole = self._items(response, deltas)
        stop_reason = _stop_reason(response, items)
        explanation = "; ".join(filter(None, map(wanted_action, items)))
        if explanation and stop_reason == "end":
            stop_reason = "action"
        # A reply that was cut short is built anew, and so is one whose items nobody can answer.
        holds = is_whole and bool(items) and stop_reason not in CUT_SHORT and not explanation
        finish_reason = _text(response, "status")
        if stop_reason == "error":
            finish_reason = _text(response["incomplete_details"], "reason")
        deltas.append(ReplyEnd(stop_reason, finish_reason, items if holds else None, explanation))
        self.pending = ""
        self._is_done = True


_FIX = "Check the address and the wire (`--wire`)."


def _told(body: Item) -> WireError | None:
    """Give the error that a body without any items tells of, which may stand in it bare."""
    return provider_error(_untyped(body)) if body.get("type") == "error" else told_error(body)


def _untyped(error: Item) -> Item:
    """Leave out the type of an event, which is none of its error."""
    return {key: value for key, value in error.items() if key != "type"}


def _stop_reason(response: Item, items: list[Item]) -> StopReason:
    """Say why a reply stopped; a call that is itself incomplete was cut off, whatever the response says of itself."""
    details = response.get("incomplete_details")
    reason = details.get("reason") if isinstance(details, dict) else None
    if reason == "content_filter":
        return "filtered"
    if isinstance(reason, str) and reason not in ("", "max_output_tokens", "max_tokens"):
        return "error"
    calls = [item for item in items if _text(item, "type") in CALLS]
    if reason or response.get("status") == "incomplete" or any(call.get("status") == "incomplete" for call in calls):
        return "length"
    return "tools" if calls else "end"


def _text(item: Item, name: str) -> str:
    value = item.get(name)
    return value if isinstance(value, str) else ""
