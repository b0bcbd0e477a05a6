"""Chat: a model, tools, and a conversation that remembers."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from types import MappingProxyType
from typing import Any, Literal

from pydantic import SecretStr

from nbtool.chain.hooks import EventContext, TurnContext
from nbtool.chain.limits import Limits, Meter
from nbtool.chain.repair import repaired
from nbtool.chain.turn import Engine
from nbtool.chat.attach import as_parts
from nbtool.chat.journal import Scribe, journal
from nbtool.chat.models import Model, Previewing, Rehearsal
from nbtool.chat.prompt import system_text, told
from nbtool.chat.tree import Node, Tree
from nbtool.chat.turn import Turn
from nbtool.errors import BadUsage
from nbtool.events import DELTAS, Emit, Event, TextDelta, ThinkingDelta, TurnStarted
from nbtool.loop import core, run_here
from nbtool.messages import Message, assistant, new_id, user
from nbtool.plugins.media import KeptMedia
from nbtool.plugins.structured import Structured
from nbtool.plugins.tools import ToolCalling
from nbtool.tools.approval import Approver, Desk
from nbtool.tools.call import Bench
from nbtool.tools.toolset import Toolset
from nbtool.tools.variable_tools import variable_tools
from nbtool.tools.variables import Variable, Variables
from nbtool.wire.base import Endpoint, Request
from nbtool.wire.media_kinds import DOES

HistoryMode = Literal["compact", "native", "results", "none"]


@dataclass(frozen=True, slots=True)
class TurnSettings:
    """How one turn is to be made; what is None is taken from its chat.

    `cell_id` names the cell that speaks: run again, it makes a new version of its turn, unless `append`.
    """

    cell_id: str = ""
    append: bool = False
    stream: bool = True
    limits: Limits | None = None
    history: HistoryMode | None = None


class Chat:
    """A conversation with a model that can use your functions and objects.

        chat = Chat("openai:gpt-5-mini", tools=[price], system="Be brief.")
        chat.expose(df=df)
        turn = chat.send("Which ticker in $VAR_REF{{df}} is cheapest?")

    `model` is `provider:model`; None takes what is found (see `%chat status`). `wire` forces a dialect, or is an
    endpoint of your own. `approver` is asked at the gates; without one, a call that needs asking is denied.
    `notebook` is where exposed names are looked up when they are used.

    Later turns are told the latest `window` turns and those that are pinned, all of them where it is None.
    `choose_tools` gives the names that a turn may use; `call_texts` are what the model is told of an outcome
    (`denied`, `cancelled`, `error` …) in place of our words.
    """

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
        api_key: str | None = None,
        wire: str | Endpoint | None = None,
        tool_mode: Literal["auto", "native", "prompted"] = "auto",
        max_rounds: int = 10,
        history: HistoryMode = "compact",
        options: Mapping[str, Any] | None = None,
        approver: Approver | None = None,
        plugins: Sequence[object] = (),
        notebook: Mapping[str, Any] | None = None,
    ) -> None:
        secret = SecretStr(api_key) if api_key else None
        self.model = Model(model, base_url=base_url, api_key=secret, wire=wire, tool_mode=tool_mode)
        self.tools = Toolset("chat", tools)
        self.system = system
        self.limits = Limits(max_rounds=max_rounds)
        self.history: HistoryMode = history
        self.options = dict(options or {})
        self.approver = approver
        self.plugins = list(plugins)
        self.variables = Variables(notebook)
        self._variable_tools = variable_tools(self.variables, writable=False)
        self.desk = Desk()
        self.tree: Tree[Turn] = Tree()
        self.chat_id = new_id("chat")

    def expose(self, *, read: bool = False, **objects: Any) -> None:
        """Expose objects as targets of `$VAR_REF{{name}}`: by reference alone, or, with `read`, values too."""
        for name, value in objects.items():
            self.variables.expose(name, value, readable=read)

    def exposed(self) -> list[Variable]:
        """Give what references can point to in the notebook; results of tools are not among them."""
        return [entry for entry in self.variables.entries() if entry.kind == "exposed"]

    def send(
        self,
        prompt: str | Message,
        *,
        attach: Any = (),
        as_: Any = None,
        options: Mapping[str, Any] | None = None,
        approver: Approver | None = None,
        settings: TurnSettings | None = None,
    ) -> Turn:
        """Say something and wait for the turn; works in a running event loop too.

        With `as_` the answer becomes a value of that type, in `Turn.value`.
        Synchronous tools run on the calling thread. An interrupt cancels the turn and is then raised again.

        Raises:
            nbtool.errors.ModelError: there is no such model, or no key for it. Later errors are in `Turn.error`.
        """
        if core().is_current():
            raise BadUsage(
                "Chat.send was called on nbtool's own loop, where it would wait for itself.",
                fix="Use `await chat.start(…)` in asynchronous tools and plugins.",
            )
        turn = self.compose(prompt, attach=attach, as_=as_, options=options, settings=settings)
        turn.approver = approver or self.approver
        return wait_for(turn)

    def start(
        self,
        prompt: str | Message,
        *,
        attach: Any = (),
        as_: Any = None,
        options: Mapping[str, Any] | None = None,
        approver: Approver | None = None,
        settings: TurnSettings | None = None,
    ) -> Turn:
        """Say something and go on at once: await the turn, or iterate over its events.

        With `as_` the answer becomes a value of that type, in `Turn.value`.
        Synchronous tools run in worker threads, unless a thread is lent to the turn.

        Raises:
            nbtool.errors.ModelError: there is no such model, or no key for it. Later errors are in `Turn.error`.
        """
        turn = self.compose(prompt, attach=attach, as_=as_, options=options, settings=settings)
        turn.approver = approver or self.approver
        return turn.begin()

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
        how = settings or TurnSettings()
        parts = as_parts(attach)
        said = user(prompt, *parts) if isinstance(prompt, str) else prompt.with_parts([*prompt.parts, *parts])
        if not said.text.strip() and not any(part.kind == "media" for part in said.parts):
            raise BadUsage("The prompt is empty, so nothing was sent.", fix="Write what you want to say.")
        turn = Turn(said, self.model.name, cell_id=how.cell_id, answer=None if as_ is None else Structured(as_))
        endpoint = self.model.endpoint(lambda: not any(call.started for call in turn.calls))
        request = {**self.options, **(options or {})}
        turn.work = lambda: self._run(turn, endpoint, request, how)
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
        node = self.tree.place(settings.cell_id, append=settings.append)
        options = {**self.options, **(how.get("options") or {})}
        engine, _ = self._engine(turn, rehearsal, self._history(node, settings), _nowhere, options, settings)
        outcome = run_here(engine.run())
        if not rehearsal.request.path and outcome.error:
            raise outcome.error  # a plugin let no request leave
        return rehearsal.request

    async def _run(self, turn: Turn, endpoint: Endpoint, options: dict[str, Any], how: TurnSettings) -> None:
        node = self.tree.place(how.cell_id, append=how.append)
        history = self._history(node, how)
        self.tree.put(node, turn)
        emit = self._door(turn)
        for plugin in self.plugins:
            if hook := getattr(plugin, "on_event", None):
                turn.listen(partial(_heard, hook, turn.turn_id))
        engine, context = self._engine(turn, endpoint, history, emit, options, how)
        await emit(TurnStarted(turn.turn_id, turn.model, turn.prompt, time.time(), turn.cell_id))
        outcome = await engine.run()
        turn.settle(outcome, [*history, context.prompt], context.chain)

    def _engine(
        self,
        turn: Turn,
        endpoint: Endpoint,
        history: list[Message],
        emit: Emit,
        options: dict[str, Any],
        how: TurnSettings,
    ) -> tuple[Engine, TurnContext]:
        exposed = {entry.name: self.variables.describe(entry.name) for entry in self.exposed()}
        limits = how.limits or self.limits
        prompt = told(turn.prompt, exposed)
        context = TurnContext(turn.turn_id, prompt, tuple(history), limits, emit, turn.signal, Meter(limits))
        tools = self._offered(endpoint)
        bench = Bench(
            tools=tools,
            variables=self.variables,
            emit=emit,
            desk=self.desk,
            approver=turn.approver,
            lent=turn.lent,
            texts=self.call_texts,
        )
        calling = ToolCalling(bench, tuple(self.plugins), turn.calls, self.choose_tools)
        system = system_text(self.system, tools.rules())
        answer = [turn.answer] if turn.answer else []
        plugins = [calling, KeptMedia(self.variables), *answer, *self.plugins]
        return Engine(context, endpoint, plugins, system=system, options=options, stream=how.stream), context

    def _offered(self, endpoint: Endpoint) -> Toolset:
        """Give the tools of a turn: the chat's own, and those that read variables where there may be any."""
        may_read = bool(self.tools.tools() or self.exposed()) and endpoint.dialect not in DOES
        self.variables.set_rules((rule.name, rule.text, rule.description) for rule in self.tools.on_demand())
        return Toolset("turn", [self.tools, *([self._variable_tools] if may_read else [])])

    def _history(self, node: Node[Turn], how: TurnSettings) -> list[Message]:
        messages: list[Message] = []
        for turn in self.tree.before(node, window=self.window):
            messages += as_history(turn, how.history or self.history)
        return repaired(messages)

    def _door(self, turn: Turn) -> Emit:
        """Make the one awaited door of a turn: first the journal, then the listeners."""
        scribe = Scribe(journal(), self.chat_id, turn.turn_id)

        async def emit(event: Event) -> None:
            if type(event) not in DELTAS:
                await scribe.write(event)
            elif isinstance(event, TextDelta | ThinkingDelta) and scribe.note(event):
                await scribe.write()
            turn.tell(event)

        return emit


