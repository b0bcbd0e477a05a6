"""A provider of models, and the abilities that it may have."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, ClassVar

from nbtool.wire.providers.connection import Connection

ABILITIES = {
    "tools": "supports native tool calling; without it tools are described in the prompt",
    "images": "accepts images (at least some of its models do)",
    "audio": "accepts audio",
    "files": "accepts files, including PDF",
    "json_schema": "supports a JSON schema as response format, without tools",
    "no_stream_options": "rejects `stream_options`, or always sends the usage",
    "max_completion_tokens": "requires `max_completion_tokens` instead of `max_tokens`",
    "echo_reasoning": "requires the reasoning back with every message",
    "echo_reasoning_with_calls": "requires the reasoning back with messages that contain tool calls only",
    "no_encrypted_reasoning": "rejects `include` for encrypted reasoning (Responses)",
    "reasoning_summary": "summarises its reasoning on request (Responses)",
    "thinking_display": "shows thinking and the text between calls on request (Messages)",
    "bound_thinking": "refuses thinking back once anything before it was changed (Messages)",
    "no_thought_summaries": "rejects the request for summaries of thoughts (Gemini)",
    "empty_content": "requires `content` in every message, empty next to tool calls",
    "short_call_ids": "requires call ids of nine letters and digits",
    "developer_role": "requires the system prompt under the role `developer`",
    "writes_calls": "may leave a tool call in the text of a reply: it is asked for again, with tools in the prompt",
    "free": "charges nothing, such as a server on your own machine",
    "reports_cost": "reports the cost of every reply in US dollars",
    "tool_search": "searches among deferred tools itself (Responses, Messages)",
    "no_cache_control": "rejects `cache_control` on the Messages wire",
    "prompted:hermes": "tools in the prompt are called as Hermes and Qwen models write it (`<tool_call>`)",
    "prompted:pythonic": "tools in the prompt are called as Llama 4 and LFM2 write it (a list of Python calls)",
    "kind:chat": "its models are chat models, whatever their names",
    "kind:image": "its models generate images",
    "kind:image-edit": "its models edit images",
    "kind:transcription": "its models transcribe speech",
    "kind:speech": "its models convert text to speech",
}
"""All abilities of a provider, with a description. Wires read them; chats read the first five."""

FREE = "free"
"""The ability of a provider whose requests cost nothing."""

WRITES_CALLS = "writes_calls"
"""The ability of a server that reads calls out of the text of its models, and misses those it has no parser for."""

KIND_PREFIX = "kind:"
"""The prefix of an ability that sets the kind of all models of a provider; without it their names decide."""


@dataclass(frozen=True, slots=True)
class Provider:
    """A provider of models over HTTP.

    `keys` and `addresses` are names of environment variables; the first one that is set is used. `port` is the default
    port of a local server, which needs no key. `compatible_wire` is the dialect at hosts other than its own, if it
    differs from `wire`: compatible servers may support just the older one. `address_path` completes
    a configured address without a path. `{region}` in `base_url` is the region of AWS. `default_model` is used if a key
    was found and no model was chosen. Its models run `provider_tools` where a chat sets none.
    """

    name: str
    base_url: str
    keys: tuple[str, ...] = ()
    addresses: tuple[str, ...] = ()
    wire: str = "chat"
    compatible_wire: str = ""
    abilities: frozenset[str] = frozenset({"tools"})
    connection: Connection = field(default_factory=Connection)
    provider_tools: tuple[str | dict[str, Any], ...] | None = None
    default_model: str = ""
    address_path: str = ""
    port: int = 0
    key_page: str = ""

    __pydantic_config__: ClassVar[dict[str, str]] = {"extra": "forbid"}

    @property
    def needs_key(self) -> bool:
        """Whether requests require a key of the environment."""
        return bool(self.keys) and not self.port and not self.connection.key_command
