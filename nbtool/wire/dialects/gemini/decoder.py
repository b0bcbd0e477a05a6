"""A reply of generateContent, from bytes to deltas: a stream of partial replies, or one document.

A stream has no end mark: the reason to finish comes with the last parts, and sometimes already before more of them,
when code runs at the provider. So the reply ends where the bytes end, if the newest parts came with a reason.

See https://ai.google.dev/api/generate-content#v1beta.GenerateContentResponse.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from nbtool.errors import InvalidReply
from nbtool.events import Delta, ReplyEnd, StopReason, StreamNotice, UsageDelta
from nbtool.messages import Usage
from nbtool.text import clean_text, count_of, shorten
from nbtool.wire.dialects.gemini.parts import ReplyParts
from nbtool.wire.dialects.stream_reader import StreamReader
from nbtool.wire.dialects.usage_fields import CumulativeUsage, count_at
from nbtool.wire.framing.dialect_check import check_dialect
from nbtool.wire.framing.json_payloads import PayloadReader
from nbtool.wire.framing.provider_errors import error_in_body, provider_error
from nbtool.wire.framing.value_types import require_objects
from nbtool.wire.reply import TRUNCATED_REASONS, up_to_ceiling

STOP_REASONS: dict[str, StopReason] = {
    "STOP": "end",
    "MAX_TOKENS": "length",
    "SAFETY": "filtered",
    "RECITATION": "filtered",
    "BLOCKLIST": "filtered",
    "PROHIBITED_CONTENT": "filtered",
    "SPII": "filtered",
    "MODEL_ARMOR": "filtered",
    "IMAGE_SAFETY": "filtered",
    "IMAGE_PROHIBITED_CONTENT": "filtered",
    "IMAGE_RECITATION": "filtered",
    "ESCALATION": "filtered",
    "PUP_LIMITED_DISABLED": "filtered",
    "CONTINUATION": "length",
    "LANGUAGE": "error",
    "OTHER": "error",
    "IMAGE_OTHER": "error",
    "NO_IMAGE": "error",
    "MALFORMED_FUNCTION_CALL": "error",
    "MALFORMED_RESPONSE": "error",
    "UNEXPECTED_TOOL_CALL": "error",
    "TOO_MANY_TOOL_CALLS": "error",
    "MISSING_THOUGHT_SIGNATURE": "error",
}
"""The finish reasons, normalized; see https://ai.google.dev/api/generate-content#FinishReason."""

CONTINUATION = "CONTINUATION"
"""The finish reason of a reply that reached the limit of one request, and goes on in the next one by a token."""

MAX_MODEL_MESSAGE = 300
"""Maximum characters of a message about the model."""

MAX_CONTINUATIONS = 64
"""Maximum number of requests that continue one reply; after them it is cut off at its length limit."""

ACCOUNT_LIMITED = "the account is limited or disabled, for what its provider calls prohibited use"

_FIX = "Check the address and the wire (`--set wire=NAME`)."
_FIELDS = frozenset({"candidates", "promptFeedback", "usageMetadata", "modelVersion", "responseId"})


