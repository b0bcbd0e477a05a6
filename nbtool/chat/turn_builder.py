"""What a chat is made of, and how one turn of it is made."""

from __future__ import annotations

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
from nbtool.chain.plugin_check import check_plugins
from nbtool.chain.repair import repair_history
from nbtool.chain.turn import Engine
from nbtool.chat.attachments import as_parts
from nbtool.chat.conversation import Conversation
from nbtool.chat.event_sink import Door
from nbtool.chat.journal import Scribe, hiding, journal
from nbtool.chat.model import Model, Previewing, Rehearsal
from nbtool.chat.prompt import HistoryMode, as_history, as_said, system_text, told
from nbtool.chat.recording.cache_key import Scene
from nbtool.chat.recording.recorder import Recordings, ReplayMode
from nbtool.chat.rerun.operations import Plan, Rerun, Verb
from nbtool.chat.tree import Node
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
from nbtool.tools.calls.run import ToolRuntime
from nbtool.tools.toolset import Toolset
from nbtool.tools.values.excerpt import masking
from nbtool.tools.variable_tools import variable_tools
from nbtool.tools.variables.store import MAX_BYTES, Variable, Variables
from nbtool.wire.base import Endpoint, Request
from nbtool.wire.providers.model_kinds import MEDIA_KINDS


@dataclass(frozen=True, slots=True)
class TurnSettings:
    """How one turn is to be made; what is None is taken from its chat.

    `cell_id` names the cell that speaks: run again, it makes a new version of its turn, unless `append`. A `verb` does
    something with a turn that was said: where it says the same again, the prompt is "". `replay` says whether a
    recorded turn is told again; see `Chat.record`.
    """

    cell_id: str = ""
    append: bool = False
    stream: bool = True
    limits: Limits | None = None
    history: HistoryMode | None = None
    verb: Verb | None = None
    replay: ReplayMode | None = None
    check_results: bool | None = None


