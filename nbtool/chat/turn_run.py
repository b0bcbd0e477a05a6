"""The run of a turn: its place in the conversation, its engine, its recording."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable
from dataclasses import dataclass, replace
from functools import partial
from itertools import takewhile
from pathlib import Path
from typing import Any
from weakref import WeakSet

from nbtool.chain.additions import NOT_SENT
from nbtool.chain.engine import Engine
from nbtool.chain.hooks import EventContext, TurnContext
from nbtool.chain.repair import repair_history
from nbtool.chain.task_stopping import retrieve_exception
from nbtool.chain.usage_meter import Meter
from nbtool.chat.agent_turns import AgentCleanup, limits_of_agent, make_agent_turn
from nbtool.chat.attachments import location_notices
from nbtool.chat.chat_base import ChatBase
from nbtool.chat.conversation.tree import Node
from nbtool.chat.event_sink import EventSink
from nbtool.chat.history_hosts import calling_host, check_recipient, new_host_notice
from nbtool.chat.journal import TurnWriter, journal, redactor_for
from nbtool.chat.prompt_context import history_messages, system_prompt, with_context, with_date
from nbtool.chat.recording.recorder import TurnRecorder
from nbtool.chat.recording.replay_only import ReplayOnlyEndpoint
from nbtool.chat.rerun.operations import EditReply, Reexecute, Rerun, Resume, TurnPlan
from nbtool.chat.turn import Turn
from nbtool.chat.turn_origins import make_sources, replayed_sources
from nbtool.chat.turn_settings import TurnSettings
from nbtool.events import DELTAS, Emit, Event, Notice, ReplyFinished, TurnEnded, TurnStarted
from nbtool.messages import Message
from nbtool.plugins.budget import shared_budget
from nbtool.plugins.media_variables import MediaVariables
from nbtool.plugins.site_budget import is_limited, site_budget
from nbtool.policy import site_policy
from nbtool.text import count_are
from nbtool.tools.calls.audit_file import AuditFile
from nbtool.tools.calls.runtime import ToolRuntime, is_guarded
from nbtool.tools.calls.tool_calling import ToolCalling
from nbtool.tools.tool_search import ToolSearch
from nbtool.tools.toolset import Toolset
from nbtool.tools.values.sanitize import masking
from nbtool.tools.variables.turn_results import TurnResults
from nbtool.wire.base import Endpoint
from nbtool.wire.framing.known_secrets import remember_secrets
from nbtool.wire.providers.model_kinds import MEDIA_KINDS
from nbtool.wire.providers.provider_tools import without_provider_tools

UNCOVERED = "{turns} not sent: they did not run under the administrator's policy, and no values may leave."

_covered_turns: WeakSet[Turn] = WeakSet()
"""The turns that ran in this process, and so under its policy; not those of a journal or a recording."""


@dataclass(frozen=True, slots=True)
class TurnRun:
    """Runs one turn of a chat against one endpoint.

    `plan` is None for a prompt without an operation: then the turn gets its place when it starts.
    """

    chat: ChatBase
    endpoint: Endpoint
    options: dict[str, Any]
    settings: TurnSettings
    plan: TurnPlan | None = None

    async def run(self, turn: Turn) -> None:
        """Run a turn; texts of history and results are masked before they are shortened."""
        with masking(self.chat.plugins):
            await self._run(turn)

    async def _run(self, turn: Turn) -> None:
        chat = self.chat
        results = TurnResults(chat.variables)
        emit = self._event_sink(turn, results)
        turn.connect(emit)
        for plugin in chat.plugins:
            if hook := getattr(plugin, "on_event", None):
                turn.add_listener(partial(_notify_plugin, hook, turn.turn_id))
        recorder = chat.recorder.start(
            chat.inputs_of(turn, self.options),
            self.settings.replay,
            self.endpoint,
            keeps_answers=self.settings.keep_answers,
        )
        await recorder.hash_objects()
        async with self.chat.lock:  # no other turn may be added after the history is collected
            plan = self.plan or self.place()
            self._check_place(plan)
            engine, context = self.engine(turn, plan, emit)
            version = _rerun_count(plan.node) + 2 if turn.is_rerun else 1
            compared = partial(self._history, plan.node, always_compact=True)
            is_partial = plan.difference is not None
            await recorder.find(context.history, compared, version=version, is_partial=is_partial, cell_id=turn.cell_id)
            self.check_recipient(plan, recorder)
            await self._begin(turn, plan, recorder, emit)
        results.needed = plan.carry_over.references
        calling_host.set(self.endpoint.host)
        with results:
            if recorder.match:
                runtime = replace(self._runtime(turn, emit, chat.tools), sources=replayed_sources(turn))
                await recorder.replay(turn, (*context.history, context.prompt), runtime)
                return
            await recorder.notify_miss(emit)
            await self._emit_notices(turn, plan, emit)
            _covered_turns.add(turn)
            try:
                outcome = await engine.run()
            finally:  # later turns get the history of this one, even if it failed
                turn.context = (*context.history, context.prompt)
            turn.error = outcome.error
        await recorder.store(turn)

    async def _begin(self, turn: Turn, plan: TurnPlan, recorder: TurnRecorder, emit: Emit) -> None:
        """Begin to write the start of a turn, and add the turn to the conversation.

        It is written while the request is sent, whose reply waits for both; only a plugin acts earlier.
        """
        written = asyncio.ensure_future(emit(self._start_event(turn, plan, recorder)))
        written.add_done_callback(retrieve_exception)
        if self.chat.plugins:
            await written
        self.chat.tree.add_version(plan.node, turn)

    async def _emit_notices(self, turn: Turn, plan: TurnPlan, emit: Emit) -> None:
        """Say what the person should know of the request before it is sent."""
        for text in location_notices(turn.prompt):
            await emit(Notice(text, "warning", "request"))
        if count := len(self._earlier_turns(plan.node, are_covered=False)):
            await emit(Notice(UNCOVERED.format(turns=count_are(count, "earlier turn")), "warning", "request"))
        if text := new_host_notice(self._sent_turns(plan), self.chat.tree, self.chat.model, self.endpoint):
            await emit(Notice(text, topic="request"))
        if plan.difference:
            await emit(Notice(str(plan.difference)))

    def _check_place(self, plan: TurnPlan) -> None:
        """Refuse to continue a turn that did not run here, if no values may leave: its results may contain some.

        Raises:
            PolicyRefused: it did not.
        """
        former = plan.node.turn
        if isinstance(self.settings.operation, EditReply | Rerun | Resume | Reexecute) and former not in _covered_turns:
            site_policy().check_values("a turn that did not run under it", fix="Send its prompt in a new cell.")

    def check_recipient(self, plan: TurnPlan, recorder: TurnRecorder | None = None) -> None:
        """Refuse to send the history of a turn to a host that has not had it, unless a person has named that host.

        With a recorder nothing is sent if the turn is replayed.

        Raises:
            BadUsage: it has not, and nobody has.
        """
        is_sent = not isinstance(self.endpoint, ReplayOnlyEndpoint)
        if not is_sent or (recorder and (recorder.match or recorder.mode == "only")):
            return
        check_recipient(
            self.chat,
            self._sent_turns(plan),
            self.chat.model,
            self.endpoint,
            is_named=self.settings.is_model_named,
        )

    def _sent_turns(self, plan: TurnPlan) -> list[Turn]:
        """Return the turns of which the request has messages, the latest last."""
        history = self.turns_before(plan)
        return [*history, plan.repeated] if plan.repeated else history

    def turns_before(self, plan: TurnPlan) -> list[Turn]:
        """Return the turns before the one of a plan, as far as they are sent."""
        mode = self.settings.history or self.chat.history
        return [] if mode == "none" else self._earlier_turns(plan.node)

    def place(self) -> TurnPlan:
        """Return the plan of a turn for the current tree."""
        if self.settings.operation:
            return self.settings.operation.plan(self.chat, self.settings.cell_id)
        return TurnPlan(self.chat.tree.node_for_cell(self.settings.cell_id, append=self.settings.append))

    def engine(self, turn: Turn, plan: TurnPlan, emit: Emit) -> tuple[Engine, TurnContext]:
        """Return the engine of a turn, and the context that its plugins get."""
        chat = self.chat
        is_media = self.endpoint.dialect in MEDIA_KINDS  # no tools; its prompt is what is drawn: no objects are listed
        exposed = {variable.name: chat.variables.describe(variable.name) for variable in chat.exposed_variables()}
        limits, history = self.settings.limits or chat.limits, tuple(self._history(plan.node))
        agent = make_agent_turn(chat, turn, self.turns_before(plan), self.endpoint)
        limits = limits_of_agent(limits) if agent else limits
        prompt = turn.prompt if is_media else with_context(with_date(turn.prompt, history), exposed, history)
        additions, additions.earlier = turn.additions, plan.carry_over.additions
        context = TurnContext(
            turn.turn_id, prompt, history, limits, emit, turn.cancel_signal, Meter(limits), additions=additions
        )
        tools = Toolset("turn") if is_media else self._tools()
        choose = None if is_media else chat.choose_tools
        asks_models = any(tool.sends_to == "model" for tool in tools.tools().values())
        asks_models = asks_models or getattr(turn.approver, "reviewer", None) is not None
        shared = shared_budget(limits, turn.turn_id) if asks_models else None
        limit = site_budget() if is_limited(self.endpoint) else None
        added = [budget for budget in (shared, limit) if budget and not any(budget is other for other in chat.plugins)]
        plugins = [*chat.plugins, *added, *([AgentCleanup(agent)] if agent else [])]
        sources = make_sources(turn, plan.node, tools.tools().values(), exposed)
        turn.additions.on_taken = sources.note_prompt
        runtime = replace(self._runtime(turn, emit, tools), plugins=tuple(plugins), sources=sources)
        calling = ToolCalling(runtime, tuple(plugins), choose, plan.carry_over.known_outcomes, self._search())
        answer = [turn.answer] if turn.answer else []
        engine = Engine(
            context,
            agent or self.endpoint,
            [calling, MediaVariables(chat.variables), *answer, *plugins],
            system=system_prompt(chat.system, tools.rules()),
            options=without_provider_tools(self.options) if is_media else self.options,
            stream=self.settings.stream,
            reply_source=plan.carry_over.reply_source(turn.calls) if plan.carry_over.replies else None,
        )
        return engine, context

    def _search(self) -> ToolSearch:
        chosen = self.chat.search_tools if self.settings.search_tools is None else self.settings.search_tools
        return ToolSearch(self.chat.variable_tools.tools() if self.chat.has_variables else (), is_on=chosen)

    def _tools(self) -> Toolset:
        """Return the tools of a turn, and store their on-demand rules as readable variables."""
        rules = ((rule.name, rule.text, rule.description) for rule in self.chat.tools.on_demand())
        self.chat.variables.set_rules(rules)
        return self.chat.turn_tools()

    def _runtime(self, turn: Turn, emit: Emit, tools: Toolset) -> ToolRuntime:
        chat, check_results = self.chat, self.settings.check_results
        return ToolRuntime(
            tools=tools,
            variables=chat.variables,
            emit=emit,
            state=turn.state,
            approvals=chat.approvals,
            approver=turn.approver,
            caller_thread=turn.caller_thread,
            outcome_texts=chat.call_texts,
            plugins=tuple(chat.plugins),
            stops=turn.call_stops,
            check_results=chat.check_results if check_results is None else check_results,
            recipient=self.settings.recipient,
            audit_file=_audit_file(chat, turn),
        )

    def _history(self, node: Node[Turn], *, always_compact: bool = False) -> list[Message]:
        mode = self.settings.history or self.chat.history
        messages: list[Message] = []
        for turn in self._earlier_turns(node):
            messages += history_messages(turn, mode, always_compact=always_compact)
        return repair_history(messages)

    def _earlier_turns(self, node: Node[Turn], *, are_covered: bool = True) -> list[Turn]:
        """Return the turns that are sent before a node; or those left out, which did not run under the policy."""
        earlier = self.chat.tree.history_before(node, window=self.chat.window)
        may_leave = site_policy().values_may_leave
        return [turn for turn in earlier if (may_leave or turn in _covered_turns) is are_covered]

    def _event_sink(self, turn: Turn, results: TurnResults) -> Emit:
        """Return the event sink of a turn: first the journal, then the listeners; no event may follow `TurnEnded`."""
        plugins = self.chat.plugins
        make_writer = self.chat.make_writer or self._make_journal_writer
        sink = EventSink(make_writer(turn), turn.dispatch, only_builtin_plugins=not plugins)

        async def end(event: TurnEnded) -> None:
            if text := results.end():
                await emit(Notice(text, topic="evicted"))
            for text in turn.additions.close():
                await emit(Notice(NOT_SENT.format(text=text), "warning", "unsent"))
            seconds = max(0.0, event.seconds - turn.waiting.unshown)
            ended = replace(event, seconds=seconds, waited=turn.waiting.waited)
            turn.waiting.apply(ended)
            await sink.emit(ended)

        def emit(event: Event) -> Awaitable[None]:
            kind = type(event)
            if kind in DELTAS:
                return sink.emit(event)
            if isinstance(event, TurnEnded):
                return end(event)
            if kind in (TurnStarted, ReplyFinished):  # a key that expires is renewed by a request
                remember_secrets(self.endpoint)
            turn.waiting.apply(event)
            return sink.emit(event)

        return emit

    def _make_journal_writer(self, turn: Turn) -> TurnWriter:
        hide = redactor_for(self.chat.plugins, turn.turn_id)
        return TurnWriter(journal(), self.chat.chat_id, turn.turn_id, hide=hide)

    def _start_event(self, turn: Turn, plan: TurnPlan, recorder: TurnRecorder) -> TurnStarted:
        """Return the start event of a turn: its prompt, its position in the conversation, and what it may use."""
        node, parent, child, diff = plan.node, plan.node.parent, plan.node.insert_before, plan.difference
        tools = self.chat.tools.tools()
        carried = (diff.turn_id, diff.kept_rounds) if diff and diff.replays_rounds else ("", 0)
        return TurnStarted(
            turn.turn_id,
            recorder.model or turn.model,
            turn.prompt,
            time.time(),
            turn.cell_id,
            node.node_id,
            parent.node_id if parent else "",
            child.node_id if child else "",
            recorder.date,
            *carried,
            tools=tuple(tools),
            qualified_names={name: tool.qualified_name for name, tool in tools.items() if tool.qualified_name},
            exposed=self.chat.variables.notebook_names(),
            is_rerun=turn.is_rerun,
            guarded=is_guarded(),
        )


def _rerun_count(node: Node[Turn]) -> int:
    """Return the number of reruns since the last plain run, so that numbers repeat when all cells run again."""
    return sum(1 for _ in takewhile(lambda turn: turn.is_rerun, reversed(node.all_versions)))


def _notify_plugin(hook: Any, turn_id: str, event: Event) -> None:
    """Pass an event to a plugin."""
    hook(EventContext(turn_id, event))


def _audit_file(chat: ChatBase, turn: Turn) -> AuditFile | None:
    """Return where the decisions of a turn are written: by the chat, and by the administrator's policy."""
    own, required = Path(chat.audit) if chat.audit else None, site_policy().audit_files
    return AuditFile(own, chat.chat_id, turn.turn_id, required) if own or required else None
