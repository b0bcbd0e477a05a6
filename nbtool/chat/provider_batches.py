"""A map with `batch="provider"`: what it refuses, and the source of its answers."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from functools import partial
from math import inf

from nbtool.chat.batch.prompts import PromptItem
from nbtool.chat.batch.provider import BATCH_BUDGET_FIX, BatchReplyEndpoint, LineBudget, ProviderSource
from nbtool.chat.batch_maker import BatchMaker
from nbtool.chat.chat_base import ChatBase
from nbtool.chat.journal.storage import is_in_memory
from nbtool.chat.turn import Turn
from nbtool.errors import BadUsage
from nbtool.messages import Usage
from nbtool.plugins.budget import Budget, given_cost_function
from nbtool.plugins.site_budget import is_limited, site_budget
from nbtool.text import list_names
from nbtool.threads.caller_thread import CallerThread
from nbtool.wire.base import Endpoint
from nbtool.wire.batches import BatchApi, LineResult, batch_price_factor, find_batch_api
from nbtool.wire.endpoints.adaptive_endpoint import AdaptiveEndpoint
from nbtool.wire.endpoints.reply_cost import find_usage_price_now
from nbtool.wire.transport.http_endpoint import HttpEndpoint

MAX_NAMED = 5
"""Tools that an error names."""

UNKNOWN_LATER = (
    "The journal is in memory only. If this process ends before the batch, a later map does not know of it, and the "
    "prompts are paid again."
)


def check_batch(maker: BatchMaker, chat: ChatBase) -> None:
    """Check that the prompts of a map can be handed over as batches.

    Raises:
        nbtool.errors.BadUsage: the model can call tools, a recording is in use, or the endpoint has no batches.
    """
    own = maker.chat.tools.tools()
    if tools := own or maker.chat.turn_tools().tools():
        fix = "Pass tools=[]." if own else "Use a chat without exposed variables and notes."
        raise BadUsage(
            f'With batch="provider" a model can call nothing, and this chat has {list_names(list(tools), MAX_NAMED)}.',
            fix=fix,
        )
    if chat.recorder.file is not None:
        raise BadUsage(
            'With batch="provider", no turn is recorded or replayed.', fix="chat.record(None), or remove batch=."
        )
    _find_api(maker)
    if is_in_memory():
        warnings.warn(UNKNOWN_LATER, RuntimeWarning, stacklevel=5)


def make_provider_source(maker: BatchMaker) -> ProviderSource:
    """Return the source of the answers of one batch of prompts."""
    endpoint, api = _find_api(maker)
    http = endpoint.adapted

    def prepare(prompt_item: PromptItem, key: str, caller_thread: CallerThread, result: LineResult) -> Turn:
        return maker.prepare_reply(prompt_item, key, caller_thread, partial(_with_reply, result=result))

    return ProviderSource(
        api,
        f"{http.base_url} {http.dialect} {http.model}",
        http.label,
        maker.capture,
        prepare,
        maker.read,
        _budgets(maker, endpoint),
        is_resumed=maker.plan.resume,
        concurrency=maker.plan.concurrency,
    )


def _find_api(maker: BatchMaker) -> tuple[AdaptiveEndpoint, BatchApi]:
    endpoint = maker.chat.model.endpoint()
    if isinstance(endpoint, AdaptiveEndpoint):
        api = None if maker.chat.model.is_in_kernel else find_batch_api(endpoint.adapted)
        if api:
            return endpoint, api
    raise BadUsage(
        f"{maker.chat.model.name} has no batches.", fix="Leave out batch=, or choose a model of a provider that has."
    )


def _budgets(maker: BatchMaker, endpoint: AdaptiveEndpoint) -> list[LineBudget]:
    """Return the budgets that all lines have to fit into before they are handed over: nothing stops them later."""
    plan, http = maker.plan, endpoint.adapted
    listed = _listed_cost_function(http) if plan.usd is not None or _budget_plugins(maker) or site_budget() else None
    budgets = []
    if plan.tokens is not None or plan.usd is not None:
        cost_of = given_cost_function(plan.prices, http.model, http.provider) or listed
        if plan.usd is not None and cost_of is None:
            raise BadUsage(
                f"The price of {http.model} is not known before its replies, so a batch cannot be kept within usd=.",
                fix="Pass prices=, or set the limit in tokens (tokens=20_000).",
            )
        budgets.append(LineBudget("The budget of the map", plan.tokens or inf, plan.usd or inf, cost_of))
    for plugin in _budget_plugins(maker):
        cost_of = given_cost_function(plugin.prices, http.model, http.provider) or listed
        budgets.append(LineBudget("The budget of the chat", *plugin.room, cost_of, fix=plugin.fix or BATCH_BUDGET_FIX))
    if (site := site_budget()) and is_limited(endpoint):
        cost_of = site.listed_cost_function(http.host, http.model) or listed
        budgets.append(LineBudget("The budget of the administrator's policy", *site.room, cost_of, fix=site.fix))
    return budgets


def _budget_plugins(maker: BatchMaker) -> list[Budget]:
    return [plugin for plugin in maker.chat.plugins if isinstance(plugin, Budget)]


def _listed_cost_function(http: HttpEndpoint) -> Callable[[Usage], float] | None:
    """Return what a line costs by the price lists; None if that is not known."""
    if (listed := find_usage_price_now(http)) is None:
        return None
    factor = batch_price_factor(http)
    return lambda usage: listed(usage) * factor


def _with_reply(endpoint: Endpoint, result: LineResult) -> Endpoint:
    """Return an endpoint that yields a reply in place of sending a request."""
    if not isinstance(endpoint, AdaptiveEndpoint):  # pragma: no cover - checked before anything was handed over
        raise BadUsage("The endpoint of the chat was replaced while its batch ran.", fix="Map again.")
    return BatchReplyEndpoint(endpoint, result, batch_price_factor(endpoint.adapted))
