"""What written code uses of the notebook: functions and imports that can be written down, and the rest by name.

A definition takes effect only where its name is free, so that running the code in the notebook replaces nothing there:
a function that was a tool keeps its policy. Texts are not written down, since a notebook keeps keys in them.
"""

from __future__ import annotations

import ast
import builtins
import inspect
import symtable
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from types import FunctionType, ModuleType
from typing import Any

from nbtool.tools.content_hash.source import verified_source

MAX_DEFINITIONS = 200
"""Functions that are written down; those after them are named as needed."""


@dataclass(slots=True)
class Definitions:
    """`imports` and `sources` stand before the calls; `needed` are the names that cannot be written, and what they are.

    `from_nbtool` are those among them that do not work without nbtool.
    """

    imports: list[str] = field(default_factory=list)
    sources: list[str] = field(default_factory=list)
    missing: dict[str, str] = field(default_factory=dict)
    from_nbtool: list[str] = field(default_factory=list)


def definitions_of(names: Iterable[str], notebook: Mapping[str, Any]) -> Definitions:
    """Return what these names of a notebook are, each after what it uses itself."""
    search = _Search()
    for name in names:
        search.add(name, notebook)
    return search.definitions


@dataclass(slots=True)
class _Search:
    definitions: Definitions = field(default_factory=Definitions)
    visited: dict[str, Any] = field(default_factory=dict)

    def add(self, name: str, namespace: Mapping[str, Any]) -> bool:
        """Write or name a thing and what it uses; whether it works without nbtool, and means one thing only."""
        value = namespace.get(name)
        if name in self.visited:
            return self.visited[name] is value and name not in self.definitions.from_nbtool
        self.visited[name] = value
        if isinstance(value, ModuleType) and _root(value.__name__) != "nbtool":
            self.definitions.imports.append(_import(value.__name__, name))
        elif type(value) in (int, float, bool, type(None)) and name in namespace:
            self.definitions.sources.append(_guard(name, f"{name} = {_number(value)}"))
        elif not self._define(name, value):
            return self._add_missing(name, value, is_there=name in namespace)
        return True

    def _define(self, name: str, value: Any) -> bool:
        source = _source(name, value)
        if not source or len(self.definitions.sources) >= MAX_DEFINITIONS:
            return False
        before = Definitions(
            [*self.definitions.imports],
            [*self.definitions.sources],
            {**self.definitions.missing},
            [*self.definitions.from_nbtool],
        )
        visited = {**self.visited}
        uses = [one for one in _globals_of(source) if one != name]
        if all(one in value.__globals__ and self.add(one, value.__globals__) for one in uses):
            self.definitions.sources.append(_guard(name, source))
            return True
        self.definitions, self.visited = before, visited
        return False

    def _add_missing(self, name: str, value: Any, *, is_there: bool) -> bool:
        uses_nbtool = _uses_nbtool(value)
        kind = "function" if isinstance(value, FunctionType) else type(value).__name__
        self.definitions.missing[name] = kind if is_there else "no longer there"
        if uses_nbtool:
            self.definitions.from_nbtool.append(name)
        return not uses_nbtool


def _source(name: str, value: Any) -> str:
    """Return the definition of a function without nbtool's decorators; empty where it is not certain to be all."""
    if not isinstance(value, FunctionType) or value.__closure__ or value.__code__.co_name != name:
        return ""
    if value.__dict__.keys() - _marks(value):
        return ""  # some decorator left something there
    source = verified_source(value.__code__)
    if not source:
        return ""
    try:
        (node,) = ast.parse(source).body
    except (SyntaxError, ValueError):
        return ""
    if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
        return ""
    if not all(_is_tool(one, value.__globals__) for one in node.decorator_list):
        return ""
    return "\n".join(source.splitlines()[node.lineno - 1 :]).rstrip()


def _marks(value: FunctionType) -> set[str]:
    return {name for name, attribute in value.__dict__.items() if _root(type(attribute).__module__) == "nbtool"}


def _is_tool(decorator: ast.expr, namespace: Mapping[str, Any]) -> bool:
    """Whether a decorator is nbtool's, which marks a function and changes nothing about it."""
    target = decorator.func if isinstance(decorator, ast.Call) else decorator
    steps: list[str] = []
    while isinstance(target, ast.Attribute):
        steps.append(target.attr)
        target = target.value
    value = namespace.get(target.id) if isinstance(target, ast.Name) else None
    for step in reversed(steps):
        value = inspect.getattr_static(value, step, None)
    return getattr(value, "__module__", "") == "nbtool.tools.tool" and getattr(value, "__name__", "") == "tool"


def _globals_of(source: str) -> list[str]:
    """Return the names that a definition takes from around it, those of its defaults and annotations too."""
    top = symtable.symtable(source, "<source>", "exec")
    names: dict[str, None] = {symbol.get_name(): None for symbol in top.get_symbols() if symbol.is_referenced()}
    for table in _inside(top):
        names.update({symbol.get_name(): None for symbol in table.get_symbols() if symbol.is_global()})
    return [name for name in names if not hasattr(builtins, name)]


def _inside(table: symtable.SymbolTable) -> Iterator[symtable.SymbolTable]:
    for child in table.get_children():
        yield child
        yield from _inside(child)


def _guard(name: str, source: str) -> str:
    """Let a definition take effect only where its name is free; the texts in it stay as they are."""
    test = f'if "{name}" not in globals():'
    indented = f"{test}\n" + "\n".join(f"    {line}" if line else "" for line in source.split("\n"))
    (node,) = ast.parse(source).body
    (statement,) = ast.parse(f"{test}\n    pass").body
    if not isinstance(statement, ast.If):  # it is what was just written
        raise TypeError(test)
    statement.body = [node]
    exact = ast.parse(ast.unparse(ast.fix_missing_locations(statement)))
    return indented if ast.dump(ast.parse(indented)) == ast.dump(exact) else ast.unparse(exact)


def _uses_nbtool(value: Any) -> bool:
    """Whether a thing is nbtool's, or a function that names one, or calls one that does."""
    waiting, visited = [value], set()
    while waiting:
        one = waiting.pop()
        if id(one) in visited:
            continue
        visited.add(id(one))
        if _root(_module_of(one)) == "nbtool":
            return True
        if isinstance(one, FunctionType) and _module_of(one) == _module_of(value):
            waiting += [one.__globals__[name] for name in one.__code__.co_names if name in one.__globals__]
    return False


def _module_of(value: Any) -> str:
    if isinstance(value, ModuleType):
        return value.__name__
    return str(getattr(value, "__module__", None) or type(value).__module__)


def _import(module: str, name: str) -> str:
    if module == name:
        return f"import {module}"
    return f"import {module} as {name}"


def _number(value: object) -> str:
    return f'float("{value}")' if repr(value) in ("inf", "-inf", "nan") else repr(value)


def _root(module: str) -> str:
    return module.partition(".")[0]
