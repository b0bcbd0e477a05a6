"""The encoder of Chat Completions, the API that most servers implement.

The conversation is a flat list: the system prompt first, one message each for prompts and replies, one `tool`
message for each call's result. See https://platform.openai.com/docs/api-reference/chat/create.
"""

from __future__ import annotations

from base64 import b64encode
from functools import partial
from hashlib import sha256
from typing import Any

from nbtool.errors import Unsupported
from nbtool.messages import Media, Message, Refusal, Text, Thinking, ToolCall
from nbtool.text import clean_text
from nbtool.wire.arguments import valid_arguments
from nbtool.wire.base import Decoder, Prompt, Request, Target, ToolSpec
from nbtool.wire.dialects.call_ids import CallIds, safe_tool_name
from nbtool.wire.dialects.chat_completions.decoder import ChatDecoder
from nbtool.wire.dialects.chat_completions.reply_fields import THINKING_FIELDS
from nbtool.wire.dialects.options import chat_options
from nbtool.wire.dialects.request_fields import (
    MESSAGES,
    MODEL,
    STREAM,
    TOOL_CHOICE,
    TOOLS,
    USAGE,
    Written,
    write_body,
)
from nbtool.wire.form_cache import FormCache
from nbtool.wire.providers.provider_tools import take_provider_tools

RESULT_MEDIA = "From the result of {name}:"
"""Before an image of a result, which stands in a message of the user."""

NO_STREAM_OPTIONS = "no_stream_options"
"""The ability of a target that refuses `stream_options`, or always sends the usage."""

MAX_COMPLETION_TOKENS = "max_completion_tokens"
"""The ability of a target that requires `max_completion_tokens` instead of `max_tokens`."""

ECHO_REASONING = "echo_reasoning"
"""The ability of a target that requires the reasoning back with every message of the model."""

ECHO_REASONING_WITH_CALLS = "echo_reasoning_with_calls"
"""The ability of a target that requires the reasoning back with messages that contain calls, and only there."""

SHORT_CALL_IDS = "short_call_ids"
"""The ability of a target whose call ids must be nine letters and digits (Mistral)."""

EMPTY_CONTENT = "empty_content"
"""The ability of a target that requires `content` in every message: next to calls it is empty."""

DEVELOPER_ROLE = "developer_role"
"""The ability of a target that requires the system prompt under the role `developer`."""

Encoded = list[dict[str, Any]]

_MESSAGE_FIELDS = frozenset({"role", "content", "tool_calls", "extra_content"})
_REASONING_FIELDS = frozenset({*THINKING_FIELDS, "reasoning_details"})
_EMPTY_RESULT = "(empty)"
_AUDIO_FORMATS = {
    "wav": "wav",
    "x-wav": "wav",
    "wave": "wav",
    "mpeg": "mp3",
    "mp3": "mp3",
    "flac": "flac",
    "ogg": "ogg",
}


class ChatCompletions:
    """The Chat Completions dialect."""

    name = "chat"

    def __init__(self) -> None:
        self._cache: FormCache[Message, tuple[Target, tuple[str, ...]], Encoded] = FormCache()

    def encode(self, prompt: Prompt, target: Target) -> Request:
        """Encode a prompt as a request.

        Raises:
            nbtool.errors.Unsupported: a part that the API does not accept (video, sound by URL).
        """
        messages = [*_system(prompt, target), *self._messages(prompt.messages, target)]
        has_choice = bool(prompt.tools) and prompt.tool_choice != "auto"
        reports_usage = prompt.stream and NO_STREAM_OPTIONS not in target.abilities
        written = {
            "model": Written(target.model, MODEL),
            "messages": Written(messages, MESSAGES),
            "tools": Written([_tool(spec) for spec in prompt.tools] or None, TOOLS),
            "tool_choice": Written(_choice(prompt.tool_choice) if has_choice else None, TOOL_CHOICE),
            "stream": Written(prompt.stream or None, STREAM),
            "stream_options": {"include_usage": Written(reports_usage or None, USAGE)},
        }
        take_provider_tools(prompt.options, self.name)  # there are none in this dialect: named ones are refused
        return Request("/chat/completions", write_body(written, _options(prompt, target)), stream=prompt.stream)

    def decoder(self, *, stream: bool = True) -> Decoder:  # noqa: ARG002 - the first byte shows whether it is a stream
        """Return a new decoder, for a stream or a whole body."""
        return ChatDecoder()

    def _messages(self, messages: tuple[Message, ...], target: Target) -> Encoded:
        """Encode the conversation; a message that was encoded before, with the same ids, is reused."""
        ids = CallIds()
        encoded: Encoded = []
        for message in messages:
            call_ids = _ids(message, ids, target)
            encoded += self._cache.get_or_make(
                message, (target, call_ids), partial(_encode_message, ids=call_ids, target=target)
            )
        return encoded


