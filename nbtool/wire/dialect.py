"""The dialects: what the rest of the package has to know of each, one row a dialect.

A dialect is a folder in `nbtool.wire.dialects` with its encoder and its reader, and a row here (docs/adding-models.md).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

Definition = dict[str, Any]
"""A tool that a provider runs, as its dialect defines it."""

AnswerOptions = Callable[[dict[str, Any], bool], dict[str, Any]]
"""Returns the request options that enforce a JSON schema of an answer, strictly or not."""


def _no_options(_schema: dict[str, Any], _strict: bool) -> dict[str, Any]:
    return {}


@dataclass(frozen=True, slots=True)
class Dialect:
    """What is known of a dialect without importing it."""

    name: str
    label: str
    """Its name in messages."""
    wire: str
    """The import path of its wire, as `module:class` or `module:function`."""
    is_text: bool = True
    """Whether its models answer with text."""

    auth: str = "bearer"
    """The kind of authorization where a provider sets none; see `providers.connection.AUTH_HEADERS`."""
    base_path: str = ""
    """What completes an address without a path."""
    headers: Mapping[str, str] = field(default_factory=dict)
    """The headers of every request beside that of the key."""
    list_query: Mapping[str, str | int] = field(default_factory=dict)
    """The query of a request for the list of models."""
    batches: str = ""
    """The import path of its batch endpoints, as that of its wire; see `nbtool.wire.batches`."""

    beside: str = ""
    """The dialect that the same providers speak beside it."""
    may_lack_path: bool = False
    """Whether a server that speaks only the dialect beside it may not know the path of this one."""

    own_abilities: frozenset[str] = frozenset()
    """The abilities of a provider that hold over this dialect only."""
    thinking_abilities: frozenset[str] = frozenset()
    """The abilities of its models that think unless they are told otherwise."""
    may_lose_reasoning: bool = False
    """Whether the reasoning of a reply may not go back."""

    event_prefix: str = ""
    event_kinds: frozenset[str] = frozenset()
    event_list: str = ""
    """How an event of it is recognized: by its kind, or the start of that, or by a list that it has."""

    provider_tools: Mapping[str, Definition] = field(default_factory=dict)
    """The tools that a provider runs, by nbtool's name of them."""
    search_tool: Definition = field(default_factory=dict)
    """The tool with which a provider searches among deferred tools."""
    answer_options: AnswerOptions = _no_options
    """Requests an answer by a JSON schema."""


def _chat_answer(schema: dict[str, Any], strict: bool) -> dict[str, Any]:
    return {"response_format": {"type": "json_schema", "json_schema": _named(schema, strict)}}


def _responses_answer(schema: dict[str, Any], strict: bool) -> dict[str, Any]:
    return {"text": {"format": {"type": "json_schema", **_named(schema, strict)}}}


def _gemini_answer(schema: dict[str, Any], _strict: bool) -> dict[str, Any]:
    from nbtool.json_schema.dialects import for_gemini  # noqa: PLC0415 - only where an answer has a schema

    return {"generationConfig": {"responseMimeType": "application/json", "responseJsonSchema": for_gemini(schema)}}


def _named(schema: dict[str, Any], strict: bool) -> dict[str, Any]:
    return {"name": "answer", "schema": schema, "strict": strict}


_FOLDER, _BATCHES = "nbtool.wire.dialects", "nbtool.wire.batches"

TOOL_SEARCH = "tool_search"
"""The ability of a model whose provider searches among deferred tools; see `Dialect.search_tool`."""

PROMPTED = "-prompted"
"""What follows the name of a dialect where tools are described in the prompt."""

PromptFormatName = Literal["json", "hermes", "pythonic"]
"""How a model writes calls of such tools: nbtool's fenced JSON, the tags of Hermes and Qwen, or the Python lists of
Llama 4 and LFM2."""

ANTHROPIC_VERSION = "2023-06-01"
"""The version of the Messages API that each request names."""

MAX_PAGE = 1_000
"""The largest page of Gemini's list of models."""

_ROWS = (
    Dialect(
        "chat",
        "Chat Completions",
        f"{_FOLDER}.chat_completions.encoder:ChatCompletions",
        beside="responses",
        batches=f"{_BATCHES}.openai:OpenAiBatches",
        event_list="choices",
        answer_options=_chat_answer,
    ),
    Dialect(
        "responses",
        "Responses",
        f"{_FOLDER}.responses.encoder:Responses",
        beside="chat",
        batches=f"{_BATCHES}.openai:OpenAiBatches",
        may_lack_path=True,
        may_lose_reasoning=True,
        event_prefix="response.",
        provider_tools={
            "web_search": {"type": "web_search"},
            "code_interpreter": {"type": "code_interpreter", "container": {"type": "auto"}},
            "image_generation": {"type": "image_generation"},
        },
        search_tool={"type": "tool_search"},
        answer_options=_responses_answer,
    ),
    Dialect(
        "anthropic",
        "Anthropic Messages",
        f"{_FOLDER}.anthropic.encoder:AnthropicMessages",
        auth="x-api-key",
        batches=f"{_BATCHES}.anthropic:AnthropicBatches",
        base_path="/v1",
        thinking_abilities=frozenset({"bound_thinking", "thinking_display"}),
        headers={"anthropic-version": ANTHROPIC_VERSION},
        event_kinds=frozenset(
            {"message_start", "content_block_start", "content_block_delta", "message_delta", "message_stop"}
        ),
        provider_tools={
            "web_search": {"type": "web_search_20250305", "name": "web_search"},
            "web_fetch": {"type": "web_fetch_20250910", "name": "web_fetch"},
            "code_interpreter": {"type": "code_execution_20250825", "name": "code_execution"},
        },
        search_tool={"type": "tool_search_tool_bm25_20251119", "name": "tool_search_tool_bm25"},
    ),
    Dialect(
        "gemini",
        "Gemini",
        f"{_FOLDER}.gemini.encoder:GenerateContent",
        auth="x-goog-api-key",
        batches=f"{_BATCHES}.gemini:GeminiBatches",
        list_query={"pageSize": MAX_PAGE},
        own_abilities=frozenset({"files"}),
        event_list="candidates",
        provider_tools={
            "web_search": {"googleSearch": {}},
            "web_fetch": {"urlContext": {}},
            "code_interpreter": {"codeExecution": {}},
        },
        answer_options=_gemini_answer,
    ),
    Dialect("image", "images", f"{_FOLDER}.media.encoder:image", is_text=False),
    Dialect("image-edit", "edited images", f"{_FOLDER}.media.encoder:image_edit", is_text=False),
    Dialect("transcription", "transcriptions", f"{_FOLDER}.media.encoder:transcription", is_text=False),
    Dialect("speech", "speech", f"{_FOLDER}.media.encoder:speech", is_text=False),
)

DIALECTS = {row.name: row for row in _ROWS}
"""The dialects by name."""

TEXT_DIALECTS = tuple(row.name for row in _ROWS if row.is_text)
"""The names of the dialects of models of texts."""

PROVIDER_TOOL_NAMES = tuple(dict.fromkeys(name for row in _ROWS for name in row.provider_tools))
"""The names of the tools that a provider of some dialect runs."""


def find_dialect(name: str) -> Dialect:
    """Return the row of a dialect; that of an unknown one, such as a test double's, requests nothing special."""
    name = name.removesuffix(PROMPTED)
    return DIALECTS.get(name) or Dialect(name, name, "")
