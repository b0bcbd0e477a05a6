"""The notebook definitions that exported code needs: functions and imports are copied, the rest is listed by name.

A definition takes effect only if its name is unbound, so that running the code in the notebook replaces nothing there:
a function that was a tool keeps its policy. Strings are never copied, because notebooks keep API keys in them, and
numbers only if they were not exposed by reference only.
"""

from __future__ import annotations

import ast
import builtins
import inspect
import symtable
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from types import FunctionType, ModuleType
from typing import Any

from nbtool.tools.content_hash.source import verified_source

MAX_DEFINITIONS = 200
"""Maximum functions that are copied; further ones are listed as required."""


@dataclass(slots=True)
class Definitions:
    """`imports` and `sources` precede the calls; `missing` maps names that cannot be copied to their kinds.

    `from_nbtool` are those of the missing names that do not work without nbtool.
    """

    imports: list[str] = field(default_factory=list)
    sources: list[str] = field(default_factory=list)
    missing: dict[str, str] = field(default_factory=dict)
    from_nbtool: list[str] = field(default_factory=list)


def definitions_of(
    names: Iterable[str],
    notebook: Mapping[str, Any],
    *,
    closed: frozenset[str] = frozenset(),
    is_private: Callable[[str], bool] = lambda _: False,
    cells: Sequence[str] = (),
) -> Definitions:
    """Return the definitions of these notebook names, each after the ones it depends on; no numbers that are closed.

    A definition whose source is private is not copied, nor is one that a cell of the notebook has.
    """
    search = _Search(closed, is_private, cells)
    for name in names:
        search.add(name, notebook)
    return search.definitions


@dataclass(slots=True)
class _Search:
    closed: frozenset[str]
    is_private: Callable[[str], bool]
    cells: Sequence[str] = ()
    definitions: Definitions = field(default_factory=Definitions)
    visited: dict[str, Any] = field(default_factory=dict)

    def add(self, name: str, namespace: Mapping[str, Any]) -> bool:
        """Add an object with its dependencies; return whether it works without nbtool and is unambiguous."""
        value = namespace.get(name)
        if name in self.visited:
            return self.visited[name] is value and name not in self.definitions.from_nbtool
        self.visited[name] = value
        if isinstance(value, ModuleType) and _root(value.__name__) != "nbtool":
            self.definitions.imports.append(_import(value.__name__, name))
        elif type(value) in (int, float, bool, type(None)) and name in namespace and self._is_open(name, value):
            self.definitions.sources.append(_guard(name, f"{name} = {_number(value)}"))
        elif statement := _import_from_library(name, value):
            self.definitions.imports.append(statement)
        elif self._is_in_cell(name, value) or not self._define(name, value):
            return self._add_missing(name, value, is_there=name in namespace)
        return True

    def _is_open(self, name: str, value: object) -> bool:
        return name not in self.closed and not self.is_private(str(value))

    def _is_in_cell(self, name: str, value: object) -> bool:
        source = _source(name, value) if self.cells else ""
        return bool(source) and any(source in cell for cell in self.cells)

    def _define(self, name: str, value: Any) -> bool:
        source = _source(name, value)
        if not source or self.is_private(source) or len(self.definitions.sources) >= MAX_DEFINITIONS:
            return False
        before = Definitions(
            [*self.definitions.imports],
            [*self.definitions.sources],
            {**self.definitions.missing},
            [*self.definitions.from_nbtool],
        )
        visited = {**self.visited}
        uses = [text for text in _globals_of(source) if text != name]
        if all(use in value.__globals__ and self.add(use, value.__globals__) for use in uses):
            self.definitions.sources.append(_guard(name, source))
            return True
        self.definitions, self.visited = before, visited
        return False

    def _add_missing(self, name: str, value: Any, *, is_there: bool) -> bool:
        uses_nbtool = _uses_nbtool(value)
        kind = "function" if isinstance(value, FunctionType) else type(value).__name__
        self.definitions.missing[name] = kind if is_there else "no longer defined"
        if uses_nbtool:
            self.definitions.from_nbtool.append(name)
        return not uses_nbtool


