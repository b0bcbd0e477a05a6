"""Cells that do something with a turn: a page puts them below, and a person looks at them and runs them."""

from __future__ import annotations

import shlex
from typing import Literal

from nbtool.blocks.plain import visible
from nbtool.chat.turn import Turn

Said = Literal["rerun", "edit", "execute", "resume"]

_FLAGS: dict[Said, str] = {"rerun": "--rerun", "edit": "--edit", "execute": "--re-execute", "resume": "--resume"}


def of_chat(name: str) -> str:
    """Write which conversation a magic is about, after its name; nothing for the one that is meant anyway."""
    return "" if name == "main" else f" -c {shlex.quote(name)}"


def said_again(deed: Said, turn: Turn, *, chat: str, from_round: int = 0) -> str:
    """Write the cell that says a turn once more: as it was, edited, with its tools run again, or to its end."""
    first = f" --from {from_round}" if deed in ("rerun", "execute") and from_round > 1 else ""
    prompt = f"\n{visible(turn.prompt.text)}" if deed == "edit" else ""
    return f"%%chat{of_chat(chat)} {_FLAGS[deed]} {turn.turn_id}{first}{prompt}"


def about(word: str, turn: Turn, *, chat: str) -> str:
    """Write the line `%chat WORD TURN`."""
    return f"%chat{of_chat(chat)} {word} {turn.turn_id}"