class Speaker(Conversation):
    """A conversation that can make turns; `Chat` says what each of its arguments means."""

    window: int | None = None
    choose_tools: Callable[[TurnContext], Iterable[str]] | None = None
    call_texts: Mapping[str, str] = MappingProxyType({})

    def __init__(  # noqa: PLR0913 - the whole of a chat, each part by its name
        self,
        model: str | None = None,
        *,
        tools: Iterable[Any] = (),
        system: str = "",
        base_url: str | None = None,
        api_key: str | SecretStr | None = None,
        wire: str | Endpoint | None = None,
        tool_mode: Literal["auto", "native", "prompted"] = "auto",
        max_rounds: int = 10,
        result_bytes: int = MAX_BYTES,
        history: HistoryMode = "compact",
        options: Mapping[str, Any] | None = None,
        approver: Approver | None = None,
        plugins: Sequence[object] = (),
        notebook: Mapping[str, Any] | None = None,
        check_results: bool = False,
    ) -> None:
        super().__init__()
        check_choice("history", history, get_args(HistoryMode))
        check_plugins(plugins or ())
        secret = SecretStr(api_key) if isinstance(api_key, str) and api_key else api_key or None
        self.model = Model(model, base_url=base_url, api_key=secret, wire=wire, tool_mode=tool_mode)
        self.tools = Toolset("chat", tools or ())
        self.system = system or ""
        self.limits = Limits(max_rounds=max_rounds)
        self.history: HistoryMode = history
        self.options = dict(options or {})
        self.approver = approver
        self.check_results = check_results
        self.plugins = list(plugins or ())
        self.variables = Variables(notebook)
        self.variables.max_bytes = result_bytes
        self._variable_tools = variable_tools(self.variables, writable=False)
        self.desk = ApprovalQueue()
        self.recordings = Recordings()

    def exposed(self) -> list[Variable]:
        """Give what references can point to in the notebook; results of tools are not among them."""
        return [entry for entry in self.variables.list_entries() if entry.kind == "exposed"]

    def all_tools(self) -> Toolset:
        """Give the tools of the next turn: the chat's own, and those that read variables where there may be any."""
        may_read = bool(self.tools.tools() or self.exposed() or self.keeps_notes)
        return Toolset("turn", [self.tools, *([self._variable_tools] if may_read else [])])

    def afresh(self, *, chat_id: str = "") -> Self:
        """Give a chat with the same settings, approvals and exposed variables, in which nothing was said."""
        fresh = copy(self)
        Conversation.__init__(fresh)
        fresh.chat_id = chat_id or fresh.chat_id
        fresh.variables = self.variables.fork()
        fresh.keeps_notes = self.keeps_notes
        return fresh

    def checkpoint(self) -> Callable[[], None]:
        """Give what puts the model, the system text, the tools and the exposed names back as they are now."""
        model, system, notes = self.model, self.system, self._variable_tools
        tools, variables = self.tools.checkpoint(), self.variables.checkpoint()

        def put_back() -> None:
            self.model, self.system, self._variable_tools = model, system, notes
            tools()
            variables()

        return put_back

    @property
    def keeps_notes(self) -> bool:
        """Whether the model may write and remove variables of its own (WriteVar, RemoveVars); off unless set."""
        return "WriteVar" in self._variable_tools

    @keeps_notes.setter
    def keeps_notes(self, may: bool) -> None:
        self._variable_tools = variable_tools(self.variables, writable=may)

    @property
    def unfinished(self) -> tuple[Turn, ...]:
        """The turns that are on their way, waiting or parked."""
        turns = (turn for node in self.tree.nodes() for turn in node.versions)
        return tuple(turn for turn in turns if turn.status in ("running", "waiting", "parked"))

    def questions(self, turn: Turn) -> tuple[str, ...]:
        """Give the digests of a turn's questions that are still open; the turn itself hears of a decision later."""
        still = {question.digest for question in self.desk.pending()}
        return tuple(digest for digest in turn.parking.questions if digest in still)

    def check_free(self) -> None:
        """See that no turn of this chat has outlived its cell: only one at a time does.

        Raises:
            BadUsage: there is one; the text says how it is answered or ended.
        """
        for turn in self.unfinished:
            if turn.parking.is_parked and (waiting := self.questions(turn)):
                fix = f"First `%chat approve {waiting[0][:12]}`, `%chat deny {waiting[0][:12]}` or `%chat cancel`."
                raise BadUsage("A turn of this chat is parked and waits for a decision.", fix=fix)
            if turn.parking.is_parked:
                raise BadUsage(
                    "A turn of this chat goes on in the background.", fix="`%chat wait` for it, or `%chat cancel` it."
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
        """Prepare a turn that has not begun: for whoever wants to listen, or to approve, from its first event on.

        Raises: as `start`.
        """
        self.check_free()
        check_plugins(self.plugins)
        how, parts = settings or TurnSettings(), as_parts(attach)
        plan = self._plan(how) if how.verb else None
        said = as_said(prompt, parts)
        said = plan.said(said) if plan else said
        if not said.text.strip() and not any(part.kind == "media" for part in said.parts):
            raise BadUsage("The prompt is empty, so nothing was sent.", fix="Write what you want to say.")
        answer = Structured(as_) if as_ is not None else plan.answer if plan else None
        turn = Turn(said, self.recordings.model_name(self.model, how.replay), cell_id=how.cell_id, answer=answer)
        turn.is_rerun = isinstance(how.verb, Rerun)
        can_retry = lambda: not any(call.started for call in turn.calls)  # noqa: E731 - one line that names it
        endpoint = self.recordings.endpoint(self.model, how.replay, can_retry)
        request = {**self.options, **(options or {})}
        turn.work = lambda: self._run_masked(turn, endpoint, request, how, plan)
        return turn

    def rehearse(self, prompt: str | Message, **how: Any) -> Request:
        """Give the exact first request that `start` would make, and make none; takes what `start` takes.

        Raises:
            BadUsage: the chat's endpoint is one that makes no requests.
            NbtoolError: a plugin lets no request leave.
        """
        turn = self.compose(prompt, **how)
        endpoint = self.model.endpoint()
        if not isinstance(endpoint, Previewing):
            raise BadUsage("The endpoint of this chat makes no requests, so there is none to show.")
        rehearsal = Rehearsal(endpoint)
        settings = how.get("settings") or TurnSettings()
        plan = self._plan(settings)
        if plan.script.runs:
            raise BadUsage("This runs calls before its first request, so the request cannot be shown beforehand.")
        options = {**self.options, **(how.get("options") or {})}
        with masking(self.plugins):
            engine, _ = self._engine(turn, rehearsal, plan, _nowhere, options, settings)
        outcome = run_sync(engine.run())
        if not rehearsal.request.path and outcome.error:
            raise outcome.error  # a plugin let no request leave
        return rehearsal.request

    def _plan(self, how: TurnSettings) -> Plan:
        """Plan a turn as the tree is now."""
        if how.verb:
            return how.verb.plan(self, how.cell_id)
        return Plan(self.tree.place(how.cell_id, append=how.append))

    async def _run_masked(
        self, turn: Turn, endpoint: Endpoint, options: dict[str, Any], how: TurnSettings, plan: Plan | None
    ) -> None:
        """Run a turn; whatever is cut in it, in history and results, is masked before."""
        with masking(self.plugins):
            await self._run(turn, endpoint, options, how, plan)

    async def _run(
        self, turn: Turn, endpoint: Endpoint, options: dict[str, Any], how: TurnSettings, plan: Plan | None
    ) -> None:
        emit = turn.emit = self._door(turn)
        for plugin in self.plugins:
            if hook := getattr(plugin, "on_event", None):
                turn.listen(partial(_heard, hook, turn.turn_id))
        take = self.recordings.begin(self.scene(turn, options), how.replay, endpoint)
        await take.look_at_objects()
        async with self.turnstile:  # what was said before is collected first, and nothing comes in between
            plan = plan or self._plan(how)
            engine, context = self._engine(turn, endpoint, plan, emit, options, how)
            version = _reruns(plan.node) + 2 if turn.is_rerun else 1
            await take.look_up(turn, context.history, version=version, is_made_up=plan.difference is not None)
            started = replace(
                _started(turn, plan, take.date),
                tools=tuple(self.tools.tools()),
                exposed=tuple(entry.name for entry in self.exposed() if entry.is_live),
            )
            await emit(started)
            self.tree.put(plan.node, turn)
        if take.found:
            bench = self._bench(turn, emit, self.tools, how)
            with self.variables.without_eviction():
                await take.tell(turn, started, (*context.history, context.prompt), bench)
            return
        await take.say_why(emit)
        if difference := plan.difference:
            turn.difference = difference
            await emit(Notice(str(difference)))
        try:
            with self.variables.without_eviction():
                outcome = await engine.run()
        finally:  # what was done is told to later turns, whatever became of this one
            turn.messages = Messages((*context.history, context.prompt), tuple(context.chain))
        turn.settle(outcome, turn.messages.context, turn.messages.chain)
        await take.keep(turn)

    def _engine(
        self,
        turn: Turn,
        endpoint: Endpoint,
        plan: Plan,
        emit: Emit,
        options: dict[str, Any],
        how: TurnSettings,
    ) -> tuple[Engine, TurnContext]:
        exposed = {entry.name: self.variables.describe(entry.name) for entry in self.exposed()}
        limits = how.limits or self.limits
        is_media = endpoint.dialect in MEDIA_KINDS  # its prompt is drawn or read aloud: no objects are listed in it
        history, prompt = tuple(self._history(plan.node, how)), told(turn.prompt, {} if is_media else exposed)
        context = TurnContext(turn.turn_id, prompt, history, limits, emit, turn.signal, Meter(limits))
        tools = Toolset("turn") if is_media else self._offered()
        bench = self._bench(turn, emit, tools, how)
        choose = None if is_media else self.choose_tools
        calling = ToolCalling(bench, tuple(self.plugins), turn.calls, choose, plan.script.told)
        system = system_text(self.system, tools.rules())
        answer = [turn.answer] if turn.answer else []
        plugins = [calling, MediaVariables(self.variables), *answer, *self.plugins]
        given = plan.script.reader(turn.calls) if plan.script.replies else None
        return Engine(
            context, endpoint, plugins, system=system, options=options, stream=how.stream, reply_source=given
        ), context

    def _bench(self, turn: Turn, emit: Emit, tools: Toolset, how: TurnSettings) -> ToolRuntime:
        return ToolRuntime(
            tools=tools,
            variables=self.variables,
            emit=emit,
            approvals=self.desk,
            approver=turn.approver,
            caller_thread=turn.lent,
            outcome_texts=self.call_texts,
            plugins=tuple(self.plugins),
            check_results=self.check_results if how.check_results is None else how.check_results,
        )

    def scene(self, turn: Turn, options: Mapping[str, Any]) -> Scene:
        """Give what a turn is made of, for the recordings."""
        return Scene(
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

    def _offered(self) -> Toolset:
        """Give the tools of a turn, and keep their rules on demand where the model can read them."""
        self.variables.set_rules((rule.name, rule.text, rule.description) for rule in self.tools.on_demand())
        return self.all_tools()

    def _history(self, node: Node[Turn], how: TurnSettings) -> list[Message]:
        messages: list[Message] = []
        for turn in self.tree.before(node, window=self.window):
            messages += as_history(turn, how.history or self.history)
        return repair_history(messages)

    def _door(self, turn: Turn) -> Emit:
        """Make the one awaited door of a turn: first the journal, then the listeners."""
        scribe = Scribe(journal(), self.chat_id, turn.turn_id, hide=hiding(self.plugins, turn.turn_id))
        return Door(scribe, turn.tell, is_ours=not self.plugins).emit


def _started(turn: Turn, plan: Plan, replayed: str) -> TurnStarted:
    """Give the event with which a turn begins: who says what, and where in the conversation."""
    node, made = plan.node, plan.difference
    told = (made.turn_id, made.kept) if made and made.tells else ("", 0)
    parent, child = node.parent.node_id if node.parent else "", node.child.node_id if node.child else ""
    said = (turn.turn_id, turn.model, turn.prompt, time.time(), turn.cell_id)
    return TurnStarted(*said, node.node_id, parent, child, replayed, *told)


def _reruns(node: Node[Turn]) -> int:
    """Count the reruns since a cell said this last: so each gets the same number whenever all cells run again."""
    return sum(1 for _ in takewhile(lambda turn: turn.is_rerun, reversed(node.tried)))


def _heard(hook: Callable[[EventContext], object], turn_id: str, event: Event) -> None:
    """Pass an event on to a plugin."""
    hook(EventContext(turn_id, event))


async def _nowhere(_: Event) -> None:
    """Take an event of a turn that never happens."""
