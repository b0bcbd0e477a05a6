"""The limits of requests that all workers of a map share: home says when one is sent, and is told what came of it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cache
from typing import TYPE_CHECKING, Any

from pydantic_core import from_json, to_json

from nbtool.chat.batch.remote.home_link import NO_HOME, HomeLink
from nbtool.chat.batch.remote.worker_message import NO
from nbtool.chat.batch.shared_backoff import SharedBackoff
from nbtool.errors import Cancelled
from nbtool.messages import Usage
from nbtool.wire.framing.rate_limits import RateLimit, Unit

if TYPE_CHECKING:
    from pydantic import TypeAdapter


@dataclass(frozen=True, slots=True)
class WaitingRequest:
    """A request that a worker wants to send after so many seconds: its connection and its characters, if they count."""

    seconds: float
    host: str
    model: str
    chars: int = 0


@dataclass(frozen=True, slots=True)
class RateReport:
    """What came of a request with a number: the limits of its answer, what it used, or that the provider is busy."""

    number: int = 0
    host: str = ""
    model: str = ""
    limits: dict[Unit, RateLimit] = field(default_factory=dict)
    chars: int = 0
    used: Usage | None = None
    pause: float = 0.0
    has_ended: bool = False


class WorkerBackoff(SharedBackoff):
    """On a worker: waits until home lets a request be sent."""

    def __init__(self, link: HomeLink) -> None:
        super().__init__()
        self._link = link
        self._counts_tokens = False

    def counts_tokens(self, host: str, model: str) -> bool:  # noqa: ARG002 - home knows the connection
        """Whether the last answer of home said that characters count."""
        return self._counts_tokens

    async def wait(self, seconds: float = 0.0, host: str = "", model: str = "", chars: int = 0) -> int:
        """Wait until home lets a request be sent.

        Raises:
            Cancelled: home is gone, or has given this run up.
        """
        text = to_json(WaitingRequest(seconds, host, model, chars)).decode()
        answer = await asyncio.wrap_future(self._link.ask("wait", text=text))
        if answer == NO:
            raise Cancelled(NO_HOME)
        number, self._counts_tokens = from_json(answer)
        return int(number)

    def pause(self, seconds: float) -> None:
        """Have the requests of all workers wait."""
        self._tell(RateReport(pause=seconds))

    def report(self, number: int, host: str, model: str, limits: Mapping[Unit, RateLimit]) -> None:
        """Tell home which limits an answer reports."""
        if limits:
            self._tell(RateReport(number, host, model, dict(limits)))

    def learn(self, host: str, model: str, chars: int, usage: Usage) -> None:
        """Tell home what a request used, where that counts."""
        if self._counts_tokens:
            self._tell(RateReport(host=host, model=model, chars=chars, used=usage))

    def release(self, number: int) -> None:
        """Tell home that a request has ended."""
        if number:
            self._tell(RateReport(number, has_ended=True))

    def _tell(self, report: RateReport) -> None:
        self._link.tell("rates", text=to_json(report).decode())


class HomeRates:
    """At home: lets the requests of all workers be sent as those of this process are, on nbtool's background loop."""

    def __init__(self, backoff: SharedBackoff) -> None:
        self._backoff = backoff
        self._numbers: dict[str, set[int]] = {}
        self._waits: dict[str, set[asyncio.Task[Any]]] = {}

    def ask(self, run: str, text: str, reply: Callable[[str], None]) -> None:
        """Reply once a request of a run may be sent: with its number, and whether the characters of the next count."""
        task = asyncio.create_task(self._answer(run, text))
        self._waits.setdefault(run, set()).add(task)

        def end(task: asyncio.Task[str]) -> None:  # also of a task that was cancelled before its first step
            self._waits.get(run, set()).discard(task)
            reply(NO if task.cancelled() or task.exception() else task.result())

        task.add_done_callback(end)

    async def _answer(self, run: str, text: str) -> str:
        waiting = _read(WaitingRequest, text)
        return await self._wait(run, waiting) if waiting else NO

    async def _wait(self, run: str, waiting: WaitingRequest) -> str:
        limiter, host, model = self._backoff.limiter, waiting.host, waiting.model
        if not limiter.host:  # the key is on the workers only, and so is what it is a key for
            limiter.host, limiter.model = host, model
        number = await self._backoff.wait(max(0.0, waiting.seconds), host, model, max(0, waiting.chars))
        self._numbers.setdefault(run, set()).add(number)
        return to_json([number, self._backoff.counts_tokens(host, model)]).decode()

    def note(self, run: str, text: str) -> None:
        """Note what came of a request of a run; what has another form is left out."""
        report = _read(RateReport, text)
        if report is None:
            return
        if report.pause > 0:
            self._backoff.pause(report.pause)
        if report.used:
            self._backoff.learn(report.host, report.model, max(0, report.chars), report.used)
        if report.number in self._numbers.get(run, ()):
            self._backoff.report(report.number, report.host, report.model, report.limits)
            if report.has_ended:
                self._backoff.release(report.number)
                self._numbers[run].discard(report.number)

    def end(self, run: str) -> None:
        """Count the requests of a run no more: it has ended, or its worker was lost."""
        for task in self._waits.pop(run, ()):
            task.cancel()
        for number in self._numbers.pop(run, ()):
            self._backoff.release(number)

    def end_all(self) -> None:
        """Count the requests of no run any more."""
        for run in {*self._waits, *self._numbers}:
            self.end(run)


def _read(kind: Any, text: str) -> Any:
    """Return what a worker says, in a closed form; None where it has another one."""
    with suppress(ValueError, RecursionError):  # the former includes what pydantic raises
        return _adapter(kind).validate_json(text)
    return None


@cache
def _adapter(kind: Any) -> TypeAdapter[Any]:
    from pydantic import TypeAdapter  # noqa: PLC0415 - only where a worker tells

    return TypeAdapter(kind)
