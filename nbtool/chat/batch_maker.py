"""Make the batches of a chat, and the turns of their prompts: each is a turn in a conversation of its own."""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Mapping, Sequence
from contextlib import closing
from dataclasses import replace
from functools import cached_property, partial
from types import MappingProxyType
from typing import Any

from nbtool.argument_check import check_arguments
from nbtool.chain.price_check import REPORTS_COST, model_id
from nbtool.chat.agent_turns import refuse_agent
from nbtool.chat.batch.answers import Answer, AnswerSource
from nbtool.chat.batch.batch import Batch
from nbtool.chat.batch.batch_driver import BatchDriver
from nbtool.chat.batch.earlier_maps.answer_cache import BatchKey, answer_value
from nbtool.chat.batch.earlier_maps.earlier_turns import EarlierTurns, needs_new_answer
from nbtool.chat.batch.earlier_maps.other_inputs import CALLS_RUN_AGAIN, has_calls_of_other_inputs
from nbtool.chat.batch.earlier_maps.own_changes import record_change
from nbtool.chat.batch.earlier_maps.turn_index import TurnIndex, read_versions
from nbtool.chat.batch.finished_results import FinishedResults
from nbtool.chat.batch.prompt_retries import PromptRetries
from nbtool.chat.batch.prompts import PromptItem, PromptSet, find_caller, warn_caller
from nbtool.chat.batch.rate_limiter import RateLimiter, limiter_of
from nbtool.chat.batch.running_prompts import PromptClaim
from nbtool.chat.batch.settings import MapSettings
from nbtool.chat.batch.shared_backoff import SharedBackoff
from nbtool.chat.chat_base import ChatBase
from nbtool.chat.conversation.restore import adopt_tree
from nbtool.chat.conversation.tree import Tree
from nbtool.chat.journal import journal
from nbtool.chat.map_chats import note_map
from nbtool.chat.prompt_context import as_message
from nbtool.chat.recording.recorder import TurnRecorder
from nbtool.chat.recording.replay_only import ReplayOnlyEndpoint
from nbtool.chat.rerun.operations import Resume
from nbtool.chat.turn import Turn
from nbtool.chat.turn_composition import capture_request, compose_turn, turn_options
from nbtool.chat.turn_settings import TurnSettings
from nbtool.clock import monotonic
from nbtool.errors import BadUsage, JournalError, MissingKey
from nbtool.events import Event
from nbtool.plugins.budget import Budget, Price, find_given_price
from nbtool.plugins.structured import Structured
from nbtool.threads.caller_thread import CallerThread
from nbtool.tools.approval import Approver, AskFunction
from nbtool.tools.execution.executor_tools import ExecutorTools
from nbtool.tools.toolset import Toolset
from nbtool.wire.base import Endpoint, Request
from nbtool.wire.endpoints.adaptive_endpoint import AdaptiveEndpoint

EMPTY: Mapping[Any, Any] = MappingProxyType({})

MAX_KEY_SECONDS = 1.0
"""Seconds that it may have taken to read the inputs of a map for them to be read once more at its end."""

EARLIER_MAP = "it belongs to an earlier map"
"""Why a reference to a result of a turn that is continued fails."""

UNPRICED_FIX = (
    "Set the limit in tokens (`tokens=20_000`), or pass the price in US dollars per million tokens, for example: "
    "`from nbtool.plugins import Price` and `{price}`."
)
"""What to do where a map has a limit in dollars, and the price of its model is unknown."""


