"""The limits of a turn and of its hooks; what a turn has used of them is `usage_meter.py`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from nbtool.annotation_kinds import POSITIVE, Count, Range, Seconds
from nbtool.argument_check import check_arguments

MAX_ROUNDS = 256
"""The upper bound of `max_rounds`; a higher value is reduced to it."""

HOOK_SECONDS = 60.0
"""Time limit of one call of a hook, unless the plugin sets `hook_seconds`."""

HOOK_STOP_SECONDS = 1.0
"""Seconds that a stopped hook has to end; then it is abandoned."""

END_SECONDS = 10.0
"""Seconds that each hook and clean-up may take at the end of a turn."""

STOPPED_END_SECONDS = 3.0
"""Seconds that all hooks and clean-ups at the end of a stopped or timed-out turn may take together."""

MIN_SECONDS = 0.2
"""Minimum time for each hook or clean-up at the end of a turn, however late it is."""

DRAIN_SECONDS = 3.0
"""Seconds that a stopped turn waits for its own tasks before it abandons them."""


MIN_MAX_CALLS = 128
"""The default of `max_calls`, unless `max_rounds` is larger: a turn can then make one call in each round."""

MAX_REPEATS = 3
"""The default of `max_repeats`."""

Dollars = Annotated[float, POSITIVE]
Repeats = Annotated[int, Range(at_least=2)]


@check_arguments
@dataclass(frozen=True, slots=True)
class HookSeconds:
    """The time limits of hooks and clean-ups, and of tasks that are stopped; each is described with its default."""

    call: Seconds = HOOK_SECONDS
    stop: Seconds = HOOK_STOP_SECONDS
    end: Seconds = END_SECONDS
    stopped_end: Seconds = STOPPED_END_SECONDS
    minimum: Seconds = MIN_SECONDS
    drain: Seconds = DRAIN_SECONDS


@check_arguments
@dataclass(frozen=True, slots=True)
class Limits:
    """The limits of one turn; None means no limit of that kind, except of calls.

    `max_rounds` counts requests to the model, including the one for a final reply; `max_calls` the calls of tools,
    where None is `MIN_MAX_CALLS`, or `max_rounds` if that is more; `max_repeats` the rounds in a row with the same
    calls and the same results, without a decision or a wait; `seconds` is for the whole turn, `tokens` for input and
    output together, `cost` in US dollars, for models whose price is known. Once tokens or cost are spent no further
    request is made, not even for a final reply. `hooks` are the time limits of its plugins.
    """

    max_rounds: Count = 10
    max_calls: Count | None = None
    max_repeats: Repeats | None = MAX_REPEATS
    seconds: Seconds | None = None
    tokens: Count | None = None
    cost: Dollars | None = None
    hooks: HookSeconds = HookSeconds()

    def __post_init__(self) -> None:
        object.__setattr__(self, "max_rounds", min(self.max_rounds, MAX_ROUNDS))

    @property
    def call_limit(self) -> int:
        """The number of calls that `max_calls` allows."""
        return max(MIN_MAX_CALLS, self.max_rounds) if self.max_calls is None else self.max_calls
