"""On a worker: ask home before each request whether the budgets have room for it, and tell what it used."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from functools import partial
from typing import ClassVar

from pydantic_core import from_json, to_json

from nbtool.chain.hooks import Cleanup, ReplyContext, RequestContext, TurnContext
from nbtool.chain.request_size import text_size
from nbtool.chat.batch.remote.home_budgets import MILLION, MeteredPrices, Rates, SentRequest, UsedTokens
from nbtool.chat.batch.remote.home_link import HomeLink
from nbtool.chat.batch.remote.home_writer import HomeWriter
from nbtool.chat.batch.remote.packed_error import PackedError, unpack_error
from nbtool.messages import Usage

COUNTED = "home meter"
"""The key of the number of replies of a turn that home has counted."""


class HomeMeter:
    """A plugin in place of the budgets, which are at home, for the prompt with a key.

    `find_writer` returns the writer of its running turn.
    """

    hook_seconds: ClassVar[float | None] = None  # home may wait for a person
    runs_on_loop: ClassVar[bool] = True

    def __init__(self, link: HomeLink, key: str, find_writer: Callable[[], HomeWriter], metered: MeteredPrices) -> None:
        self._link, self._key, self._find_writer = link, key, find_writer
        self.needs_price, self.needs_listed_price = metered.needs_price, metered.needs_listed_price

    def on_turn_start(self, turn: TurnContext) -> Cleanup:
        """Tell at its end what a turn has used, whatever its status."""
        return partial(self._send_used, turn, has_ended=True)

    async def on_before_request(self, request: RequestContext) -> None:
        """Wait until home lets this request be sent.

        Raises:
            LimitReached: a budget is used up.
            Cancelled: home is gone.
        """
        turn, writer = request.turn, self._find_writer()
        meter = turn.meter
        sent = SentRequest(
            text_size(request.prompt()),
            turn.model,
            turn.host,
            turn.provider,
            sorted(turn.abilities),
            _rates_of(meter.price_of or meter.estimate_of),
            _rates_of(meter.listed_price_of),
        )
        text = to_json(sent).decode()
        asked = self._link.ask("may_send", key=self._key, turn_id=turn.turn_id, text=text, events=writer.take())
        if answer := await asyncio.wrap_future(asked):
            raise unpack_error(PackedError(**from_json(answer)))

    def on_after_request(self, reply: ReplyContext) -> None:
        """Tell what a reply used."""
        self._send_used(reply.turn)

    def _send_used(self, turn: TurnContext, *, has_ended: bool = False) -> None:
        """Tell what the turn has used since the last time, incomplete replies included."""
        counted, turn.state[COUNTED] = turn.state.get(COUNTED, 0), len(turn.meter.replies)
        used = UsedTokens([reply.priced for reply in turn.meter.replies[counted:]], has_ended)
        self._link.tell("used", key=self._key, turn_id=turn.turn_id, text=to_json(used).decode())


def _rates_of(cost_of: Callable[[Usage], float | None] | None) -> Rates | None:
    """Return what a million tokens of input and of output cost, as far as this worker knows."""
    input_rate, output_rate = (cost_of(Usage(MILLION, 0)), cost_of(Usage(0, MILLION))) if cost_of else (None, None)
    return None if input_rate is None or output_rate is None else (input_rate, output_rate)
