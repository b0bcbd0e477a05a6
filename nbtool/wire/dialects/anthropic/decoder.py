"""A reply in the Anthropic Messages dialect, from bytes to deltas.

A reply is a list of content blocks, each identified by its index. They are kept unchanged, because most of them have to
be sent back unchanged: signed thinking, tools that ran at the provider, and unknown kinds.

See https://docs.anthropic.com/en/docs/build-with-claude/streaming.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from nbtool.call_arguments import parse_arguments
from nbtool.errors import InvalidReply
from nbtool.events import CallDelta, Delta, ProviderDelta, ReplyEnd, StopReason, TextDelta, ThinkingDelta, UsageDelta
from nbtool.wire.arguments import arguments_text, single_object
from nbtool.wire.dialect import DIALECTS
from nbtool.wire.dialects.anthropic.provider_parts import USES, citation, is_outcome, provider_call, unknown_block
from nbtool.wire.dialects.anthropic.usage import read_usage
from nbtool.wire.dialects.reply_notices import removal_notices
from nbtool.wire.dialects.stream_reader import StreamReader
from nbtool.wire.dialects.usage_fields import CumulativeUsage
from nbtool.wire.framing.provider_errors import error_in_body, provider_error
from nbtool.wire.framing.value_types import require_object, require_objects
from nbtool.wire.reply import TRUNCATED_REASONS, require_few_items, up_to_ceiling

STOP_REASONS: dict[str, StopReason] = {
    "end_turn": "end",
    "stop_sequence": "end",
    "tool_use": "tools",
    "max_tokens": "length",
    "model_context_window_exceeded": "length",
    "refusal": "refused",
    "pause_turn": "paused",
    "compaction": "paused",
}
"""The provider's stop reasons, normalized; see https://docs.anthropic.com/en/api/handling-stop-reasons."""

Block = dict[str, Any]

_BLOCK_OF_DELTA = {"text_delta": "text", "thinking_delta": "thinking", "signature_delta": "thinking"}
_FIX = "Check the address and the wire (`--set wire=NAME`)."


@dataclass(slots=True)
class _OpenBlock:
    """One block: its current form, and the fragments of each field that are not joined yet."""

    block: Block
    fragments: dict[str, list[str]] = field(default_factory=dict)
    citations: list[Any] = field(default_factory=list)

    @property
    def is_call(self) -> bool:
        return self.block.get("type") == "tool_use"

    @property
    def has_citations(self) -> bool:
        return bool(self.citations) or self.block.get("citations") is not None

    def add(self, name: str, text: str) -> None:
        self.fragments.setdefault(name, []).append(text)

    def value(self) -> Block:
        """Return the block in its final form; a tool's arguments arrive as the JSON text of its `input`."""
        block = dict(self.block)
        if self.citations:
            initial = block.get("citations")
            block["citations"] = [*(initial if isinstance(initial, list) else []), *self.citations]
        for name, fragments in self.fragments.items():
            if name != "input":
                initial = block.get(name)
                block[name] = (initial if isinstance(initial, str) else "") + "".join(fragments)
        if text := "".join(self.fragments.get("input", ())):
            block["input"] = _object(text)
        elif _text(block, "type").endswith("tool_use") and not isinstance(block.get("input"), dict):
            block["input"] = {}
        return block