def _ids(message: Message, ids: CallIds, target: Target) -> tuple[str, ...]:
    """Return the ids of a message's calls, or of the calls that its results answer, in order."""
    if calls := message.calls:
        reserved = _is_native(message, target) and ids.reserve(message)
        assigned = tuple(call.id if reserved else ids.id_for_call(call) for call in calls)
    else:
        assigned = tuple(ids.id_for_result(result) for result in message.results)
    return tuple(_short_id(call_id) for call_id in assigned) if SHORT_CALL_IDS in target.abilities else assigned


def _short_id(call_id: str) -> str:
    if len(call_id) == 9 and call_id.isascii() and call_id.isalnum():
        return call_id
    return sha256(call_id.encode()).hexdigest()[:9]


def _is_native(message: Message, target: Target) -> bool:
    native = message.native
    return native is not None and (native.wire, native.host, native.model) == ("chat", target.host, target.model)


def _encode_message(message: Message, ids: tuple[str, ...], target: Target) -> Encoded:
    """Encode one message, which may become several."""
    match message.role:
        case "tool":
            return _results(message, ids)
        case "assistant":
            return _assistant(message, ids, target)
        case _:
            content = _content(message)
            return [{"role": message.role, "content": content}] if content else []


def _system(prompt: Prompt, target: Target) -> Encoded:
    role = "developer" if DEVELOPER_ROLE in target.abilities else "system"
    return [{"role": role, "content": clean_text(prompt.system)}] if prompt.system else []


# --- the model's own messages ---------------------------------------------------------------------------------


def _assistant(message: Message, ids: tuple[str, ...], target: Target) -> Encoded:
    """Send back a message of the same model unchanged; rebuild any other from its parts.

    A message with only calls has no `content`: some servers refuse null, others an empty string. Servers that require
    `content` have an ability (`empty_content`).
    """
    encoded = _native_message(message, ids) if _is_native(message, target) else None
    if encoded is None:
        encoded = {"role": "assistant"}
        if text := "".join(part.text for part in message.parts if isinstance(part, Text | Refusal)):
            encoded["content"] = clean_text(text)
        if message.calls:
            encoded["tool_calls"] = [_call(call, assigned) for call, assigned in zip(message.calls, ids, strict=True)]
        if reasoning := "".join(part.text for part in message.parts if isinstance(part, Thinking)):
            encoded["reasoning_content"] = clean_text(reasoning)
    if not _echoes_reasoning(message, target):
        encoded = {name: value for name, value in encoded.items() if name not in _REASONING_FIELDS}
    if EMPTY_CONTENT in target.abilities and "tool_calls" in encoded:
        encoded.setdefault("content", "")
    return [encoded] if encoded.keys() & {"content", "tool_calls"} else []


def _native_message(message: Message, ids: tuple[str, ...]) -> dict[str, Any] | None:
    """Return the message in its native form, with the ids of this request; None if it does not match its parts."""
    payload = message.native.payload if message.native else None
    if not isinstance(payload, dict):
        return None
    encoded = {name: value for name, value in payload.items() if name in _MESSAGE_FIELDS | _REASONING_FIELDS}
    calls = encoded.get("tool_calls", [])
    if len(calls) != len(message.calls):
        return None
    if calls:
        encoded["tool_calls"] = [_with_safe_name(call, assigned) for call, assigned in zip(calls, ids, strict=True)]
    return encoded


