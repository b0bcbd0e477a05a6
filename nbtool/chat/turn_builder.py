"""The parts of a chat, and the construction of its turns."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from copy import copy
from dataclasses import dataclass, replace
from functools import partial
from itertools import takewhile
from types import MappingProxyType
from typing import Any, Literal, Self, get_args

from pydantic import SecretStr

from nbtool.chain.hooks import EventContext, TurnContext
from nbtool.chain.limits import Limits, Meter
from nbtool.chain.plugin import Plugin
from nbtool.chain.plugin_check import check_plugins
from nbtool.chain.repair import repair_history
from nbtool.chain.turn import Engine
from nbtool.chat.attachments import as_parts
from nbtool.chat.conversation import Conversation
from nbtool.chat.conversation.tree import Node
from nbtool.chat.event_sink import EventSink
from nbtool.chat.journal import TurnWriter, journal, redactor_for
from nbtool.chat.model import Model
from nbtool.chat.model.preview import PreviewableEndpoint, PreviewEndpoint
from nbtool.chat.prompt import HistoryMode, as_message, history_messages, system_prompt, with_context
from nbtool.chat.recording.cache_key import TurnInputs
from nbtool.chat.recording.recorder import Recorder, ReplayMode
from nbtool.chat.rerun.operations import Rerun, TurnOperation, TurnPlan
from nbtool.chat.turn import Messages, Turn
from nbtool.errors import BadUsage
from nbtool.events import Emit, Event, Notice, TurnStarted
from nbtool.loop import run_sync
from nbtool.messages import Message
from nbtool.plugins.media import MediaVariables
from nbtool.plugins.structured import Structured
from nbtool.plugins.tools import ToolCalling
from nbtool.settings import check_choice
from nbtool.tools.approval import ApprovalQueue, Approver
from nbtool.tools.calls.runtime import ToolRuntime
from nbtool.tools.toolset import Toolset
from nbtool.tools.values.excerpt import masking
from nbtool.tools.variable_tools import variable_tools
from nbtool.tools.variables.store import MAX_BYTES, Variable, Variables
from nbtool.wire.base import Endpoint, Request
from nbtool.wire.providers.connection import make_connection
from nbtool.wire.providers.model_kinds import MEDIA_KINDS
from nbtool.wire.transport.key_source import KeyFunction, check_key


@dataclass(frozen=True, slots=True)
class TurnSettings:
    """The settings of one turn; None uses the setting of the chat.

    `cell_id` is the cell of the prompt: running it again adds a version to its turn, unless `append`. An `operation`
    works on an existing turn; to repeat its prompt, pass "". `replay` is the replay mode; see `Chat.record`.
    """

    cell_id: str = ""
    append: bool = False
    stream: bool = True
    limits: Limits | None = None
    history: HistoryMode | None = None
    operation: TurnOperation | None = None
    replay: ReplayMode | None = None
    check_results: bool | None = None


class TurnBuilder(Conversation):
    """A conversation that can create turns; see `Chat` for its arguments."""

    window: int | None = None
    choose_tools: Callable[[TurnContext], Iterable[str]] | None = None
    call_texts: Mapping[str, str] = MappingProxyType({})

    def __init__(  # noqa: PLR0913 - all parts of a chat, by name
        self,
        model: str | None = None,
        *,
        tools: Iterable[Any] = (),
        system: str = "",
        base_url: str | None = None,
        api_key: str | SecretStr | KeyFunction | None = None,
        wire: str | Endpoint | None = None,
        tool_mode: Literal["auto", "native", "prompted"] = "auto",
        max_rounds: int = 10,
        result_bytes: int = MAX_BYTES,
        history: HistoryMode = "compact",
        options: Mapping[str, Any] | None = None,
        approver: Approver | None = None,
        plugins: Sequence[Plugin] = (),
        notebook: Mapping[str, Any] | None = None,
        check_results: bool = False,
        headers: Mapping[str, str] | None = None,
        query: Mapping[str, str] | None = None,
        auth: str | None = None,
        key_command: str | Sequence[str] | None = None,
        key_seconds: float | None = None,
        proxy: str | None = None,
        verify: str | os.PathLike[str] | None = None,
        client_certificate: str | Sequence[str] | None = None,
    ) -> None:
        super().__init__()
        check_choice("history", history, get_args(HistoryMode))
        check_plugins(plugins or ())
        connection = make_connection({
            "headers": headers, "query": query, "auth": auth, "key_command": key_command, "key_seconds": key_seconds,
            "proxy": proxy, "verify": verify, "client_certificate": client_certificate,
        })  # fmt: skip
        key = check_key(api_key)
        self.model = Model(model, base_url=base_url, api_key=key, wire=wire, tool_mode=tool_mode, connection=connection)
        self.tools = Toolset("chat", tools or ())
        self.system = system or ""
        self.limits = Limits(max_rounds=max_rounds)
        self.history: HistoryMode = history
        self.options = dict(options or {})
        self.approver = approver
        self.check_results = check_results
        self.plugins: list[object] = list(plugins or ())
        self.variables = Variables(notebook)
        self.variables.max_bytes = result_bytes
        self._variable_tools = variable_tools(self.variables, writable=False)
        self.approvals = ApprovalQueue()
        self.recorder = Recorder()

    def exposed_variables(self) -> list[Variable]:
        """Return the exposed variables; results of tools are not included."""
        return [entry for entry in self.variables.list_entries() if entry.kind == "exposed"]

    def turn_tools(self) -> Toolset:
        """Return the tools of the next turn: the chat's own, and variable tools if there can be variables."""
        may_read = bool(self.tools.tools() or self.exposed_variables() or self.keeps_notes)
        return Toolset("turn", [self.tools, *([self._variable_tools] if may_read else [])])

    def afresh(self, *, chat_id: str = "") -> Self:
        """Return a chat with the same settings, approvals and exposed variables, without turns."""
        fresh = copy(self)
        Conversation.__init__(fresh)
        fresh.chat_id = chat_id or fresh.chat_id
        fresh.variables = self.variables.fork()
        fresh.keeps_notes = self.keeps_notes
        return fresh

    def checkpoint(self) -> Callable[[], None]:
        """Return a function that restores the current model, system text, tools and exposed names."""
        model, system, notes = self.model, self.system, self._variable_tools
        tools, variables = self.tools.checkpoint(), self.variables.checkpoint()

        def put_back() -> None:
            self.model, self.system, self._variable_tools = model, system, notes
            tools()
            variables()

        return put_back

    @property
    def keeps_notes(self) -> bool:
        """Whether the model may write and remove variables of its own (WriteVar, RemoveVars); off by default."""
        return "WriteVar" in self._variable_tools

    @keeps_notes.setter
    def keeps_notes(self, may: bool) -> None:
        self._variable_tools = variable_tools(self.variables, writable=may)

    @property
    def running_turns(self) -> tuple[Turn, ...]:
        """The turns that are running, waiting or parked."""
        turns = (turn for node in self.tree.nodes() for turn in node.versions)
        return tuple(turn for turn in turns if turn.status in ("running", "waiting", "parked"))

    def open_questions(self, turn: Turn) -> tuple[str, ...]:
        """Return the digests of a turn's open questions; the turn itself is notified of decisions later."""
        still = {question.digest for question in self.approvals.pending()}
        return tuple(digest for digest in turn.parking.questions if digest in still)

    def check_idle(self) -> None:
        """Check that no turn of this chat is parked.

        Raises:
            BadUsage: one is; the message says how to decide or cancel it.
        """
        for turn in self.running_turns:
            if turn.parking.is_parked and (waiting := self.open_questions(turn)):
                fix = f"First `%chat approve {waiting[0][:12]}`, `%chat deny {waiting[0][:12]}` or `%chat cancel`."
                raise BadUsage("A turn of this chat is parked and waits for a decision.", fix=fix)
            if turn.parking.is_parked:
                raise BadUsage(
                    "A turn of this chat is running in the background.",
                    fix="`%chat wait` for it, or `%chat cancel` it.",
                )

    def compose(
        self,
        prompt: str | Message,
        *,
        attach: Any = (),
        as_: Any = None,
        options: Mapping[str, Any] | None = None,
        settings: TurnSettings | None = None,
    ) -> Turn:
        """Return a turn that has not started, so that listeners and an approver can be added first.

        Raises: as `start`.
        """
        self.check_idle()
        check_plugins(self.plugins)
        turn_settings, parts = settings or TurnSettings(), as_parts(attach)
        plan = self._plan(turn_settings) if turn_settings.operation else None
        message = as_message(prompt, parts)
        message = plan.resolve_prompt(message) if plan else message
        if not message.text.strip() and not any(part.kind == "media" for part in message.parts):
            raise BadUsage("The prompt is empty, so nothing was sent.", fix="Write a prompt.")
        answer = Structured(as_) if as_ is not None else plan.answer if plan else None
        turn = Turn(
            message,
            self.recorder.model_name(self.model, turn_settings.replay),
            cell_id=turn_settings.cell_id,
            answer=answer,
        )
        turn.is_rerun = isinstance(turn_settings.operation, Rerun)
        can_retry = lambda: not any(call.started for call in turn.calls)  # noqa: E731 - a named one-line callback
        endpoint = self.recorder.endpoint(self.model, turn_settings.replay, can_retry)
        request = {**self.options, **(options or {})}
        turn.work = lambda: self._run_masked(turn, endpoint, request, turn_settings, plan)
        return turn

    def rehearse(self, prompt: str | Message, **kwargs: Any) -> Request:
        """Return the exact first request that `start` would send, without sending it; takes the arguments of `start`.

        Raises:
            BadUsage: the endpoint of the chat sends no requests.
            NbtoolError: a plugin blocked the request.
        """
        turn = self.compose(prompt, **kwargs)
        endpoint = self.model.endpoint()
        if not isinstance(endpoint, PreviewableEndpoint):
            raise BadUsage("The endpoint of this chat sends no requests, so there is none to show.")
        rehearsal = PreviewEndpoint(endpoint)
        settings = kwargs.get("settings") or TurnSettings()
        plan = self._plan(settings)
        if plan.carry_over.runs_calls:
            raise BadUsage("This runs calls before its first request, so the request cannot be shown in advance.")
        options = {**self.options, **(kwargs.get("options") or {})}
        with masking(self.plugins):
            engine, _ = self._engine(turn, rehearsal, plan, _discard, options, settings)
        outcome = run_sync(engine.run())
        if not rehearsal.request.path and outcome.error:
            raise outcome.error  # a plugin blocked the request
        return rehearsal.request

    def _plan(self, settings: TurnSettings) -> TurnPlan:
        """Return the plan of a turn for the current tree."""
        if settings.operation:
            return settings.operation.plan(self, settings.cell_id)
        return TurnPlan(self.tree.node_for_cell(settings.cell_id, append=settings.append))

    async def _run_masked(
        self, turn: Turn, endpoint: Endpoint, options: dict[str, Any], settings: TurnSettings, plan: TurnPlan | None
    ) -> None:
        """Run a turn; texts of history and results are masked before they are shortened."""
        with masking(self.plugins):
            await self._run(turn, endpoint, options, settings, plan)

    async def _run(
        self, turn: Turn, endpoint: Endpoint, options: dict[str, Any], settings: TurnSettings, plan: TurnPlan | None
    ) -> None:
        emit = turn.emit = self._event_sink(turn)
        for plugin in self.plugins:
            if hook := getattr(plugin, "on_event", None):
                turn.add_listener(partial(_notify_plugin, hook, turn.turn_id))
        recorder = self.recorder.start(self.inputs_of(turn, options), settings.replay, endpoint)
        await recorder.hash_objects()
        async with self.lock:  # no other turn may be added after the history is collected
            plan = plan or self._plan(settings)
            engine, context = self._engine(turn, endpoint, plan, emit, options, settings)
            version = _rerun_count(plan.node) + 2 if turn.is_rerun else 1
            await recorder.find(turn, context.history, version=version, is_partial=plan.difference is not None)
            started = replace(
                _start_event(turn, plan, recorder.date),
                tools=tuple(tools := self.tools.tools()),
                qualified_names={name: tool.qualified_name for name, tool in tools.items() if tool.qualified_name},
                exposed=tuple(entry.name for entry in self.exposed_variables() if entry.is_live),
            )
            await emit(started)
            self.tree.add_version(plan.node, turn)
        if recorder.match:
            runtime = self._runtime(turn, emit, self.tools, settings)
            with self.variables.without_eviction():
                await recorder.replay(turn, started, (*context.history, context.prompt), runtime)
            return
        await recorder.notify_miss(emit)
        if difference := plan.difference:
            turn.difference = difference
            await emit(Notice(str(difference)))
        try:
            with self.variables.without_eviction():
                outcome = await engine.run()
        finally:  # later turns get the history of this one, even if it failed
            turn.messages = Messages((*context.history, context.prompt), tuple(context.chain))
        turn.finish(outcome, turn.messages.context, turn.messages.chain)
        await recorder.store(turn)

    def _engine(
        self,
        turn: Turn,
        endpoint: Endpoint,
        plan: TurnPlan,
        emit: Emit,
        options: dict[str, Any],
        settings: TurnSettings,
    ) -> tuple[Engine, TurnContext]:
        exposed = {entry.name: self.variables.describe(entry.name) for entry in self.exposed_variables()}
        limits = settings.limits or self.limits
        is_media = (
            endpoint.dialect in MEDIA_KINDS
        )  # its prompt is the content of the media: no objects are listed in it
        history, prompt = (
            tuple(self._history(plan.node, settings)),
            with_context(turn.prompt, {} if is_media else exposed),
        )
        context = TurnContext(turn.turn_id, prompt, history, limits, emit, turn.cancel_signal, Meter(limits))
        tools = Toolset("turn") if is_media else self._tools_for()
        runtime = self._runtime(turn, emit, tools, settings)
        choose = None if is_media else self.choose_tools
        calling = ToolCalling(runtime, tuple(self.plugins), turn.calls, choose, plan.carry_over.known_outcomes)
        system = system_prompt(self.system, tools.rules())
        answer = [turn.answer] if turn.answer else []
        plugins = [calling, MediaVariables(self.variables), *answer, *self.plugins]
        reply_source = plan.carry_over.reply_source(turn.calls) if plan.carry_over.replies else None
        return Engine(
            context,
            endpoint,
            plugins,
            system=system,
            options=options,
            stream=settings.stream,
            reply_source=reply_source,
        ), context

    def _runtime(self, turn: Turn, emit: Emit, tools: Toolset, settings: TurnSettings) -> ToolRuntime:
        return ToolRuntime(
            tools=tools,
            variables=self.variables,
            emit=emit,
            approvals=self.approvals,
            approver=turn.approver,
            caller_thread=turn.caller_thread,
            outcome_texts=self.call_texts,
            plugins=tuple(self.plugins),
            check_results=self.check_results if settings.check_results is None else settings.check_results,
        )

    def inputs_of(self, turn: Turn, options: Mapping[str, Any]) -> TurnInputs:
        """Return the inputs of a turn, for the key of its recording."""
        return TurnInputs(
            prompt=turn.prompt,
            model=self.model,
            model_name=turn.model,
            system=f"{self.system.strip()}\n\n{self.tools.rules()}".strip(),
            tools=self.tools.tools(),
            rules=[(rule.name, rule.text, rule.description) for rule in self.tools.on_demand()],
            options=options,
            variables=self.variables,
            plugins=self.plugins,
            answer=turn.answer,
            choices=[self.choose_tools, dict(self.call_texts)],
        )

    def _tools_for(self) -> Toolset:
        """Return the tools of a turn, and store their on-demand rules as readable variables."""
        self.variables.set_rules((rule.name, rule.text, rule.description) for rule in self.tools.on_demand())
        return self.turn_tools()

    def _history(self, node: Node[Turn], settings: TurnSettings) -> list[Message]:
        messages: list[Message] = []
        for turn in self.tree.history_before(node, window=self.window):
            messages += history_messages(turn, settings.history or self.history)
        return repair_history(messages)

    def _event_sink(self, turn: Turn) -> Emit:
        """Return the event sink of a turn: first the journal, then the listeners."""
        writer = TurnWriter(journal(), self.chat_id, turn.turn_id, hide=redactor_for(self.plugins, turn.turn_id))
        return EventSink(writer, turn.dispatch, only_builtin_plugins=not self.plugins).emit


def _start_event(turn: Turn, plan: TurnPlan, replayed: str) -> TurnStarted:
    """Return the start event of a turn: its prompt, and its position in the conversation."""
    node, diff = plan.node, plan.difference
    carried = (diff.turn_id, diff.kept_rounds) if diff and diff.replays_rounds else ("", 0)
    parent, child = node.parent.node_id if node.parent else "", node.insert_before.node_id if node.insert_before else ""
    fields = (turn.turn_id, turn.model, turn.prompt, time.time(), turn.cell_id)
    return TurnStarted(*fields, node.node_id, parent, child, replayed, *carried)


def _rerun_count(node: Node[Turn]) -> int:
    """Return the number of reruns since the last plain run, so that numbers repeat when all cells run again."""
    return sum(1 for _ in takewhile(lambda turn: turn.is_rerun, reversed(node.all_versions)))


def _notify_plugin(hook: Callable[[EventContext], object], turn_id: str, event: Event) -> None:
    """Pass an event to a plugin."""
    hook(EventContext(turn_id, event))


async def _discard(_: Event) -> None:
    """Ignore an event of a preview."""
