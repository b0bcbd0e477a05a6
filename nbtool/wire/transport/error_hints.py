"""What only the request, or the server itself, can say about an error: the models on offer, and what is so large."""

from __future__ import annotations

import difflib
import json
from collections.abc import Iterator
from contextlib import suppress
from typing import Protocol

from nbtool.errors import AuthFailed, ContextTooLong, ModelNotFound, NbtoolError, ProviderError, WireError
from nbtool.messages import Media, Message, Text, ToolCall, ToolResult
from nbtool.shorten import shorten
from nbtool.wire.base import Prompt
from nbtool.wire.transport.retry import Retries, when

MAX_NAMED = 6
"""Models, and parts of a request, that an error names."""

MAX_NAME = 60
"""Characters of a model's name, or of a prompt's beginning, that an error shows."""


class Asked(Protocol):
    """Whom a request was for, as far as advice depends on it."""

    @property
    def model(self) -> str:
        """The model."""

    @property
    def provider(self) -> str:
        """The provider's name, empty for a server that has none."""

    @property
    def key_from(self) -> str:
        """Where the key was found, in words."""

    @property
    def retries(self) -> Retries:
        """How often, and after how long, it is asked again."""

    async def offered(self) -> list[str]:
        """Ask which models there are."""


async def find_fix(error: WireError, prompt: Prompt, asked: Asked) -> str:
    """Return what to do about an error, as far as it can be learnt; else what the error itself says."""
    match error:
        case ContextTooLong():
            return too_long(prompt)
        case AuthFailed() if asked.key_from:
            return f"Check the key: it is {asked.key_from}."
        case ModelNotFound():
            with suppress(NbtoolError):  # the server does not list its models
                return on_offer(await asked.offered(), asked.model, asked.provider) or error.fix
        case ProviderError(retry_after=float(seconds)) if seconds > asked.retries.most:
            return f"It asks to come again {when(seconds)}."
    return error.fix


def on_offer(names: list[str], wanted: str, provider: str) -> str:
    """Name the models of a server that are spelt most like the one that was wanted; '' where it offers none."""
    near = difflib.get_close_matches(wanted, names, n=MAX_NAMED, cutoff=0.5)
    shown = [*near, *(name for name in names if name not in near)][:MAX_NAMED]
    if not shown:
        return ""
    said = ", ".join(f"{provider}:{shorten(name, MAX_NAME)}" if provider else shorten(name, MAX_NAME) for name in shown)
    rest = len(names) - len(shown)
    return f"It offers {said}{f' and {rest} more: `%chat models` lists them' if rest else ''}."


def too_long(prompt: Prompt) -> str:
    """Name the largest parts of a request, and how each is made smaller."""
    parts = sorted(_weighed(prompt), key=lambda part: -part[0])
    said = ", ".join(f"{what} ({_size(size)})" for size, what in parts[:MAX_NAMED] if size)
    return (
        f"Largest in this request: {said}. Hand large values over by reference, take tools away (`-T NAME`), hide old "
        "turns (`%chat hide TURN`), start anew (`--new`), or choose a model that reads more."
    )


def _weighed(prompt: Prompt) -> Iterator[tuple[int, str]]:
    """Give every part of a request with its characters; for what is attached, with its bytes."""
    yield len(prompt.system), "the system text"
    told = [{"name": tool.name, "description": tool.description, **tool.parameters} for tool in prompt.tools]
    yield sum(len(json.dumps(one, default=str)) for one in told), f"{len(told)} tools"
    last = max((at for at, message in enumerate(prompt.messages) if message.role == "user"), default=-1)
    for at, message in enumerate(prompt.messages):
        yield _prose(message), "your prompt" if at == last else _called(message)
        for part in message.parts:
            if isinstance(part, ToolResult):
                yield len(part.text), f"the result of `{part.name}`"
            elif isinstance(part, ToolCall):
                yield len(part.arguments), f"the arguments of `{part.name}`"
            elif isinstance(part, Media):
                yield len(part.data or b""), f"the attached {part.mime}"


def _prose(message: Message) -> int:
    return sum(len(part.text) for part in message.parts if isinstance(part, Text))


def _called(message: Message) -> str:
    beginning = " ".join(message.text[:MAX_NAME].split())
    return f"{'a reply' if message.role == 'assistant' else 'earlier'} “{beginning[: MAX_NAME // 2]}…”"


def _size(count: int) -> str:
    return f"{count / 1000:,.0f} kB" if count >= 10_000 else f"{count:,} bytes"