@partial(check_arguments, owner="chat.map")
class BatchMaker:
    """Creates batches of one chat that share their settings, their budget and their back-off.

    `chat` is the one whose turns they are: a fork with the tools and plugins of the map. `endpoint` is that of its
    requests, None where all are replayed, or where only workers have a key.
    """

    def __init__(
        self,
        chat: ChatBase,
        *,
        as_: Any = None,
        options: Mapping[str, Any] | None = None,
        approver: Approver | AskFunction | None = None,
        settings: TurnSettings | None = None,
        backoff: SharedBackoff | None = None,
        **map_options: Any,
    ) -> None:
        refuse_agent(chat.model, "answers no prompts of `chat.map`")
        self.plan = MapSettings.of(map_options)
        self.arguments = {"as_": as_, "options": options, "approver": approver or chat.approver}
        self.settings = settings or TurnSettings()
        self._key_seconds, self._caller, self._has_warned = 0.0, find_caller(), False
        self.chat = chat.fork()
        own, recorder = self.chat, chat.recorder
        if self.plan.tools is not None:
            own.tools = Toolset("chat", self.plan.tools)
        first = self._compose_first(as_=as_, options=options, settings=settings)
        self.endpoint = self._find_endpoint()
        self.backoff = backoff or SharedBackoff(self.plan.per_minute, limiter=_find_limiter(self.endpoint))
        self._inputs = own.inputs_of(first, {**chat.options, **(options or {})})
        if self.plan.executor:
            own.tools = Toolset("chat", [ExecutorTools(own.tools, self.plan.executor)])
        limit = self.plan.budget()
        if limit and self.endpoint:
            _require_price(limit, self.endpoint)
        if self.plan.prices and self.endpoint:
            _check_names(self.plan.prices, self.endpoint)
        if self.plan.batch:
            limit, self.settings = None, replace(self.settings, stream=False)  # it is applied before, to all lines
        own.plugins = [*filter(None, [limit or self.plan.given_prices()]), *chat.plugins]
        self.budgets = [plugin for plugin in own.plugins if isinstance(plugin, Budget)]
        # with a recording, answers are replayed and recorded: one from the journal would be in no recording
        self.reads_journal = self.plan.resume and recorder.file is None
        self.is_streamed = False
        self.turn_index: TurnIndex | None = None
        own.model = own.model.holding_endpoint()
        self._results = FinishedResults(own.variables.max_bytes)

    @cached_property
    def key(self) -> BatchKey:
        """The inputs that all prompts share; slow where objects are large."""
        began = monotonic()
        key = BatchKey.of(self._inputs, self.settings.limits or self.chat.limits)
        self._key_seconds = monotonic() - began
        return key

    def record_own_changes(self) -> None:
        """Have a later map of this process take the inputs as the same, where calls of this one changed them.

        Called before the person's code goes on, which may change them too. Not where it would take long.
        """
        if self.chat.tools.tools() and 0 < self._key_seconds < MAX_KEY_SECONDS and self.key.is_comparable:
            record_change(self.key.chat_id, BatchKey.of(self._inputs).inputs_id)

    @property
    def reads_answers(self) -> bool:
        """Whether prompts that were answered before are answered from the journal."""
        return self.reads_journal and self.key.is_comparable

    def read(self, turn: Turn) -> Any:
        """Return the value of a completed turn; raises as `answer_value`."""
        return answer_value(turn, as_=self.arguments["as_"])

    def capture(self, prompt_item: PromptItem, key: str) -> Coroutine[Any, Any, Request]:
        """Return the work that returns the request of a prompt as its turn would send it."""
        fork = self.chat.fork(chat_id=self.chat.chat_id)
        settings = replace(self.settings, cell_id=key, typed="")
        return capture_request(fork, prompt_item.prompt, settings=settings, **self.arguments)

    def prepare_reply(
        self,
        prompt_item: PromptItem,
        key: str,
        caller_thread: CallerThread,
        replace_endpoint: Callable[[Endpoint], Endpoint],
    ) -> Turn:
        """Return the turn of a prompt whose reply is there: its endpoint yields that, and is not asked again."""
        fork = self.chat.fork(chat_id=self.chat.chat_id)
        turn = self._compose(fork, prompt_item, key, caller_thread, (), fork.plugins, replace_endpoint)
        if turn.answer:
            turn.answer.retries = 0
        self._results.begin(turn, fork.variables)
        return turn

    def prepare_recorded(
        self, prompt_item: PromptItem, key: str, caller_thread: CallerThread
    ) -> tuple[Turn, TurnRecorder]:
        """Return the turn of a prompt as it runs here, and what looks it up in the recording of the chat."""
        fork = self.chat.fork(chat_id=self.chat.chat_id)
        retries = PromptRetries(self.backoff, self.plan.retries)
        turn = self._compose(fork, prompt_item, key, caller_thread, (), [*fork.plugins, retries])
        endpoint = fork.recorder.endpoint(fork.model, self.settings.replay, retries)
        inputs = fork.inputs_of(turn, turn_options(fork, endpoint, self.arguments["options"]))
        return turn, fork.recorder.start(inputs, self.settings.replay, endpoint)

    def batch(
        self, prompts: PromptSet, source: AnswerSource | None = None, acted_turns: Mapping[int, str] = EMPTY
    ) -> Batch:
        """Create a batch without starting it; with a `source` its turns run elsewhere.

        `acted_turns` are the turns of an earlier map in which calls had started, by the indexes of their prompts.
        """
        claim = PromptClaim()
        keys = partial(self._keys, acted_turns=acted_turns, claim=claim)
        driver = BatchDriver(
            self._prepare,
            self.read,
            keys,
            self._results,
            source,
            self.free_tools,
            self.is_streamed,
            release=claim.release,
            end_wait=self.record_own_changes,
        )
        return Batch(prompts, driver, self.plan, self.backoff)

    def batch_of_keys(
        self,
        prompts: Sequence[tuple[PromptItem, str]],
        chat_id: str,
        plugins_of: Callable[[PromptItem], Sequence[object]],
        continued: Mapping[str, Sequence[Turn]],
        receive: Callable[[Answer], object],
    ) -> Batch:
        """Create a batch of prompts with known keys, each with plugins of its own, that asks no journal for answers.

        `continued` are the versions of turns that go on, by their keys; `receive` gets each answer on nbtool's loop.
        """
        self.chat.chat_id = chat_id
        keys = [key for _, key in prompts]

        def prepare(
            prompt_item: PromptItem,
            key: str,
            caller_thread: CallerThread,
            retries: PromptRetries,
            versions: Sequence[Turn],
        ) -> Turn:
            return self._prepare(prompt_item, key, caller_thread, retries, versions, plugins_of(prompt_item))

        earlier = EarlierTurns(continued=continued)
        driver = BatchDriver(
            prepare,
            self.read,
            lambda _: (keys, earlier),
            self._results,
            free_tools=self.free_tools,
            is_part=True,
            receive=receive,
        )
        return Batch(PromptSet([prompt for prompt, _ in prompts], list), driver, self.plan, self.backoff)

    def _compose_first(self, **arguments: Any) -> Turn:
        """Return a turn that checks the settings; without a key here, workers may have one."""
        try:
            return compose_turn(self.chat, "-", **arguments)
        except MissingKey:
            if self.plan.on is None:
                raise
            as_ = arguments["as_"]
            answer = Structured(as_) if as_ is not None else None
            return Turn(as_message("-", ()), self.chat.model.name, answer=answer)

    def _prepare(
        self,
        prompt_item: PromptItem,
        key: str,
        caller_thread: CallerThread,
        retries: PromptRetries,
        versions: Sequence[Turn] = (),
        plugins: Sequence[object] = (),
    ) -> Turn:
        fork = self.chat.fork(chat_id=self.chat.chat_id)
        turn = self._compose(fork, prompt_item, key, caller_thread, versions, [*plugins, *fork.plugins, retries])
        self._results.begin(turn, fork.variables)
        return turn

    def _compose(  # noqa: PLR0913 - what a turn is composed of
        self,
        fork: ChatBase,
        prompt_item: PromptItem,
        key: str,
        caller_thread: CallerThread,
        versions: Sequence[Turn],
        plugins: list[object],
        replace_endpoint: Callable[[Endpoint], Endpoint] | None = None,
    ) -> Turn:
        fork.plugins = plugins  # the retries are last: nothing else delays a request that was allowed
        settings = replace(self.settings, cell_id=key, typed="")  # the prompts of a map are made of data
        if not versions:
            return compose_turn(
                fork,
                prompt_item.prompt,
                settings=settings,
                caller_thread=caller_thread,
                replace_endpoint=replace_endpoint,
                **self.arguments,
            )
        tree: Tree[Turn] = Tree()
        node = tree.node_for_cell(key)
        for version in reversed(versions):
            tree.add_version(node, version)
        adopt_tree(fork, fork.variables, tree, EARLIER_MAP)
        latest = versions[0]
        resume = Resume(latest.turn_id, with_undecided=True, with_new_answer=needs_new_answer(latest))
        settings = replace(settings, operation=resume)
        return compose_turn(fork, "", settings=settings, caller_thread=caller_thread, **self.arguments)

    def _find_endpoint(self) -> Endpoint | None:
        """Return the endpoint of the requests; None where all are replayed, or where only workers have a key."""
        try:
            endpoint = self.chat.recorder.endpoint(self.chat.model, self.settings.replay)
        except MissingKey:
            if self.plan.on is None:
                raise
            return None
        return None if isinstance(endpoint, ReplayOnlyEndpoint) else endpoint

    @property
    def free_tools(self) -> frozenset[str]:
        """The names of nbtool's own tools, which only read the variables of the chat."""
        return frozenset(self.chat.variable_tools.tools())

    def _keys(
        self, items: Sequence[PromptItem], acted_turns: Mapping[int, str], claim: PromptClaim
    ) -> tuple[list[str], EarlierTurns]:
        self.chat.chat_id = self.key.chat_id
        note_map(self.key.chat_id)
        keys = self.key.keys(items)
        if self.reads_journal and self.key.is_comparable:
            has_tools = bool(self.chat.tools.tools())
            claim.take(self.key.chat_id, keys, journal().path if has_tools or self.plan.batch else None)
        earlier = self._find_earlier(keys)
        acted = {
            key: acted_turns[item.index] for item, key in zip(items, keys, strict=True) if item.index in acted_turns
        }
        if left := {key: turn_id for key, turn_id in acted.items() if key not in earlier}:
            earlier |= self.key.sort_turns(_read_turns(left), self.free_tools)
        if self.reads_journal:
            self._report_other_inputs(keys, earlier)
        return keys, self._with_repeated(earlier)

    def _find_earlier(self, keys: Sequence[str]) -> EarlierTurns:
        """Return what the journal has of the prompts with these keys."""
        if self.turn_index:
            return self.turn_index.find_earlier(keys, self.free_tools)
        if not self.reads_answers:
            return EarlierTurns()
        with closing(TurnIndex(self.key)) as index:
            return index.find_earlier(keys, self.free_tools)

    def _report_other_inputs(self, keys: Sequence[str], earlier: EarlierTurns) -> None:
        """Warn, once in a map, if prompts that are sent had calls in an earlier map with other inputs."""
        new = {key for key in keys if key not in earlier}
        if self._has_warned or not new or not self.chat.tools.tools():
            return
        own_chat = self.key.chat_id if self.key.is_comparable else ""
        if has_calls_of_other_inputs(own_chat, new):
            self._has_warned = True
            warn_caller(CALLS_RUN_AGAIN, self._caller)

    def _with_repeated(self, earlier: EarlierTurns) -> EarlierTurns:
        """Return what is reused and continued; with `repeat_calls` the other prompts are sent from their beginning."""
        if not self.plan.repeat_calls:
            return earlier
        answered = {key: turn for key, turn in earlier.answered.items() if self.key.is_sound(turn.log)}
        return EarlierTurns(answered, earlier.continued)


