"""At home: the budgets that the turns of workers use, and what they have used."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cache
from typing import TYPE_CHECKING, Self

from nbtool.chain.cancel_signal import CancelSignal
from nbtool.chain.hooks import TurnContext
from nbtool.chain.limits import Limits
from nbtool.chain.usage_meter import Meter
from nbtool.errors import NbtoolError
from nbtool.events import Emit
from nbtool.messages import Usage, user
from nbtool.plugins.budget import Budget
from nbtool.threads.caller_thread import CallerThread
from nbtool.tools.approval import ApprovalQueue, Approver, AskFunction
from nbtool.tools.calls.runtime import ToolRuntime
from nbtool.tools.toolset import Toolset
from nbtool.tools.variables.store import Variables
from nbtool.wire.base import CHARGES_NOTHING

if TYPE_CHECKING:
    from pydantic import TypeAdapter

MILLION = 1_000_000

Rates = tuple[float, float]
"""Dollars per million tokens of input, and of output."""


@dataclass(frozen=True, slots=True)
class MeteredPrices:
    """Which prices of a model budgets need to be told: any that is known, or one that no user sets."""

    needs_price: bool = False
    needs_listed_price: bool = False

    @classmethod
    def of(cls, budgets: Sequence[Budget]) -> Self | None:
        """Return what these budgets need; None without one."""
        if not budgets:
            return None
        is_listed = any(getattr(budget, "needs_listed_price", False) for budget in budgets)
        return cls(any(budget.needs_price for budget in budgets), is_listed)


@dataclass(frozen=True, slots=True)
class SentRequest:
    """What a budget asks of a request: its characters, its model, and its dollars per million tokens, if known.

    The `listed_rates` are those of the price lists of its host, which no setting of the user changes.
    """

    size: int
    model: str
    host: str = ""
    provider: str = ""
    abilities: list[str] = field(default_factory=list)
    rates: Rates | None = None
    listed_rates: Rates | None = None


@dataclass(frozen=True, slots=True)
class UsedTokens:
    """What replies of a turn used, and whether it has ended."""

    replies: list[Usage] = field(default_factory=list)
    has_ended: bool = False


@dataclass(slots=True)
class _MeteredTurn:
    """A turn of a worker as its budgets see it; its messages are taken one after another."""

    context: TurnContext
    lock: asyncio.Lock = field(default_factory=asyncio.Lock)


@dataclass(slots=True)
class HomeBudgets:
    """Applies the budgets of a map and its chat to turns on workers, as a turn here does by itself."""

    budgets: Sequence[Budget]
    approvals: ApprovalQueue
    approver: Approver | AskFunction | None
    caller_thread: CallerThread = field(default_factory=CallerThread)
    _turns: dict[str, _MeteredTurn] = field(default_factory=dict)

    async def may_send(self, turn_id: str, text: str, emit: Emit) -> NbtoolError | None:
        """Return why a request may not be sent; None if it may. A budget may ask a person first."""
        try:
            request = _adapter().validate_json(text, strict=False)
        except (ValueError, RecursionError):
            return NbtoolError("What the worker sent says nothing of a request.")
        turn = self._turns.get(turn_id) or self._begin(turn_id, request, emit)
        async with turn.lock:
            turn.context.abilities = frozenset(request.abilities)
            turn.context.meter.is_free = CHARGES_NOTHING in turn.context.abilities
            turn.context.meter.estimate_of = _cost_function(request.rates)
            turn.context.meter.listed_price_of = _cost_function(request.listed_rates)
            try:
                for budget in self.budgets:
                    await budget.reserve(turn.context, request.size)
            except NbtoolError as error:
                return error
        return None

    async def count(self, turn_id: str, text: str) -> None:
        """Count replies, as a worker reports them; what has another form is not counted."""
        with suppress(ValueError, RecursionError):
            used = _used_adapter().validate_json(text, strict=False)
            if turn := self._turns.get(turn_id):
                async with turn.lock:
                    for usage in used.replies:
                        turn.context.meter.add(usage)
                        for budget in self.budgets:
                            await budget.count(turn.context, usage)
            if used.has_ended:
                await self.end(turn_id)

    async def end(self, turn_id: str) -> None:
        """Release what is reserved for a turn that has ended, or whose worker was lost."""
        if turn := self._turns.pop(turn_id, None):
            async with turn.lock:
                for budget in self.budgets:
                    await budget.release(turn.context)

    def _begin(self, turn_id: str, request: SentRequest, emit: Emit) -> _MeteredTurn:
        limits = Limits()
        service = ToolRuntime(
            Toolset("none", []),
            Variables(),
            emit,
            approvals=self.approvals,
            approver=self.approver,
            caller_thread=self.caller_thread,
        )
        context = TurnContext(turn_id, user(""), (), limits, emit, CancelSignal(), Meter(limits), approvals=service)
        context.model, context.host, context.provider = request.model, request.host, request.provider
        for budget in self.budgets:
            budget.on_turn_start(context)
        self._turns[turn_id] = turn = _MeteredTurn(context)
        return turn


def _cost_function(rates: Rates | None) -> Callable[[Usage], float] | None:
    """Return what computes the cost of tokens at these rates."""
    if rates is None:
        return None
    input_rate, output_rate = rates
    return lambda usage: (usage.input_tokens * input_rate + usage.output_tokens * output_rate) / MILLION


@cache
def _used_adapter() -> TypeAdapter[UsedTokens]:
    from pydantic import TypeAdapter  # noqa: PLC0415 - only where a worker tells

    return TypeAdapter(UsedTokens)


@cache
def _adapter() -> TypeAdapter[SentRequest]:
    from pydantic import TypeAdapter  # noqa: PLC0415 - only where a worker asks

    return TypeAdapter(SentRequest)
