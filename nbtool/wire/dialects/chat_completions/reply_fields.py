"""The fields of a Chat Completions reply, as various servers send them."""

from __future__ import annotations

from base64 import b64decode
from typing import Any

from nbtool.events import StopReason
from nbtool.messages import Media, Usage
from nbtool.wire.dialects.reported_cost import reported_cost

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

THINKING_FIELDS = ("reasoning_content", "reasoning", "reasoning_text")
"""The fields that contain a model's reasoning; the first with text is shown, all are kept to send back."""


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


def read_usage(usage: dict[str, Any]) -> Usage:
    """Parse a usage object, in the form of any server."""
    in_prompt = get_field(usage.get("prompt_tokens_details"), "cached_tokens")
    in_output = get_field(usage.get("completion_tokens_details"), "reasoning_tokens")
    cached = in_prompt or usage.get("cached_tokens") or usage.get("prompt_cache_hit_tokens")
    return Usage(
        input_tokens=_count(usage.get("prompt_tokens", usage.get("input_tokens"))),
        output_tokens=_count(usage.get("completion_tokens", usage.get("output_tokens"))),
        cached_tokens=_count(cached),
        thinking_tokens=_count(in_output or usage.get("reasoning_tokens")),
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


def _count(value: Any) -> int:
    return int(value) if isinstance(value, int | float) and 0 <= value < 1e15 else 0