class GeminiDecoder(StreamReader):
    """One reply being read."""

    dialect = "gemini"
    kinds = frozenset({""})  # what has no field of a response is checked, see `_decode_event`

    def __init__(self) -> None:
        super().__init__()
        self._parts = ReplyParts()
        self._finish_reason = ""
        self._explanation = ""
        self._is_prompt_blocked = False
        self._usage = CumulativeUsage(_read_usage)
        self._earlier_usage = Usage()  # of the requests that this one continues
        self._last_candidate = 0
        self._has_model_message = False
        self._token, self._former_tokens = "", list[str]()

    @property
    def is_done(self) -> bool:
        """Whether the newest parts came with a reason to finish, and no code runs at the provider."""
        return self._is_finished or (bool(self._finish_reason) and not self._parts.is_code_running)

    def _end(self, deltas: list[Delta]) -> None:
        """Handle the end of the bytes, which is the end of a reply that has a reason to finish."""
        if self._can_continue:
            self.continuation = {"continuationToken": self._token}
        elif self._finish_reason:
            self._emit_end(deltas)

    def resume(self) -> None:
        """Expect the response to the request with the continuation."""
        self._former_tokens.append(self._token)
        self._token, self._finish_reason, self._explanation, self.continuation = "", "", "", {}
        self._earlier_usage += self._usage.usage
        self._usage, model = CumulativeUsage(_read_usage), self._usage.model
        self._usage.set_model(model)
        self._payloads = PayloadReader()

    @property
    def _can_continue(self) -> bool:
        """Whether the reply goes on with a token: after its limit, or where it broke off with one.

        A token that was sent before would only repeat what followed it.
        """
        is_resumable = self._finish_reason in ("", CONTINUATION) and not self._is_prompt_blocked
        is_new = bool(self._token) and self._token not in self._former_tokens
        return is_resumable and is_new and len(self._former_tokens) < MAX_CONTINUATIONS

    def _decode_document(self, document: Any, deltas: list[Delta]) -> None:
        """Read a whole body: one reply, or the partial replies of a stream that was sent as a list."""
        replies = document if isinstance(document, list) else [document]
        if not replies or not all(isinstance(reply, dict) for reply in replies):
            raise error_in_body(document) or InvalidReply("The reply is JSON, but no response.", fix=_FIX)
        for reply in replies:
            self._decode_event("", reply, deltas)
        if not any(_FIELDS & reply.keys() for reply in replies):
            raise InvalidReply("The reply has no `candidates`.", fix=_FIX)

    def _decode_event(self, kind: str, event: dict[str, Any], deltas: list[Delta]) -> None:
        """Read one partial reply; what is not known is passed over."""
        if event.get("error") or kind == "error":
            raise provider_error(event)
        if not _FIELDS & event.keys():
            check_dialect(event, self.dialect)
            if error := error_in_body(event):
                raise error
        for candidate in require_objects(event.get("candidates"), "A candidate of the reply"):
            if (index := candidate.get("index")) in (None, 0):
                self._decode_candidate(candidate, deltas)
            elif isinstance(index, int):
                self._last_candidate = max(self._last_candidate, index)
        self._check_prompt(event.get("promptFeedback"))
        self._check_model(event.get("modelStatus"), deltas)
        self._usage.set_model(event.get("modelVersion"))
        self._count(event.get("usageMetadata"), deltas)

    def _decode_candidate(self, candidate: dict[str, Any], deltas: list[Delta]) -> None:
        content = candidate.get("content")
        parts = content.get("parts") if isinstance(content, dict) else None
        for part in up_to_ceiling(require_objects(parts, "A part of the reply"), _is_call):
            if not _is_blank(part):
                self._finish_reason = self._token = ""  # more came after a reason to finish
                deltas += self._parts.add(part)
        self._parts.provider_tools.add_metadata(candidate)
        self._token = _text(candidate, "continuationToken") or self._token
        if reason := _text(candidate, "finishReason"):
            self._finish_reason = reason
            limited = ACCOUNT_LIMITED if reason == "PUP_LIMITED_DISABLED" else ""
            ratings = _blocked_ratings(candidate.get("safetyRatings"))
            self._explanation = _text(candidate, "finishMessage") or limited or ratings

    def _check_prompt(self, feedback: Any) -> None:
        """Take the refusal of a prompt, for which there is no reply at all."""
        if isinstance(feedback, dict) and (reason := _text(feedback, "blockReason")):
            self._is_prompt_blocked = True
            self._finish_reason = self._finish_reason or reason
            details = _text(feedback, "blockReasonMessage") or _blocked_ratings(feedback.get("safetyRatings"))
            self._explanation = f"the prompt was blocked: {details or reason}"

    def _check_model(self, status: Any, deltas: list[Delta]) -> None:
        """Pass on once what the provider says of its model, such as when it will be shut down."""
        if isinstance(status, dict) and (text := _text(status, "message")) and not self._has_model_message:
            self._has_model_message = True
            deltas.append(StreamNotice(shorten(clean_text(text), MAX_MODEL_MESSAGE)))

    def _count(self, usage: Any, deltas: list[Delta]) -> None:
        if counted := self._usage.add(usage):
            total = replace(self._earlier_usage + counted, model=counted.model) if self._former_tokens else counted
            deltas.append(UsageDelta(total))

    def _finish(self, deltas: list[Delta]) -> None:
        """Handle `[DONE]`, which gateways send: it ends the reply only if a stop reason was sent before."""
        if self._can_continue:
            return
        if self._finish_reason:
            self._emit_end(deltas)
        self._is_finished = True

    def _emit_end(self, deltas: list[Delta]) -> None:
        deltas += self._parts.close()
        if self._last_candidate:
            deltas.append(
                StreamNotice(f"The reply has {count_of(self._last_candidate + 1, 'choice')}; only the first is shown.")
            )
        stop_reason = self._stop_reason()
        parts = self._parts.native()
        is_held = bool(parts) and self._parts.is_complete and stop_reason not in TRUNCATED_REASONS
        explanation = "" if stop_reason in ("end", "length") else self._explanation
        deltas.append(ReplyEnd(stop_reason, self._finish_reason, parts if is_held else None, explanation))
        self._is_finished = True

    def _stop_reason(self) -> StopReason:
        if self._is_prompt_blocked:
            return "filtered"
        return STOP_REASONS.get(self._finish_reason.upper(), "unknown")