def _with_safe_name(call: dict[str, Any], call_id: str) -> dict[str, Any]:
    """Return a call in its native form, with the id of this request, a valid name, and valid JSON as arguments."""
    copy = {**call, "id": call_id}
    for kind in ("function", "custom"):
        if isinstance(function := call.get(kind), dict):
            copy[kind] = {**function, "name": safe_tool_name(function.get("name"))}
    if "function" in copy:
        copy["function"]["arguments"] = valid_arguments(copy["function"].get("arguments"))
    return copy


def _echoes_reasoning(message: Message, target: Target) -> bool:
    if ECHO_REASONING in target.abilities:
        return True
    return ECHO_REASONING_WITH_CALLS in target.abilities and bool(message.calls)


def _call(call: ToolCall, call_id: str) -> dict[str, Any]:
    function = {"name": safe_tool_name(call.name), "arguments": valid_arguments(call.arguments)}
    return {"id": call_id, "type": "function", "function": function}


# --- prompts and results --------------------------------------------------------------------------------------


def _results(message: Message, ids: tuple[str, ...]) -> Encoded:
    """Encode one `tool` message for each result; images follow in a user message, since results are text only."""
    results = message.results
    encoded: Encoded = [
        {"role": "tool", "tool_call_id": assigned, "content": clean_text(result.text) or _EMPTY_RESULT}
        for result, assigned in zip(results, ids, strict=True)
    ]
    media = [(result, item) for result in results for item in result.media]
    if media:
        parts: Encoded = []
        for result, item in media:
            parts += [{"type": "text", "text": RESULT_MEDIA.format(name=result.name)}, _media(item)]
        encoded.append({"role": "user", "content": parts})
    return encoded


def _content(message: Message) -> str | Encoded:
    """Encode the parts of a user or system message: a string if it has only text."""
    if not any(isinstance(part, Media) for part in message.parts):
        return clean_text("".join(part.text for part in message.parts if isinstance(part, Text)))
    parts: Encoded = []
    for part in message.parts:
        if isinstance(part, Text) and part.text:
            parts.append({"type": "text", "text": clean_text(part.text)})
        elif isinstance(part, Media):
            parts.append(_media(part))
    return parts


def _media(media: Media) -> dict[str, Any]:
    kind, _, subtype = media.mime.partition("/")
    if kind == "image":
        return {"type": "image_url", "image_url": {"url": media.url or _data_url(media)}}
    if kind == "audio" and media.data is not None and subtype in _AUDIO_FORMATS:
        audio_format = {"data": b64encode(media.data).decode(), "format": _AUDIO_FORMATS[subtype]}
        return {"type": "input_audio", "input_audio": audio_format}
    if media.data is not None and kind == "text":
        return {"type": "text", "text": f"{media.name}\n{media.data.decode('utf-8', 'replace')}".lstrip("\n")}
    if media.data is not None and kind not in ("audio", "video"):
        return {"type": "file", "file": {"filename": media.name or "file", "file_data": _data_url(media)}}
    detail = "as an address" if media.data is None else "at all"
    raise Unsupported(
        f"Chat Completions cannot carry {media.mime} {detail}.", fix="Attach an image, wav, mp3 or a file."
    )


def _data_url(media: Media) -> str:
    return f"data:{media.mime};base64,{b64encode(media.data or b'').decode()}"


# --- tools and options ----------------------------------------------------------------------------------------


def _tool(spec: ToolSpec) -> dict[str, Any]:
    function = {
        "name": spec.name,
        "description": clean_text(spec.description),
        "parameters": {"type": "object", "properties": {}, **spec.parameters},
    }
    return {"type": "function", "function": function}


def _choice(choice: str) -> str | dict[str, Any]:
    return choice if choice in ("none", "required") else {"type": "function", "function": {"name": choice}}


def _options(prompt: Prompt, target: Target) -> dict[str, Any]:
    """Return the user's options, with the token limit under the name that the target requires."""
    options = chat_options(prompt.options)
    if MAX_COMPLETION_TOKENS in target.abilities and "max_tokens" in options:
        options.setdefault("max_completion_tokens", options.pop("max_tokens"))
    return options
