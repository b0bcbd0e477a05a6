"""The tools with which a model lists and reads variables, and writes notes.

They take names as plain text: a reference in their arguments is never resolved, so they cannot receive a value.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from nbtool.errors import NbtoolError, ToolFailed
from nbtool.text import count_of, format_number, shorten
from nbtool.tools.approval import Policy, PolicyContext, ResultMode
from nbtool.tools.builtin import builtin_tool
from nbtool.tools.toolset import Toolset
from nbtool.tools.values.sanitize import mask_text, restore_text, single_line
from nbtool.tools.variables.store import Variables
from nbtool.tools.variables.variable import Variable

PAGE_SIZE = 25
"""Default number of variables on a page of the list."""

MAX_PAGE_SIZE = 200
"""Maximum number of variables on a page."""

MAX_READ_CHARS = 6_000
"""Maximum number of characters returned by one read."""

MAX_SHOWN_NAME = 80
"""Characters of the name of a variable in the reason of a question."""

READING = ("ListVars", "ReadVar")
"""The tools whose results describe or quote variables; the others confirm what the model wrote."""

RULES = """\
Objects of the notebook and results of tools are variables. Pass one to a tool as a reference: an argument that is
exactly $VAR_REF{{name}} becomes the object itself, whatever its size; $VAR_REF{{name:start:length}} is a part of its
text and $VAR_REF{{name['key']}} an item of it. Write \\$VAR_REF{{ for the literal text. Prefer a reference to copying
a value."""


def variable_tools(variables: Variables, *, writable: bool = True) -> Toolset:
    """Return the tools over a store: ListVars and ReadVar, and WriteVar and RemoveVars if `writable`.

    Reading a variable that was exposed by reference only asks the person first.
    """
    functions = _VariableFunctions(variables)
    no_approval = Policy("auto")
    functions_by_name: list[tuple[Callable[..., str], str, Policy]] = [
        (functions.list_vars, "ListVars", no_approval),
        (functions.read_var, "ReadVar", Policy("auto", _AskForReference(variables))),
    ]
    if writable:
        functions_by_name += [
            (functions.write_var, "WriteVar", no_approval),
            (functions.remove_vars, "RemoveVars", no_approval),
        ]
    tools = [
        builtin_tool(
            function,
            "nbtool.variables",
            policy,
            name=name,
            thread=True,
            in_order=True,
            stores_result=False,
            is_value_free=True,
            reads_outside=name in READING,
        )
        for function, name, policy in functions_by_name
    ]
    return Toolset("variables", tools, rules=RULES)


@dataclass(frozen=True, slots=True)
class _AskForReference:
    """The policy that asks before the model gets the values of a variable that it has by reference only."""

    variables: Variables

    def __call__(self, arguments: Mapping[str, Any]) -> ResultMode:
        """Return `always` for such a variable; of one that does not exist the tool reports that."""
        name = arguments.get("name")
        try:
            return "never" if isinstance(name, str) and self.variables.get(name).is_readable else "always"
        except NbtoolError:
            return "never"

    def explain(self, arguments: Mapping[str, Any], _: PolicyContext) -> str:
        """Return which variable would be read."""
        name = shorten(str(arguments.get("name")), MAX_SHOWN_NAME)
        return f"The model has {name!r} by reference only: releasing this sends its values, or a part of them."


class _VariableFunctions:
    """The functions of the tools."""

    def __init__(self, variables: Variables) -> None:
        self._variables = variables

    def list_vars(self, filter: str = "", page: int = 1, page_size: int = PAGE_SIZE) -> str:
        """List the variables that references can point to, by name, type and shape.

        Args:
            filter: only those with this text in their name, kind, description or tags.
            page: counts from 1.
            page_size: variables on a page.
        """
        size = max(1, min(page_size, MAX_PAGE_SIZE))
        matches = [entry for entry in self._variables.list_entries() if _matches(entry, filter.casefold())]
        pages = max(1, -(-len(matches) // size))
        current_page = max(1, min(page, pages))
        lines = [self._describe(entry) for entry in matches[(current_page - 1) * size : current_page * size]]
        more = f" Call ListVars with page {current_page + 1} for more." if current_page < pages else ""
        return "\n".join([*lines, f"Page {current_page} of {pages}, {count_of(len(matches), 'variable')}.{more}"])

    def read_var(self, name: str, start: int = 0, length: int | None = None) -> str:
        """Read the text of a variable, or a part of it.

        Args:
            name: the variable's name, without $VAR_REF.
            start: the first character, from 0.
            length: number of characters; as many as allowed if omitted.
        """
        text = mask_text(self._variables.text(name))
        begin = max(0, start)
        end = begin + min(MAX_READ_CHARS, MAX_READ_CHARS if length is None else max(0, length))
        part = restore_text(text[begin:end])
        if not begin and end >= len(text):
            return part
        last = min(end, len(text))
        hint = f" Continue with start={last}." if last < len(text) else ""
        return (
            f"{part}\n[characters {format_number(begin)} to {format_number(last)} of {format_number(len(text))}.{hint}]"
        )

    def write_var(
        self, name: str, value: str | None = None, desc: str | None = None, tags: list[str] | None = None
    ) -> str:
        """Write a note under a name, or change one; notebook variables are not changed.

        Args:
            name: the note's name.
            value: its text; required for a new note.
            desc: a description.
            tags: keywords to find it by.
        """
        try:
            note = self._variables.store_note(name, value, description=desc, tags=tags)
        except NbtoolError as error:
            raise ToolFailed(str(error)) from None
        return f"{note.name} holds {count_of(len(str(note.value)), 'character')}."

    def remove_vars(self, names: list[str]) -> str:
        """Remove results and notes that are no longer needed; notebook variables are not removed.

        Args:
            names: the variables to remove.
        """
        removed = [name for name in names if self._variables.remove(name)]
        remaining = [shorten(single_line(name), 64) for name in names if name not in removed]
        text = f"Removed {len(removed)} of {count_of(len(names), 'variable')}."
        return f"{text} Not removed: {', '.join(remaining)}." if remaining else text

    def _describe(self, entry: Variable) -> str:
        description = f" {single_line(entry.description)}" if entry.description else ""
        tags = f" [{', '.join(map(single_line, entry.tags))}]" if entry.tags else ""
        access = "" if entry.is_readable else ", by reference only"
        return f"- {entry.name} ({entry.kind}{access}): {self._variables.describe(entry.name)}.{description}{tags}"


def _matches(entry: Variable, text: str) -> bool:
    return any(text in field.casefold() for field in (entry.name, entry.kind, entry.description, *entry.tags))
