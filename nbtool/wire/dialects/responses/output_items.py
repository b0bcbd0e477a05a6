"""The output items of one reply in the Responses dialect, while they are streamed.

An item is identified by its position (`output_index`) and its id; some servers omit either, send another id with every
event, or number every item as the first.
"""

from __future__ import annotations

from base64 import b64decode
from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from nbtool.errors import InvalidReply
from nbtool.events import MediaDelta, StreamNotice
from nbtool.messages import Media, Usage
from nbtool.text import shorten
from nbtool.wire.arguments import arguments_text
from nbtool.wire.dialects.reported_cost import reported_cost
from nbtool.wire.dialects.unreadable_media import UNREADABLE_MEDIA
from nbtool.wire.dialects.usage_fields import count_at, first_count
from nbtool.wire.reply import require_few_items

Item = dict[str, Any]

CALLS = {"function_call": "arguments", "custom_tool_call": "input"}
"""The types of items that request a call from the client, and the field with the model's text."""


X_SEARCH_ID = "xs_call_"
"""The start of the ids of calls that xAI runs itself: it reports its searches of X as custom tool calls."""


def is_x_search(item: Item) -> bool:
    """Whether an item is a search of X, which xAI has run."""
    return item.get("type") == "custom_tool_call" and str(item.get("call_id")).startswith(X_SEARCH_ID)


def is_call(item: Item) -> bool:
    """Whether an item requests a call from the client."""
    return str(item.get("type")) in CALLS and not is_x_search(item)


@dataclass(slots=True)
class OutputItem:
    """One item: its newest form, and what was already emitted of it."""

    key: str
    type: str = ""
    item: Item = field(default_factory=dict)
    text_parts: dict[str, list[str]] = field(default_factory=dict)
    sizes: dict[str, int] = field(default_factory=dict)
    name: tuple[str, str] = ("", "")
    phase: str = ""
    started: set[tuple[str, Any]] = field(default_factory=set)  # kinds and indexes of its parts of which text came
    is_done: bool = False
    is_emitted: bool = False

    def add(self, kind: str, text: str) -> None:
        """Record a fragment of text that is emitted."""
        self.text_parts.setdefault(kind, []).append(text)
        self.sizes[kind] = self.sizes.get(kind, 0) + len(text)

    def text(self, kind: str) -> str:
        """Return all text of one kind that was emitted."""
        parts = self.text_parts.get(kind, [])
        if len(parts) > 1:
            self.text_parts[kind] = parts = ["".join(parts)]
        return parts[0] if parts else ""

    def replace(self, kind: str, text: str) -> None:
        """Record a text that replaces what was emitted before."""
        self.text_parts[kind] = [text]
        self.sizes[kind] = len(text)

    def is_same(self, kind: str, text: str) -> bool:
        """Whether a text equals what was emitted of one kind; joins fragments only if the lengths are equal."""
        return len(text) == self.sizes.get(kind, 0) and text == self.text(kind)


