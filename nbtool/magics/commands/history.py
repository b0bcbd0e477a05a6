"""What was said: `history`, `show`, `new`."""

from __future__ import annotations

from IPython.display import display

from nbtool.blocks.plain import one_line
from nbtool.blocks.static_html import saved
from nbtool.magics.commands.here import Command, Here, named_turn, table


def history(here: Here, _: list[str]) -> str:
    """List the turns of the active line."""
    rows = [
        (turn.turn_id, f"{turn.status}; {_versions(node.current, len(node.versions))}{one_line(turn.prompt.text, 70)}")
        for node in here.chat.tree.line
        if (turn := node.turn)
    ]
    return table(*rows) if rows else "Nothing was said yet."


def show(here: Here, words: list[str]) -> str:
    """Show a turn again, the last one when none is named."""
    display(saved(named_turn(here.chat, words).transcript().document()), raw=True)  # type: ignore[no-untyped-call]  # IPython ships no types for it
    return ""


def new(here: Here, _: list[str]) -> str:
    """Start the conversation afresh; what was said stays in the history."""
    here.chat.tree.branch(None)
    return "A new conversation begins with the next cell."


COMMANDS: dict[str, Command] = {"history": history, "show": show, "new": new}


def _versions(current: int, count: int) -> str:
    return f"version {current + 1} of {count}; " if count > 1 else ""
