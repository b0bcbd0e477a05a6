"""Plain functions of ours → tools."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from weakref import WeakKeyDictionary

from nbtool.tools.approval import Policy, make_digest
from nbtool.tools.schema.parameters import Parameters, parameters_of
from nbtool.tools.tool import Tool

_cached_parameters: WeakKeyDictionary[Callable[..., Any], tuple[str, Parameters]] = WeakKeyDictionary()
"""What was read off methods of ours: every chat has tools over its own variables, and a schema takes milliseconds."""


def builtin_tool(function: Callable[..., Any], owner: str, policy: Policy, *, name: str = "", **options: Any) -> Tool:
    """Make a tool that takes texts as they are written: a reference in its arguments is not resolved.

    `owner` says what the tool works on, `name` is another name than the function's. A toolset that is made anew over
    the same has the same tools, so that an approval that was remembered still holds.
    """
    name = name or function.__name__
    description, parameters = _parameters(function)
    return Tool(
        function=function,
        name=name,
        description=description,
        parameters=parameters,
        policy=policy,
        resolves_references=False,
        digest=make_digest(name=name, description=description, schema=parameters.schema),
        identity=f"{owner}.{name}",
        origin=f"{owner}.{name}",
        **options,
    )


def _parameters(function: Callable[..., Any]) -> tuple[str, Parameters]:
    """Read a method's description and parameters, once for all objects; those of any other function each time."""
    method = getattr(function, "__func__", None)
    if method is None:
        return parameters_of(function)
    if method not in _cached_parameters:
        _cached_parameters[method] = parameters_of(function)
    return _cached_parameters[method]
