"""The decoder of Chat Completions: JSON values in, deltas out.

Follows https://platform.openai.com/docs/api-reference/chat-streaming and the compatible servers; each deviation has a
test in `tests/wire/dialects/chat_completions/`.
"""

from __future__ import annotations

from typing import Any

from nbtool.errors import InvalidReply
from nbtool.events import (
    Delta,
    MediaDelta,
    RefusalDelta,
    ReplyEnd,
    StopReason,
    TextDelta,
    ThinkingDelta,
    UsageDelta,
)
from nbtool.wire.dialects.chat_completions.audio import UNREADABLE, AudioBuffer
from nbtool.wire.dialects.chat_completions.provider_parts import SOURCE_FIELDS, ChatProviderParts
from nbtool.wire.dialects.chat_completions.reply_fields import (
    NO_CONTENT,
    STOP_REASONS,
    THINKING_FIELDS,
    Choices,
    ReasoningDetails,
    content_parts,
    content_text,
    filtered_categories,
    get_field,
    parse_image,
    read_usage,
    thinking_text,
    thought,
)
from nbtool.wire.dialects.chat_completions.tool_call_deltas import ToolCallAssembler, parse_index
from nbtool.wire.dialects.reply_notices import moderation_notices
from nbtool.wire.dialects.stream_reader import StreamReader
from nbtool.wire.dialects.unreadable_media import UNREADABLE_MEDIA
from nbtool.wire.dialects.usage_fields import CumulativeUsage
from nbtool.wire.framing.dialect_check import check_dialect
from nbtool.wire.framing.error_fields import parse_error
from nbtool.wire.framing.json_payloads import FIX
from nbtool.wire.framing.provider_errors import provider_error
from nbtool.wire.framing.value_types import require_object, require_objects

_REASONING = frozenset({*THINKING_FIELDS, "reasoning_details"})
_RARE = frozenset({"error", "x_groq", "moderation", "tool_calls", *SOURCE_FIELDS})
"""The fields beside `choices`, `model` and `usage` that an event may have to say something with."""

_COMMON = frozenset({"role", "content", "tool_calls", *_REASONING})


