"""What providers do that is no refusal, and what a person gets: one function a row, run in each dialect."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from nbtool import Chat
from nbtool.chat.turn import Turn
from tests.company import Authority
from tests.providers.behaviour import TEXT_DIALECTS, Topic
from tests.providers.conversations import configured
from tests.providers.replies import Answer
from tests.providers.simulator import Provider, simulate

HOSTS = {"chat": "openai", "responses": "openai", "anthropic": "anthropic", "gemini": "google"}
MODELS = {"openai": "gpt-4.1", "anthropic": "claude-opus-5-5", "google": "gemini-3.5-flash"}


@dataclass(frozen=True)
class Observation:
    """Something that a provider does; `observe` returns what a person gets, in a few words."""

    provider: str
    name: str
    topic: Topic
    dialects: Sequence[str]
    observe: Callable[[str], str]
    date: str
    source: str


def send(provider: Provider, dialect: str, *prompts: str, api_key: Any = None, **settings: Any) -> list[Turn]:
    """Send prompts to the double of a provider, as its own host."""
    with configured(provider, dialect):
        chat = Chat(f"{provider.name}:{MODELS[provider.name]}", api_key=api_key or provider.key, **settings)
        return [chat.send(prompt) for prompt in prompts]


def result_of(turns: Sequence[Turn], result: str) -> str:
    """Return a result, or the error of the first turn that failed."""
    failed = next((turn for turn in turns if turn.status != "completed"), None)
    return f"ends with `{type(failed.error).__name__}`" if failed else result


def observe_cost(dialect: str) -> str:
    with simulate(HOSTS[dialect], behaviours=()) as provider:
        (turn,) = send(provider, dialect, "Hi")
    return result_of([turn], "computes it from the tokens" if turn.usage.is_cost_estimated else "does not know it")


def observe_hidden_thinking(dialect: str) -> str:
    with simulate("anthropic", Answer(thinking="First the sum.")) as provider:
        (turn,) = send(provider, dialect, "Hi")
    return result_of([turn], "asks for the text, and shows it" if turn.thinking else "shows nothing")


def observe_required_header(dialect: str) -> str:
    with simulate(HOSTS[dialect], headers={"x-team": "blue"}, behaviours=()) as provider:
        return result_of(send(provider, dialect, "Hi", headers={"X-Team": "blue"}), "sends `headers`")


def observe_required_query(dialect: str) -> str:
    with simulate(HOSTS[dialect], query={"api-version": "2026-01-01"}, behaviours=()) as provider:
        return result_of(send(provider, dialect, "Hi", query={"api-version": "2026-01-01"}), "sends `query`")


def observe_expiring_key(dialect: str) -> str:
    def issue() -> Iterator[str]:
        yield from ("key-1", "key-2")

    keys = issue()
    with simulate(HOSTS[dialect], keys={"key-1": 0, "key-2": None}, behaviours=()) as provider:
        turns = send(provider, dialect, "Hi", api_key=lambda: next(keys))
    return result_of(turns, "asks for another key" if provider.refused == ["key"] else "refused nothing")


def observe_certificate(dialect: str) -> str:
    with tempfile.TemporaryDirectory() as folder:
        authority = Authority(Path(folder))
        with simulate(HOSTS[dialect], tls=authority.server(), behaviours=()) as provider:
            return result_of(send(provider, dialect, "Hi", verify=authority.file), "trusts `verify`")


def observe_unknown_certificate(dialect: str) -> str:
    with tempfile.TemporaryDirectory() as folder:
        authority = Authority(Path(folder))
        with simulate(HOSTS[dialect], tls=authority.server(), behaviours=()) as provider:
            return result_of(send(provider, dialect, "Hi"), "trusts it")


OBSERVATIONS = (
    Observation("any", "reports tokens and no cost", Topic.COST, TEXT_DIALECTS, observe_cost, "2026-11-22",
                "the providers' references of their replies"),
    Observation("anthropic", "omits the text of its thinking unless asked to show it", Topic.DISPLAY, ("anthropic",),
                observe_hidden_thinking, "2026-11-22",
                "platform.claude.com/docs/en/build-with-claude/adaptive-thinking"),
    Observation("any", "demands a header of a company's gateway", Topic.GATEWAY, TEXT_DIALECTS,
                observe_required_header, "2026-11-22", "headroom#778"),
    Observation("any", "demands a query", Topic.GATEWAY, TEXT_DIALECTS, observe_required_query, "2026-11-22",
                "BerriAI/litellm#20238"),
    Observation("any", "has keys that expire", Topic.GATEWAY, TEXT_DIALECTS, observe_expiring_key, "2026-11-22",
                "anthropics/claude-code#68960"),
    Observation("any", "has a certificate of a company", Topic.CERTIFICATES, TEXT_DIALECTS, observe_certificate,
                "2026-11-22", "what a company's proxy does"),
    Observation("any", "has a certificate that nobody vouches for", Topic.CERTIFICATES, TEXT_DIALECTS,
                observe_unknown_certificate, "2026-11-22", "what a company's proxy does"),
)  # fmt: skip
"""All rows."""
