"""Settings of a batch: concurrency, retries, budget."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from concurrent.futures import Executor
from dataclasses import dataclass, field, fields
from typing import Any, Self

from nbtool.errors import BadUsage
from nbtool.plugins.budget import Budget, Price
from nbtool.tools.approval import Decision, Denied, Question

MAX_CONCURRENCY = 64
"""Maximum prompts that run at the same time."""

MAX_RETRIES = 10
"""Maximum retries of a prompt."""


@dataclass(frozen=True, slots=True)
class MapSettings:
    """The settings of `Chat.map`.

    Args:
        concurrency: maximum prompts that run at the same time.
        retries: maximum retries of a prompt if the provider was busy or not reachable.
        tokens: the budget of all prompts together; answers received before it is used up are kept.
        usd: the same in US dollars.
        prices: by model, for providers that do not report costs.
        tools: replace the chat's own.
        executor: runs synchronous tools: a pool, or a Dask client's `get_executor(pure=False)`.
        resume: reuse answers of the same prompts from the journal, unless a recording is in use.
        progress: show a progress line.
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
        """Create settings from keyword arguments.

        Raises:
            BadUsage: a keyword is unknown, or its value is out of range.
        """
        names = [one.name for one in fields(cls)]
        if unknown := [name for name in options if name not in names]:
            raise BadUsage(f"chat.map has no option {unknown[0]!r}.", fix=f"Options: {', '.join(names)}.")
        return cls(**options)

    def __post_init__(self) -> None:
        for name, value, minimum, maximum in (
            ("concurrency", self.concurrency, 1, MAX_CONCURRENCY),
            ("retries", self.retries, 0, MAX_RETRIES),
        ):
            if not minimum <= value <= maximum:
                raise BadUsage(f"{name}={value!r}: expected {minimum} to {maximum}.")
        if self.executor is not None and not isinstance(self.executor, Executor):
            raise BadUsage(
                f"executor={type(self.executor).__name__}: expected a concurrent.futures.Executor.",
                fix="Pass a pool, or client.get_executor(pure=False) of Dask.",
            )
        self.budget()

    def budget(self) -> Budget | None:
        """Return the plugin that enforces the budget, without asking for more.

        Raises:
            BadUsage: a limit is out of range.
        """
        if self.tokens is None and self.usd is None:
            return None
        return Budget(tokens=self.tokens, usd=self.usd, prices=self.prices, ask=_no_approver)


def _no_approver(_: Question) -> Decision:
    return Denied("the budget of chat.map is used up")
