"""From a chat and its prompts to a batch: every prompt a turn in a conversation of its own."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from nbtool.chat.batch.answer_cache import Conditions, value_of
from nbtool.chat.batch.batch import Asking, Batch
from nbtool.chat.batch.prompts import Asked, questions
from nbtool.chat.batch.rate_limit import Pace
from nbtool.chat.batch.settings import MapSettings
from nbtool.chat.turn import Turn
from nbtool.chat.turn_builder import Speaker, TurnSettings
from nbtool.tools.approval import Approver
from nbtool.tools.placed import ExecutorTools
from nbtool.tools.toolset import Toolset


def batch(  # noqa: PLR0913 - what `Chat.start` takes, and the rows
    chat: Speaker,
    prompts: Any,
    rows: Any,
    *,
    as_: Any = None,
    options: Mapping[str, Any] | None = None,
    approver: Approver | None = None,
    settings: TurnSettings | None = None,
    **how: Any,
) -> Batch:
    """Prepare to ask many prompts; nothing has begun.

    Raises:
        nbtool.errors.BadUsage: a budget in dollars that nothing can measure, a setting that makes no sense.
    """
    asked, plan, pace = questions(prompts, rows), MapSettings.of(how), Pace()
    aside = chat.afresh()
    if plan.tools is not None:
        aside.tools = Toolset("chat", plan.tools)
    first = aside.compose("-", as_=as_, options=options, settings=settings)
    scene = aside.scene(first, {**chat.options, **(options or {})})
    if plan.executor:
        aside.tools = Toolset("chat", [ExecutorTools(aside.tools, plan.executor)])
    if limit := plan.budget():
        there = aside.model.endpoint()
        limit.require_price(there.model, getattr(there, "abilities", frozenset()))
    aside.plugins = [pace, *([limit] if limit else []), *chat.plugins]

    def ask(one: Asked, key: str) -> Turn:
        one_off = aside.afresh(chat_id=aside.chat_id)
        place = replace(settings or TurnSettings(), cell_id=key)
        turn = one_off.compose(one.prompt, as_=as_, options=options, settings=place)
        turn.approver = approver or chat.approver
        return turn

    def keys(asked: Sequence[Asked]) -> tuple[list[str], Mapping[str, Turn]]:
        conditions = Conditions.of(scene)
        aside.chat_id = conditions.chat_id
        return conditions.keys(asked), conditions.answered(asked) if plan.resume else {}

    return Batch(asked, Asking(ask, partial(value_of, as_=as_), keys), plan, pace)
