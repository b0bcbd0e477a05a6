"""Restore the names of an earlier kernel: a continued chat gets its tools and objects by name."""

from __future__ import annotations

from argparse import Namespace as Flags
from collections.abc import Iterable, Mapping
from contextlib import suppress
from typing import Any

from nbtool.chat.chat import Chat
from nbtool.chat.turn import Turn
from nbtool.errors import BadUsage
from nbtool.magics.names.earlier_names import EarlierState, Needs, earlier_state, format_names, needs_of
from nbtool.magics.names.namespace import STANDARD_PREFIX, NotebookNamespace
from nbtool.toolsets import standard

STANDARD_NAMES = ("inspection", "files", "python", "web")
"""The toolsets that come with nbtool."""


def restore_names(names: NotebookNamespace, chat: Chat) -> str:
    """Restore a continued chat's names from the notebook; return which were restored and which are missing."""
    turns = [version for node in chat.tree.nodes() for version in node.versions]
    names.earlier[chat.chat_id] = earlier_state(turns)
    wanted = names.earlier[chat.chat_id].needs
    back = _restore(names, chat, wanted)
    missing = _missing(chat, wanted)
    results = len({call.dead_reference for turn in turns for call in turn.calls if call.dead_reference})
    texts = [_describe_restored(back)]
    if missing.variables:
        texts.append(
            f" Missing variables: {format_names(sorted(missing.variables))}; "
            "first run the cells that define them, then expose them with `-v NAME`."
        )
    if results:
        texts.append(f" {results} {'result was' if results == 1 else 'results were'} lost with the earlier kernel.")
    if missing.tools:
        first = "first run the cells that define them, then " if missing.tools - _standard_tools().keys() else ""
        texts.append(f" Missing tools: {_with_toolsets(missing.tools)}; {first}add them with `-t NAME`.")
    return "".join(texts)


def restore_for_turn(names: NotebookNamespace, chat: Chat, turn: Turn, flags: Flags) -> None:
    """Restore the names of an earlier kernel's turn that is about to be repeated, and print which were restored.

    Raises:
        BadUsage: names are missing, and the cell does not exclude them.
    """
    former = names.earlier.get(chat.chat_id)
    if former is None or turn.turn_id not in former.turn_ids:
        return
    settled = former.settle(flags.no_tool, flags.hide).settled
    needs = needs_of(turn)
    wanted = Needs(needs.tools - settled.tools, needs.variables - settled.variables)
    # What the chat no longer had at its end was removed on purpose: only the person adds it again.
    back = _restore(names, chat, Needs(wanted.tools & former.needs.tools, wanted.variables & former.needs.variables))
    missing = _missing(chat, wanted)
    if missing.tools or missing.variables:
        raise _refusal(turn, missing)
    if note := _describe_restored(back).strip():
        print(note)  # noqa: T201 - a notice for the person


def settle_names(names: NotebookNamespace, chat: Chat, flags: Flags) -> None:
    """Record which names of an earlier kernel a chat has again, or a cell excludes."""
    if former := names.earlier.get(chat.chat_id):
        exposed = (entry.name for entry in chat.exposed_variables())
        names.earlier[chat.chat_id] = former.settle((*chat.tools.tools(), *flags.no_tool), (*exposed, *flags.hide))


def former_needs(names: NotebookNamespace, chat: Chat) -> Needs:
    """Return all tools and variables that turns of a chat had in an earlier kernel."""
    former = names.earlier.get(chat.chat_id, EarlierState())
    turns = (turn for node in chat.tree.nodes() for turn in node.versions) if former.turn_ids else ()
    had = [former.needs, *(needs_of(turn) for turn in turns if turn.turn_id in former.turn_ids)]
    return Needs(frozenset().union(*(one.tools for one in had)), frozenset().union(*(one.variables for one in had)))


def called_and_absent(chat: Chat, turn: Turn, notebook: Mapping[str, Any]) -> list[str]:
    """Return the functions that a turn called and that a cell of the notebook has to define first."""
    called = {call.name for call in turn.calls if call.dead_reference} - chat.tools.tools().keys()
    return sorted(name for name in called - _standard_tools().keys() if not callable(notebook.get(name)))


def _restore(names: NotebookNamespace, chat: Chat, wanted: Needs) -> Needs:
    """Add tools and expose objects, by reference only, where the notebook has them by these names."""
    absent = _missing(chat, wanted)
    tools = [name for name in sorted(absent.tools) if names.is_function(name)]
    names.add_tools(chat, tools)
    variables: list[str] = []
    for name in sorted(absent.variables):
        if names.has_name(name):
            with suppress(BadUsage):  # it now contains secrets, or a result has its name
                names.expose(chat, [name])
                variables.append(name)
    if former := names.earlier.get(chat.chat_id):
        names.earlier[chat.chat_id] = former.settle(tools, variables)
    return Needs(frozenset(tools), frozenset(variables))


def _missing(chat: Chat, wanted: Needs) -> Needs:
    exposed = {entry.name for entry in chat.exposed_variables()}
    return Needs(wanted.tools - chat.tools.tools().keys(), wanted.variables - exposed)


def _describe_restored(back: Needs) -> str:
    read = "their values cannot be read until `--read NAME`, even if they could before"
    named = format_names(sorted(back.variables))
    variables = f" Exposed again, by reference: {named}; {read}." if back.variables else ""
    tools = f" Tools added again: {format_names(sorted(back.tools))}." if back.tools else ""
    return f"{variables}{tools}"


def _refusal(turn: Turn, missing: Needs) -> BadUsage:
    tools = (
        [f"the tool{'' if len(missing.tools) == 1 else 's'} {_with_toolsets(missing.tools)}"] if missing.tools else []
    )
    names = format_names(sorted(missing.variables))
    variables = [f"the variable{'' if len(missing.variables) == 1 else 's'} {names}"] if missing.variables else []
    add_flags = [*(["`-t NAME`"] if missing.tools else []), *(["`-v NAME`"] if missing.variables else [])]
    drop_flags = [*(["`-T NAME`"] if missing.tools else []), *(["`--hide NAME`"] if missing.variables else [])]
    return BadUsage(
        f"{turn.turn_id} had {' and '.join([*tools, *variables])}, missing in this chat; nothing was sent.",
        fix=f"Run the cells that define them and then this cell again, or add {' and '.join(add_flags)}; "
        f"{' and '.join(drop_flags)} runs it without.",
    )


def _with_toolsets(tools: Iterable[str]) -> str:
    """Format tool names; a tool of a standard toolset with the argument that adds the toolset."""
    toolsets = _standard_tools()
    return format_names(f"{name} (`-t {toolsets[name]}`)" if name in toolsets else name for name in sorted(tools))


def _standard_tools() -> dict[str, str]:
    """Return the tools of the standard toolsets, each with the name of its toolset."""
    toolsets: dict[str, str] = {}
    for name in STANDARD_NAMES:
        with suppress(BadUsage):  # it needs a package that is not installed
            toolsets |= dict.fromkeys(standard(name).tools(), f"{STANDARD_PREFIX}{name}")
    return toolsets
