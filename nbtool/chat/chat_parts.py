"""The parts of a chat: the model, the tools, the variables and the settings that its turns are built from."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from nbtool.chain.hooks import TurnContext
from nbtool.chain.limits import Limits
from nbtool.chat.model import Model
from nbtool.chat.prompt_context import HistoryMode
from nbtool.chat.recording.cache_key import TurnInputs
from nbtool.chat.recording.recorder import Recorder
from nbtool.chat.turn import Turn
from nbtool.tools.approval import ApprovalQueue, Approver, AskFunction
from nbtool.tools.toolset import Toolset
from nbtool.tools.variable_tools import variable_tools
from nbtool.tools.variables.store import Variables
from nbtool.tools.variables.variable import Variable


@dataclass(eq=False)
class ChatParts:
    """What the turns of a chat are built from; see `Chat`. A turn uses what is set when it starts."""

    model: Model
    tools: Toolset
    variables: Variables
    variable_tools: Toolset
    system: str = ""
    limits: Limits = field(default_factory=Limits)
    history: HistoryMode = "compact"
    window: int | None = None
    options: dict[str, Any] = field(default_factory=dict)
    approver: Approver | AskFunction | None = None
    check_results: bool = False
    plugins: list[object] = field(default_factory=list)
    choose_tools: Callable[[TurnContext], Iterable[str]] | None = None
    call_texts: Mapping[str, str] = field(default_factory=dict)
    approvals: ApprovalQueue = field(default_factory=ApprovalQueue)
    recorder: Recorder = field(default_factory=Recorder)

    @property
    def keeps_notes(self) -> bool:
        """Whether the model may write and remove variables of its own (WriteVar, RemoveVars); off by default."""
        return "WriteVar" in self.variable_tools

    @keeps_notes.setter
    def keeps_notes(self, may: bool) -> None:
        self.variable_tools = variable_tools(self.variables, writable=may)

    def exposed_variables(self) -> list[Variable]:
        """Return the exposed variables; results of tools are not included."""
        return [entry for entry in self.variables.list_entries() if entry.kind == "exposed"]

    def turn_tools(self) -> Toolset:
        """Return the tools of the next turn: the chat's own, and variable tools if there can be variables."""
        may_read = bool(self.tools.tools() or self.exposed_variables() or self.keeps_notes)
        return Toolset("turn", [self.tools, *([self.variable_tools] if may_read else [])])

    def fork(self) -> ChatParts:
        """Return the same parts for another conversation, with the exposed variables and without results."""
        variables = self.variables.fork()
        return replace(self, variables=variables, variable_tools=variable_tools(variables, writable=self.keeps_notes))

    def checkpoint(self) -> Callable[[], None]:
        """Return a function that restores the current model, system text, options, tools and exposed names."""
        model, system, notes, options = self.model, self.system, self.variable_tools, self.options
        tools, variables = self.tools.checkpoint(), self.variables.checkpoint()

        def put_back() -> None:
            self.model, self.system, self.variable_tools, self.options = model, system, notes, options
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
