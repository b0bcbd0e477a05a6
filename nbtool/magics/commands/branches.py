"""The conversation tree: `branch`, `switch`, `hide`, `unhide`, `pin`, `unpin`, `delete`, `undo`."""

from __future__ import annotations

from nbtool.blocks.sanitize import one_line
from nbtool.chat.conversation import Conversation
from nbtool.chat.tree import Node
from nbtool.chat.turn import Turn
from nbtool.errors import BadUsage
from nbtool.magics.command_context import Command, Here, table

MAX_PROMPT = 60
"""Characters of a prompt that a list shows."""


def branch(here: Here, words: list[str]) -> str:
    """Let the next cell follow a turn, beside what followed it; without one it replaces the last."""
    turn = _one(words, "branch [TURN]", may_lack=True)
    node = here.chat.branch(turn)
    return f"The next turn follows {_named(node)}." if node else "The next turn begins the conversation."


def switch(here: Here, words: list[str]) -> str:
    """Go to a branch, by its number in `%chat history` or a turn of it, or to another version of a turn."""
    node = here.chat.switch(_one(words, "switch BRANCH") or "")
    last = here.chat.tree.line[-1]
    return f"{_named(node)} counts now; the line has {len(here.chat.tree.line)} turns and ends with {_named(last)}."


def hide(here: Here, words: list[str]) -> str:
    """Tell a turn to the model no more; it is shown all the same."""
    return f"{_named(here.chat.hide(_one(words, 'hide [TURN]', may_lack=True)))} is not told to the model."


def unhide(here: Here, words: list[str]) -> str:
    """Tell a hidden turn to the model again."""
    return f"{_named(here.chat.show(_one(words, 'unhide [TURN]', may_lack=True)))} is told to the model."


def pin(here: Here, words: list[str]) -> str:
    """Tell a turn to the model even where the window of turns is too short for it."""
    return f"{_named(here.chat.pin(_one(words, 'pin [TURN]', may_lack=True)))} is always told to the model."


def unpin(here: Here, words: list[str]) -> str:
    """Tell a pinned turn only while the window of turns reaches back to it."""
    return f"{_named(here.chat.unpin(_one(words, 'unpin [TURN]', may_lack=True)))} is pinned no more."


def delete(here: Here, words: list[str]) -> str:
    """Delete a version of a turn; with --below, its place and all that follows; `undo` brings it back."""
    below = "--below" in words
    turn = _one([word for word in words if word != "--below"], "delete TURN [--below]")
    _, version = here.chat.named(turn)
    before = _count(here.chat)
    here.chat.delete(version, below=below)
    gone = before - _count(here.chat)
    return f"Deleted {version.turn_id}{f' and what followed ({gone} in all)' if below else ''}; `%chat undo` undoes it."


def undo(here: Here, words: list[str]) -> str:
    """Bring back what was deleted last."""
    if words:
        raise BadUsage(f"%chat undo takes no words, not {' '.join(words)!r}.")
    before = _count(here.chat)
    here.chat.undo()
    back = _count(here.chat) - before
    return f"{back} {'version is' if back == 1 else 'versions are'} back."


def branches(chat: Conversation) -> str:
    """List the branches, the one of the active line marked; empty where there is no other."""
    ends, line = chat.tree.branches(), chat.tree.line
    if all(end in line for end in ends):
        return ""
    rows = []
    for number, end in enumerate(ends, 1):
        path = chat.tree.path(end)
        apart = next((node for node in path if node not in line), end)
        mark = "*" if end in line else " "
        said = one_line(apart.turn.prompt.text, MAX_PROMPT) if apart.turn else ""
        turns = "turn" if len(path) == 1 else "turns"
        rows.append((f"{mark} {number}", f"{_named(end)}; {len(path)} {turns}; {said}"))
    return "Branches (`%chat switch NUMBER`):\n" + table(*rows)


COMMANDS: dict[str, Command] = {
    "branch": branch,
    "switch": switch,
    "hide": hide,
    "unhide": unhide,
    "pin": pin,
    "unpin": unpin,
    "delete": delete,
    "undo": undo,
}


def _one(words: list[str], usage: str, *, may_lack: bool = False) -> str | None:
    """Give the one word that a command takes."""
    if len(words) == 1:
        return words[0]
    if not words and may_lack:
        return None
    said = f"not {' '.join(words)!r}" if words else "and none was named"
    raise BadUsage(f"%chat {usage.split()[0]} takes one turn, {said}.", fix=f"`%chat {usage}`; `%chat history` lists.")


def _named(node: Node[Turn]) -> str:
    return node.turn.turn_id if node.turn else "a place without turns"


def _count(chat: Conversation) -> int:
    return sum(len(node.versions) for node in chat.tree.nodes())
