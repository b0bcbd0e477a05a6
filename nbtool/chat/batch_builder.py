"""Create a batch from a chat and its prompts, in this process or on an engine of the user's."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

from nbtool.chat.batch.answers import AnswerSource
from nbtool.chat.batch.batch import Batch
from nbtool.chat.batch.earlier_maps.turn_index import TurnIndex
from nbtool.chat.batch.prompts import PromptItem, PromptSet, parse_prompts, stream_prompts
from nbtool.chat.batch.remote import (
    ChunkSource,
    HomeBudgets,
    HomeQuestions,
    HomeRates,
    HomeTurns,
    MeteredPrices,
    RecordedSource,
    Sealed,
    find_engine,
)
from nbtool.chat.batch.sinks.answer_sink import as_sink
from nbtool.chat.batch.sinks.sqlite_sink import SqliteSink
from nbtool.chat.batch.streamed_map import MapTotals, run_streamed_map
from nbtool.chat.batch_maker import EMPTY, BatchMaker
from nbtool.chat.batch_worker import answer_chunk
from nbtool.chat.chat_base import ChatBase
from nbtool.chat.chat_description import describe_chat
from nbtool.chat.journal.storage import is_in_memory
from nbtool.chat.provider_batches import check_batch, make_provider_source
from nbtool.errors import BadUsage
from nbtool.ids import new_id
from nbtool.map_progress import CONTINUE_FIX
from nbtool.plugins.budget import Budget
from nbtool.plugins.site_budget import is_limited, site_budget
from nbtool.policy import site_policy

UNPROTECTED = (
    "The journal is in memory only. If this process is killed, a later map with the same file does not know which "
    "calls had started, and may run them again."
)
"""Said of a map with tools into a file."""

BEGIN_FIX = "a later map sends all prompts again and runs their calls again"
"""Said of a map that was stopped where no later one knows what it did."""


def build_batch(chat: ChatBase, prompts: Any, rows: Any, **options: Any) -> Batch:
    """Create a batch without starting it; takes the arguments of `Chat.start_map`.

    Raises:
        nbtool.errors.BadUsage: a budget in dollars has no price to measure it, or a setting is invalid.
        nbtool.errors.PolicyRefused: the prompts contain values, and the administrator's policy allows none to leave.
    """
    _check_values(prompts, rows)
    return _Batches(chat, options).make(parse_prompts(prompts, rows))


def map_into(chat: ChatBase, sink: object, prompts: Any, rows: Any, **options: Any) -> MapTotals:
    """Send prompts in constant memory and write their answers to a sink; see `Chat.map_into`."""
    _check_values(prompts, rows)
    items, target, batches = stream_prompts(prompts, rows), as_sink(sink), _Batches(chat, options)
    maker = batches.maker
    file = target if isinstance(target, SqliteSink) else None
    maker.is_streamed = True
    if isinstance(sink, str | Path):  # a file takes nothing of the turns
        maker.plan = replace(maker.plan, keep="values")
    if maker.chat.tools.tools() and file and is_in_memory():
        warnings.warn(UNPROTECTED, RuntimeWarning, stacklevel=4)
    # where inputs cannot be compared, no former answer is known to be of the same ones
    is_known = not maker.key.base.uncomparable and not maker.key.base.conditional
    target.open(maker.key.chat_id if is_known else new_id(maker.key.chat_id))
    try:
        with _indexed(maker, items, file) as keyed_items:
            return run_streamed_map(
                keyed_items,
                target,
                lambda chunk: batches.make(PromptSet(chunk, list), file.acted_turns(chunk) if file else EMPTY),
                settings=maker.plan,
                continue_fix=CONTINUE_FIX if file or maker.reads_answers else BEGIN_FIX,
            )
    finally:
        target.close()


@contextmanager
def _indexed(maker: BatchMaker, items: Iterable[PromptItem], file: SqliteSink | None) -> Iterator[Iterable[PromptItem]]:
    """Yield the prompts, with the keys of their turns where answers are read from the journal.

    Where they are not, a map that continues a file takes what was left by the maps that wrote it, since it `began`.
    """
    if not maker.reads_answers and file is None:
        yield items
        return
    since = 0.0 if maker.reads_answers or file is None else file.began
    maker.turn_index = index = TurnIndex(maker.key, since)
    try:
        yield index.add_keys(items)
    finally:
        index.close()


def _check_values(prompts: Any, rows: Any) -> None:
    """Check that the policy lets values leave, where the prompts are data: rows, a column of a frame or of Arrow.

    Raises:
        nbtool.errors.PolicyRefused: it does not.
    """
    if rows is not None or hasattr(prompts, "dtype") or hasattr(prompts, "to_pylist"):
        site_policy().check_values("a value of the rows")


class _Batches:
    """The batches of one map: in this process, or, with the setting `on`, elsewhere."""

    def __init__(self, chat: ChatBase, options: dict[str, Any]) -> None:
        self._chat = chat
        self.maker = BatchMaker(chat, **options)
        self._description: Sealed | None = None
        if self.maker.plan.batch:
            check_batch(self.maker, self._chat)
        if self.maker.plan.on is not None:
            self._description = self._describe()

    def make(self, prompts: PromptSet, acted_turns: Mapping[int, str] = EMPTY) -> Batch:
        """Create a batch without starting it; `acted_turns` as in `BatchMaker.batch`."""
        source: AnswerSource | None = None
        if self._description:
            source = self._source(self._description)
        elif self.maker.plan.batch:
            source = make_provider_source(self.maker)
        return self.maker.batch(prompts, source, acted_turns)

    def _describe(self) -> Sealed:
        """Return what the workers need, before anything is sent.

        Raises:
            nbtool.errors.BadUsage: something of the chat cannot be sent to workers.
        """
        if self._chat.audit is not None:
            raise BadUsage(
                "With on=, the audit file gets no calls of workers.", fix="chat.audit = None, or remove on=."
            )
        maker = self.maker
        find_engine(maker.plan.on).close()  # an error of its kind comes before any other
        return describe_chat(
            self._chat,
            maker.chat.tools,
            {
                **maker.arguments,
                "settings": maker.settings,
                "retries": maker.plan.retries,
                "prices": dict(maker.plan.prices),
            },
            send_key=maker.plan.send_key,
            metered=MeteredPrices.of(_budgets_of(maker)),
        )

    def _source(self, description: Sealed) -> AnswerSource:
        maker, approver = self.maker, self.maker.arguments["approver"]
        engine = find_engine(maker.plan.on)
        questions = HomeQuestions(self._chat.approvals, approver) if approver else None
        budgets = HomeBudgets(limits, self._chat.approvals, approver) if (limits := _budgets_of(maker)) else None
        plugins, free_tools, rates = self._chat.plugins, maker.free_tools, HomeRates(maker.backoff)
        turns = HomeTurns(
            engine, maker.read, rates, questions=questions, budgets=budgets, plugins=plugins, free_tools=free_tools
        )
        source = ChunkSource(
            engine, maker.plan, description, answer_chunk, turns, lambda: maker.key.chat_id, free_tools=free_tools
        )
        if self._chat.recorder.file is None and self._chat.recorder.mode_for(maker.settings.replay).value == "off":
            return source
        return RecordedSource(source, maker.prepare_recorded, maker.read)


def _budgets_of(maker: BatchMaker) -> list[Budget]:
    """Return the budgets that turns on workers use: those of the map and the chat, and the administrator's."""
    limit, endpoint = site_budget(), maker.endpoint  # workers with a key of their own ask no server in this process
    is_in_force = endpoint is None or is_limited(endpoint)
    return [*maker.budgets, *([limit] if limit and is_in_force else [])]