class ChatDecoder(StreamReader):
    """Decodes one reply.

    A finish reason or `[DONE]` is the terminal signal. The `ReplyEnd` is held back until `[DONE]` or `close`,
    because the usage, and at one provider a second call, arrive after the finish reason.
    """

    dialect = "chat"
    kinds = frozenset({""})  # what has no choices is checked, see `_check_payload`

    def __init__(self) -> None:
        super().__init__()
        self._calls = ToolCallAssembler()
        self._text: list[str] = []
        self._measured = (0, 0)  # pieces of the text, and the characters in them
        self._refusal: list[str] = []
        self._thinking: dict[str, list[str]] = {}
        self._details = ReasoningDetails()
        self._audio = AudioBuffer()
        self._provider_tools = ChatProviderParts()
        self._choices = Choices()
        self._usage = CumulativeUsage(read_usage)
        self._extra: Any = None
        self._finish_reason: str | None = None
        self._native_reason = ""
        self._explanation = ""
        self._is_ended = False

    @property
    def is_done(self) -> bool:
        """Whether the terminal signal was received."""
        return self._is_ended or self._is_finished

    def _end(self, deltas: list[Delta]) -> None:
        """Handle the end of the bytes, which is the end of a reply with a terminal signal."""
        if self._is_ended:
            self._emit_end(deltas)

    def _finish(self, deltas: list[Delta]) -> None:
        """Handle the end mark."""
        self._is_ended = True
        self._emit_end(deltas)

    # --- one JSON value --------------------------------------------------------------------------------------

    def _decode_document(self, document: Any, deltas: list[Delta]) -> None:
        """Decode a whole body, which may be wrapped in a list."""
        if isinstance(document, list):
            document = document[0] if document and isinstance(document[0], dict) else {}
        self._decode_event("", require_object(document, "An event of the reply"), deltas)

    def _decode_event(self, kind: str, event: dict[str, Any], deltas: list[Delta]) -> None:
        """Decode one event; the most frequent one, with only more of the text or of a call, takes a short way."""
        if kind or self._payloads.is_document or not self._decode_piece(event, deltas):
            self._decode_fields(kind, event, deltas)

    def _decode_piece(self, event: dict[str, Any], deltas: list[Delta]) -> bool:
        """Decode an event that brings only a piece of the shown choice; return whether it was one."""
        choices = event.get("choices")
        if type(choices) is not list or len(choices) != 1 or type(choice := choices[0]) is not dict:
            return False
        fragment = choice.get("delta")
        if type(fragment) is not dict or len(fragment) != 1 or choice.get("message") or choice.get("usage"):
            return False
        if choice.get("finish_reason") is not None or event.get("usage") or not event.keys().isdisjoint(_RARE):
            return False
        index = choice.get("index", 0)
        if type(index) is not int or index < 0:
            return False
        self._usage.set_model(event.get("model"))
        if not self._choices.is_shown(choice, index):
            return True
        if type(text := fragment.get("content")) is str:
            if text:
                self._emit_text(text, deltas)
        else:
            self._decode_fragment(fragment, deltas)
        return True

    def _decode_fields(self, kind: str, event: dict[str, Any], deltas: list[Delta]) -> None:
        get = event.get
        choices = get("choices")
        if get("error") or not choices or kind == "error":
            self._check_payload(event, kind, deltas)
        self._usage.set_model(get("model"))
        if usage := get("usage") or ("x_groq" in event and get_field(get("x_groq"), "usage")):
            self._count(usage, deltas)
        if choices:
            self._decode_choices(require_objects(choices, "A choice of the reply"), deltas)
        if "moderation" in event:
            deltas += moderation_notices(event["moderation"])
        if not event.keys().isdisjoint(SOURCE_FIELDS):
            self._provider_tools.add_sources(event)
        if calls := get("tool_calls"):
            self._emit_calls(calls, deltas)

    def _decode_choices(self, choices: list[Any], deltas: list[Delta]) -> None:
        for choice in choices:
            if self._choices.is_shown(choice, parse_index(choice.get("index")) or 0):
                self._decode_choice(choice, deltas)

    def _check_payload(self, value: dict[str, Any], kind: str, deltas: list[Delta]) -> None:
        """Raise the error of a value without choices or with an error; its text is kept."""
        check_dialect(value, self.dialect)
        is_error = value.get("error") or kind == "error" or value.get("object") == "error"
        is_bare_error = "choices" not in value and "usage" not in value and parse_error(value).message
        if is_error or is_bare_error:
            choices = value.get("choices")
            for choice in choices[:1] if isinstance(choices, list) else ():
                part = get_field(choice, "message" if self._payloads.is_document else "delta")
                self._decode_fragment(part if isinstance(part, dict) else {}, deltas)
            raise provider_error(value)
        if self._payloads.is_document and not isinstance(value.get("choices"), list):
            raise InvalidReply("The reply is JSON, but holds no choices.", fix=FIX)

    def _decode_choice(self, choice: dict[str, Any], deltas: list[Delta]) -> None:
        get = choice.get
        fragment, message, reason = get("delta"), get("message"), get("finish_reason")
        if fragment:
            self._decode_fragment(require_object(fragment, "A delta of the reply"), deltas)
        if type(message) is dict:
            if self._payloads.is_document:
                self._decode_fragment(message, deltas)
            elif reason or not fragment:
                self._resync(message, deltas)
        if usage := get("usage"):
            self._count(usage, deltas)
        if isinstance(reason, str):
            self._set_finish_reason(reason, choice)
        elif self._payloads.is_document:
            self._is_ended = True  # a complete JSON document needs no terminal signal

    def _set_finish_reason(self, reason: str, choice: dict[str, Any]) -> None:
        if reason.lower() == "error":
            raise provider_error({"error": choice.get("error") or "the reply broke off"})
        self._finish_reason = reason
        self._native_reason = str(choice.get("native_finish_reason") or "")
        self._explanation = filtered_categories(choice) or self._explanation
        self._is_ended = self._is_ended or bool(reason) or self._payloads.is_document

    # --- what a delta or a message holds ---------------------------------------------------------------------

    def _decode_fragment(self, fragment: dict[str, Any], deltas: list[Delta]) -> None:
        get = fragment.get
        if not fragment.keys().isdisjoint(_REASONING):
            self._emit_reasoning(fragment, deltas)
        if (content := get("content")) in NO_CONTENT:
            content = get_field(get("audio"), "transcript")
        if content not in NO_CONTENT:
            self._emit_content(content, deltas)
        if calls := get("tool_calls"):
            self._emit_calls(calls, deltas)
        if not fragment.keys() <= _COMMON:
            self._uncommon_fields(fragment, deltas)

    def _uncommon_fields(self, fragment: dict[str, Any], deltas: list[Delta]) -> None:
        """Handle rare fields: a refusal, images, a `function_call` (2023), Google's data to send back."""
        refusal, legacy, images = fragment.get("refusal"), fragment.get("function_call"), fragment.get("images")
        if refusal and isinstance(refusal, str):
            self._refusal.append(refusal)
            deltas.append(RefusalDelta(refusal))
        if legacy:
            deltas += self._calls.add_function_call(require_object(legacy, "A call of the reply"))
        for image in images if isinstance(images, list) else ():
            media = parse_image(image)
            deltas.append(MediaDelta(media) if media else UNREADABLE_MEDIA)
        deltas += self._provider_tools.add(fragment)
        self._audio.add(fragment.get("audio"))
        self._extra = fragment.get("extra_content") or self._extra

    def _emit_content(self, content: Any, deltas: list[Delta]) -> None:
        for part in content_parts(content):
            if isinstance(part, str):
                self._emit_text(part, deltas)
            elif thinking := thinking_text(part):
                self._emit_thinking("thinking", thinking, deltas, emit=True)
            elif part.get("refusal") or "image_url" in part:
                images = [part] if "image_url" in part else []
                self._uncommon_fields({"refusal": part.get("refusal"), "images": images}, deltas)
            else:
                self._emit_text(content_text(part), deltas)

    def _emit_text(self, text: str, deltas: list[Delta]) -> None:
        self._text.append(text)
        deltas.append(TextDelta(text))

    def _emit_calls(self, calls: Any, deltas: list[Delta]) -> None:
        fragments = require_objects(calls, "A call of the reply")
        deltas += self._calls.add(fragments, is_snapshot=self._payloads.is_document)

    def _emit_reasoning(self, fragment: dict[str, Any], deltas: list[Delta]) -> None:
        """Emit a thought once, although several fields may contain it, and keep all fields to send back."""
        is_emitted = False
        for field in THINKING_FIELDS:
            if text := thought(fragment.get(field)):
                self._emit_thinking(field, text, deltas, emit=not is_emitted)
                is_emitted = True
        details = fragment.get("reasoning_details")
        for detail in details if isinstance(details, list) else ():
            if isinstance(detail, dict) and (text := self._details.add(detail)) and not is_emitted:
                deltas.append(ThinkingDelta(text))

    def _emit_thinking(self, field: str, text: str, deltas: list[Delta], *, emit: bool) -> None:
        self._thinking.setdefault(field, []).append(text)
        if emit:
            deltas.append(ThinkingDelta(text))

    def _resync(self, message: dict[str, Any], deltas: list[Delta]) -> None:
        """Handle the whole message that some streams contain: only what the deltas did not contain is new."""
        content = message.get("content")
        if isinstance(content, str) and len(content) > self._text_length():
            self._emit_text(content.removeprefix("".join(self._text)), deltas)
        if calls := require_objects(message.get("tool_calls"), "A call of the reply"):
            deltas += self._calls.add(calls, is_snapshot=True)

    def _text_length(self) -> int:
        """Count the characters of the text so far, each fragment once."""
        count, size = self._measured
        self._measured = (len(self._text), size + sum(map(len, self._text[count:])))
        return self._measured[1]

    # --- usage and end ---------------------------------------------------------------------------------------

    def _count(self, fields: Any, deltas: list[Delta]) -> None:
        if usage := self._usage.add(fields):
            deltas.append(UsageDelta(usage))

    def _emit_end(self, deltas: list[Delta]) -> None:
        if self._stop_reason() == "tools" and not self._calls.native():
            for calls in self._choices.moved_calls():
                self._emit_calls(calls, deltas)
        deltas += self._calls.finish()
        if audio := self._audio.media(is_complete=self._payloads.is_document):
            deltas.append(MediaDelta(audio))
        if not self._audio.is_readable:
            deltas.append(TextDelta(UNREADABLE))
        deltas += self._provider_tools.close("".join(self._text))
        deltas += self._choices.notices()
        self._is_finished = True
        deltas.append(ReplyEnd(self._stop_reason(), self._finish_reason or "", self._native(), self._explanation))

    def _stop_reason(self) -> StopReason:
        """Normalize the finish reason; if a gateway hides a limit, the model's native reason is used."""
        native = STOP_REASONS.get(self._native_reason.lower())
        if native in ("length", "filtered", "error"):
            return native
        return STOP_REASONS.get((self._finish_reason or "").lower(), "unknown")

    def _native(self) -> dict[str, Any]:
        """Return the message in the form to send back."""
        message: dict[str, Any] = {"role": "assistant"}
        if text := "".join(self._text) or "".join(self._refusal):
            message["content"] = text
        if calls := self._calls.native():
            message["tool_calls"] = calls
        for field in THINKING_FIELDS:
            if fragments := self._thinking.get(field):
                message[field] = "".join(fragments)
        if self._details:
            message["reasoning_details"] = self._details.merged()
        if self._extra is not None:
            message["extra_content"] = self._extra
        return message
