"""Fixes that an error suggests, from the request or the server: available models, and the largest parts."""

from __future__ import annotations

import difflib
import json
from collections.abc import Iterator
from contextlib import suppress
from typing import Protocol

from nbtool.errors import AuthenticationFailed, ContextTooLong, ModelNotFound, NbtoolError, ProviderError, WireError
from nbtool.messages import Media, Message, Text, ToolCall, ToolResult
from nbtool.text import count_of, shorten
from nbtool.wire.base import Prompt, Retries
from nbtool.wire.transport.retry import format_delay

MAX_NAMED = 6
"""Maximum number of models, or of parts of a request, in an error message."""

MAX_NAME = 60
"""Maximum length of a model's name, or of a prompt's excerpt, in an error message."""


class HintTarget(Protocol):
    """The endpoint of a request, as far as hints depend on it."""

    @property
    def model(self) -> str:
        """The model."""

    @property
    def provider(self) -> str:
        """The provider's name, empty if there is none."""

    @property
    def key_from(self) -> str:
        """A description of the source of the key."""

    @property
    def retries(self) -> Retries:
        """What decides about retries."""

    async def list_models(self) -> list[str]:
        """Return the names of the server's models."""


async def find_fix(error: WireError, prompt: Prompt, target: HintTarget) -> str:
    """Return the fix for an error: a specific one if it can be determined, else the error's own."""
    match error:
        case ContextTooLong():
            return context_hint(prompt)
        case AuthenticationFailed() if target.key_from:
            return f"Check the key ({target.key_from})."
        case ModelNotFound():
            with suppress(NbtoolError):  # the server does not list its models
                return suggest_models(await target.list_models(), target.model, target.provider) or error.fix
        case ProviderError(retry_after=float(seconds)) if seconds > target.retries.max_delay:
            return f"Try again {format_delay(seconds)}."
    return error.fix


def suggest_models(names: list[str], requested: str, provider: str) -> str:
    """Return a hint with the models that are most similar to the requested one; empty if there are none."""
    close_matches = difflib.get_close_matches(requested, names, n=MAX_NAMED, cutoff=0.5)
    listed = [*close_matches, *(name for name in names if name not in close_matches)][:MAX_NAMED]
    if not listed:
        return ""
    listing = ", ".join(
        f"{provider}:{shorten(name, MAX_NAME)}" if provider else shorten(name, MAX_NAME) for name in listed
    )
    omitted = len(names) - len(listed)
    return f"Available: {listing}{f' and {omitted} more (see `%chat models`)' if omitted else ''}."


def context_hint(prompt: Prompt) -> str:
    """Return a hint with the largest parts of a request, and how to reduce them."""
    parts = sorted(_part_sizes(prompt), key=lambda part: -part[0])
    listing = ", ".join(f"{label} ({_format_size(size)})" for size, label in parts[:MAX_NAMED] if size)
    return (
        f"Largest parts of this request: {listing}. Pass large values by reference, remove tools (`-t !NAME`), hide "
        "old turns (in Python `chat.hide(TURN)`), start a new conversation (`--new`), or choose a model with a larger "
        "context."
    )


def _part_sizes(prompt: Prompt) -> Iterator[tuple[int, str]]:
    """Yield the size and the label of every part of a request, in characters, or in bytes for attachments."""
    yield len(prompt.system), "the system text"
    tool_specs = [{"name": tool.name, "description": tool.description, **tool.parameters} for tool in prompt.tools]
    yield sum(len(json.dumps(spec, default=str)) for spec in tool_specs), count_of(len(tool_specs), "tool")
    last = max((index for index, message in enumerate(prompt.messages) if message.role == "user"), default=-1)
    for index, message in enumerate(prompt.messages):
        yield _text_size(message), "your prompt" if index == last else _message_label(message)
        for part in message.parts:
            if isinstance(part, ToolResult):
                yield len(part.text), f"the result of `{part.name}`"
            elif isinstance(part, ToolCall):
                yield len(part.arguments), f"the arguments of `{part.name}`"
            elif isinstance(part, Media):
                yield len(part.data or b""), f"the attached {part.mime}"


def _text_size(message: Message) -> int:
    return sum(len(part.text) for part in message.parts if isinstance(part, Text))


def _message_label(message: Message) -> str:
    excerpt = " ".join(message.text[:MAX_NAME].split())
    return f"{'a reply' if message.role == 'assistant' else 'earlier'} “{excerpt[: MAX_NAME // 2]}…”"


def _format_size(count: int) -> str:
    return f"{count / 1000:,.0f} kB" if count >= 10_000 else count_of(count, "byte")