def _source(name: str, value: Any) -> str:
    """Return the definition of a function without nbtool's decorators; empty if it may be incomplete."""
    if not isinstance(value, FunctionType) or value.__closure__ or value.__code__.co_name != name:
        return ""
    if value.__dict__.keys() - _marks(value):
        return ""  # set by some other decorator
    source = verified_source(value.__code__)
    if not source:
        return ""
    try:
        (node,) = ast.parse(source).body
    except (SyntaxError, ValueError):
        return ""
    if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
        return ""
    if not all(_is_tool(expr, value.__globals__) for expr in node.decorator_list):
        return ""
    return "\n".join(source.splitlines()[node.lineno - 1 :]).rstrip()


def _marks(value: FunctionType) -> set[str]:
    return {name for name, attribute in value.__dict__.items() if _root(type(attribute).__module__) == "nbtool"}


def _is_tool(decorator: ast.expr, namespace: Mapping[str, Any]) -> bool:
    """Whether a decorator is nbtool's, which only marks a function."""
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
    """Return the global names that a definition uses, including its defaults and annotations."""
    top = symtable.symtable(source, "<source>", "exec")
    names: dict[str, None] = {symbol.get_name(): None for symbol in top.get_symbols() if symbol.is_referenced()}
    for table in _inside(top):
        names.update({symbol.get_name(): None for symbol in table.get_symbols() if _is_global(symbol)})
    return [name for name in names if not hasattr(builtins, name)]


def _is_global(symbol: symtable.Symbol) -> bool:
    """Whether a name in a function is a global one.

    Python takes what a function of the name `top` binds for names of a module: that is what it calls the table of one
    (https://github.com/python/cpython/blob/3.11/Lib/symtable.py).
    """
    return symbol.is_global() and (symbol.is_declared_global() or not symbol.is_local())


def _inside(table: symtable.SymbolTable) -> Iterator[symtable.SymbolTable]:
    for child in table.get_children():
        yield child
        yield from _inside(child)


def _guard(name: str, source: str) -> str:
    """Guard a definition so that it takes effect only if its name is unbound; string contents are unchanged."""
    test = f'if "{name}" not in globals():'
    indented = f"{test}\n" + "\n".join(f"    {line}" if line else "" for line in source.split("\n"))
    (node,) = ast.parse(source).body
    (statement,) = ast.parse(f"{test}\n    pass").body
    if not isinstance(statement, ast.If):  # cannot happen: the source was written above
        raise TypeError(test)
    statement.body = [node]
    exact = ast.parse(ast.unparse(ast.fix_missing_locations(statement)))
    return indented if ast.dump(ast.parse(indented)) == ast.dump(exact) else ast.unparse(exact)


def _uses_nbtool(value: Any) -> bool:
    """Whether an object is part of nbtool, or a function that uses it, directly or indirectly."""
    waiting, visited = [value], set()
    while waiting:
        item = waiting.pop()
        if id(item) in visited:
            continue
        visited.add(id(item))
        if _root(_module_of(item)) == "nbtool":
            return True
        if isinstance(item, FunctionType) and _module_of(item) == _module_of(value):
            waiting += [item.__globals__[name] for name in item.__code__.co_names if name in item.__globals__]
    return False


def _module_of(value: Any) -> str:
    if isinstance(value, ModuleType):
        return value.__name__
    return str(getattr(value, "__module__", None) or type(value).__module__)


def _import(module: str, name: str) -> str:
    if module == name:
        return f"import {module}"
    return f"import {module} as {name}"


def _import_from_library(name: str, value: Any) -> str:
    """Return the import of a class or a function of Python's library; empty for anything else."""
    module, member = str(getattr(value, "__module__", "")), str(getattr(value, "__name__", ""))
    if module == "__main__" or _root(module) not in sys.stdlib_module_names:
        return ""
    if value is None or vars(sys.modules.get(module, object)).get(member) is not value:
        return ""
    return f"from {module} import {member}{'' if member == name else f' as {name}'}"


def _number(value: object) -> str:
    return f'float("{value}")' if repr(value) in ("inf", "-inf", "nan") else repr(value)


def _root(module: str) -> str:
    return module.partition(".")[0]
