"""Anthropic Messages.

User and assistant messages alternate strictly; the results of a round are the first blocks of the user message after
their calls. Thinking is signed: its blocks are sent back unchanged, or left out where the model refuses them after a
changed prefix. The blocks of tools that ran at the provider are sent back unchanged.

See https://docs.anthropic.com/en/api/messages and
https://docs.anthropic.com/en/docs/build-with-claude/extended-thinking#preserving-thinking-blocks.
"""

from __future__ import annotations

import json
from base64 import b64encode
from hashlib import sha256
from typing import Any

from nbtool.call_arguments import parse_arguments
from nbtool.errors import Unsupported
from nbtool.messages import Media, Message, Refusal, Text, ToolCall, ToolResult
from nbtool.text import clean_text
from nbtool.wire.base import Decoder, Prompt, Request, Target, ToolSpec
from nbtool.wire.dialect import DIALECTS, TOOL_SEARCH
from nbtool.wire.dialects.anthropic.decoder import AnthropicDecoder
from nbtool.wire.dialects.call_ids import VALID_ID, CallIds, safe_tool_name
from nbtool.wire.dialects.request_fields import MESSAGES, MODEL, STREAM, SYSTEM, TOOL_CHOICE, TOOLS, Written, write_body
from nbtool.wire.providers.provider_tools import take_provider_tools

BETAS = {"web_fetch_20250910": "web-fetch-2025-09-10", "code_execution_20250825": "code-execution-2025-08-25"}
"""The values of `anthropic-beta` that tools of the Messages dialect require, by type."""

DEFAULT_MAX_TOKENS = 16_000
"""Maximum tokens of a reply unless an option sets them: the API requires a value."""

NO_CACHE_CONTROL = "no_cache_control"
"""The ability of a target that refuses `cache_control` marks (some gateways do)."""

CITATIONS = "citations"
"""The option of a prompt with which replies cite the documents of the request:
https://platform.claude.com/docs/en/build-with-claude/citations."""

THINKING_DISPLAY = "thinking_display"
"""The ability of a target that thinks by default, and shows its thinking and its text between calls on request."""

BOUND_THINKING = "bound_thinking"
"""The ability of a target that refuses thinking back once anything before it was changed."""

Block = dict[str, Any]

_CACHE_CONTROL = {"type": "ephemeral"}
_CACHEABLE = frozenset({"text", "image", "document", "tool_use", "tool_result"})
_THINKING = frozenset({"thinking", "redacted_thinking"})
_EARLIER_OMITTED = "[Earlier messages are left out.]"


class AnthropicMessages:
    """The Messages dialect."""

    name = "anthropic"

    def encode(self, prompt: Prompt, target: Target) -> Request:
        """Encode a prompt as a request.

        An option `cache_control` (None, or a mark) replaces the marks that are set here.

        Raises:
            nbtool.errors.Unsupported: a part that the API does not accept (sound, video).
        """
        options, provider_tools = take_provider_tools(prompt.options, self.name)
        system, tools = _system(prompt), _tools(prompt, can_search=TOOL_SEARCH in target.abilities)
        prefix = PrefixDigest([system, tools, provider_tools]) if BOUND_THINKING in target.abilities else None
        has_citations = options.pop(CITATIONS, False) is True
        messages = _MessageEncoder(self.name, target, prefix, has_citations=has_citations).write(prompt.messages)
        if NO_CACHE_CONTROL not in target.abilities and "cache_control" not in prompt.options:
            _add_cache_control(tools, system, messages)
        choice = _tool_choice(prompt) if tools and (prompt.tools or not provider_tools) else {"type": "auto"}
        written = {
            "model": Written(target.model, MODEL),
            "messages": Written(messages, MESSAGES),
            "system": Written(system or None, SYSTEM),
            "tools": Written([*provider_tools, *tools] or None, TOOLS),
            "tool_choice": Written(choice if choice["type"] != "auto" else None, TOOL_CHOICE),
            "stream": Written(prompt.stream, STREAM),
        }
        defaults: Block = {"max_tokens": _max_tokens(prompt)}
        if THINKING_DISPLAY in target.abilities and not _is_disabled(options.get("thinking")):
            defaults["thinking"] = {"type": "adaptive", "display": "summarized"}
        body = write_body(written, options, defaults)
        betas = ",".join(BETAS[kind] for tool in provider_tools if (kind := tool.get("type")) in BETAS)
        headers = {**DIALECTS["anthropic"].headers, **({"anthropic-beta": betas} if betas else {})}
        return Request("/messages", body, prompt.stream, headers, prefix=str(prefix or ""))

    def decoder(self, *, stream: bool = True) -> Decoder:  # noqa: ARG002 - the decoder sees from the bytes whether it is a stream
        """Return a new decoder for one reply, streamed or not."""
        return AnthropicDecoder()


