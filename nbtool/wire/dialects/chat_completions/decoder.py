"""A reply of Chat Completions being read: JSON values in, deltas out.

Follows https://platform.openai.com/docs/api-reference/chat-streaming, and the many servers that speak nearly the
same: what each of them does differently has a test of its own in
`tests/wire/dialects/chat_completions/test_encoder.py`.
"""

from __future__ import annotations

import json
from typing import Any

from nbtool.errors import BadReply, WireError
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
from nbtool.wire.dialects.chat_completions.audio import UNREADABLE, Sound
from nbtool.wire.dialects.chat_completions.fields import (
    STOP_REASONS,
    THINKING_FIELDS,
    ReasoningDetails,
    field_of,
    filtered_categories,
    picture,
    read_usage,
    text_of,
    thought_of,
)
from nbtool.wire.dialects.chat_completions.tool_call_deltas import CallSorter
from nbtool.wire.framing.dialect_check import check_dialect
from nbtool.wire.framing.json_payloads import DONE, PayloadReader
from nbtool.wire.framing.provider_errors import error_words, provider_error

_COMMON = frozenset({"role", "content", "tool_calls", *THINKING_FIELDS, "reasoning_details"})
_FIRST_CHOICE = (None, 0, "0")


class ChatDecoder:
    """Decodes one reply; see `nbtool.wire.base.Decoder`.

    A finish reason or `[DONE]` is the terminal signal. The `ReplyEnd` is held back until `[DONE]` or `close`,
    because the usage, and at one provider a second call, come after the finish reason.
    """

    def __init__(self) -> None:
        self._reader = PayloadReader()
        self._calls = CallSorter()
        self._text: list[str] = []
        self._counted = (0, 0)  # pieces of the text, and the characters in them
        self._refusal: list[str] = []
        self._thinking: dict[str, list[str]] = {}
        self._details = ReasoningDetails()
        self._sound = Sound()
        self._extra: Any = None
        self._finish_reason: str | None = None
        self._native_reason = ""
        self._explanation = ""
        self._error: WireError | None = None
        self._is_ended = False
        self._is_over = False

    @property
    def is_done(self) -> bool:
        """Whether the terminal signal, or an error, was seen."""
        return self._is_ended or self._error is not None

    def feed(self, data: bytes) -> list[Delta]:
        """Take the next bytes and give the deltas they complete.

        An error that follows deltas in the same bytes is raised by the next call, so that nothing is lost.
        """
        self._raise_held()
        deltas: list[Delta] = []
        if not self._is_over:
            try:
                self._values(self._reader.feed(data), deltas)
            except WireError as error:
                self._hold(error, deltas)
        return deltas

    def close(self) -> list[Delta]:
        """Take note that no more bytes will come; a `ReplyEnd` appears only where a terminal signal was seen."""
        self._raise_held()
        deltas: list[Delta] = []
        if self._is_over:
            return deltas
        try:
            self._values(self._reader.close(), deltas)
            if self._is_ended and not self._is_over:
                self._end(deltas)
        except WireError as error:
            self._hold(error, deltas)
        return deltas

    def _hold(self, error: WireError, deltas: list[Delta]) -> None:
        """Hold an error for the next call where deltas came before it."""
        if not deltas:
            raise error
        self._error = error

    def _raise_held(self) -> None:
        if error := self._error:
            self._error = None
            self._is_over = True
            raise error

    def _values(self, values: list[tuple[str, Any]], deltas: list[Delta]) -> None:
        for name, value in values:
            self._value(name, value, deltas)
            if self._is_over:
                return

    # --- one JSON value --------------------------------------------------------------------------------------

    def _value(self, name: str, value: Any, deltas: list[Delta]) -> None:
        if type(value) is not dict:
            self._other(value, deltas)
            return
        get = value.get
        choices = get("choices")
        if get("error") or not choices or name == "error":
            self._check(value, name, deltas)
        if usage := get("usage") or field_of(get("x_groq"), "usage"):
            self._usage(usage, deltas)
        if type(choices) is list:
            for choice in choices:
                if type(choice) is dict and choice.get("index") in _FIRST_CHOICE:
                    self._choice(choice, deltas)
        if calls := get("tool_calls"):
            self._take_calls(calls, deltas)

    def _other(self, value: Any, deltas: list[Delta]) -> None:
        """Take the end mark, or a document that is wrapped in a list; everything else says nothing."""
        if value == DONE and not self._is_over:
            self._is_ended = True
            self._end(deltas)
        elif self._reader.is_whole and isinstance(value, list):
            self._value("", value[0] if value and isinstance(value[0], dict) else {}, deltas)

    def _check(self, value: dict[str, Any], name: str, deltas: list[Delta]) -> None:
        """Raise what a value without choices, or with an error, has to say; what is written beside it is kept."""
        check_dialect(value, "chat")
        is_error = value.get("error") or name == "error" or value.get("object") == "error"
        unwrapped = "choices" not in value and "usage" not in value and error_words(value).message
        if is_error or unwrapped:
            choices = value.get("choices")
            for choice in choices[:1] if isinstance(choices, list) else ():
                part = field_of(choice, "message" if self._reader.is_whole else "delta")
                self._fragment(part if isinstance(part, dict) else {}, deltas)
            raise provider_error(value)
        if self._reader.is_whole and not isinstance(value.get("choices"), list):
            raise BadReply("The reply is JSON, but holds no choices.", fix="Check the address and the wire (`--wire`).")

    def _choice(self, choice: dict[str, Any], deltas: list[Delta]) -> None:
        get = choice.get
        fragment, message, reason = get("delta"), get("message"), get("finish_reason")
        if type(fragment) is dict:
            self._fragment(fragment, deltas)
        if type(message) is dict:
            if self._reader.is_whole:
                self._fragment(message, deltas)
            elif reason or not fragment:
                self._catch_up(message, deltas)
        if usage := get("usage"):
            self._usage(usage, deltas)
        if isinstance(reason, str):
            self._finish(reason, choice)
        elif self._reader.is_whole:
            self._is_ended = True  # a document that is whole is its own evidence

    def _finish(self, reason: str, choice: dict[str, Any]) -> None:
        if reason.lower() == "error":
            raise provider_error({"error": choice.get("error") or "the reply broke off"})
        self._finish_reason = reason
        self._native_reason = str(choice.get("native_finish_reason") or "")
        self._explanation = filtered_categories(choice) or self._explanation
        self._is_ended = self._is_ended or bool(reason) or self._reader.is_whole

    # --- what a delta or a message holds ---------------------------------------------------------------------

    def _fragment(self, fragment: dict[str, Any], deltas: list[Delta]) -> None:
        if len(fragment) == 1 and self._single(fragment, deltas):
            return
        get = fragment.get
        if get("reasoning_content") or get("reasoning") or get("reasoning_details") or get("reasoning_text"):
            self._think(fragment, deltas)
        if content := get("content") or field_of(get("audio"), "transcript"):
            self._content(content, deltas)
        if calls := get("tool_calls"):
            self._take_calls(calls, deltas)
        if not fragment.keys() <= _COMMON:
            self._rare(fragment, deltas)

    def _single(self, fragment: dict[str, Any], deltas: list[Delta]) -> bool:
        """Take the fragments that nearly all are, text or more of a call alone; say whether it was one."""
        if type(text := fragment.get("content")) is str:
            if text:
                self._text.append(text)
                deltas.append(TextDelta(text))
            return True
        if calls := fragment.get("tool_calls"):
            self._take_calls(calls, deltas)
            return True
        return False

    def _rare(self, fragment: dict[str, Any], deltas: list[Delta]) -> None:
        """Take what few fragments hold: a refusal, pictures, a call in the way of 2023, what Google wants back."""
        refusal, legacy, images = fragment.get("refusal"), fragment.get("function_call"), fragment.get("images")
        if refusal and isinstance(refusal, str):
            self._refusal.append(refusal)
            deltas.append(RefusalDelta(refusal))
        if legacy and isinstance(legacy, dict):
            deltas += self._calls.legacy(legacy)
        for image in images if isinstance(images, list) else ():
            if media := picture(image):
                deltas.append(MediaDelta(media))
        self._sound.add(fragment.get("audio"))
        self._extra = fragment.get("extra_content") or self._extra

    def _content(self, content: Any, deltas: list[Delta]) -> None:
        """Take content as text, as parts (Mistral, Databricks), or as an object (Cloudflare, with a schema)."""
        if isinstance(content, str):
            self._prose(content, deltas)
        elif isinstance(content, dict):
            self._prose(json.dumps(content, ensure_ascii=False), deltas)
        elif isinstance(content, list):
            for part in content:
                if isinstance(part, str):
                    self._prose(part, deltas)
                elif isinstance(part, dict) and (thought := thought_of(part)):
                    self._thought("thinking", thought, deltas, shown=True)
                elif isinstance(part, dict):
                    self._prose(text_of(part), deltas)

    def _prose(self, text: str, deltas: list[Delta]) -> None:
        self._text.append(text)
        deltas.append(TextDelta(text))

    def _take_calls(self, calls: Any, deltas: list[Delta]) -> None:
        if isinstance(calls, list):
            deltas += self._calls.add(calls, is_whole=self._reader.is_whole)

    def _think(self, fragment: dict[str, Any], deltas: list[Delta]) -> None:
        """Show a thought once, whichever of the fields carry it, and keep every field for the echo."""
        shown = False
        for field in THINKING_FIELDS:
            if (text := fragment.get(field)) and isinstance(text, str):
                self._thought(field, text, deltas, shown=not shown)
                shown = True
        details = fragment.get("reasoning_details")
        for detail in details if isinstance(details, list) else ():
            if isinstance(detail, dict) and (text := self._details.add(detail)) and not shown:
                deltas.append(ThinkingDelta(text))

    def _thought(self, field: str, text: str, deltas: list[Delta], *, shown: bool) -> None:
        self._thinking.setdefault(field, []).append(text)
        if shown:
            deltas.append(ThinkingDelta(text))

    def _catch_up(self, message: dict[str, Any], deltas: list[Delta]) -> None:
        """Take the whole message that some streams carry: only what the deltas have not brought yet is new."""
        content = message.get("content")
        if isinstance(content, str) and len(content) > self._length():
            known = "".join(self._text)
            if not known.startswith(content):
                self._prose(content.removeprefix(known), deltas)
        calls = message.get("tool_calls")
        if calls and isinstance(calls, list):
            deltas += self._calls.add(calls, is_whole=True)

    def _length(self) -> int:
        """Count the characters of the text so far; what was counted before is not looked at again."""
        pieces, size = self._counted
        self._counted = (len(self._text), size + sum(map(len, self._text[pieces:])))
        return self._counted[1]

    # --- usage and end ---------------------------------------------------------------------------------------

    def _usage(self, usage: Any, deltas: list[Delta]) -> None:
        if isinstance(usage, dict):
            deltas.append(UsageDelta(read_usage(usage)))

    def _end(self, deltas: list[Delta]) -> None:
        deltas += self._calls.settle()
        if sound := self._sound.media(is_whole=self._reader.is_whole):
            deltas.append(MediaDelta(sound))
        if not self._sound.is_readable:
            deltas.append(TextDelta(UNREADABLE))
        self._is_over = True
        deltas.append(ReplyEnd(self._stop_reason(), self._finish_reason or "", self._native(), self._explanation))

    def _stop_reason(self) -> StopReason:
        """Translate the reason; where a gateway hides a limit, the model's own word tells."""
        native = STOP_REASONS.get(self._native_reason.lower())
        if native in ("length", "filtered", "error"):
            return native
        return STOP_REASONS.get((self._finish_reason or "").lower(), "unknown")

    def _native(self) -> dict[str, Any]:
        """Give the message as it has to be echoed."""
        message: dict[str, Any] = {"role": "assistant"}
        if text := "".join(self._text) or "".join(self._refusal):
            message["content"] = text
        if calls := self._calls.native():
            message["tool_calls"] = calls
        for field in THINKING_FIELDS:
            if pieces := self._thinking.get(field):
                message[field] = "".join(pieces)
        if self._details:
            message["reasoning_details"] = self._details.joined()
        if self._extra is not None:
            message["extra_content"] = self._extra
        return message
