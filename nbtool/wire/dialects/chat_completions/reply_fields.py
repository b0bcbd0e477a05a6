"""The fields of a Chat Completions reply, as various servers send them."""

from __future__ import annotations

import json
from base64 import b64decode
from collections.abc import Mapping
from typing import Any

from nbtool.events import StopReason, StreamNotice
from nbtool.messages import Media, Usage
from nbtool.wire.dialects.reported_cost import reported_cost
from nbtool.wire.dialects.usage_fields import count_at, first_count

STOP_REASONS: dict[str, StopReason] = {
    "stop": "end", "eos": "end", "end_turn": "end", "stop_sequence": "end", "completed": "end",
    "tool_calls": "tools", "tool_use": "tools", "function_call": "tools", "tool_call": "tools",
    "length": "length", "max_tokens": "length", "max_output_tokens": "length", "model_length": "length",
    "model_context_window_exceeded": "length", "incomplete": "length",
    "content_filter": "filtered", "safety": "filtered", "refusal": "refused", "sensitive": "filtered",
    "recitation": "filtered", "prohibited_content": "filtered", "blocklist": "filtered",
    "error": "error", "abort": "error", "network_error": "error", "insufficient_system_resource": "error",
    "malformed_function_call": "error",
}  # fmt: skip
"""The finish reasons of many servers, in lower case."""

NO_CONTENT: tuple[object, ...] = (None, "", [], {})
"""What stands in the place of a text where there is none; the number 0 is a token of one."""

THINKING_FIELDS = ("reasoning_content", "reasoning", "reasoning_text")
"""The fields that contain a model's reasoning; the first with text is shown, all are kept to send back."""


SEVERAL_CHOICES = "The reply has {count} choices; only the first is shown."
OTHER_CALL = " A tool call in another one did not run."


class Choices:
    """The choices of a reply, of which the first that comes is shown.

    Some servers split one message into choices, the text in one and the calls in another: the first then ends for a
    call and has none. `moved_calls` are the calls of the other.
    """

    def __init__(self) -> None:
        self._shown: int | None = None
        self._last = 0
        self._calls: dict[int, list[Any]] = {}  # by the index of another choice: what its deltas have of calls
        self._is_moved = False

    def is_shown(self, choice: dict[str, Any], index: int) -> bool:
        """Whether a choice is the one that is shown; any other is noted."""
        if self._shown is None:
            self._shown = index
        if index == self._shown:
            return True
        self._last = max(self._last, index, self._shown)
        part = choice.get("message") or choice.get("delta")
        if calls := get_field(part, "tool_calls") or get_field(part, "function_call"):
            self._calls.setdefault(index, []).append(calls if isinstance(calls, list) else [{"function": calls}])
        return False

    def moved_calls(self) -> list[Any]:
        """Return the calls of the only other choice that has some, as the calls of a choice that ends for them."""
        if len(self._calls) != 1:
            return []
        self._is_moved = True
        return next(iter(self._calls.values()))

    def notices(self) -> list[StreamNotice]:
        """Return what is said of the choices that are not shown."""
        text = SEVERAL_CHOICES.format(count=self._last + 1) + (OTHER_CALL if self._calls else "")
        return [StreamNotice(text)] if self._last and not self._is_moved else []


class ReasoningDetails:
    """OpenRouter's list of reasoning details: fragments of one type and index are joined, and sent back unchanged.

    See https://openrouter.ai/docs/use-cases/reasoning-tokens#preserving-reasoning-blocks.
    """

    def __init__(self) -> None:
        self._entries: dict[str, tuple[dict[str, Any], dict[str, list[str]]]] = {}

    def __bool__(self) -> bool:
        return bool(self._entries)

    def add(self, detail: dict[str, Any]) -> str:
        """Add a fragment and return the text in it to show."""
        index = detail.get("index")
        key = repr((detail.get("type"), detail.get("id") if index is None else index))
        fields, fragments = self._entries.setdefault(key, ({}, {}))
        for field, value in detail.items():
            if field in _JOINED_FIELDS and isinstance(value, str):
                fragments.setdefault(field, []).append(value)
                fields[field] = ""  # keeps its position among the fields
            elif value is not None or field not in fields:
                fields[field] = value
        text = detail.get("text") or detail.get("summary")
        return text if isinstance(text, str) else ""

    def merged(self) -> list[dict[str, Any]]:
        """Return the list in the form of a whole message."""
        merged = []
        for fields, fragments in self._entries.values():
            merged.append(fields | {name: "".join(texts) for name, texts in fragments.items()})
        return merged


_JOINED_FIELDS = frozenset({"text", "summary", "data", "signature"})


