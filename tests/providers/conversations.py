"""A conversation of two turns with a provider's double: what a person gets where the provider refuses something."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace

from nbtool import Chat, tool
from nbtool.chat.turn import Turn
from nbtool.events import Retrying
from nbtool.settings import data_dir
from nbtool.wire.providers.catalog import BUILTIN
from tests.providers.behaviour import Behaviour
from tests.providers.replies import Answer
from tests.providers.simulator import Provider, simulate
from tests.wire.process_state import clear_adaptations

LABELS = {"chat": "Chat Completions", "responses": "Responses", "anthropic": "Messages", "gemini": "Gemini"}


@tool(run="auto")
def double(n: int = 21) -> int:
    "Twice a number."
    return 2 * n


@contextmanager
def configured(provider: Provider, dialect: str, **settings: object) -> Iterator[None]:
    """Make the double the provider's own host, by `providers.toml` in nbtool's folder, and forget what was refused."""
    clear_adaptations()
    path = data_dir() / "providers.toml"
    values = {"base_url": provider.url, "wire": dialect, **settings}
    lines = [f"{name} = {json.dumps(value)}" for name, value in values.items()]
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("\n".join([f"[{provider.name}]", *lines, ""]), encoding="utf-8")
    try:
        yield
    finally:
        path.unlink()
        clear_adaptations()


@dataclass(frozen=True)
class Conversation:
    """What became of a conversation, and what the provider received."""

    turns: Sequence[Turn]
    provider: Provider
    dialect: str
    is_retried: bool = False

    @property
    def result(self) -> str:
        """What a person gets, in a few words."""
        failed = next((turn for turn in self.turns if turn.status != "completed"), None)
        if self.is_retried:
            return "waits, and asks again"
        if failed:
            return f"ends with `{type(failed.error).__name__}`"
        if not any("double" in json.dumps(body.get("tools", [])) for body in self.provider.bodies):
            return "describes the tools in the prompt"
        if not self.provider.refused:
            return "refused nothing"
        if (dialect := self.provider.dialects[-1]) != self.dialect:
            return f"asks over {LABELS[dialect]}"
        return "asks again without the field"


def converse(row: Behaviour, dialect: str) -> Conversation:
    """Hold a conversation of two turns about tools, of which the second follows a change by the person."""
    answers = (row.answer, Answer("42."), Answer("Well."))
    with simulate(row.provider, *answers, behaviours=[_in_dialect(row, dialect)]) as provider:
        if row.provider not in BUILTIN:
            chat = Chat(
                row.model, base_url=provider.url, api_key=provider.key, tools=[double], history="native", wire=dialect
            )
            return _hold(chat, row, provider, dialect)
        with configured(provider, dialect):
            chat = Chat(
                f"{row.provider}:{row.model}", api_key=provider.key, tools=[double], history="native",
                provider_tools=row.provider_tools, options=row.options,
            )  # fmt: skip
            return _hold(chat, row, provider, dialect)


def _in_dialect(row: Behaviour, dialect: str) -> Behaviour:
    return replace(row, dialect=dialect)


def _hold(chat: Chat, row: Behaviour, provider: Provider, dialect: str) -> Conversation:
    turns: list[Turn] = []
    for prompt in ("Double 21.", "And?"):
        turn = chat.start(prompt)
        turns.append(turn)
        if asyncio.run(_is_retried(turn)):
            return Conversation(turns, provider, dialect, is_retried=True)
        if turn.status != "completed":
            break
        if row.change:
            row.change(chat)
    return Conversation(turns, provider, dialect)


async def _is_retried(turn: Turn) -> bool:
    """Whether a turn waits to ask again; it is then cancelled."""
    async for event in turn:
        if isinstance(event, Retrying):
            turn.cancel()
            return True
    return False
