"""A double of the providers' prompt caches: how much of each request of a conversation is read from the cache.

A request is reduced to the texts that the provider hashes, in its order: tools, system text, messages. A token is taken
as four characters. The rules, as documented in November 2026:

- OpenAI (https://developers.openai.com/api/docs/guides/prompt-caching): the longest exact prefix of an earlier request,
  of at least 1,024 tokens, in steps of 128.
- Anthropic (https://platform.claude.com/docs/en/build-with-claude/prompt-caching): only prefixes that end at a
  `cache_control` mark are written, at most 4; they are looked for at each mark and before it, in 20 blocks; at least
  512 to 4,096 tokens by model, of which the most is taken here. Another `tool_choice` or `thinking` invalidates the
  messages.
- Gemini (https://ai.google.dev/gemini-api/docs/caching): implicit, the longest common prefix, of at least 4,096 tokens
  for Gemini 3 and later. Whether `toolConfig` belongs to it is not documented; here it does not.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from hashlib import sha256
from typing import Any

Body = dict[str, Any]

CHARS_A_TOKEN = 4
OPENAI_MINIMUM, OPENAI_STEP = 1_024, 128
ANTHROPIC_MINIMUM, MAX_MARKS, LOOKBACK = 4_096, 4, 20
GEMINI_MINIMUM = 4_096
CACHED_PRICE = 0.1
"""The price of a token that is read from the cache, in prices of another one: of the newest models of all three."""


@dataclass(frozen=True)
class CacheUse:
    """The estimated tokens of one request, and how many of them are read from the cache."""

    tokens: int
    cached: int


def measure_cache(dialect: str, bodies: Sequence[Body]) -> list[CacheUse]:
    """Return what each request of a conversation reads from the cache of the provider."""
    if dialect == "anthropic":
        return _measure_marked(bodies)
    minimum, step = (GEMINI_MINIMUM, 1) if dialect == "gemini" else (OPENAI_MINIMUM, OPENAI_STEP)
    texts = ["".join(map(_dump, PIECES[dialect](body))) for body in bodies]
    return [_measure_prefix(text, texts[:at], minimum, step) for at, text in enumerate(texts)]


def share_after_first(uses: Sequence[CacheUse]) -> float:
    """Return the share of the input that is read from the cache, of all requests but the first."""
    return sum(use.cached for use in uses[1:]) / sum(use.tokens for use in uses[1:])


def cost(uses: Sequence[CacheUse]) -> float:
    """Return the price of the input in tokens of full price: what is read from the cache costs a tenth."""
    return sum(use.tokens - (1 - CACHED_PRICE) * use.cached for use in uses)


def _measure_prefix(text: str, earlier: Iterable[str], minimum: int, step: int) -> CacheUse:
    shared = max((_common_size(text, one) // CHARS_A_TOKEN for one in earlier), default=0)
    return CacheUse(len(text) // CHARS_A_TOKEN, shared // step * step if shared >= minimum else 0)


def _common_size(one: str, other: str) -> int:
    """Return the length of the longest common prefix."""
    low, high = 0, min(len(one), len(other))
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if one[:middle] == other[:middle] else (low, middle - 1)
    return low


def _measure_marked(bodies: Iterable[Body]) -> list[CacheUse]:
    written: set[str] = set()
    uses = []
    for body in bodies:
        prefixes, marks = _prefixes(body)
        assert len(marks) <= MAX_MARKS, "the API refuses more marks"
        found = [
            prefixes[at][1]
            for mark in marks
            for at in range(mark, max(mark - LOOKBACK, -1), -1)
            if prefixes[at][0] in written
        ]
        uses.append(CacheUse(prefixes[-1][1], max(found, default=0)))
        written |= {prefixes[mark][0] for mark in marks if prefixes[mark][1] >= ANTHROPIC_MINIMUM}
    return uses


def _prefixes(body: Body) -> tuple[list[tuple[str, int]], list[int]]:
    """Return the digest and the tokens of the prefix that ends at each block, and the positions of the marks."""
    prefixes: list[tuple[str, int]] = []
    marks, digest, size = [], sha256(), 0
    for at, (place, block) in enumerate(_blocks(body)):
        text = _dump({name: value for name, value in block.items() if name != "cache_control"})
        digest.update(f"{place}{text}".encode())
        size += len(text)
        prefixes.append((digest.hexdigest(), size // CHARS_A_TOKEN))
        if "cache_control" in block:
            marks.append(at)
    return prefixes, marks


def _blocks(body: Body) -> list[tuple[str, Body]]:
    fixed = [(name, block) for name in ("tools", "system") for block in body.get(name, ())]
    mode = _dump([body.get("tool_choice"), body.get("thinking")])
    return [*fixed, *((f"{mode}{at}{role}", block) for at, role, block in _message_blocks(body))]


def _message_blocks(body: Body) -> Iterator[tuple[int, str, Body]]:
    for at, message in enumerate(body["messages"]):
        for block in message["content"]:
            yield at, message["role"], block


PIECES: dict[str, Callable[[Body], list[Any]]] = {
    "chat": lambda body: [body.get("tools", []), *body["messages"]],
    "responses": lambda body: [body.get("tools", []), body.get("instructions", ""), *body["input"]],
    "gemini": lambda body: [body.get("tools", []), body.get("systemInstruction", ""), *body["contents"]],
}
"""The parts of a request in the order in which they are hashed, by dialect."""


def _dump(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)
