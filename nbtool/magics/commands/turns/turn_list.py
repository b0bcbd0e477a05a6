"""The turns of this chat: `history`, `new`."""

from __future__ import annotations

from collections import Counter

from nbtool.blocks.history.tree_rows import prompt_line
from nbtool.blocks.labels import TURN_STATUS_WORDS
from nbtool.chat.conversation.restore import Interrupted
from nbtool.chat.conversation.tree import Node
from nbtool.chat.turn import Turn
from nbtool.magics.commands.context import CommandContext, describe_empty, format_table
from nbtool.magics.commands.past_chats.journal_admin import history_admin
from nbtool.magics.commands.turns.branches import branches, turn_id, way_back
from nbtool.magics.views.served import client_of
from nbtool.text import count_of

IDS = "--ids"
EARLIER_CALLS = (
    "This chat is empty. Calls of before this kernel or `%chat serve` are in the history: `%chat history list`."
)


def history(context: CommandContext, args: list[str]) -> str:
    """List the turns of the chat and its branches.

    A turn is selected by its number wherever a command takes one, a version of it as `2.1`. With `--ids`, each line
    ends with the id of its turn, which also another kernel knows. With other arguments, query the journal of all
    chats: `history list [--all]` lists them, `history search TEXT` finds turns, `history frame [NAME]` binds a data
    frame of turns; `history vacuum [DAYS]` and `history erase all|ID` delete from it.
    """
    has_ids = args == [IDS]
    if args and not has_ids:
        return history_admin(context, args)
    turns = context.chat.tree.numbered_turns()
    rows = [(str(number), _turn_line(number, node, turn, has_ids)) for number, (node, turn) in turns.items()]
    lines = format_table(*rows) if rows else EARLIER_CALLS if client_of(context.name) else describe_empty()
    return "\n\n".join(filter(None, [lines, branches(context.chat, has_ids=has_ids)]))


def new(context: CommandContext, _: list[str]) -> str:
    """Start a new conversation; the former one is kept.

    It stays as a branch of this chat, to which `branch` goes back; model, tools and variables stay too.
    """
    line = context.chat.tree.active_path
    context.chat.new()
    return f"The next cell starts a new conversation.{way_back(context, line)}"


def _turn_line(number: int, node: Node[Turn], turn: Turn, has_ids: bool) -> str:
    """Describe a turn in one line: status, calls without a result, version, prompt, and its id where asked for."""
    others = ", ".join(f"{number}.{at}" for at, version in enumerate(node.versions, 1) if version is not turn)
    versions = f"version {node.current + 1} of {len(node.versions)} (others: {others})" if others else ""
    status = TURN_STATUS_WORDS.get(turn.status, turn.status)
    ended = "interrupted" if isinstance(turn.error, Interrupted) else status
    marks = [
        ended,
        _calls_without_result(turn),
        versions,
        "hidden" if node.hidden else "",
        "pinned" if node.pinned else "",
    ]
    return "; ".join([*filter(None, marks), prompt_line(turn, 70)]) + turn_id(turn, has_ids)


def _calls_without_result(turn: Turn) -> str:
    """Return how many calls of a turn ended without a result, by what came of them: `2 calls denied`."""
    counts = Counter(call.status for call in turn.calls if call.status != "ok")
    return ", ".join(f"{count_of(number, 'call')} {status.replace('_', ' ')}" for status, number in counts.items())
