"""What one connection may send now: requests and tokens, as the answers of its provider say in their headers.

All maps of a process with the same address, model and key share it. Providers count in one of two ways: a bucket that
is filled continuously (OpenAI, Anthropic), or a window that begins again at its end. What is left is taken from the
latest answer, without the requests that are under way, which may not be counted yet. Of a bucket it grows by what was
used in the time until it is whole, which is always the same; of a window, where that varies, it is whole at its end.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from nbtool.clock import monotonic
from nbtool.messages import Usage
from nbtool.wire.framing.rate_limits import RateLimit, Unit
from nbtool.wire.transport.http_endpoint import HttpEndpoint

MINUTE = 60.0

MIN_RESET = 5.0
"""Seconds until a reset from which on a rate is taken from it: shorter ones are rounded too much."""

ROUNDING = 0.05
"""Seconds by which a reset may be rounded down."""

VARIES = 2.0
"""How much the rates that are seen of a bucket differ at most, by rounding; those of a window differ more."""

RESERVED = 0.05
"""The part of a limit that is left, up to one request: a server may count requests in another order."""

SAME_WINDOW = 1.0
"""Seconds by which the reported ends of one window may differ."""

MAX_CONNECTIONS = 64
"""Connections whose limits are known at a time; the one that was unused for longest is forgotten."""

CHARS_PER_TOKEN = 3.0
"""Characters for which a request is assumed to use a token, before the first answer."""

FIRST_OUTPUT = 500.0
"""Tokens that a reply is assumed to have, before the first one."""

LEARNING = 0.2
"""How much a smaller reply changes what is assumed of the next one."""


@dataclass(frozen=True, slots=True)
class Cost:
    """What a request is assumed to use, in tokens."""

    input: float = 0.0
    output: float = 0.0

    def of(self, unit: Unit) -> float:
        """Return the part of it that counts for a limit."""
        match unit:
            case "requests":
                return 1.0
            case "input-tokens":
                return self.input
            case "output-tokens":
                return self.output
        return self.input + self.output


class _Level:
    """What is left of one limit: as reported at a time, and what was sent since."""

    def __init__(self, now: float) -> None:
        self._limit = self._remaining = 1.0
        self._at = self._whole_at = now
        self._rates: tuple[float, float] | None = None  # the lowest and the highest one that was seen
        self._spent = 0.0

    def report(self, reported: RateLimit, spent: float, now: float) -> None:
        """Note what an answer says; `spent` are the requests that it does not count."""
        if reported.limit != self._limit:
            self._rates = None
        self._limit, self._remaining = reported.limit, reported.remaining
        reset = MINUTE if reported.reset is None else reported.reset + ROUNDING
        self._at, self._whole_at, self._spent = now, now + reset, spent
        if reset >= MIN_RESET and (used := reported.limit - reported.remaining) > 0:
            lowest, highest = self._rates or (used / reset, used / reset)
            self._rates = min(lowest, used / reset), max(highest, used / reset)

    @property
    def _rate(self) -> float:
        """How much is filled in a second; 0 where that is not known, and of a window, where it varies."""
        lowest, highest = self._rates or (0.0, 0.0)
        return lowest if highest <= VARIES * lowest else 0.0

    def is_news(self, reported: RateLimit, now: float, *, is_latest: bool) -> bool:
        """Whether an answer was written after the one that is noted: until the reset of a window, less is left later.

        Answers may come in another order than they were written. `is_latest`: to the request that was sent last.
        """
        if self._rates is None or self._rate or reported.reset is None:
            return is_latest or (now < self._whole_at and reported.remaining < self._remaining)
        later = now + reported.reset + ROUNDING - self._whole_at
        return later > SAME_WINDOW or (later > -SAME_WINDOW and reported.remaining < self._remaining)

    def spend(self, amount: float) -> None:
        """Count what is sent."""
        self._spent += amount

    def delay(self, amount: float, now: float) -> float:
        """Return the seconds until there is room for an amount; one beyond the limit waits until that is whole."""
        needed = min(amount + min(amount, RESERVED * self._limit), self._limit) + self._spent
        rate = self._rate
        if (missing := needed - self._remaining) <= 0:
            return 0.0
        at = self._at + missing / rate if rate else self._whole_at
        if at >= self._whole_at:
            beyond = needed - self._limit
            at = self._whole_at + max(0.0, beyond) * MINUTE / self._limit
        return max(0.0, at - now)


@dataclass(slots=True)
class Pause:
    """When the provider is asked again, by the clock, after it was busy."""

    until: float = 0.0


@dataclass(slots=True)
class RateLimiter:
    """The limits of one connection, and the requests that are under way; on nbtool's loop only.

    `host` and `model` say which requests count.
    """

    host: str = ""
    model: str = ""
    clock: Callable[[], float] = monotonic
    pause: Pause = field(default_factory=Pause)
    _levels: dict[Unit, _Level] = field(default_factory=dict)
    _running: dict[int, Cost] = field(default_factory=dict)
    _count: int = 0
    _reported: int = 0
    _per_char: float = 1 / CHARS_PER_TOKEN
    _output: float = FIRST_OUTPUT

    def counts(self, host: str, model: str) -> bool:
        """Whether the requests to a model of a host count."""
        return (host, model) == (self.host, self.model)

    @property
    def counts_tokens(self) -> bool:
        """Whether the provider reports a limit of tokens: only then requests are measured, which takes a while."""
        return any(unit != "requests" for unit in self._levels)

    def estimate(self, chars: int) -> Cost:
        """Return what a request of so many characters is assumed to use, by what the latest ones used."""
        return Cost(chars * self._per_char, self._output)

    def learn(self, chars: int, usage: Usage) -> None:
        """Note what a request of so many characters has used."""
        if chars and usage.input_tokens:
            self._per_char = _learned(self._per_char, usage.input_tokens / chars)
        if usage.output_tokens:
            self._output = _learned(self._output, usage.output_tokens)

    def delay(self, cost: Cost) -> float:
        """Return the seconds until a request may be sent, as far as is known."""
        now = self.clock()
        return max((level.delay(cost.of(unit), now) for unit, level in self._levels.items()), default=0.0)

    def admit(self, cost: Cost) -> int:
        """Count a request that is sent now, and return its number."""
        self._count += 1
        self._running[self._count] = cost
        for unit, level in self._levels.items():
            level.spend(cost.of(unit))
        return self._count

    def release(self, number: int) -> None:
        """Note that a request has ended."""
        self._running.pop(number, None)

    def report(self, number: int, limits: Mapping[Unit, RateLimit]) -> None:
        """Note what the answer to a request says; that of an earlier one only if it was written later."""
        now, is_latest = self.clock(), number >= self._reported
        self._reported = max(number, self._reported)
        self.release(number)  # what is left does not have it any more
        for unit, reported in limits.items():
            level = self._levels.setdefault(unit, _Level(now))
            if level.is_news(reported, now, is_latest=is_latest):
                level.report(reported, sum(cost.of(unit) for cost in self._running.values()), now)


def _learned(assumed: float, seen: float) -> float:
    """Return what is assumed next: at once as much as was seen, and only slowly less."""
    return max(seen, assumed + LEARNING * (seen - assumed))


_connections: OrderedDict[tuple[object, ...], RateLimiter] = OrderedDict()


def limiter_of(endpoint: HttpEndpoint) -> RateLimiter:
    """Return the limiter of a connection, which all maps with the same address, model and key share."""
    key = (endpoint.base_url, endpoint.model, endpoint.key, endpoint.key_source)
    if key not in _connections:
        _connections[key] = RateLimiter(endpoint.host, endpoint.model)
    _connections.move_to_end(key)
    while len(_connections) > MAX_CONNECTIONS:
        _connections.popitem(last=False)
    return _connections[key]
