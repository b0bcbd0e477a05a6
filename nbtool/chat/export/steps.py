"""Exported code for awaitables and generators: awaited and collected, as nbtool does when it runs a tool.

The result of a generator is its return value, or else what it yields: strings joined, anything else as a list, without
progress reports. The exported code contains helper functions for this, so that it does not need nbtool.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from types import CodeType, FunctionType
from typing import Any, Literal

from nbtool.chat.export.names import NotebookNames

Kind = Literal["plain", "awaitable", "generator", "async_generator", "unknown"]

JOIN_SOURCE = """def {joined}(pieces):
    # Strings joined, anything else as a list, without progress reports.
    pieces = [one for one in pieces if {type}(one).__name__ != "Progress" or not {hasattr}(one, "fraction")]
    is_text = pieces and {all}({isinstance}(one, {str}) for one in pieces)
    return "".join(pieces) if is_text else pieces or None
"""
COLLECT_SOURCE = """def {collected}(steps):
    # The return value of a generator, or else what it yields.
    pieces = []
    while True:
        try:
            pieces.append({next}(steps))
        except {StopIteration} as end:
            return end.value if end.value is not None else {joined}(pieces)
"""
COLLECT_ASYNC_SOURCE = """async def {collected_async}(steps):
    return {joined}([piece async for piece in steps])
"""
FOLLOW_SOURCE = """async def {followed}(value):
    # The result of a function, awaited and collected if necessary.
    value = await value if {inspect}.isawaitable(value) else value
    if {inspect}.isgenerator(value):
        return {collected}(value)
    return {joined}([piece async for piece in value]) if {inspect}.isasyncgen(value) else value
"""
_BUILTINS = ("type", "hasattr", "all", "isinstance", "str", "next", "StopIteration")
_YIELDS = ("Generator", "Iterator", "Awaitable", "Coroutine", "AsyncGenerator", "AsyncIterator", "Future", "Task")


@dataclass(frozen=True, slots=True)
class StepWriter:
    """Write the handling of a call's result; a `script` has no top-level await."""

    names: NotebookNames
    script: bool

    def write(self, expression: str, function: Callable[..., Any]) -> str:
        """Return the expression for the final result of a call."""
        match kind_of(function):
            case "plain":
                return expression
            case "awaitable":
                return self._await(expression)
            case "generator":
                return f"{self._collect()}({expression})"
            case "async_generator":
                return self._await(f"{self._helper('collected_async', COLLECT_ASYNC_SOURCE)}({expression})")
            case "unknown":
                self._collect()
                return self._await(f"{self._helper('followed', FOLLOW_SOURCE)}({expression})")

    def _await(self, expression: str) -> str:
        return f"{self.names.module('asyncio')}.run({expression})" if self.script else f"await {expression}"

    def _collect(self) -> str:
        return self._helper("collected", COLLECT_SOURCE)

    def _helper(self, name: str, source: str) -> str:
        """Add a helper function once, under an unused name, after the helpers that it calls."""
        if name in self.names.helpers:
            return self.names.helpers[name]
        needed = {"joined": self._helper("joined", JOIN_SOURCE)} if "{joined}" in source and name != "joined" else {}
        if "{inspect}" in source:
            needed["inspect"] = self.names.module("inspect")
        own = self.names.helpers[name] = self.names.unique(name)
        builtins = {builtin: self.names.builtin(builtin) for builtin in _BUILTINS if f"{{{builtin}}}" in source}
        sources = {**self.names.helpers, **needed, **builtins}
        self.names.constructed.append(source.format(**{**sources, name: own}))
        return own


def kind_of(function: Callable[..., Any]) -> Kind:
    """Return the kind of a function's result; `unknown` if only a call can show it."""
    own = _without_partials(function)
    if kind := _kind(own):
        return kind
    inner = inspect.unwrap(own)
    if _kind(inner) or _is_annotated(own) or any(map(_kind, _referenced(inner))):
        return "unknown"
    return "plain"


def _without_partials(function: Any) -> Any:
    while isinstance(function, functools.partial):
        function = function.func
    is_plain = inspect.isroutine(function) or inspect.isclass(function)
    return function if is_plain else type(function).__call__


def _kind(function: Any) -> Kind | None:
    if inspect.isasyncgenfunction(function):
        return "async_generator"
    if inspect.iscoroutinefunction(function):
        return "awaitable"
    return "generator" if inspect.isgeneratorfunction(function) else None


def _is_annotated(function: Any) -> bool:
    annotation = getattr(function, "__annotations__", {}).get("return")
    return any(name in str(annotation) for name in _YIELDS)


def _referenced(function: Any) -> Iterator[Any]:
    """Yield the globals and closure variables that a function uses."""
    function = getattr(function, "__func__", function)
    if isinstance(function, FunctionType):
        names = _names(function.__code__)
        yield from (function.__globals__[name] for name in names if name in function.__globals__)
        yield from (cell.cell_contents for cell in function.__closure__ or () if _is_filled(cell))


def _names(code: CodeType) -> set[str]:
    return set(code.co_names).union(*(_names(part) for part in code.co_consts if isinstance(part, CodeType)))


def _is_filled(cell: Any) -> bool:
    try:
        return cell.cell_contents is not None
    except ValueError:  # an empty cell: the name is bound later
        return False
