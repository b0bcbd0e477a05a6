"""When a call and its result need approval."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from inspect import Parameter
from typing import Any, Literal, get_args

from nbtool.argument_check import check_answer, check_arguments
from nbtool.errors import BadUsage
from nbtool.tools.approval.context import PolicyContext
from nbtool.tools.approval.digest import json_copy

RunMode = Literal["auto", "ask_first", "ask_once", "ask_always"]
ResultMode = Literal["never", "on_error", "always", "reference"]
RunPolicy = RunMode | Callable[[Mapping[str, Any]], RunMode] | Callable[[Mapping[str, Any], PolicyContext], RunMode]
ResultPolicy = (
    ResultMode | Callable[[Mapping[str, Any]], ResultMode] | Callable[[Mapping[str, Any], PolicyContext], ResultMode]
)

CONTEXT_PARAMETER = "context"
"""The parameter of a policy that takes the context, if none is annotated with its type."""

_POSITIONAL = (Parameter.POSITIONAL_ONLY, Parameter.POSITIONAL_OR_KEYWORD)


@check_arguments
@dataclass(frozen=True, slots=True)
class Policy:
    """When approval is required.

    Before a call runs: `auto` never, `ask_first` before the first call of the tool in a chat, `ask_once` once for the
    same arguments, `ask_always` before every call. Before its result is sent to the model: `never`, `on_error`,
    `always`; with `reference` the model gets its type and shape only, and an error as with `on_error`. A callable
    receives a copy of the arguments as the model wrote them, and the `PolicyContext` if it has a second parameter, and
    returns one of these modes. A `sensitive` tool asks before every call regardless of `run`, and its approval is not
    remembered.
    """

    run: RunPolicy = "ask_always"
    result: ResultPolicy = "never"
    sensitive: bool = False

    def __post_init__(self) -> None:
        for name, policy in (("run", self.run), ("result", self.result)):
            if callable(policy):
                _check_parameters(name, policy)

    @property
    def fixed_run(self) -> RunMode | None:
        """The mode of every call; None if a function decides."""
        if callable(self.run):
            return None
        return "ask_always" if self.sensitive else self.run

    @property
    def fixed_result(self) -> ResultMode | None:
        """The mode of every result; None if a function decides."""
        return None if callable(self.result) else self.result

    def run_mode(self, arguments: Mapping[str, Any], context: PolicyContext | None = None) -> RunMode:
        """Return the mode for this call; exceptions of a callable propagate.

        Raises:
            BadUsage: a callable returned something else than a mode.
        """
        if self.fixed_run:
            return self.fixed_run
        answer = _evaluate(self.run, arguments, context)  # type: ignore[arg-type]  # no fixed mode, so a function
        mode: RunMode = check_answer("The function run=", RunMode, answer)
        return "ask_always" if self.sensitive else mode

    def result_mode(self, arguments: Mapping[str, Any], context: PolicyContext | None = None) -> ResultMode:
        """Return the mode for this call's result; raises as `run_mode`."""
        if not callable(self.result):
            return self.result
        mode: ResultMode = check_answer("The function result=", ResultMode, _evaluate(self.result, arguments, context))
        return mode


def _evaluate(policy: Callable[..., Any], arguments: Mapping[str, Any], context: PolicyContext | None) -> Any:
    parameter, known = _context_parameter(policy), context or PolicyContext()
    if parameter is None:
        return policy(json_copy(arguments))
    if parameter.kind is Parameter.POSITIONAL_ONLY:
        return policy(json_copy(arguments), known)
    return policy(json_copy(arguments), **{parameter.name: known})


def _context_parameter(policy: Callable[..., Any]) -> Parameter | None:
    """Return the parameter that takes the context: annotated with its type, of its name, or a second required one."""
    others = _parameters(policy)[1:]
    named = (
        other for other in others if other.kind in (*_POSITIONAL, Parameter.KEYWORD_ONLY) and _names_context(other)
    )
    if parameter := next(named, None):
        return parameter
    second = others[0] if others else None
    return second if second and second.kind in _POSITIONAL and second.default is Parameter.empty else None


def _names_context(parameter: Parameter) -> bool:
    annotation = parameter.annotation
    if isinstance(annotation, str):  # of a module with `from __future__ import annotations`
        is_annotated = PolicyContext.__name__ in re.findall(r"\w+", annotation)
    else:
        is_annotated = PolicyContext in (annotation, *get_args(annotation))
    return is_annotated or parameter.name == CONTEXT_PARAMETER


def _parameters(policy: Callable[..., Any]) -> list[Parameter]:
    try:
        return list(inspect.signature(policy).parameters.values())
    except (TypeError, ValueError):
        return []  # a function of C without a signature takes the arguments only


def _check_parameters(name: str, policy: Callable[..., Any]) -> None:
    parameters, context = _parameters(policy), _context_parameter(policy)
    required = [
        parameter for parameter in parameters[1:] if parameter.default is Parameter.empty and parameter != context
    ]
    stray = [item for item in required if item.kind in (*_POSITIONAL, Parameter.KEYWORD_ONLY)]
    if stray:
        raise BadUsage(
            f"{name}={getattr(policy, '__qualname__', type(policy).__qualname__)} has a parameter that nothing fills: "
            f"{stray[0].name}.",
            fix="A policy takes the arguments of the call, and the context if it has a second parameter.",
        )
