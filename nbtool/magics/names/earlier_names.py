"""The names of tools and exposed objects that a continued chat had in an earlier kernel."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from nbtool.chat.turn import Turn
from nbtool.events import TurnStarted
from nbtool.magics.flags.flag_parser import mentions
from nbtool.text import list_names
from nbtool.tools.tool_names import own_name

MAX_NAMES = 20
"""Names listed in one line."""

_OWN = frozenset(("ListVars", "ReadVar", "WriteVar", "RemoveVars"))
"""Tools for variables that every chat has."""


@dataclass(frozen=True, slots=True)
class Needs:
    """Names of tools and of variables."""

    tools: frozenset[str] = frozenset()
    variables: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class EarlierState:
    """The state of a chat when its kernel ended, and its turns until then; `settled` names need no further search."""

    needs: Needs = Needs()
    turn_ids: frozenset[str] = frozenset()
    settled: Needs = Needs()

    def settle(self, tools: Iterable[str], variables: Iterable[str]) -> EarlierState:
        """Return a copy without the names that the chat has again, or that the person dropped."""
        settled = Needs(self.settled.tools | {*tools}, self.settled.variables | {*variables})
        return replace(self, settled=settled)


def needs_of(turn: Turn) -> Needs:
    """Return what a turn had: from its journal, or for an older journal, from its mentions and calls.

    Model output adds no variable here: it could name one that was never exposed.
    """
    started = next((event for event in turn.log if isinstance(event, TurnStarted)), None)
    mentioned = mentions(turn.prompt.text)
    called_names = {own_name(call.name, call.qualified_name) for call in turn.calls if call.status != "not_found"}
    if started is None or started.tools is None:
        tools = {*mentioned.tools, *called_names}
    else:
        tools = {own_name(name, started.qualified_names.get(name, "")) for name in started.tools}
    variables = mentioned.variables if started is None or started.exposed is None else started.exposed
    return Needs(frozenset(tools) - _OWN, frozenset(variables))


def earlier_state(turns: Iterable[Turn]) -> EarlierState:
    """Return what a chat had at its end: from the last turn, and from every earlier turn that does not record it."""
    tools: frozenset[str] = frozenset()
    variables: frozenset[str] = frozenset()
    ids: list[str] = []
    for turn in sorted(turns, key=lambda item: item.started or 0.0):
        ids.append(turn.turn_id)
        needs, started = needs_of(turn), next((event for event in turn.log if isinstance(event, TurnStarted)), None)
        tools = needs.tools if started and started.tools is not None else tools | needs.tools
        variables = needs.variables if started and started.exposed is not None else variables | needs.variables
    return EarlierState(Needs(tools, variables), frozenset(ids))


def format_names(names: Iterable[str]) -> str:
    """Format names in a line, at most `MAX_NAMES`."""
    return list_names(names, MAX_NAMES)
