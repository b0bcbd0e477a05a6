"""The requests of prompts as lines of a batch: as many at a time as one batch takes, and no more than the budget has.

Each request is built as that of a turn, by all its plugins, before anything is handed over: by then a text is masked,
and a request is refused that a plugin or a policy does not allow.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from math import inf
from typing import Any

from nbtool.chat.batch.answers import Answer, AnswerPort
from nbtool.chat.batch.prompts import PromptItem
from nbtool.chat.prompt_context import without_date
from nbtool.errors import LimitReached, NbtoolError
from nbtool.messages import Usage
from nbtool.plugins.budget import CHARS_PER_TOKEN, EXPECTED_OUTPUT
from nbtool.text import count_of
from nbtool.wire.base import Request
from nbtool.wire.batches import BatchApi, BatchLine

ID_CHARS = 40
"""Characters of the hash of a request in the id of its line."""

OUTPUT_LIMITS = ("max_tokens", "max_completion_tokens", "max_output_tokens", "maxOutputTokens")
"""The fields of requests that limit the tokens of a reply."""

BATCH_BUDGET_FIX = (
    "Nothing can be stopped while a batch runs, so each prompt is counted before, with up to "
    f"{EXPECTED_OUTPUT:,} tokens for its reply. Raise the budget, or limit the replies (`options=`)."
)

CaptureRequest = Callable[[PromptItem, str], Awaitable[Request]]


@dataclass(frozen=True, slots=True)
class Row:
    """A prompt with its key, and the line of its request."""

    one: PromptItem
    key: str
    line: BatchLine


@dataclass(slots=True)
class LineBudget:
    """What the lines of a map may use together, in tokens and US dollars, by an estimate; `name` says whose it is."""

    name: str
    tokens: float = inf
    usd: float = inf
    cost_of: Callable[[Usage], float] | None = None
    fix: str = BATCH_BUDGET_FIX

    def check(self, usage: Usage) -> LimitReached | None:
        """Return why there is no room for one more request."""
        if usage.total_tokens <= self.tokens and self._cost(usage) <= self.usd:
            return None
        if usage.total_tokens > self.tokens:
            left, needed = count_of(max(0, int(self.tokens)), "token"), count_of(usage.total_tokens, "token")
        else:
            left, needed = f"{max(0.0, self.usd):.4g} USD", f"{self._cost(usage):.4g} USD"
        return LimitReached(
            f"{self.name} has no room for the other prompts, which were not sent: the next one may need about "
            f"{needed}, of {left} that it has left.",
            fix=self.fix,
        )

    def take(self, usage: Usage) -> None:
        """Count a request that is handed over."""
        self.tokens -= usage.total_tokens
        self.usd -= self._cost(usage)

    def _cost(self, usage: Usage) -> float:
        return self.cost_of(usage) if self.cost_of else 0.0


@dataclass(slots=True)
class LineCollector:
    """Makes lines of prompts."""

    api: BatchApi
    capture: CaptureRequest
    budgets: Sequence[LineBudget] = ()
    _counts: Counter[str] = field(default_factory=Counter)

    async def parts(self, prompts: Sequence[tuple[PromptItem, str]], port: AnswerPort) -> AsyncIterator[list[Row]]:
        """Yield rows, as many as one batch takes; prompts that are not sent get their answers."""
        part: list[Row] = []
        size = 0
        for prompt, key in prompts:
            row = await self._row(prompt, key, port)
            if row is None:
                continue
            if part and (len(part) == self.api.max_lines or size + len(row.line.content) > self.api.max_bytes):
                yield part
                part, size = [], 0
            part.append(row)
            size += len(row.line.content) + 1
        if part:
            yield part

    async def _row(self, prompt_item: PromptItem, key: str, port: AnswerPort) -> Row | None:
        if reason := port.stop_reason():
            port.add(Answer(prompt_item.index, prompt_item.label, prompt_item.prompt, error=reason))
            return None
        try:
            request = await self.capture(prompt_item, key)
            line = self._encode(request)
        except NbtoolError as error:
            port.add(Answer(prompt_item.index, prompt_item.label, prompt_item.prompt, error=error))
            return None
        usage = Usage(len(line.content) // CHARS_PER_TOKEN, min(EXPECTED_OUTPUT, _output_limit(request.body)))
        if reason := next(filter(None, (budget.check(usage) for budget in self.budgets)), None):
            port.refuse_rest(reason)
            port.add(Answer(prompt_item.index, prompt_item.label, prompt_item.prompt, error=port.stop_reason()))
            return None
        for budget in self.budgets:
            budget.take(usage)
        return Row(prompt_item, key, line)

    def _encode(self, request: Request) -> BatchLine:
        """Return the line of a request: equal ones have the same ids in each map and on each day, by their order."""
        digest = sha256(without_date(self.api.line("", request).content)).hexdigest()[:ID_CHARS]
        self._counts[digest] += 1
        return self.api.line(f"{digest}-{self._counts[digest]}", request)


def _output_limit(body: Any) -> int:
    """Return the limit of the reply in a request, or of a field in it; the expected output where there is none."""
    fields = {**body, **(body.get("generationConfig") or {})}
    limits = [fields[name] for name in OUTPUT_LIMITS if isinstance(fields.get(name), int)]
    return min(limits, default=EXPECTED_OUTPUT)
