"""Map nbtool's values to OpenTelemetry's semantic conventions for generative AI.

See https://opentelemetry.io/docs/specs/semconv/registry/attributes/gen-ai/; the messages are those of
https://opentelemetry.io/docs/specs/semconv/gen-ai/gen-ai-spans/.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

from nbtool.events import StopReason
from nbtool.messages import (
    Citation,
    Media,
    Message,
    Part,
    ProviderCall,
    Refusal,
    Text,
    Thinking,
    ToolCall,
    ToolResult,
    Usage,
)
from nbtool.text import shorten

MAX_TEXT = 20_000
"""Maximum length of one text in the content of a span, in characters."""

PROVIDERS = {
    "azure": "azure.ai.openai", "google": "gcp.gemini", "vertex": "gcp.vertex_ai",
    "mistral": "mistral_ai", "moonshot": "moonshot_ai",
    "xai": "x_ai",
}  # fmt: skip
"""Providers with another name in the conventions."""

_FINISH = {"end": "stop", "tools": "tool_call", "filtered": "content_filter", "refused": "content_filter"}


def model_attributes(model_id: str) -> dict[str, Any]:
    """Return the attributes of the provider and the model."""
    provider, _, model = model_id.partition(":") if ":" in model_id else ("", "", model_id)
    return {"gen_ai.provider.name": PROVIDERS.get(provider, provider or "unknown"), "gen_ai.request.model": model}


PORT_DIGITS = 5
"""Maximum number of digits of a port; a longer number is part of the name."""


def server_attributes(host: str) -> dict[str, Any]:
    """Return the attributes of the server."""
    name, _, port = host.rpartition(":")
    if not (port.isascii() and port.isdigit() and len(port) <= PORT_DIGITS):
        name, port = host, ""
    return {"server.address": name, **({"server.port": int(port)} if port else {})}


def finish_reason(reason: StopReason) -> str:
    """Return the finish reason in the conventions' vocabulary."""
    return _FINISH.get(reason, reason)


def usage_attributes(usage: Usage) -> dict[str, Any]:
    """Return the attributes of the token usage."""
    return {
        "gen_ai.usage.input_tokens": usage.input_tokens,
        "gen_ai.usage.output_tokens": usage.output_tokens,
        "gen_ai.usage.cache_read.input_tokens": usage.cached_tokens,
        "gen_ai.usage.reasoning.output_tokens": usage.thinking_tokens,
    }


def system_attribute(system: str) -> str:
    """Return the system text as JSON."""
    return _json([{"type": "text", "content": shorten(system, MAX_TEXT)}])


def messages_attribute(messages: Iterable[Message], **fields: str) -> str:
    """Return messages as JSON, with the same extra `fields` in each."""
    return _json([{"role": message.role, "parts": list(map(_part, message.parts)), **fields} for message in messages])


def _part(part: Part) -> dict[str, Any]:
    match part:
        case Text() | Refusal():
            return {"type": "text", "content": shorten(part.text, MAX_TEXT)}
        case Thinking():
            return {"type": "reasoning", "content": shorten(part.text, MAX_TEXT)}
        case ToolCall():
            arguments = part.args if part.args is not None else shorten(part.arguments, MAX_TEXT)
            return {"type": "tool_call", "id": part.id, "name": part.name, "arguments": arguments}
        case ToolResult():
            return {"type": "tool_call_response", "id": part.id, "response": shorten(part.text, MAX_TEXT)}
        case ProviderCall():
            return {"type": "server_tool_call", "name": part.tool, "content": shorten(part.text, MAX_TEXT)}
        case Citation():
            return {"type": "citation", "uri": part.link.url, "content": shorten(part.link.title, MAX_TEXT)}
        case Media():
            return {"type": "blob", "mime_type": part.mime, "content": str(part)}  # its description, never its bytes


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, default=str)
