"""Settings of a batch: concurrency, retries, budget."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from concurrent.futures import Executor
from dataclasses import dataclass, field, fields
from difflib import get_close_matches
from functools import partial
from typing import Annotated, Any, Literal, Self

from nbtool.annotation_kinds import POSITIVE, Count
from nbtool.argument_check import check_arguments
from nbtool.errors import BadUsage
from nbtool.plugins.budget import Budget, GivenPrices, Price
from nbtool.tools.approval import Decision, Denied, Question

MAX_CONCURRENCY = 64
"""Maximum prompts that run at the same time."""

MAX_CLUSTER_CONCURRENCY = 1_000
"""The same on a cluster or in a pool of processes, all workers together."""

MAX_CHUNK = 500
"""Maximum prompts of one task of a cluster."""

MAX_RETRIES = 10
"""Maximum retries of a reply."""

MAX_PER_MINUTE = 1_000_000
"""Maximum of `per_minute`."""

BUDGET_FIX = "Map again to go on: each map has a budget of its own. Prompts with an answer are not sent again."
"""What to do when the budget of a map is used up."""


@partial(check_arguments, owner="chat.map")
@dataclass(frozen=True, slots=True)
class MapSettings:
    """The settings of `Chat.map`, which `Chat.start_map` lists too.

    Args:
        concurrency: maximum prompts that run at the same time.
        retries: maximum retries of a request if the provider was busy, failed or was not reachable: with `retries=3` at
            most 4 requests are sent for one reply.
        per_minute: maximum requests to the provider in any minute, of all prompts together, retries and the rounds of
            tools included.
        tokens: the budget of all prompts together; answers received before it is used up are kept.
        usd: the same in US dollars.
        prices: by model, for providers that do not report costs; with or without a budget.
        tools: replace the chat's own.
        executor: runs synchronous tools: a pool, or a Dask client's `get_executor(pure=False)`.
        resume: reuse answers of the same prompts from the journal, unless a recording is in use. Prompts that another
            map of this process is sending are refused.
        repeat_calls: send prompts from their beginning that are refused otherwise, because a call had started in an
            earlier map and its turn cannot go on from there.
        progress: show the progress; without it a map only says, at the end, that calls were denied because nobody could
            be asked.
        keep: with "values", answers have no `turn`, only its id: about 1 KB of memory a prompt, not 13. With "turns",
            the results of the latest calls are kept, up to `result_bytes` of the chat together.
        on: runs whole turns there: a Dask client, or a pool of processes.
        chunk: prompts of one task there.
        send_key: send the literal key of the chat there; otherwise each worker finds its own, as a new `Chat` does.
        batch: "provider" hands the prompts over as batches of their provider (OpenAI, Anthropic, Google), which answers
            within a day, mostly at half the price. Only for prompts without tools.
    """

    concurrency: int = 8
    retries: int = 3
    per_minute: int | None = None
    tokens: Count | None = None
    usd: Annotated[float, POSITIVE] | None = None
    prices: Mapping[str, Price] = field(default_factory=dict)
    tools: Iterable[Any] | None = None
    executor: Executor | None = None
    resume: bool = True
    repeat_calls: bool = False
    progress: bool = True
    keep: Literal["turns", "values"] = "turns"
    on: Any = None
    chunk: int = 20
    send_key: bool = False
    batch: Literal["provider"] | None = None

    @classmethod
    def of(cls, options: Mapping[str, Any]) -> Self:
        """Create settings from keyword arguments.

        Raises:
            BadUsage: a keyword is unknown, or its value is out of range.
        """
        names = [item.name for item in fields(cls)]
        if unknown := [name for name in options if name not in names]:
            near = get_close_matches(unknown[0], names, 1)
            fix = f"Did you mean {near[0]}?" if near else f"Options: {', '.join(names)}."
            raise BadUsage(f"chat.map has no option {unknown[0]!r}.", fix=fix)
        return cls(**options)

    def __post_init__(self) -> None:
        for name, value, minimum, maximum in (
            ("concurrency", self.concurrency, 1, MAX_CONCURRENCY if self.on is None else MAX_CLUSTER_CONCURRENCY),
            ("chunk", self.chunk, 1, MAX_CHUNK),
            ("retries", self.retries, 0, MAX_RETRIES),
            ("per_minute", 1 if self.per_minute is None else self.per_minute, 1, MAX_PER_MINUTE),
        ):
            if not minimum <= value <= maximum:
                raise BadUsage(f"{name}={value!r}: expected {minimum} to {maximum}, as a whole number.")
        if self.on is not None and self.executor is not None:
            raise BadUsage("on= runs whole turns, tools included, elsewhere.", fix="Remove executor=.")
        if self.batch is not None:
            self._check_batch()

    def _check_batch(self) -> None:
        """Refuse what has no place where the provider runs all prompts by itself."""
        for name, value in (("on", self.on), ("executor", self.executor), ("per_minute", self.per_minute)):
            if value is not None:
                raise BadUsage(
                    'With batch="provider" the provider runs all prompts by itself.', fix=f"Remove {name}=, or batch=."
                )

    def budget(self) -> Budget | None:
        """Return the plugin that enforces the budget, without asking for more."""
        if self.tokens is None and self.usd is None:
            return None
        limit = Budget(tokens=self.tokens, usd=self.usd, prices=self.prices, ask=_no_approver)
        limit.fix = BUDGET_FIX
        return limit

    def given_prices(self) -> GivenPrices | None:
        """Return the plugin that computes the cost from the prices; None if there are none."""
        return GivenPrices(self.prices) if self.prices else None


def _no_approver(_: Question) -> Decision:
    return Denied("the budget of chat.map is used up")
