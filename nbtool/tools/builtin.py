"""Make tools from nbtool's own functions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from weakref import WeakKeyDictionary

from nbtool.tools.approval import Policy, make_digest
from nbtool.tools.schema.parameters import Parameters
from nbtool.tools.schema.signature import parameters_of
from nbtool.tools.tool import Tool

_cached_parameters: WeakKeyDictionary[Callable[..., Any], tuple[str, Parameters]] = WeakKeyDictionary()
"""Schemas of nbtool's own methods. Building one takes milliseconds, and each chat creates its own tools."""


def builtin_tool(function: Callable[..., Any], owner: str, policy: Policy, *, name: str = "", **options: Any) -> Tool:
    """Return a tool that receives references as plain text.

    `owner` is the object the tool works on, `name` overrides the function's name. Two toolsets over the same owner have
    equal tools, so a remembered approval stays valid when the toolset is created again.
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
    """Return a method's description and parameters, cached per method; other functions are not cached."""
    method = getattr(function, "__func__", None)
    if method is None:
        return parameters_of(function)
    if method not in _cached_parameters:
        _cached_parameters[method] = parameters_of(function)
    return _cached_parameters[method]
