"""The limits of a turn and of its hooks; what a turn has used of them is `usage_meter.py`."""

from __future__ import annotations

from dataclasses import dataclass

from nbtool.errors import BadUsage

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


@dataclass(frozen=True, slots=True)
class HookSeconds:
    """The time limits of hooks and clean-ups, and of tasks that are stopped; each is described with its default."""

    call: float = HOOK_SECONDS
    stop: float = HOOK_STOP_SECONDS
    end: float = END_SECONDS
    stopped_end: float = STOPPED_END_SECONDS
    minimum: float = MIN_SECONDS
    drain: float = DRAIN_SECONDS


@dataclass(frozen=True, slots=True)
class Limits:
    """The limits of one turn; None means no limit of that kind.

    `max_rounds` counts requests to the model, including the one for a final reply; `seconds` is for the whole turn,
    `tokens` for input and output together, `cost` in US dollars, for models whose price is known. Once tokens or cost
    are spent no further request is made, not even for a final reply. `hooks` are the time limits of its plugins.
    """

    max_rounds: int = 10
    max_calls: int = 128
    seconds: float | None = None
    tokens: int | None = None
    cost: float | None = None
    hooks: HookSeconds = HookSeconds()

    def __post_init__(self) -> None:
        for name in ("max_rounds", "max_calls", "seconds", "tokens", "cost"):
            value = getattr(self, name)
            if value is not None and value <= 0:
                raise BadUsage(f"{name} must be greater than 0, not {value!r}.")
        object.__setattr__(self, "max_rounds", min(self.max_rounds, MAX_ROUNDS))
