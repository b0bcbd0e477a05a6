"""When a call and its result need approval."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal, get_args

from nbtool.errors import BadUsage
from nbtool.tools.approval.digest import json_copy

RunMode = Literal["auto", "ask_once", "ask_always"]
ResultMode = Literal["never", "on_error", "always"]
RunPolicy = RunMode | Callable[[Mapping[str, Any]], RunMode]
ResultPolicy = ResultMode | Callable[[Mapping[str, Any]], ResultMode]


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

    def __post_init__(self) -> None:
        _check_mode("run", self.run, get_args(RunMode))
        _check_mode("result", self.result, get_args(ResultMode))

    def run_mode(self, arguments: Mapping[str, Any]) -> RunMode:
        """Return the mode for this call; exceptions of a callable propagate.

        Raises:
            BadUsage: a callable returned something else than a mode.
        """
        mode = self.run(json_copy(arguments)) if callable(self.run) else self.run
        _check_mode("run", mode, get_args(RunMode))
        return "ask_always" if self.sensitive else mode

    def result_mode(self, arguments: Mapping[str, Any]) -> ResultMode:
        """Return the mode for this call's result; raises as `run_mode`."""
        mode = self.result(json_copy(arguments)) if callable(self.result) else self.result
        _check_mode("result", mode, get_args(ResultMode))
        return mode


def _check_mode(name: str, mode: object, modes: tuple[str, ...]) -> None:
    if not callable(mode) and mode not in modes:
        raise BadUsage(f"{name}={mode!r} is not a policy: expected one of {', '.join(modes)}.")
