"""Create a batch from a chat and its prompts: every prompt is a turn in a conversation of its own."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from nbtool.caller_thread import CallerThread
from nbtool.chain.price_check import REPORTS_COST
from nbtool.chat.batch.answer_cache import BatchKey, answer_value
from nbtool.chat.batch.batch import Batch, BatchDriver
from nbtool.chat.batch.prompts import PromptItem, parse_prompts
from nbtool.chat.batch.settings import MapSettings
from nbtool.chat.batch.shared_backoff import SharedBackoff
from nbtool.chat.model import Model
from nbtool.chat.turn import Turn
from nbtool.chat.turn_builder import TurnBuilder
from nbtool.chat.turn_settings import TurnSettings
from nbtool.plugins.budget import Budget
from nbtool.policy import site_policy
from nbtool.tools.approval import Approver
from nbtool.tools.execution.executor_tools import ExecutorTools
from nbtool.tools.toolset import Toolset
from nbtool.wire.endpoints.adaptive_endpoint import FallbackEndpoint


def build_batch(  # noqa: PLR0913 - the arguments of `Chat.start`, and the rows
    chat: TurnBuilder,
    prompts: Any,
    rows: Any,
    *,
    as_: Any = None,
    options: Mapping[str, Any] | None = None,
    approver: Approver | None = None,
    settings: TurnSettings | None = None,
    **map_options: Any,
) -> Batch:
    """Create a batch without starting it.

    Raises:
        nbtool.errors.BadUsage: a budget in dollars has no price to measure it, or a setting is invalid.
        nbtool.errors.PolicyRefused: the prompts contain values, and the administrator's policy allows none to leave.
    """
    if rows is not None or hasattr(prompts, "dtype"):
        site_policy().check_values("a value of the rows")
    prompt_set, plan, backoff = parse_prompts(prompts, rows), MapSettings.of(map_options), SharedBackoff()
    fork = chat.fork()
    if plan.tools is not None:
        fork.parts.tools = Toolset("chat", plan.tools)
    first = fork.compose("-", as_=as_, options=options, settings=settings)
    scene = fork.parts.inputs_of(first, {**chat.parts.options, **(options or {})})
    if plan.executor:
        fork.parts.tools = Toolset("chat", [ExecutorTools(fork.parts.tools, plan.executor)])
    recorder, mode = chat.parts.recorder, settings.replay if settings else None
    if (limit := plan.budget()) and recorder.mode_for(mode).value != "only":  # without requests nothing is spent
        _require_price(limit, fork.parts.model)
    fork.parts.plugins = [backoff, *([limit] if limit else []), *chat.parts.plugins]

    def prepare(one: PromptItem, key: str, caller_thread: CallerThread) -> Turn:
        return fork.fork(fork.conversation.chat_id).compose(
            one.prompt,
            as_=as_,
            options=options,
            approver=approver or chat.parts.approver,
            settings=replace(settings or TurnSettings(), cell_id=key),
            caller_thread=caller_thread,
        )

    def keys(items: Sequence[PromptItem]) -> tuple[list[str], Mapping[str, Turn]]:
        conditions = BatchKey.of(scene)
        fork.conversation.chat_id = conditions.chat_id
        # with a recording, answers are replayed and recorded: one from the journal would be in no recording
        is_reused = plan.resume and recorder.file is None
        return conditions.keys(items), conditions.find_answered(items) if is_reused else {}

    return Batch(prompt_set, BatchDriver(prepare, partial(answer_value, as_=as_), keys), plan, backoff)


def _require_price(limit: Budget, model: Model) -> None:
    """Raise if nothing says what the model costs, and the limit is in dollars."""
    endpoint = model.endpoint()
    abilities: frozenset[str] = getattr(endpoint, "abilities", frozenset())
    if limit.needs_price and isinstance(endpoint, FallbackEndpoint) and endpoint.has_price():
        abilities |= {REPORTS_COST}
    limit.require_price(endpoint.model, abilities, provider=getattr(endpoint, "provider", ""))
