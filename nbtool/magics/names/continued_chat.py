"""Restore the names of an earlier kernel: a continued chat gets its tools and objects by name."""

from __future__ import annotations

from argparse import Namespace as Flags
from collections.abc import Collection, Mapping
from contextlib import suppress
from typing import Any

from nbtool.chat.chat import Chat
from nbtool.chat.journal.chat_use import use_chat
from nbtool.chat.map_chats import is_map_chat
from nbtool.chat.turn import Turn
from nbtool.errors import BadUsage
from nbtool.magics.names.earlier_names import EarlierState, Needs, earlier_state, format_names, needs_of
from nbtool.magics.names.namespace import NotebookNamespace
from nbtool.magics.names.tool_names import STANDARD_PREFIX
from nbtool.policy import site_policy
from nbtool.tools.tool_names import own_name
from nbtool.toolsets import STANDARD, standard

UNREAD = "their values cannot be read until `--read NAME`, even if they could before"
UNREADABLE = "the administrator's policy does not allow their values to be read"


def restore_names(names: NotebookNamespace, chat: Chat) -> str:
    """Restore a continued chat's names from the notebook; return which were restored and which are missing."""
    turns = [version for node in chat.tree.nodes() for version in node.versions]
    names.earlier[chat.chat_id] = earlier_state(turns)
    wanted = names.earlier[chat.chat_id].needs
    back = _restore(names, chat, wanted)
    missing = _missing(chat, wanted)
    results = len({call.dead_reference for turn in turns for call in turn.calls if call.dead_reference})
    texts = [_describe_restored(back)]
    if results:
        texts.append(f" {_describe_lost(results, chat.chat_id)}")
    if missing.tools or missing.variables:
        texts.append(f" Missing: {_describe(missing)}. {steps(missing, 'the next cell of this chat uses them again')}")
    return "".join(texts)


def _describe_lost(results: int, chat_id: str) -> str:
    """Describe where the objects of a continued chat's results are."""
    if not use_chat(chat_id):
        return f"{results} {'result is' if results == 1 else 'results are'} in the other kernel, which is running."
    owner = "its map" if is_map_chat(chat_id) else "the earlier kernel"
    return f"{results} {'result was' if results == 1 else 'results were'} lost with {owner}."


def restore_later_names(names: NotebookNamespace, chat: Chat, flags: Flags) -> None:
    """Restore names of an earlier kernel that the notebook has only now, except for a cell's flags; print which."""
    if former := names.earlier.get(chat.chat_id):
        settled = former.settle((*flags.no_tool, *flags.tool), (*flags.hide, *flags.var, *flags.read)).settled
        wanted = Needs(former.needs.tools - settled.tools, former.needs.variables - settled.variables)
        if note := _describe_restored(_restore(names, chat, wanted)).strip():
            print(note)  # noqa: T201 - a notice for the person


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
        raise _refusal(missing)
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
    return Needs(frozenset().union(*(item.tools for item in had)), frozenset().union(*(item.variables for item in had)))


def steps(missing: Needs, then: str) -> str:
    """Return what a person does about names of an earlier kernel, in this order, and what `then` is possible."""
    toolsets = _standard_tools(missing.tools)
    own = [*sorted(missing.tools - toolsets.keys()), *sorted(missing.variables)]
    cells = f"run the cell{'' if len(own) == 1 else 's'} that define{'s' if len(own) == 1 else ''} {format_names(own)}"
    names = _standard_names()
    alike = [f"-t {names[name]}.{name}" for name in sorted(missing.tools - toolsets.keys()) if name in names]
    perhaps = f" (or add `{' '.join(alike)}`, if that was nbtool's own)" if alike else ""
    flags = " ".join(f"-t {toolset}" for toolset in sorted(set(toolsets.values())))
    single = [name for name, toolset in toolsets.items() if [*toolsets.values()].count(toolset) == 1]
    own_single = f" (or run the cell that defines {format_names(single)}, if that is your own)" if single else ""
    first = " and ".join(
        filter(None, [f"{cells}{perhaps}" if own else "", f"add `{flags}` to the cell{own_single}" if flags else ""])
    )
    return f"{first[:1].upper()}{first[1:]}; then {then}."


def called_and_absent(chat: Chat, turn: Turn, notebook: Mapping[str, Any]) -> list[str]:
    """Return the functions that a turn called and that a cell of the notebook has to define first."""
    lost = [call for call in turn.calls if call.dead_reference and call.name not in chat.tools.tools()]
    called = {own_name(call.name, call.qualified_name) for call in lost}
    return sorted(
        name for name in called - _standard_tools(needs_of(turn).tools).keys() if not callable(notebook.get(name))
    )


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
    offered = {text for tool in chat.tools.tools().values() for text in (tool.name, tool.display_name)}
    return Needs(wanted.tools - offered, wanted.variables - exposed)


def _describe_restored(back: Needs) -> str:
    read = UNREAD if site_policy().values_may_leave else UNREADABLE
    named = format_names(sorted(back.variables))
    variables = f" Exposed again, by reference: {named}; {read}." if back.variables else ""
    tools = f" Tools added again: {format_names(sorted(back.tools))}." if back.tools else ""
    return f"{variables}{tools}"


def _refusal(missing: Needs) -> BadUsage:
    drop_flags = [
        *(f"-t !{name}" for name in sorted(missing.tools)),
        *(f"-v !{name}" for name in sorted(missing.variables)),
    ]
    return BadUsage(
        f"This turn had {_describe(missing)}, missing in this chat; nothing was sent.",
        fix=f"{steps(missing, 'run this cell again')} `{' '.join(drop_flags)}` runs it without.",
    )


def _describe(missing: Needs) -> str:
    """Describe missing names in words."""
    parts = (("tool", missing.tools), ("variable", missing.variables))
    return " and ".join(
        f"the {kind}{'' if len(of) == 1 else 's'} {format_names(sorted(of))}" for kind, of in parts if of
    )


def _standard_tools(names: Collection[str]) -> dict[str, str]:
    """Return which tools of a chat were those of standard toolsets, each with its toolset.

    The journal has names only. A chat with all tools of a toolset had the toolset; a part of them may just as well be
    functions of the notebook with these names.
    """
    toolsets: dict[str, list[str]] = {}
    for name, toolset in _standard_names().items():
        toolsets.setdefault(toolset, []).append(name)
    complete = {toolset: tools for toolset, tools in toolsets.items() if {*tools} <= {*names}}
    return {name: toolset for toolset, tools in complete.items() for name in tools}


def _standard_names() -> dict[str, str]:
    """Return the names of the tools of the standard toolsets, each with its toolset."""
    toolsets: dict[str, str] = {}
    for name in STANDARD:
        with suppress(BadUsage):  # it needs a package that is not installed
            toolsets |= dict.fromkeys(standard(name).tools(), f"{STANDARD_PREFIX}{name}")
    return toolsets
