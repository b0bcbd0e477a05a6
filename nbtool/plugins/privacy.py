"""Mask private values in every request, and restore them in replies.

Everything that is sent is masked, in every round: messages, results, system text, descriptions of tools, request
options, names and contents of attached texts, in every spelling that `normalize` handles. Images, sounds and binary
files are sent unchanged, with their metadata; values split over several texts, spelled out in words or reversed are not
found. Sub-chats are masked by the plugins of the calling chat. Tools (MCP servers too) and the view receive clear text;
the journal stores `[email]` and the like, unless `journal` is set. If a reply breaks off in the middle of a mask, the
partial mask is not shown.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from nbtool.argument_check import check_arguments
from nbtool.chain.hooks import JournalContext, RequestContext, StreamContext, TurnContext
from nbtool.events import CallDelta, CallPending, Notice, RefusalDelta, ReplyEnd, TextDelta, ThinkingDelta, UsageDelta
from nbtool.messages import Message
from nbtool.plugins.masks import MASK, MAX_MASK_CHARS, MAX_MASKS, PARTIAL_MASK, Masks, mask_part
from nbtool.plugins.pii_patterns import PII_TYPES, select_types
from nbtool.wire.form_cache import FormCache

MASK_RULE = (
    "Private values in this conversation are replaced by masks of the form __MASK_<TYPE>_<n>__. The same mask always"
    " represents the same value. Copy masks exactly, also in the arguments of tools, which receive the value itself."
    " Never guess the value of a mask, and never invent a mask."
)
EVICTED_NOTICE = f"More than {MAX_MASKS:,} private values were masked; the oldest ones are not restored in replies."

_SCHEMA_VALUES = frozenset({"default", "enum", "const", "examples"})
"""The keys of a JSON schema whose numbers are values; other numbers (`maximum`, `max_tokens`) have to stay numbers."""

TextLikeDelta = TextDelta | ThinkingDelta | RefusalDelta


@dataclass(slots=True)
class _PendingText:
    """The buffered ends of a reply that may become masks: of the text, and of each call."""

    text: TextLikeDelta | None = None
    calls: dict[str, str] = field(default_factory=dict)


@check_arguments
class Privacy:
    r"""Masks private values in every request, and restores them in replies and in the arguments of tools.

        Chat(plugins=[Privacy(names=["Ada Lovelace"], patterns={"ticket": r"TK-\d+"})])

    `types` selects from `pii.PII_TYPES`. Names are matched as whole words, ignoring case. A value keeps its mask for
    the lifetime of this object; beyond `MAX_MASKS` values the oldest are evicted: their masks are no longer restored,
    and nothing leaks. Put it last among the plugins, so that it masks what others add. The values are not written to
    the journal, and so not restored in reopened chats, unless `journal` is True.

    Raises:
        BadUsage: a type is unknown, or a pattern is not a regular expression.
    """

    def __init__(
        self,
        types: Iterable[str] = tuple(PII_TYPES),
        *,
        names: Iterable[str] = (),
        patterns: Mapping[str, str | re.Pattern[str]] | None = None,
        journal: bool = False,
    ) -> None:
        self.masks = Masks(select_types(types, names, patterns or {}))
        self.journal = journal
        self._masked_messages: FormCache[Message, int, Message] = FormCache()
        self._key = f"privacy {id(self)}"

    def __getstate__(self) -> dict[str, Any]:
        """Leave out what was masked before: another process has masks of its own."""
        return {**vars(self), "_masked_messages": FormCache()}

    async def on_before_request(self, request: RequestContext) -> None:
        """Mask the whole request, and add the rule about masks to the system text."""
        evicted = self.masks.evicted
        request.set_messages(
            [self._masked_messages.get_or_make(message, evicted, self._mask_message) for message in request.messages]
        )
        request.tools = [
            replace(
                tool,
                description=self.masks.mask(tool.description),
                parameters=self._mask_json(tool.parameters),
            )
            for tool in request.tools
        ]
        request.options = self._mask_json(request.options)
        request.system = f"{self.masks.mask(request.system)}\n\n{MASK_RULE}".lstrip()
        request.turn.state[self._key] = _PendingText()
        if self.masks.evicted > evicted == 0:
            await request.turn.emit(Notice(EVICTED_NOTICE, level="warning"))

    def mask_text(self, text: str) -> str:
        """Mask a text before it is truncated: a part of a value would not be found."""
        return self.masks.mask(text)

    def restore_text(self, text: str) -> str:
        """Restore the values in a part of a masked text."""
        return self.masks.restore(text)

    def on_journal(self, context: JournalContext) -> None:
        """Remove private values from a text for the journal; masks would be invalid in another kernel."""
        if not self.journal:
            context.text = self.masks.erase(context.text)

    def on_stream_data(self, context: StreamContext) -> None:
        """Restore masks in a delta, and buffer an end that may become a mask."""
        pending, delta = self._pending_of(context.turn), context.delta
        is_separate = isinstance(delta, TextDelta) and (delta.is_new or bool(delta.phase))
        if pending.text and (is_separate or not isinstance(delta, type(pending.text) | UsageDelta | CallPending)):
            context.put_before(pending.text)
            pending.text = None
        match delta:
            case TextDelta() | ThinkingDelta() | RefusalDelta():
                previous = pending.text.text if pending.text else ""
                text, rest = _split_partial_mask(previous + delta.text)
                pending.text = replace(delta, text=rest) if rest else None
                if text and pending.text:
                    pending.text = type(delta)(rest)  # what starts with `delta` has started
                is_label = isinstance(delta, TextDelta) and bool(delta.phase) and not (text or rest)
                context.delta = replace(delta, text=self.masks.restore(text)) if text or is_label else None
            case CallDelta():
                context.delta = self._restore_call(delta, pending)
            case ReplyEnd():
                for key, rest in pending.calls.items():
                    context.put_before(CallDelta(key, arguments=rest))
                pending.calls.clear()

    def _restore_call(self, delta: CallDelta, pending: _PendingText) -> CallDelta:
        previous = pending.calls.pop(delta.key, "")
        if delta.final and delta.arguments:  # it replaces the previous fragments
            return replace(delta, arguments=self.masks.restore(delta.arguments, _escape_json))
        text, rest = _split_partial_mask(previous + delta.arguments)
        if rest:
            pending.calls[delta.key] = rest
        return replace(delta, arguments=self.masks.restore(text, _escape_json))

    def _pending_of(self, turn: TurnContext) -> _PendingText:
        pending: _PendingText = turn.state.setdefault(self._key, _PendingText())
        return pending

    # --- masking --------------------------------------------------------------------------------------------

    def _mask_message(self, message: Message) -> Message:
        native = message.native
        if native and self.masks.mask_all(native.payload, numbers=True) != native.payload:
            native = None  # the native form is kept only if nothing in it is masked
        return replace(message, parts=tuple(mask_part(part, self.masks) for part in message.parts), native=native)

    def _mask_json(self, value: Any) -> Any:
        """Mask every text in options or in a schema; of the numbers only values of a parameter, not bounds."""
        if isinstance(value, Mapping):
            return {
                self.masks.mask(str(key)): (
                    self.masks.mask_all(item, numbers=True) if key in _SCHEMA_VALUES else self._mask_json(item)
                )
                for key, item in value.items()
            }
        return (
            [self._mask_json(item) for item in value] if isinstance(value, list | tuple) else self.masks.mask_all(value)
        )


def _split_partial_mask(text: str) -> tuple[str, str]:
    """Split off an end that may become a mask."""
    end_of_mask = max((match.end() for match in MASK.finditer(text)), default=0)
    partial = PARTIAL_MASK.search(text, max(end_of_mask, len(text) - MAX_MASK_CHARS))
    return (text[: partial.start()], text[partial.start() :]) if partial else (text, "")


def _escape_json(value: str) -> str:
    return json.dumps(value, ensure_ascii=False)[1:-1]
