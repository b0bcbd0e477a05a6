"""The conversation tree: `branch`, `switch`, `hide`, `unhide`, `pin`, `unpin`, `delete`, `undo`."""

from __future__ import annotations

from nbtool.blocks.sanitize import one_line
from nbtool.chat.conversation import Conversation
from nbtool.chat.tree import Node
from nbtool.chat.turn import Turn
from nbtool.errors import BadUsage
from nbtool.magics.command_context import Command, CommandContext, format_table

MAX_PROMPT = 60
"""Characters of a prompt that a list shows."""


def branch(context: CommandContext, words: list[str]) -> str:
    """Let the next cell follow a turn, beside what followed it; without one it replaces the last."""
    turn = _single_word(words, "branch [TURN]", may_lack=True)
    node = context.chat.branch(turn)
    return f"The next turn follows {_label(node)}." if node else "The next turn begins the conversation."


def switch(context: CommandContext, words: list[str]) -> str:
    """Go to a branch, by its number in `%chat history` or a turn of it, or to another version of a turn."""
    node = context.chat.switch(_single_word(words, "switch BRANCH") or "")
    path = context.chat.tree.active_path
    return f"{_label(node)} counts now; the line has {len(path)} turns and ends with {_label(path[-1])}."


def hide(context: CommandContext, words: list[str]) -> str:
    """Tell a turn to the model no more; it is shown all the same."""
    return f"{_label(context.chat.hide(_single_word(words, 'hide [TURN]', may_lack=True)))} is not told to the model."


def unhide(context: CommandContext, words: list[str]) -> str:
    """Tell a hidden turn to the model again."""
    return f"{_label(context.chat.show(_single_word(words, 'unhide [TURN]', may_lack=True)))} is told to the model."


def pin(context: CommandContext, words: list[str]) -> str:
    """Tell a turn to the model even where the window of turns is too short for it."""
    return f"{_label(context.chat.pin(_single_word(words, 'pin [TURN]', may_lack=True)))} is always told to the model."


def unpin(context: CommandContext, words: list[str]) -> str:
    """Tell a pinned turn only while the window of turns reaches back to it."""
    return f"{_label(context.chat.unpin(_single_word(words, 'unpin [TURN]', may_lack=True)))} is pinned no more."


def delete(context: CommandContext, words: list[str]) -> str:
    """Delete a version of a turn; with --below, its place and all that follows; `undo` brings it back."""
    below = "--below" in words
    turn = _single_word([word for word in words if word != "--below"], "delete TURN [--below]")
    _, version = context.chat.find_turn(turn)
    before = _count(context.chat)
    context.chat.delete(version, below=below)
    deleted = before - _count(context.chat)
    return (
        f"Deleted {version.turn_id}{f' and what followed ({deleted} in all)' if below else ''}; `%chat undo` undoes it."
    )


def undo(context: CommandContext, words: list[str]) -> str:
    """Bring back what was deleted last."""
    if words:
        raise BadUsage(f"%chat undo takes no words, not {' '.join(words)!r}.")
    before = _count(context.chat)
    context.chat.undo()
    back = _count(context.chat) - before
    return f"{back} {'version is' if back == 1 else 'versions are'} back."


def branches(chat: Conversation) -> str:
    """List the branches, the one of the active line marked; empty where there is no other."""
    ends, line = chat.tree.branches(), chat.tree.active_path
    if all(end in line for end in ends):
        return ""
    rows = []
    for number, end in enumerate(ends, 1):
        path = chat.tree.path(end)
        apart = next((node for node in path if node not in line), end)
        mark = "*" if end in line else " "
        prompt = one_line(apart.turn.prompt.text, MAX_PROMPT) if apart.turn else ""
        turns = "turn" if len(path) == 1 else "turns"
        rows.append((f"{mark} {number}", f"{_label(end)}; {len(path)} {turns}; {prompt}"))
    return "Branches (`%chat switch NUMBER`):\n" + format_table(*rows)


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


def _single_word(words: list[str], usage: str, *, may_lack: bool = False) -> str | None:
    """Give the one word that a command takes."""
    if len(words) == 1:
        return words[0]
    if not words and may_lack:
        return None
    problem = f"not {' '.join(words)!r}" if words else "and none was named"
    raise BadUsage(
        f"%chat {usage.split()[0]} takes one turn, {problem}.", fix=f"`%chat {usage}`; `%chat history` lists."
    )


def _label(node: Node[Turn]) -> str:
    return node.turn.turn_id if node.turn else "a place without turns"


def _count(chat: Conversation) -> int:
    return sum(len(node.versions) for node in chat.tree.nodes())