def _is_call(part: Any) -> bool:
    return isinstance(part, dict) and "functionCall" in part


def _is_blank(part: dict[str, Any]) -> bool:
    """Whether a part brings nothing: an empty text, which ends most streams, without a signature."""
    return not any(value for name, value in part.items() if name != "thought") and "functionCall" not in part


def _blocked_ratings(ratings: Any) -> str:
    """Return the categories for which something was blocked."""
    blocked = [
        f"{_text(rating, 'category').removeprefix('HARM_CATEGORY_').replace('_', ' ').lower()}"
        for rating in (ratings if isinstance(ratings, list) else ())
        if isinstance(rating, dict) and rating.get("blocked") is True
    ]
    return ", ".join(filter(None, blocked))


def _read_usage(usage: Mapping[str, Any]) -> Usage:
    """Read the figures: thoughts are counted beside the output, and what provider tools read beside the prompt."""
    thoughts = count_at(usage, "thoughtsTokenCount")
    prompt, tools = _modalities(usage, "promptTokensDetails"), _modalities(usage, "toolUsePromptTokensDetails")
    cached, output = _modalities(usage, "cacheTokensDetails"), _modalities(usage, "candidatesTokensDetails")
    return Usage(
        input_tokens=count_at(usage, "promptTokenCount") + count_at(usage, "toolUsePromptTokenCount"),
        output_tokens=count_at(usage, "candidatesTokenCount") + thoughts,
        cached_tokens=count_at(usage, "cachedContentTokenCount"),
        thinking_tokens=thoughts,
        input_audio_tokens=prompt["AUDIO"] + tools["AUDIO"],
        cached_audio_tokens=cached["AUDIO"],
        output_audio_tokens=output["AUDIO"],
        input_image_tokens=prompt["IMAGE"] + tools["IMAGE"],
        cached_image_tokens=cached["IMAGE"],
        output_image_tokens=output["IMAGE"],
    )


def _modalities(usage: Mapping[str, Any], name: str) -> Counter[str]:
    """Return the counts of a list of them by modality."""
    counts: Counter[str] = Counter()
    details = usage.get(name)
    for detail in details if isinstance(details, list) else ():
        if isinstance(detail, dict):
            counts[_text(detail, "modality")] += count_at(detail, "tokenCount")
    return counts


def _text(value: dict[str, Any], name: str) -> str:
    text = value.get(name)
    return text if isinstance(text, str) else ""