class PrefixDigest:
    """The digest of a request up to a message.

    Claude 5.5 and later refuse thinking after which anything before it was changed:
    https://platform.claude.com/docs/en/build-with-claude/preserved-thinking/prefix-checks.
    """

    def __init__(self, start: Any) -> None:
        self._digest = sha256()
        self.add(start)

    def add(self, value: Any) -> None:
        """Add the next part of the request."""
        self._digest.update(json.dumps(value, sort_keys=True, default=str).encode())

    def __str__(self) -> str:
        return self._digest.hexdigest()


class _MessageEncoder:
    """Builds the alternating messages from nbtool's, in order."""

    def __init__(
        self, wire: str, target: Target, prefix: PrefixDigest | None = None, *, has_citations: bool = False
    ) -> None:
        self._has_citations = has_citations
        self._prefix = prefix
        self._origin = (wire, target.host, target.model)
        self._ids = CallIds()
        self._pending_images: list[Block] = []  # images of the assistant: only a user message may contain images
        self._turns: list[dict[str, Any]] = []

    def write(self, messages: tuple[Message, ...]) -> list[dict[str, Any]]:
        for message in messages:
            if message.role == "assistant":
                self._add("assistant", self._native(message) or self._from_parts(message))
            elif message.role != "system":
                self._encode_text(message)
        if self._pending_images:
            self._add("user", self._pending_images)
        if self._turns and self._turns[0]["role"] == "assistant":
            self._turns.insert(0, {"role": "user", "content": [{"type": "text", "text": _EARLIER_OMITTED}]})
        return self._turns

    def _add(self, role: str, blocks: list[Block]) -> None:
        """Add blocks to the message of their role; results of a round come first."""
        if not blocks:
            return
        if self._prefix:
            self._prefix.add([role, blocks])
        if not self._turns or self._turns[-1]["role"] != role:
            self._turns.append({"role": role, "content": []})
        content = self._turns[-1]["content"] + blocks
        if role == "user":
            content.sort(key=lambda block: block["type"] != "tool_result")
        self._turns[-1]["content"] = content

    def _encode_text(self, message: Message) -> None:
        """Encode a message of the person or of the tools."""
        parts = [part for part in message.parts if isinstance(part, Text | Media) and not _is_empty(part)]
        content = [self._content(part) for part in parts]
        if content:
            content, self._pending_images = [*self._pending_images, *content], []
        self._add("user", [*(self._encode_result(result) for result in message.results), *content])

    def _encode_result(self, result: ToolResult) -> Block:
        block: Block = {"type": "tool_result", "tool_use_id": self._ids.id_for_result(result)}
        if result.media:
            parts: list[Text | Media] = [Text(result.text)] if result.text.strip() else []
            block["content"] = [self._content(part) for part in (*parts, *result.media)]
        elif result.text.strip():
            block["content"] = clean_text(result.text)
        if result.is_error:
            block["is_error"] = True
        return block

    def _content(self, part: Text | Media) -> Block:
        """Encode a part; all documents of a request are cited, or none."""
        block = _content(part)
        return (
            {**block, "citations": {"enabled": True}} if self._has_citations and block["type"] == "document" else block
        )

    def _native(self, message: Message) -> list[Block]:
        """Return the blocks of a reply unchanged, or None if they are not valid for this request."""
        native = message.native
        if native is None or (native.wire, native.host, native.model) != self._origin:
            return []
        if not all(map(_is_block, native.payload)):
            return []
        blocks = [block for block in native.payload if block["type"] != "text" or block.get("text", "").strip()]
        if self._prefix and native.prefix and native.prefix != str(self._prefix):
            blocks = [block for block in blocks if block["type"] not in _THINKING]
        while blocks and blocks[-1]["type"] in _THINKING:
            blocks.pop()  # refused at the end of a message
        calls = [str(block.get("id")) for block in blocks if block.get("type") == "tool_use"]
        if calls != [call.id for call in message.calls] or not all(map(VALID_ID.fullmatch, calls)):
            return []
        if not self._ids.reserve(message):
            return []
        return [
            {**block, "name": safe_tool_name(block.get("name"))} if block["type"] == "tool_use" else block
            for block in blocks
        ]

    def _from_parts(self, message: Message) -> list[Block]:
        """Build a reply from its parts, without thinking: only signed thinking is accepted."""
        blocks: list[Block] = []
        for part in message.parts:
            match part:
                case Text() | Refusal() if part.text.strip():
                    blocks.append({"type": "text", "text": clean_text(part.text)})
                case Media() if part.mime.startswith("image/"):
                    self._pending_images.append(_content(part))
                case Media():  # the API accepts no sound; its transcript is sent as text
                    blocks.append({"type": "text", "text": f"[{part}]"})
                case ToolCall():
                    args, _ = parse_arguments(part.arguments)
                    name, call_id = safe_tool_name(part.name), self._ids.id_for_call(part)
                    blocks.append({"type": "tool_use", "id": call_id, "name": name, "input": args or {}})
        return blocks


