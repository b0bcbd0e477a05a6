"""When a call and its result need approval."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from nbtool.argument_check import check_answer, check_arguments
from nbtool.tools.approval.digest import json_copy

RunMode = Literal["auto", "ask_once", "ask_always"]
ResultMode = Literal["never", "on_error", "always"]
RunPolicy = RunMode | Callable[[Mapping[str, Any]], RunMode]
ResultPolicy = ResultMode | Callable[[Mapping[str, Any]], ResultMode]


@check_arguments
@dataclass(frozen=True, slots=True)
class Policy:
    """When approval is required.

    Before a call runs: `auto` never, `ask_once` once for the same arguments, `ask_always` before every call. Before its
    result is sent to the model: `never`, `on_error`, `always`. A callable receives a copy of the arguments as the model
    wrote them and returns one of these modes. A `sensitive` tool asks before every call regardless of `run`, and its
    approval is not remembered.
    """

    run: RunPolicy = "ask_always"
    result: ResultPolicy = "never"
    sensitive: bool = False

    def run_mode(self, arguments: Mapping[str, Any]) -> RunMode:
        """Return the mode for this call; exceptions of a callable propagate.

        Raises:
            BadUsage: a callable returned something else than a mode.
        """
        if not callable(self.run):
            return "ask_always" if self.sensitive else self.run
        mode: RunMode = check_answer("The function run=", RunMode, self.run(json_copy(arguments)))
        return "ask_always" if self.sensitive else mode

    def result_mode(self, arguments: Mapping[str, Any]) -> ResultMode:
        """Return the mode for this call's result; raises as `run_mode`."""
        if not callable(self.result):
            return self.result
        mode: ResultMode = check_answer("The function result=", ResultMode, self.result(json_copy(arguments)))
        return mode
