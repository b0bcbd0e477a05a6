"""Tools that inspect exposed objects: columns, first rows, counts, signatures. They change nothing.

Values of variables exposed by reference only are protected: tools that show values are held at the result gate, and the
others omit them. Variables are passed by name, never by reference.
"""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from typing import Any

from nbtool.errors import NbtoolError, ToolFailed
from nbtool.text import shorten
from nbtool.tools.approval import Policy, ResultMode
from nbtool.tools.builtin import builtin_tool
from nbtool.tools.calls.runtime import current_call
from nbtool.tools.toolset import Toolset, toolset_factory
from nbtool.tools.values.sanitize import single_line, without_addresses
from nbtool.tools.values.type_and_shape import describe as described
from nbtool.tools.values.type_and_shape import has_value_labels
from nbtool.tools.variables.store import Variables
from nbtool.tools.variables.variable import Variable
from nbtool.toolsets.tables import Inspector, inspector_for

MAX_ROWS = 50
"""Maximum number of rows, items or counts per call."""

MAX_SOURCE = 20_000
"""Maximum number of characters of a function's source."""

RULES = """\
Look before you compute: describe(name) returns a variable's type, shape, columns and missing values, head and sample \
show a few rows, value_counts the values of a column. A note such as [5 of 1 204 332 rows] states how much was shown; \
never treat a part as the whole. These tools take a variable's plain name. Of a variable "by reference only", values \
are shown when the user releases them; prefer passing it on as a reference."""


@toolset_factory
def inspection() -> Toolset:
    """Return the tools that inspect exposed variables, and functions by their signature and source."""
    no_gate, gated = Policy("auto"), Policy("auto", _result_mode)
    functions = {
        describe: no_gate,
        columns: no_gate,
        head: gated,
        sample: gated,
        value_counts: gated,
        signature: no_gate,
    }
    tools = [
        builtin_tool(function, "nbtool.inspection", policy, stores_result=False)
        for function, policy in functions.items()
    ]
    tools.append(builtin_tool(source, "nbtool.inspection", gated, stores_result=False))
    return Toolset("inspection", tools, rules=RULES)


def describe(name: str) -> str:
    """Describe a variable: type, shape, and for a table each column with its type and how many values are missing.

    Args:
        name: the variable's name.
    """
    entry, value = _get_variable(name)
    inspector = inspector_for(value)
    if inspector is None:
        return described(value)
    if not entry.is_readable:
        return f"{described(value)}\n[exposed by reference only: missing values were not counted]"
    return inspector.summary()


def columns(name: str) -> str:
    """List the columns of a table with their types.

    Args:
        name: the variable's name.
    """
    entry, value = _get_variable(name)
    inspector = _get_inspector(name)
    is_container = isinstance(value, dict | list | tuple | set | frozenset)
    if not entry.is_readable and (is_container or has_value_labels(value)):
        raise ToolFailed(f"{entry.name} is exposed by reference only, and its keys are values.")
    return inspector.columns()


def head(name: str, rows: int = 5) -> str:
    """Show the first rows of a table, or the first items of an array, a list or a dict.

    Args:
        name: the variable's name.
        rows: number of rows, 50 at most.
    """
    return _get_inspector(name).head(_clamp_rows(rows))


def sample(name: str, rows: int = 5) -> str:
    """Show rows or items picked at random, in their order.

    Args:
        name: the variable's name.
        rows: number of rows, 50 at most.
    """
    return _get_inspector(name).sample(_clamp_rows(rows))


def value_counts(name: str, column: str = "", most: int = 20) -> str:
    """Count the distinct values of a column, or of a series, an array or a list; the most frequent come first.

    Args:
        name: the variable's name.
        column: the column, for a table.
        most: how many values to show, 50 at most.
    """
    return _get_inspector(name).value_counts(column, _clamp_rows(most))


def signature(name: str) -> str:
    """Show the signature and the documentation of an exposed function.

    Args:
        name: the name under which the function is exposed.
    """
    entry, value = _get_variable(name)
    signature_read = _signature(_require_function(name, value))
    if not entry.is_readable:  # a default or a documentation text may contain a value
        parameters = [
            parameter.replace(default=_OMITTED_DEFAULT) if parameter.default is not parameter.empty else parameter
            for parameter in signature_read.parameters.values()
        ]
        return single_line(without_addresses(f"{entry.name}{signature_read.replace(parameters=parameters)}"))
    docstring = inspect.getdoc(value) or ""
    return without_addresses(f"{entry.name}{signature_read}\n\n{docstring}".strip())


def source(name: str) -> str:
    """Show the source of an exposed function or class.

    Args:
        name: the name under which it is exposed.
    """
    entry, value = _get_variable(name)
    try:
        text = inspect.getsource(_require_function(name, value))
    except (OSError, TypeError):
        raise ToolFailed(
            f"The source of {entry.name} is not available: it is not written in Python or has no file."
        ) from None
    return shorten(text, MAX_SOURCE)


class _OmittedDefault:
    """Replaces a default in a signature that is not shown."""

    def __repr__(self) -> str:
        return "…"


_OMITTED_DEFAULT = _OmittedDefault()


def _result_mode(arguments: Mapping[str, Any]) -> ResultMode:
    name = arguments.get("name")
    try:
        return "never" if isinstance(name, str) and _store().get(_bare_name(name)).is_readable else "always"
    except NbtoolError:
        return "never"  # there is nothing to show; the tool reports it


def _store() -> Variables:
    return current_call().runtime.variables


def _get_variable(name: str) -> tuple[Variable, Any]:
    entry = _store().get(_bare_name(name))
    return entry, _store().value(entry.name)


def _bare_name(name: str) -> str:
    """Return a plain name, or the name in a reference to the whole variable."""
    return name.removeprefix("$VAR_REF{{").removesuffix("}}")


def _get_inspector(name: str) -> Inspector:
    entry, value = _get_variable(name)
    inspector = inspector_for(value)
    if inspector is None:
        raise ToolFailed(f"{entry.name} is a {described(value)}: it has no rows or items.")
    return inspector


def _require_function(name: str, value: Any) -> Any:
    if not (inspect.isroutine(value) or inspect.isclass(value)):
        raise ToolFailed(f"{shorten(_bare_name(name), 64)!r} is a {described(value)}, not a function.")
    return value


def _signature(function: Any) -> inspect.Signature:
    try:
        return inspect.signature(function)
    except (ValueError, TypeError):
        raise ToolFailed("The signature of this function is not available: it is not written in Python.") from None


def _clamp_rows(rows: int) -> int:
    return max(1, min(rows, MAX_ROWS))