def _find_limiter(endpoint: Endpoint | None) -> RateLimiter | None:
    """Return what knows the limits of the model's connection; None for an endpoint of the user's own."""
    return limiter_of(endpoint.native) if isinstance(endpoint, AdaptiveEndpoint) else None


def _read_turns(turn_ids: Mapping[str, str]) -> Mapping[str, Sequence[Sequence[Event]]]:
    """Return the events of turns and of those that they continued, by key; none where they cannot be read."""
    try:
        return read_versions(turn_ids)
    except JournalError:
        return dict.fromkeys(turn_ids, ())


def _check_names(prices: Mapping[str, Price], endpoint: Endpoint) -> None:
    """Warn if no price is that of the model: it may be of a sub-chat, or misspelt."""
    name = model_id(getattr(endpoint, "provider", ""), endpoint.model)
    if not find_given_price(prices, endpoint.model, getattr(endpoint, "provider", "")):
        warn_caller(f"prices= has no price for {name}, the model of this map, so none is used. Use the name {name!r}.")


def _require_price(limit: Budget, endpoint: Endpoint) -> None:
    """Raise if nothing says what the model costs, and the limit is in dollars."""
    abilities: frozenset[str] = getattr(endpoint, "abilities", frozenset())
    if limit.needs_price and isinstance(endpoint, AdaptiveEndpoint) and endpoint.has_price():
        abilities |= {REPORTS_COST}
    provider = getattr(endpoint, "provider", "")
    try:
        limit.require_price(endpoint.model, abilities, provider=provider)
    except BadUsage as error:
        price = f"prices={{{model_id(provider, endpoint.model)!r}: Price(input=0.25, output=2.00)}}"
        raise error.changed(fix=UNPRICED_FIX.format(price=price)) from None
