"""On a worker: ask home before each request whether the budgets have room for it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import ClassVar

from pydantic_core import from_json, to_json

from nbtool.chain.hooks import RequestContext, TurnContext
from nbtool.chain.request_size import text_size
from nbtool.chat.batch.remote.home_budgets import MILLION, SentRequest
from nbtool.chat.batch.remote.home_writer import HomeWriter
from nbtool.chat.batch.remote.packed_error import PackedError, unpack_error
from nbtool.messages import Usage


class HomeMeter:
    """A plugin in place of the budgets, which are at home; `find_writer` returns the writer of the running turn."""

    hook_seconds: ClassVar[float | None] = None  # home may wait for a person
    runs_on_loop: ClassVar[bool] = True

    def __init__(self, find_writer: Callable[[], HomeWriter]) -> None:
        self._find_writer = find_writer

    async def on_before_request(self, request: RequestContext) -> None:
        """Wait until home lets this request be sent.

        Raises:
            LimitReached: a budget is used up.
            Cancelled: home is gone.
        """
        turn = request.turn
        abilities = sorted(turn.abilities)
        sent = SentRequest(text_size(request.prompt()), turn.model, turn.provider, abilities, _rates_of(turn))
        answer = await asyncio.wrap_future(self._find_writer().ask_to_send(to_json(sent).decode()))
        if answer:
            raise unpack_error(PackedError(**from_json(answer)))


def _rates_of(turn: TurnContext) -> tuple[float, float] | None:
    """Return what a million tokens of input and of output cost, as far as this worker knows."""
    cost_of = turn.meter.price_of or turn.meter.estimate_of
    return (cost_of(Usage(MILLION, 0)), cost_of(Usage(0, MILLION))) if cost_of else None
