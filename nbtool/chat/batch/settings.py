"""How many prompts are asked: how many at a time, how often again, for how much."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from concurrent.futures import Executor
from dataclasses import dataclass, field, fields
from typing import Any, Self

from nbtool.errors import BadUsage
from nbtool.plugins.budget import Budget, Price
from nbtool.tools.approval import Decision, Denied, Question

MAX_CONCURRENCY = 64
"""Prompts that are asked at the same time."""

MAX_RETRIES = 10
"""Times that a prompt is asked again."""


@dataclass(frozen=True, slots=True)
class MapSettings:
    """How `Chat.map` goes about it.

    Args:
        concurrency: prompts that are asked at the same time.
        retries: times that a prompt is asked again where the provider was busy or out of reach.
        tokens: what all prompts together may use; `usd` in US dollars. What came until then is kept.
        usd: see `tokens`.
        prices: by model, where the provider does not say what a request cost.
        tools: in place of the chat's own.
        executor: where synchronous tools run: a pool, or a Dask client's `get_executor(pure=False)`.
        resume: take answers from the journal where the same was asked and answered before.
        progress: show a line that says how far it is.
    """

    concurrency: int = 8
    retries: int = 3
    tokens: int | None = None
    usd: float | None = None
    prices: Mapping[str, Price] = field(default_factory=dict)
    tools: Iterable[Any] | None = None
    executor: Executor | None = None
    resume: bool = True
    progress: bool = True

    @classmethod
    def of(cls, options: Mapping[str, Any]) -> Self:
        """Make settings of keywords.

        Raises:
            BadUsage: one is unknown, or makes no sense.
        """
        names = [one.name for one in fields(cls)]
        if unknown := [name for name in options if name not in names]:
            raise BadUsage(f"chat.map knows no {unknown[0]!r}.", fix=f"It takes {', '.join(names)}.")
        return cls(**options)

    def __post_init__(self) -> None:
        for name, value, minimum, maximum in (
            ("concurrency", self.concurrency, 1, MAX_CONCURRENCY),
            ("retries", self.retries, 0, MAX_RETRIES),
        ):
            if not minimum <= value <= maximum:
                raise BadUsage(f"{name}={value!r}: {minimum} to {maximum} are expected.")
        if self.executor is not None and not isinstance(self.executor, Executor):
            raise BadUsage(
                f"executor={type(self.executor).__name__}: a concurrent.futures.Executor is expected.",
                fix="Give a pool, or client.get_executor(pure=False) of Dask.",
            )
        self.budget()

    def budget(self) -> Budget | None:
        """Give the plugin that keeps the budget; nobody is asked for more.

        Raises:
            BadUsage: the bounds make no sense.
        """
        if self.tokens is None and self.usd is None:
            return None
        return Budget(tokens=self.tokens, usd=self.usd, prices=self.prices, ask=_no_approver)


def _no_approver(_: Question) -> Decision:
    return Denied("the budget of chat.map is used up")
