"""Create a batch from a chat and its prompts: every prompt is a turn in a conversation of its own."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cached_property, partial
from typing import Any

from nbtool.caller_thread import CallerThread
from nbtool.chain.price_check import REPORTS_COST
from nbtool.chat.batch.answer_cache import BatchKey, answer_value
from nbtool.chat.batch.answer_sink import as_sink
from nbtool.chat.batch.batch import Batch, BatchDriver
from nbtool.chat.batch.prompts import PromptItem, PromptSet, parse_prompts, stream_prompts
from nbtool.chat.batch.settings import MapSettings
from nbtool.chat.batch.shared_backoff import SharedBackoff
from nbtool.chat.batch.streamed_map import MapTotals, run_streamed_map
from nbtool.chat.model import Model
from nbtool.chat.turn import Turn
from nbtool.chat.turn_builder import TurnBuilder
from nbtool.chat.turn_settings import TurnSettings
from nbtool.messages import new_id
from nbtool.plugins.budget import Budget
from nbtool.policy import site_policy
from nbtool.tools.approval import Approver
from nbtool.tools.execution.executor_tools import ExecutorTools
from nbtool.tools.toolset import Toolset
from nbtool.wire.endpoints.adaptive_endpoint import FallbackEndpoint


def build_batch(chat: TurnBuilder, prompts: Any, rows: Any, **options: Any) -> Batch:
    """Create a batch without starting it; takes the arguments of `Chat.start_map`.

    Raises:
        nbtool.errors.BadUsage: a budget in dollars has no price to measure it, or a setting is invalid.
        nbtool.errors.PolicyRefused: the prompts contain values, and the administrator's policy allows none to leave.
    """
    if rows is not None or hasattr(prompts, "dtype"):
        site_policy().check_values("a value of the rows")
    return BatchMaker(chat, **options).batch(parse_prompts(prompts, rows))


def map_into(chat: TurnBuilder, sink: object, prompts: Any, rows: Any, **options: Any) -> MapTotals:
    """Send prompts in constant memory and write their answers to a sink; see `Chat.map_into`."""
    if rows is not None:
        site_policy().check_values("a value of the rows")
    items, target, maker = stream_prompts(prompts, rows), as_sink(sink), BatchMaker(chat, **options)
    maker.reads_journal = False  # the sink knows which rows have an answer
    progress, maker.plan = maker.plan.progress, replace(maker.plan, progress=False)
    # where inputs cannot be compared, no former answer is known to be of the same ones
    is_known = not maker.key.base.uncomparable and not maker.key.base.conditional
    target.open(maker.key.chat_id if is_known else new_id(maker.key.chat_id))
    try:
        return run_streamed_map(items, target, lambda chunk: maker.batch(PromptSet(chunk, list)), progress=progress)
    finally:
        target.close()


class BatchMaker:
    """Creates batches of one chat that share their settings, their budget and their back-off."""

    def __init__(
        self,
        chat: TurnBuilder,
        *,
        as_: Any = None,
        options: Mapping[str, Any] | None = None,
        approver: Approver | None = None,
        settings: TurnSettings | None = None,
        **map_options: Any,
    ) -> None:
        self.plan = MapSettings.of(map_options)
        self._arguments = {"as_": as_, "options": options, "approver": approver or chat.parts.approver}
        self._settings = settings or TurnSettings()
        self._backoff, self._fork = SharedBackoff(), chat.fork()
        parts, recorder = self._fork.parts, chat.parts.recorder
        if self.plan.tools is not None:
            parts.tools = Toolset("chat", self.plan.tools)
        first = self._fork.compose("-", as_=as_, options=options, settings=settings)
        self._inputs = parts.inputs_of(first, {**chat.parts.options, **(options or {})})
        if self.plan.executor:
            parts.tools = Toolset("chat", [ExecutorTools(parts.tools, self.plan.executor)])
        limit, mode = self.plan.budget(), recorder.mode_for(settings.replay if settings else None)
        if limit and mode.value != "only":  # without requests nothing is spent
            _require_price(limit, parts.model)
        parts.plugins = [self._backoff, *([limit] if limit else []), *chat.parts.plugins]
        # with a recording, answers are replayed and recorded: one from the journal would be in no recording
        self.reads_journal = self.plan.resume and recorder.file is None

    @cached_property
    def key(self) -> BatchKey:
        """The inputs that all prompts share; slow where objects are large."""
        return BatchKey.of(self._inputs)

    def batch(self, prompts: PromptSet) -> Batch:
        """Create a batch without starting it."""
        driver = BatchDriver(self._prepare, partial(answer_value, as_=self._arguments["as_"]), self._keys)
        return Batch(prompts, driver, self.plan, self._backoff)

    def _prepare(self, one: PromptItem, key: str, caller_thread: CallerThread) -> Turn:
        fork = self._fork.fork(self._fork.conversation.chat_id)
        settings = replace(self._settings, cell_id=key)
        return fork.compose(one.prompt, settings=settings, caller_thread=caller_thread, **self._arguments)

    def _keys(self, items: Sequence[PromptItem]) -> tuple[list[str], Mapping[str, Turn]]:
        self._fork.conversation.chat_id = self.key.chat_id
        return self.key.keys(items), self.key.find_answered(items) if self.reads_journal else {}


def _require_price(limit: Budget, model: Model) -> None:
    """Raise if nothing says what the model costs, and the limit is in dollars."""
    endpoint = model.endpoint()
    abilities: frozenset[str] = getattr(endpoint, "abilities", frozenset())
    if limit.needs_price and isinstance(endpoint, FallbackEndpoint) and endpoint.has_price():
        abilities |= {REPORTS_COST}
    limit.require_price(endpoint.model, abilities, provider=getattr(endpoint, "provider", ""))