def _is_block(block: Block) -> bool:
    """Whether a block can be sent back; some servers send types or texts that are not strings."""
    return isinstance(block.get("type"), str) and isinstance(block.get("text", ""), str)


def _max_tokens(prompt: Prompt) -> int:
    """Raise the limit of tokens by the thinking budget, which counts as output."""
    thinking = prompt.options.get("thinking")
    budget = thinking.get("budget_tokens") if isinstance(thinking, dict) else None
    return DEFAULT_MAX_TOKENS + (budget if isinstance(budget, int) else 0)


def _system(prompt: Prompt) -> list[Block]:
    """Encode the system prompt and the system messages, which this API has outside of the messages."""
    texts = [prompt.system, *(message.text for message in prompt.messages if message.role == "system")]
    return [{"type": "text", "text": clean_text(text)} for text in texts if text.strip()]


def _is_disabled(thinking: Any) -> bool:
    return isinstance(thinking, dict) and thinking.get("type") == "disabled"


def _tools(prompt: Prompt, *, can_search: bool) -> list[Block]:
    """Encode the tools; the API requires the tools of calls in the history even if none is offered now.

    The tool that searches is the last one: a deferred tool must not have a cache mark.
    """
    if prompt.tools:
        deferred = {spec.name for spec in prompt.tools if can_search and spec.is_deferred} - {prompt.tool_choice}
        tools = [{**_tool(spec), **({"defer_loading": True} if spec.name in deferred else {})} for spec in prompt.tools]
        return [*tools, dict(DIALECTS["anthropic"].search_tool)] if deferred else tools
    call_names = dict.fromkeys(safe_tool_name(call.name) for message in prompt.messages for call in message.calls)
    return [_tool(ToolSpec(name, "No longer available.", {})) for name in call_names]


def _tool(spec: ToolSpec) -> Block:
    schema = {"type": "object", "properties": {}, **spec.parameters}
    return {"name": spec.name, "description": spec.description, "input_schema": schema}


def _tool_choice(prompt: Prompt) -> Block:
    """Encode how tools are called; a final reply is requested like the replies before it.

    Any other choice would invalidate the cache of the messages: its prompt forbids calls, and none of them runs. See
    https://platform.claude.com/docs/en/build-with-claude/prompt-caching#what-invalidates-the-cache.
    """
    if prompt.is_final and prompt.tools:
        return {"type": "auto"}
    choice = prompt.tool_choice if prompt.tools else "none"
    if choice in ("auto", "none"):
        return {"type": choice}
    return {"type": "any"} if choice == "required" else {"type": "tool", "name": choice}


def _add_cache_control(tools: list[Block], system: list[Block], messages: list[Block]) -> None:
    """Mark the tools, the system prompt, the last user message but one, and the last block of the conversation.

    A request may have four marks. The last block is where the next request continues, so the next one reads all of
    this one from the cache; see https://docs.anthropic.com/en/docs/build-with-claude/prompt-caching.
    """
    for blocks in (tools, system):
        if blocks:
            blocks[-1] = {**blocks[-1], "cache_control": _CACHE_CONTROL}
    last_content = [turn for turn in messages if turn["role"] == "user"]
    for turn in (*last_content[-2:-1], *messages[-1:]):
        content = turn["content"]
        position = max((at for at, block in enumerate(content) if block["type"] in _CACHEABLE), default=None)
        if position is not None:
            content[position] = {**content[position], "cache_control": _CACHE_CONTROL}


def _is_empty(part: Text | Media) -> bool:
    return isinstance(part, Text) and not part.text.strip()


def _content(part: Text | Media) -> Block:
    """Encode a text, an image or a document.

    Raises:
        nbtool.errors.Unsupported: the API does not accept sound, video or other files.
    """
    if isinstance(part, Text):
        return {"type": "text", "text": clean_text(part.text)}
    kind = part.mime.partition("/")[0]
    if kind == "text" and part.data is not None:
        source = {"type": "text", "media_type": "text/plain", "data": part.data.decode("utf-8", "replace")}
    elif part.url:
        source = {"type": "url", "url": part.url}
    else:
        source = {"type": "base64", "media_type": part.mime, "data": b64encode(part.data or b"").decode()}
    if kind == "image":
        return {"type": "image", "source": source}
    if kind == "text" or part.mime == "application/pdf":
        return {"type": "document", "source": source, **({"title": part.name} if part.name else {})}
    raise Unsupported(
        f"The Anthropic wire carries no {part.mime}.",
        fix="Send it as an image, a PDF or text, or use `--set wire=chat`.",
    )