def _heard(hook: Callable[[EventContext], object], turn_id: str, event: Event) -> None:
    """Pass an event on to a plugin."""
    hook(EventContext(turn_id, event))


async def _nowhere(_: Event) -> None:
    """Take an event of a turn that never happens."""


def wait_for(turn: Turn, *, ears: Callable[[], None] | None = None) -> Turn:
    """Begin a turn, unless it has begun, and lend this thread to it until it has ended.

    An interrupt cancels the turn and is then raised again.
    """
    turn.lent.lend()
    try:
        return turn.begin().lent.serve(turn.done, ears=ears)
    except KeyboardInterrupt:
        turn.cancel()
        turn.lent.serve(turn.done)
        raise


def as_history(turn: Turn, mode: HistoryMode) -> list[Message]:
    """Tell a finished turn to a later one; a turn that brought nothing is not told at all."""
    prompt, chain = turn.messages.context[-1:], turn.messages.chain
    if mode == "none" or not prompt or not chain:
        return []
    if mode == "native":
        return [*prompt, *chain]
    if mode == "results":
        told = [f"`{call.name}` returned:\n{call.shown}" for call in turn.calls]
        return [*prompt, assistant("\n\n".join([*told, turn.text]))]
    return [*prompt, assistant(turn.content)] if turn.content.strip() else []