class AnthropicDecoder(StreamReader):
    """One reply being read."""

    dialect = "anthropic"
    kinds = DIALECTS["anthropic"].event_kinds

    def __init__(self) -> None:
        super().__init__()
        self._message_id: Any = None
        self._has_begun = False
        self._blocks: dict[int, _OpenBlock] = {}
        self._last: dict[str, int] = {}  # by kind of prose: the block of the newest text
        self._highest = 0  # the index of the newest block
        self._provider_uses: dict[str, _OpenBlock] = {}  # by id: tools of the provider without an outcome
        self._stop_reason: str | None = None
        self._explanation = ""
        self._usage = CumulativeUsage(read_usage)

    def _decode_document(self, message: Any, deltas: list[Delta]) -> None:
        """Parse a whole body: an error, or a message; a message without a stop reason is incomplete."""
        if not isinstance(message, dict):
            raise error_in_body(message) or InvalidReply("The reply is JSON, but no message.", fix=_FIX)
        if message.get("error") or message.get("type") == "error":
            self._begin_message(message, deltas)
            raise provider_error(message)
        if not isinstance(message.get("content"), list):
            raise error_in_body(message) or InvalidReply("The reply has no `content`.", fix=_FIX)
        self._begin_message(message, deltas)
        if self._stop_reason:
            self._emit_end(deltas)

    def _decode_event(self, kind: str, event: Block, deltas: list[Delta]) -> None:
        """Parse one event; irrelevant and unknown events are ignored."""
        match kind, event:
            case "content_block_delta", _:
                delta = require_object(event.get("delta"), "A delta of the reply")
                self._decode_delta(event.get("index"), delta, deltas)
            case "content_block_start", _:
                block = require_object(event.get("content_block"), "A block of the reply")
                self._add_block(event.get("index"), block, deltas)
            case "message_start", _:
                self._begin_message(require_object(event.get("message"), "The message of the reply"), deltas)
            case "message_delta", _:
                self._set_stop_reason(event.get("delta"))
                self._count(event.get("usage"), deltas)
            case "message_stop", _:
                self._emit_end(deltas)
            case _ if kind == "error" or event.get("error"):
                raise provider_error(event)
            case "", _ if error := error_in_body(event):
                raise error

    def _begin_message(self, message: Block, deltas: list[Delta]) -> None:
        """Handle the start of the message; with programmatic tool calling it contains the whole reply."""
        if self._has_begun:
            if message.get("id") == self._message_id:
                return
            raise InvalidReply(
                "The server mixed two replies in one stream.",
                fix="Run the cell again; if it happens again, ask who runs the gateway in between.",
            )
        self._has_begun, self._message_id = True, message.get("id")
        self._usage.set_model(message.get("model"))
        content = message.get("content")
        for index, block in enumerate(up_to_ceiling(require_objects(content, "A block of the reply"), _is_call)):
            self._add_block(index, block, deltas)
            self._start_block(index, deltas)
        deltas += removal_notices(message.get("input_transformations"))
        self._set_stop_reason(message)
        self._count(message.get("usage"), deltas)

    def _add_block(self, index: Any, block: Block, deltas: list[Delta]) -> None:
        index = index if _is_index(index) else len(self._blocks)
        if index in self._blocks:
            if self._blocks[index].block == block and not self._blocks[index].fragments:
                return
            raise InvalidReply(f"Block {index} of the reply began twice.", fix="Send it again.")
        self._add(index, block)
        deltas += self._provider_deltas(index, block)
        if block.get("type") == "fallback" and isinstance(successor := block.get("to"), dict):
            self._usage.set_model(successor.get("model"))  # it writes what follows
        if block.get("type") == "tool_use":
            deltas.append(CallDelta(str(index), _text(block, "id"), _text(block, "name")))
        elif block.get("type") == "text" and (text := _text(block, "text")):
            deltas.append(TextDelta(text, self._is_new("text", index)))
        elif block.get("type") == "thinking" and (text := _text(block, "thinking")):
            deltas.append(ThinkingDelta(text, self._is_new("thinking", index)))

    def _provider_deltas(self, index: int, block: Block) -> Iterable[Delta]:
        """Return what a block brings of the provider's tools: an outcome with its call, or sources of a text."""
        if is_outcome(block):
            use = self._provider_uses.pop(block["tool_use_id"], None)
            return [ProviderDelta(provider_call(use.value() if use else {}, block))]
        if _text(block, "type") in USES:
            self._provider_uses[_text(block, "id")] = self._blocks[index]
        return _citation_deltas(block.get("citations"))

    def _start_block(self, index: int, deltas: list[Delta]) -> None:
        """Handle the arguments of a call that arrived in one piece."""
        block = self._blocks[index]
        if block.is_call and "input" not in block.fragments:
            text = arguments_text(block.block.get("input")) or "{}"
            block.add("input", text)
            deltas.append(CallDelta(str(index), arguments=text))

    def _decode_delta(self, index: Any, delta: Block, deltas: list[Delta]) -> None:
        """Handle a fragment of a block, in any order; one without an index belongs to the newest block."""
        kind = str(delta.get("type"))
        index = index if _is_index(index) else self._highest
        block = self._open_block(index, kind)
        if kind == "text_delta" and (text := _text(delta, "text")):
            block.add("text", text)
            deltas.append(TextDelta(text, self._is_new("text", index)))
        elif kind == "thinking_delta" and (text := _text(delta, "thinking")):
            block.add("thinking", text)
            deltas.append(ThinkingDelta(text, self._is_new("thinking", index)))
        elif kind == "input_json_delta":
            self._add_input(index, block, delta.get("partial_json"), deltas)
        elif kind == "citations_delta":
            block.citations.append(delta.get("citation"))
            deltas += _citation_deltas([delta.get("citation")])
        elif kind not in ("text_delta", "thinking_delta"):
            _keep_unknown(block, delta)

    def _add_input(self, index: int, block: _OpenBlock, piece: Any, deltas: list[Delta]) -> None:
        """Add a piece of a call's arguments; what is no text cannot be a piece of one, and is taken for all of them."""
        if not (text := arguments_text(piece)):
            return
        final = not isinstance(piece, str)
        if final:
            block.fragments["input"] = []
        block.add("input", text)
        if block.is_call:
            deltas.append(CallDelta(str(index), arguments=text, final=final))

    def _open_block(self, index: int, kind: str) -> _OpenBlock:
        """Return the block of a fragment; if its start event was lost, create the block unless that would lose data.

        Raises:
            nbtool.errors.InvalidReply: the fragment belongs to a call without a name.
        """
        if index not in self._blocks:
            if kind == "input_json_delta":
                raise InvalidReply(f"Arguments came for block {index}, which never began.", fix="Send it again.")
            self._add(index, {"type": _BLOCK_OF_DELTA.get(kind, "unknown")})
        return self._blocks[index]

    def _is_new(self, kind: str, index: int) -> bool:
        """Whether the text of a block starts a paragraph; a block with citations continues the sentence."""
        existing, self._last[kind] = self._last.get(kind, index), index
        if existing == index:
            return False
        if kind == "thinking" or abs(index - existing) > 1:
            return True
        return not (self._blocks[existing].has_citations or self._blocks[index].has_citations)

    def _add(self, index: int, block: Block) -> None:
        require_few_items(len(self._blocks) + 1)
        self._blocks[index] = _OpenBlock(block)
        self._highest = max(self._highest, index)

    def _set_stop_reason(self, delta: Any) -> None:
        reason = delta.get("stop_reason") if isinstance(delta, dict) else None
        if isinstance(reason, str) and reason:
            self._stop_reason = reason
        details = delta.get("stop_details") if isinstance(delta, dict) else None
        if isinstance(details, dict):
            self._explanation = _text(details, "explanation") or _text(details, "category")

    def _count(self, fields: Any, deltas: list[Delta]) -> None:
        if usage := self._usage.add(fields):
            deltas.append(UsageDelta(usage))

    def _finish(self, deltas: list[Delta]) -> None:
        """Handle `[DONE]`, which gateways send: it ends the reply only if a stop reason was sent before."""
        if self._stop_reason:
            self._emit_end(deltas)
        self._is_finished = True

    def _emit_end(self, deltas: list[Delta]) -> None:
        if not self._has_begun and not self._blocks:
            raise InvalidReply("The reply ended before it began.", fix="Send it again.")
        for index, block in self._blocks.items():
            if block.block.get("input") not in (None, "", {}):  # complete in its start event, without fragments
                self._start_block(index, deltas)
        deltas += (ProviderDelta(provider_call(use.value())) for use in self._provider_uses.values())
        blocks = [self._blocks[index].value() for index in sorted(self._blocks)]
        deltas += (ProviderDelta(part) for part in map(unknown_block, blocks) if part)
        stop_reason = self._reason()
        is_held = bool(blocks) and stop_reason not in TRUNCATED_REASONS  # a truncated reply is rebuilt from its parts
        deltas.append(ReplyEnd(stop_reason, self._stop_reason or "", blocks if is_held else None, self._explanation))
        self._is_finished = True

    def _reason(self) -> StopReason:
        reason = STOP_REASONS.get(self._stop_reason or "", "unknown")
        if reason == "paused" and any(block.is_call for block in self._blocks.values()):
            return "tools"  # the calls have to be answered first
        return reason


def _keep_unknown(block: _OpenBlock, delta: Block) -> None:
    """Apply a fragment of an unknown kind: texts are appended, other values replace the former ones."""
    for name, value in delta.items():
        if name == "type":
            continue
        if isinstance(value, str):
            block.add(name, value)
        elif value is not None:
            block.block = {**block.block, name: value}


def _citation_deltas(values: Any) -> list[Delta]:
    sources = map(citation, values if isinstance(values, list) else ())
    return [ProviderDelta(source) for source in sources if source]


def _object(text: str) -> Any:
    """Parse the arguments of a call; anything but an object is omitted, because the API refuses it."""
    return parse_arguments(single_object(text))[0] or {}


def _is_call(block: Any) -> bool:
    return isinstance(block, dict) and block.get("type") == "tool_use"


def _is_index(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0


def _text(block: Block, name: str) -> str:
    value = block.get(name)
    return value if isinstance(value, str) else ""