class OutputItems:
    """All items of a reply, in the order in which they started."""

    def __init__(self) -> None:
        self.all: list[OutputItem] = []
        self._open: dict[str, dict[str, OutputItem]] = {}  # by type and key: those that are not completed
        self._by_key: dict[tuple[int | None, str], OutputItem] = {}

    def on_added(self, event: Item, item: Item) -> OutputItem:
        """Return the slot of a new item."""
        return self._item_for(event, item, is_start=True)

    def on_done(self, event: Item, item: Item) -> OutputItem:
        """Return the slot of a completed item, whether its start event arrived or not."""
        slot = self._item_for(event, item, is_start=False)
        self.finish(slot)
        return slot

    def finish(self, slot: OutputItem) -> None:
        """Mark an item as completed."""
        slot.is_done = True
        self._open.get(slot.type, {}).pop(slot.key, None)

    def on_delta(self, event: Item, item_type: str) -> OutputItem:
        """Return the slot that a fragment belongs to.

        Raises:
            nbtool.errors.InvalidReply: it could belong to several calls, and merging could invent a call.
        """
        index, item_id = _position(event)
        if slot := self._find(index, item_id):
            return slot
        if index is None and not item_id:
            if item_type in CALLS and len(self._open.get(item_type, {})) > 1:
                raise InvalidReply("A fragment of a call does not say which of several calls it belongs to.")
            if slot := self._newest(item_type):
                return slot
        return self._new(index, item_id, item_type)

    def on_final(self, output: list[Item]) -> list[tuple[OutputItem, Item]]:
        """Match the items of the final event to their slots, by id, by call, or by position."""
        by_id = {str(slot.item["id"]): slot for slot in self.all if slot.item.get("id")}
        by_call = {str(slot.item["call_id"]): slot for slot in self.all if slot.item.get("call_id")}
        unnamed: dict[str, deque[OutputItem]] = {}  # by type: started by a fragment, without an item event
        for slot in self.all:
            if not slot.item:
                unnamed.setdefault(slot.type, deque()).append(slot)
        pairs: list[tuple[OutputItem, Item]] = []
        used: set[str] = set()
        for position, item in enumerate(output):
            item_id = str(item.get("id"))
            slots = (by_id.get(item_id), self._by_key.get((None, item_id)), by_call.get(str(item.get("call_id"))))
            candidates = (*slots, self._by_key.get((position, "")))
            fits = (slot for slot in candidates if slot and slot.key not in used and slot.type == item.get("type"))
            remaining = unnamed.get(str(item.get("type")), deque())
            while remaining and remaining[0].key in used:
                remaining.popleft()
            slot = next(fits, None) or (remaining[0] if remaining else self._new(None, "", str(item.get("type"))))
            used.add(slot.key)
            pairs.append((slot, item))
        return pairs

    def _item_for(self, event: Item, item: Item, *, is_start: bool) -> OutputItem:
        index, item_id = _position({"item_id": item.get("id"), **event})
        slot = self._find(index, item_id) or self._without_index(item, index, is_start)
        if slot is None or _is_different(slot, item, is_start):
            slot = self._new(index, item_id, str(item.get("type")))
        self._by_key.setdefault((index, item_id), slot)
        return slot

    def _without_index(self, item: Item, index: int | None, is_start: bool) -> OutputItem | None:
        """Return the slot of an item without an index: the one that is still open."""
        if is_start or index is not None:
            return None
        return self._newest(str(item.get("type")))

    def _newest(self, item_type: str) -> OutputItem | None:
        """Return the last started item of a type that is not completed."""
        return next(reversed(self._open.get(item_type, {}).values()), None)

    def _find(self, index: int | None, item_id: str) -> OutputItem | None:
        matches = self._by_key
        exact = matches.get((index, item_id)) if index is not None and item_id else None
        at_position = matches.get((index, "")) if index is not None else None
        return exact or at_position or (matches.get((None, item_id)) if item_id else None)

    def _new(self, index: int | None, item_id: str, item_type: str) -> OutputItem:
        require_few_items(len(self.all) + 1)
        slot = OutputItem(str(len(self.all)), item_type)
        self.all.append(slot)
        self._open.setdefault(item_type, {})[slot.key] = slot
        if index is not None:
            self._by_key[index, ""] = slot
        if item_id:
            self._by_key[None, item_id] = slot
            self._by_key[index, item_id] = slot
        return slot


def texts(item: Item) -> dict[str, list[str]]:
    """Return the prose of an item by kind, in its parts: text, refusal, reasoning summary, and reasoning.

    The item's type decides: the parts of a `reasoning` item are never the answer, whatever a bridge calls them.
    """
    is_reasoning = item.get("type") == "reasoning"
    if not is_reasoning and item.get("type") not in ("message", None):
        return {}
    results: dict[str, list[str]] = {}
    for part in (*_parts(item, "summary"), *_parts(item, "content")):
        kind, field_name = _PROSE.get(str(part.get("type")), ("", ""))
        if kind and isinstance(text := part.get(field_name), str):
            kind = "reasoning" if is_reasoning and kind != "summary" else kind
            results.setdefault(kind, []).append(text)
    if isinstance(text := item.get("content"), str):
        results["reasoning" if is_reasoning else "text"] = [text]
    return results


_PROSE = {
    "output_text": ("text", "text"),
    "text": ("text", "text"),
    "refusal": ("refusal", "refusal"),
    "summary_text": ("summary", "text"),
    "reasoning_text": ("reasoning", "text"),
}
"""The parts of items that contain prose: its kind and its field."""


def arguments(item: Item) -> str:
    """Return the arguments of a call as text; some servers send an object instead."""
    return arguments_text(item.get(CALLS[item["type"]]))