def read_usage(usage: Mapping[str, Any]) -> Usage:
    """Parse a usage object, in the form of any server."""
    prompt, output = "prompt_tokens_details", "completion_tokens_details"
    input_tokens = first_count(usage, ("prompt_tokens",), ("input_tokens",))
    output_tokens = first_count(usage, ("completion_tokens",), ("output_tokens",))
    thinking_tokens = first_count(usage, (output, "reasoning_tokens"), ("reasoning_tokens",))
    if count_at(usage, "total_tokens") == input_tokens + output_tokens + thinking_tokens:
        output_tokens += thinking_tokens  # xAI counts the reasoning beside the output
    return Usage(
        input_tokens=input_tokens,
        output_tokens=output_tokens,
        cached_tokens=first_count(
            usage,
            (prompt, "cached_tokens"),
            ("cached_tokens",),
            ("prompt_cache_hit_tokens",),
            ("cache_read_input_tokens",),
        ),
        cache_write_tokens=first_count(
            usage, (prompt, "cache_write_tokens"), (prompt, "cache_creation_tokens"), ("cache_creation_input_tokens",)
        ),
        cache_write_1h_tokens=count_at(usage, "cache_creation", "ephemeral_1h_input_tokens"),
        thinking_tokens=thinking_tokens,
        input_audio_tokens=first_count(usage, (prompt, "audio_tokens"), ("audio_prompt_tokens",)),
        cached_audio_tokens=count_at(usage, prompt, "cached_tokens_details", "audio_tokens"),
        output_audio_tokens=count_at(usage, output, "audio_tokens"),
        input_image_tokens=count_at(usage, prompt, "image_tokens"),
        cached_image_tokens=count_at(usage, prompt, "cached_tokens_details", "image_tokens"),
        output_image_tokens=count_at(usage, output, "image_tokens"),
        web_searches=count_at(usage, "server_tool_use", "web_search_requests"),
        cost=reported_cost(usage),
    )


def parse_image(image: Any) -> Media | None:
    """Parse a generated image; one by address keeps its address, which is never fetched."""
    url = get_field(get_field(image, "image_url"), "url")
    if isinstance(url, str) and url.startswith(("http://", "https://")):
        return Media("image/png", url=url)
    head, _, data = url.partition(",") if isinstance(url, str) else ("", "", "")
    if not (head.startswith("data:image/") and head.endswith(";base64")):
        return None
    try:
        return Media(head[5:-7], data=b64decode(data, validate=True))
    except ValueError:
        return None


def filtered_categories(choice: dict[str, Any]) -> str:
    """List the findings of a content filter in a choice (Azure: `content_filter_results`)."""
    results = choice.get("content_filter_results") or choice.get("content_filter_result")
    entries = results.items() if isinstance(results, dict) else ()
    return ", ".join(name for name, entry in entries if get_field(entry, "filtered") is True)


def get_field(value: Any, name: str) -> Any:
    """Return a field of an object; None for anything else."""
    return value.get(name) if isinstance(value, dict) else None


def content_parts(content: Any) -> list[str | dict[str, Any]]:
    """Return what a content consists of: texts and parts.

    It is a text, a part or a list of parts (Mistral, Databricks), or data: an object with a schema, or a number, which
    is a token of the text (Cloudflare).
    """
    if isinstance(content, dict) and content.get("type") != "text":
        return [json.dumps(content, ensure_ascii=False)]
    parts = content if isinstance(content, list) else [content]
    filled = [part for part in parts if part not in NO_CONTENT]
    return [part if isinstance(part, str | dict) else json.dumps(part, ensure_ascii=False) for part in filled]


def thought(value: Any) -> str:
    """Return the text of a field of reasoning: a text, a number, which is a token, or an object with the text."""
    if isinstance(value, int | float):
        return json.dumps(value)
    return content_text(value)


def content_text(part: Any) -> str:
    """Return the text of a part, of a list of parts, or of a text."""
    if isinstance(part, str):
        return part
    if isinstance(part, list):
        return "".join(content_text(item) for item in part)
    text = part.get("text") if isinstance(part, dict) else None
    return text if isinstance(text, str) else ""


def thinking_text(part: dict[str, Any]) -> str:
    """Return the reasoning in a part of the content: Mistral's `thinking`, Databricks' `summary` of a `reasoning`.

    See https://docs.mistral.ai/capabilities/reasoning/ and
    https://docs.databricks.com/aws/en/machine-learning/model-serving/query-reason-models.
    """
    match part.get("type"):
        case "thinking":
            return content_text(part.get("thinking"))
        case "reasoning":
            return content_text(part.get("summary") or part)
        case _:
            return ""
