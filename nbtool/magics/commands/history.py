"""What was said: `history`, `new`."""

from __future__ import annotations

from nbtool.blocks.sanitize import one_line
from nbtool.chat.restore import Interrupted
from nbtool.chat.tree import Node
from nbtool.chat.turn import Turn
from nbtool.magics.command_context import Command, Here, table
from nbtool.magics.commands.branches import branches
from nbtool.magics.commands.journal import about_history


def history(here: Here, words: list[str]) -> str:
    """List the active line and the branches; with words, look into the journal of all chats (`history chats` …)."""
    if words:
        return about_history(here, words)
    rows = [(turn.turn_id, _told(node, turn)) for node in here.chat.tree.line if (turn := node.turn)]
    listed = table(*rows) if rows else "Nothing was said yet."
    return "\n\n".join(filter(None, [listed, branches(here.chat)]))


def new(here: Here, _: list[str]) -> str:
    """Start the conversation afresh; what was said stays in the history."""
    here.chat.new()
    return "A new conversation begins with the next cell."


COMMANDS: dict[str, Command] = {"history": history, "new": new}


def _told(node: Node[Turn], turn: Turn) -> str:
    """Tell of a turn in one line: how it ended, its place among its versions, and what was said."""
    others = ", ".join(version.turn_id for version in node.versions if version is not turn)
    versions = f"version {node.current + 1} of {len(node.versions)} (others: {others})" if others else ""
    ended = "interrupted" if isinstance(turn.error, Interrupted) else turn.status
    marks = [ended, versions, "hidden" if node.hidden else "", "pinned" if node.pinned else ""]
    return "; ".join([*filter(None, marks), one_line(turn.prompt.text, 70)])
