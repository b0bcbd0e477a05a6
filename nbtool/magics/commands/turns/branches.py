"""The conversation tree: `branch`, `switch`, `hide`, `unhide`, `pin`, `unpin`, `delete`."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence

from nbtool.blocks.history.tree_rows import prompt_line
from nbtool.chat.chat import Chat
from nbtool.chat.conversation import BRANCH_MARK, Conversation
from nbtool.chat.conversation.tree import Node
from nbtool.chat.turn import Turn
from nbtool.errors import BadUsage
from nbtool.ids import short_id
from nbtool.magics.commands.context import CommandContext, format_table
from nbtool.text import count_of, shorten

SWITCH = "--switch"
"""Switches to a turn instead of starting a branch after it."""

BELOW_FLAG = "--below"
"""Means all versions of a turn and the turns after it."""

AS, CUT, PREVIEW = "--as", "--cut", "--preview"
"""Make a chat of its own, delete here what it gets, and only list that."""

UNKNOWN = {
    "--name": f"A branch has a number and no name; `%chat branch b2 {AS} NAME` makes its turns a chat of that name."
}
"""What is said of an option that a person may expect here."""

OPTIONS = (SWITCH, AS, BELOW_FLAG, CUT, PREVIEW)
"""The options of `branch`."""

_BRANCH = re.compile(rf"{BRANCH_MARK}[0-9]+")
"""A branch as the list of branches names it."""

_EXISTING = re.compile(rf"{BRANCH_MARK}[0-9]+|[0-9]+\.[0-9]+")
"""A branch of the list of branches, or a version of a turn: what `branch` switches to."""

MAX_PROMPT = 60
"""Characters of a prompt shown in lists."""


def branch(context: CommandContext, args: list[str]) -> str:
    """Start a branch after a turn, or switch: `branch [TO]`.

    TO is a turn, by its number or id: the next turn follows it, and the turns after it are kept and no longer sent.
    Without TO, the next turn stands beside the last one. Or TO is a branch as `%chat history` lists it, such as `b2`,
    or a version, such as `2.1` (version 1 of turn 2): the chat switches to it, and goes on after its last turn. With
    `--switch` a turn is switched to in the same way: to its version, and the branch that it is on.

    `branch [TURN] --as NAME` makes the line up to TURN, or of a branch such as `b2`, a chat of its own, a copy; with
    `--below` it has TURN and all that follow it, and with `--cut` too they are deleted here. `--preview` in place of
    `--as NAME` lists them.
    """
    if AS in args or PREVIEW in args:
        return _extract(context, args)
    words = [arg for arg in args if arg != SWITCH]
    turn = _single_word(words, f"branch [TURN|BRANCH|VERSION] [{SWITCH}]", may_lack=SWITCH not in args)
    line = context.chat.tree.active_path
    if turn and _EXISTING.fullmatch(turn):
        return switch(context, [turn])
    if turn and SWITCH in args:
        return switch(context, [context.chat.find_turn(turn)[1].turn_id])
    node = context.chat.branch(turn)
    start = f"The next turn follows {_label(context, node)}." if node else "The next turn starts the conversation."
    return f"{start}{way_back(context, line)}"


def _extract(context: CommandContext, args: list[str]) -> str:
    """Make a chat of its own of a line or a subtree, or list its turns."""
    usage = f"branch [TURN|BRANCH] {AS} NAME [{BELOW_FLAG} [{CUT}]]"
    name, words = "", [arg for arg in args if arg not in (BELOW_FLAG, CUT, PREVIEW)]
    if AS in words:
        at = words.index(AS)
        name, words = next(iter(words[at + 1 :]), ""), [*words[:at], *words[at + 2 :]]
    subtree, chat = BELOW_FLAG in args, context.chat
    turn = _single_word(words, usage, may_lack=True) or None
    if turn and _BRANCH.fullmatch(turn):
        turn = chat.find_branch(turn)
    if PREVIEW in args:
        rows = [
            (chat.tree.number_of(item), prompt_line(item, MAX_PROMPT))
            for item in chat.turns_to_extract(turn, subtree=subtree)
        ]
        return f"A chat of its own would have {count_of(len(rows), 'turn')}:\n{format_table(*rows)}"
    if not name.isidentifier() or context.kernel.has_chat(name) or name in context.kernel.shell.user_ns:
        raise BadUsage(
            f"No chat can be called {shorten(name, MAX_PROMPT)!r} here.",
            fix="Name one that is free, such as `branch 2 --as other`.",
        )
    made = chat.extract(turn, subtree=subtree, cut=CUT in args)
    context.kernel.chats[name] = made
    took = count_of(sum(1 for _ in made.tree.all_versions()), "turn")
    cut = " They are deleted here, until `%chat undo`." if CUT in args else ""
    return f"The chat {name} has copies of {took}; `%%chat -c {name}` goes on with it.{cut}"


def name_branch(context: CommandContext, turn: str, name: str) -> str:
    """Make a chat of its own with a name of the branch of a turn, down to its end; raises as `branch`."""
    end = context.chat.tree.end_below(context.chat.find_turn(turn)[0]).turn
    return _extract(context, [end.turn_id if end else turn, AS, name])


def switch(context: CommandContext, args: list[str]) -> str:
    """Switch to a branch or a version of a turn: `switch TURN`.

    A branch is selected as `%chat history` lists it (`b2`, or `2` alone) or by one of its turns. `2.1` is version 1
    of turn 2. The next turn follows its last turn, and only its turns are sent.
    """
    node = context.chat.switch(_single_word(args, "switch BRANCH") or "")
    path = context.chat.tree.active_path
    count = len(node.versions)
    version = f", version {node.current + 1} of {count}" if count > 1 else ""
    turns = count_of(len(path), "turn")
    end = "there" if node is path[-1] else f"with {_label(context, path[-1])}"
    return f"Switched to {_label(context, node)}{version}; the line has {turns} and ends {end}."


def branches(chat: Conversation, *, has_ids: bool = False) -> str:
    """List the branches, each with the first prompt that it alone has, and mark the active one; empty for only one."""
    ends, line = chat.tree.branches(), chat.tree.active_path
    if all(end in line for end in ends):
        return ""
    rows, paths = [], [chat.tree.path(end) for end in ends]
    lines = paths if any(end in line for end in ends) else [*paths, line]  # the active line ends before a branch begins
    shared = Counter(node.node_id for path in lines for node in path)
    for number, (end, path) in enumerate(zip(ends, paths, strict=True), 1):
        apart = next((node for node in path if shared[node.node_id] == 1), end)
        mark = "*" if end in line else " "
        prompt = prompt_line(apart.turn, MAX_PROMPT) if apart.turn else ""
        turns = "turn" if len(path) == 1 else "turns"
        end_id = turn_id(end.turn, has_ids) if end.turn else ""
        rows.append((f"{mark} {BRANCH_MARK}{number}", f"{len(path)} {turns}; {prompt}{end_id}"))
    return f"Branches (`%chat branch {BRANCH_MARK}2` switches to the second):\n{format_table(*rows)}"


def way_back(context: CommandContext, line: Sequence[Node[Turn]]) -> str:
    """Return the command that goes back to a line that was active until now; empty if nothing of it was left."""
    last = line[-1].turn if line else None
    if last is None or line[-1] in context.chat.tree.active_path:
        return ""
    return f" `%chat branch {short_id(last.turn_id)}` goes back to the line that was active until now."


def turn_id(turn: Turn, has_ids: bool) -> str:
    """Return the id of a turn for the end of its line; empty where it is not asked for."""
    return f"  [{turn.turn_id}]" if has_ids else ""


def _single_word(args: list[str], usage: str, *, may_lack: bool = False) -> str | None:
    """Return the single argument of a command."""
    if len(args) == 1:
        return args[0]
    if not args and may_lack:
        return None
    problem = f"not {' '.join(args)!r}" if args else "and none was given"
    raise BadUsage(
        f"%chat {usage.split()[0]} takes one turn, {problem}.", fix=f"`%chat {usage}`; `%chat history` lists the turns."
    )


def turn_label(chat: Chat, turn: Turn) -> str:
    """Return the number of a turn, or its id on another branch, and its prompt."""
    number = chat.tree.number_of(turn)
    prompt = prompt_line(turn, MAX_PROMPT)
    return f"turn {number} ({prompt})" if number else f"{short_id(turn.turn_id)} ({prompt})"


def _label(context: CommandContext, node: Node[Turn]) -> str:
    return turn_label(context.chat, node.turn) if node.turn else "a position without turns"


def count_versions(chat: Conversation) -> int:
    """Count the versions of all turns."""
    return sum(len(node.versions) for node in chat.tree.nodes())