_ACTIONS = {
    "mcp_approval_request": "approval of the provider's own MCP tool",
    "computer_call": "an action on a computer",
    "local_shell_call": "a command in a shell",
    "shell_call": "a command in a shell",
    "apply_patch_call": "a change of files",
    "tool_search_call": "a search for tools",
}
"""Items that wait for an action of the client other than a function call."""


def requested_actions(items: list[Item]) -> list[str]:
    """Return the actions that items request from the client, other than function calls.

    An action that the provider carried out itself, in a container of its own or with its outcome in the reply, is none.
    """
    results = {str(item.get("call_id")) for item in items if str(item.get("type")).endswith("_call_output")}
    open_items = (item for item in items if not (is_at_provider(item) or str(item.get("call_id", "-")) in results))
    actions = map(_action, open_items)
    return list(filter(None, actions))


def is_at_provider(item: Item) -> bool:
    """Whether a command runs in a container of the provider, or a search of tools at it."""
    if item.get("type") == "tool_search_call":
        return item.get("execution") != "client"
    environment = item.get("environment")
    return isinstance(environment, dict) and str(environment.get("type")).startswith("container")


def _action(item: Item) -> str:
    action = _ACTIONS.get(str(item.get("type")), "")
    if item.get("type") == "mcp_approval_request":
        return f"{action} {shorten(str(item.get('name')), 80)!r} on {shorten(str(item.get('server_label')), 80)!r}"
    details = item.get("action") or item.get("operation")
    texts = (details.get(name) for name in ("commands", "command", "path")) if isinstance(details, dict) else ()
    lines = [" ".join(map(str, text)) if isinstance(text, list) else text for text in texts]
    detail = next((line for line in lines if isinstance(line, str) and line), "")
    return f"{action} ({shorten(detail, 80)})" if action and detail else action


def parse_generated_image(item: Item) -> MediaDelta | StreamNotice | None:
    """Return the finished image of an image generation, if the item contains one; a notice if it is unreadable."""
    result = item.get("result")
    if item.get("type") != "image_generation_call" or not isinstance(result, str) or not result:
        return None
    try:
        data = b64decode(result, validate=True)
    except ValueError:
        return UNREADABLE_MEDIA
    return MediaDelta(Media(f"image/{item.get('output_format') or 'png'}", data=data))


def read_usage(usage: Mapping[str, Any]) -> Usage:
    """Parse the usage of a response; that of a transcription names its details otherwise."""
    details = "input_tokens_details" if usage.get("input_tokens_details") else "input_token_details"
    output = "output_tokens_details"
    return Usage(
        input_tokens=count_at(usage, "input_tokens"),
        output_tokens=count_at(usage, "output_tokens"),
        cached_tokens=count_at(usage, details, "cached_tokens"),
        cache_write_tokens=count_at(usage, details, "cache_write_tokens"),
        thinking_tokens=count_at(usage, output, "reasoning_tokens"),
        input_audio_tokens=count_at(usage, details, "audio_tokens"),
        cached_audio_tokens=count_at(usage, details, "cached_tokens_details", "audio_tokens"),
        output_audio_tokens=count_at(usage, output, "audio_tokens"),
        input_image_tokens=count_at(usage, details, "image_tokens"),
        cached_image_tokens=count_at(usage, details, "cached_tokens_details", "image_tokens"),
        output_image_tokens=count_at(usage, output, "image_tokens"),
        web_searches=first_count(
            usage,
            ("server_side_tool_usage_details", "web_search_calls"),
            ("server_tool_use", "web_search_requests"),
        ),
        cost=reported_cost(usage),
    )


def _position(event: Item) -> tuple[int | None, str]:
    """Parse the index of an event; None for an invalid one (negative, a fraction, a text)."""
    index, item_id = event.get("output_index"), event.get("item_id")
    is_index = isinstance(index, int) and not isinstance(index, bool) and index >= 0
    return (index if is_index else None), (item_id if isinstance(item_id, str) else "")


def _is_different(slot: OutputItem, item: Item, is_start: bool) -> bool:
    """Whether an item does not match the slot of its index."""
    if slot.type and slot.type != item.get("type"):
        return True
    if not slot.item or any(item.get(name) and item[name] == slot.item.get(name) for name in ("id", "call_id")):
        return False
    return is_start or slot.is_done


def _parts(item: Item, name: str) -> list[Item]:
    parts = item.get(name)
    return [part for part in parts if isinstance(part, dict)] if isinstance(parts, list) else []
