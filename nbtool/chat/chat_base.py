"""A conversation with all that its turns are built from; `Chat` has what a person does with it."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from typing import Any, Self

from nbtool.annotation_kinds import Count
from nbtool.argument_check import CheckedAttributes, check_arguments, check_value
from nbtool.chain.hooks import TurnContext
from nbtool.chain.limits import Limits
from nbtool.chain.plugin_check import check_plugins
from nbtool.chat.conversation import Conversation
from nbtool.chat.event_sink import EventWriter
from nbtool.chat.model import Model
from nbtool.chat.prompt_context import HistoryMode
from nbtool.chat.recording.cache_key import TurnInputs
from nbtool.chat.recording.recorder import Recorder
from nbtool.chat.turn import Turn
from nbtool.errors import BadUsage
from nbtool.tools.approval import ApprovalQueue, Approver, AskFunction
from nbtool.tools.calls.audit_file import open_audit
from nbtool.tools.toolset import Toolset
from nbtool.tools.variable_tools import variable_tools
from nbtool.tools.variables.store import Variables
from nbtool.tools.variables.variable import Variable

FIXES = {
    "model": "`chat.model = chat.model.with_changes({value!r})`, with the id of a model.",
    "tools": '`chat.tools = nbtool.Toolset("chat", functions)`.',
}
"""What to assign in place of a value of another type."""


@partial(check_arguments, owner="Chat")
class ChatBase(Conversation, CheckedAttributes):
    """The turns of a chat, and what the next ones are built from: a turn uses what is set when it starts.

    Args:
        model: another one is used from the next turn on: `chat.model = chat.model.with_changes(id)`.
        tools: those that the model may call.
        variables: the exposed objects and the stored results.
        system: the user's own part of the system prompt.
        limits: of a turn.
        history: the form of earlier turns in a request.
        window: how many of the latest turns a request contains; None is no limit.
        options: of every request.
        approver: decides at the approval gates; None denies.
        check_results: whether every result needs approval before it is sent.
        search_tools: whether tools are listed by name and searched; None: if there are many.
        plugins: of every turn.
        choose_tools: returns the names of the tools that a turn may use.
        call_texts: for the model in place of an outcome.
        approvals: the pending approval questions.
        recorder: the recording and the replay mode.
        audit: the file that gets a line for each decision about a call; None for none.
    """

    model: Model
    tools: Toolset
    variables: Variables
    system: str
    limits: Limits
    history: HistoryMode
    window: Count | None
    options: dict[str, Any]
    approver: Approver | AskFunction | None
    check_results: bool
    search_tools: bool | None
    plugins: list[object]
    choose_tools: Callable[[TurnContext], Iterable[str]] | None
    call_texts: Mapping[str, str]
    approvals: ApprovalQueue
    recorder: Recorder
    audit: str | os.PathLike[str] | None
    make_writer: Callable[[Turn], EventWriter] | None = None
    """Returns what keeps the events of a turn in place of the journal; None writes them there."""

    def __init__(  # noqa: PLR0913 - all that a chat has, by name
        self,
        model: Model,
        tools: Toolset,
        variables: Variables,
        *,
        chat_id: str = "",
        keeps_notes: bool = False,
        system: str = "",
        limits: Limits | None = None,
        history: HistoryMode = "compact",
        window: Count | None = None,
        options: Mapping[str, Any] | None = None,
        approver: Approver | AskFunction | None = None,
        check_results: bool = False,
        search_tools: bool | None = None,
        plugins: Iterable[object] = (),
        choose_tools: Callable[[TurnContext], Iterable[str]] | None = None,
        call_texts: Mapping[str, str] | None = None,
        approvals: ApprovalQueue | None = None,
        recorder: Recorder | None = None,
        audit: str | os.PathLike[str] | None = None,
    ) -> None:
        super().__init__(chat_id)
        self.model, self.tools, self.variables = model, tools, variables
        self.keeps_notes = keeps_notes
        self.system, self.limits, self.history, self.window = system, limits or Limits(), history, window
        self.options = dict(options or {})
        self.approver, self.check_results, self.plugins = approver, check_results, list(plugins)
        self.search_tools, self.audit = search_tools, audit
        self.choose_tools, self.call_texts = choose_tools, call_texts or {}
        self.approvals, self.recorder = approvals or ApprovalQueue(), recorder or Recorder()

    def __setattr__(self, name: str, value: Any) -> None:
        if name == "plugins" and isinstance(value, list):
            check_plugins(value)
        try:
            if name == "audit" and isinstance(value, str | os.PathLike):
                value = open_audit(value)
            super().__setattr__(name, value)
        except BadUsage as error:
            raise error.changed(fix=FIXES[name].format(value=value)) if name in FIXES else error from None

    @property
    def keeps_notes(self) -> bool:
        """Whether the model may write and remove variables of its own (WriteVar, RemoveVars); off by default."""
        return self._keeps_notes

    @keeps_notes.setter
    def keeps_notes(self, may: bool) -> None:
        self._keeps_notes: bool = check_value("Chat", "keeps_notes", bool, may)
        self._variable_tools: Toolset | None = None

    @property
    def variable_tools(self) -> Toolset:
        """The tools with which the model reads variables; made when they are first needed, for each store its own."""
        if self._variable_tools is None:
            self._variable_tools = variable_tools(self.variables, writable=self.keeps_notes)
        return self._variable_tools

    @property
    def has_variables(self) -> bool:
        """Whether there can be variables, so that the model is offered the tools that read them."""
        return bool(self.tools.tools() or self.exposed_variables() or self.keeps_notes)

    def exposed_variables(self) -> list[Variable]:
        """Return the exposed variables, and the results of tools that a person named like one."""
        return [entry for entry in self.variables.list_entries() if entry.is_exposed]

    def turn_tools(self) -> Toolset:
        """Return the tools of the next turn: the chat's own, and variable tools if there can be variables."""
        return Toolset("turn", [self.tools, *([self.variable_tools] if self.has_variables else [])])

    def fork(self, *, chat_id: str = "") -> Self:
        """Return a chat with the same settings, approvals and exposed variables, without turns."""
        other = type(self).__new__(type(self))
        vars(other).update(vars(self))
        Conversation.__init__(other, chat_id)
        other.options, other.plugins = dict(self.options), list(self.plugins)
        other.variables, other._variable_tools = self.variables.fork(), None
        return other

    def checkpoint(self) -> Callable[[], None]:
        """Return a function that restores the current model, system text, options, tools and exposed names."""
        model, system, notes, options = self.model, self.system, self._keeps_notes, self.options
        tools, variables = self.tools.checkpoint(), self.variables.checkpoint()

        def put_back() -> None:
            self.model, self.system, self.options = model, system, options
            self.keeps_notes = notes
            tools()
            variables()

        return put_back

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
