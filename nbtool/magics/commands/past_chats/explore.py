"""The history explorer: `explore`."""

from __future__ import annotations

import re

from IPython.display import display

from nbtool.blocks.history.saved_history import HISTORY_MIME
from nbtool.chat.conversation import restore
from nbtool.chat.journal import journal, queries
from nbtool.chat.map_chats import is_map_chat
from nbtool.errors import BadUsage
from nbtool.ids import short_id
from nbtool.magics.commands.context import CommandContext, describe_empty
from nbtool.magics.commands.past_chats.history_source import HistorySource
from nbtool.magics.commands.past_chats.reopen import TURN_ID, chat_of_turn, has_turn
from nbtool.magics.kernel.cell_messages import has_front_end
from nbtool.text import shorten

NUMBER = re.compile(r"[0-9]+(?:\.[0-9]+)?")
"""The number of a turn, and of a version of it."""

STATIC = "--static"
EMPTY_HISTORY = (
    "This chat is empty. `%chat history list` lists earlier chats, `%chat explore ID` shows one, `%chat open ID` "
    "continues it."
)


def explore(context: CommandContext, args: list[str]) -> str:
    """Explore the history: `explore [CHAT|TURN] [--static]`.

    With tree, timelines, search, comparison and totals.

    In a page it is a widget, with a text version below it that a saved notebook keeps; JupyterLab draws the widget of a
    saved notebook from data in it. Its actions insert cells below for the person to run. A past chat of the journal is
    selected by its id or by the id of one of its turns; it is only read. A selected turn is opened first; one of this
    chat may be selected by its number in `%chat history`.
    """
    turns = [arg for arg in args if TURN_ID.fullmatch(arg) or NUMBER.fullmatch(arg)]
    ids = [arg for arg in args if arg != STATIC and arg not in turns]
    if len(ids) > 1:
        raise BadUsage("%chat explore takes at most one chat.", fix="`%chat history list` lists them.")
    if len(turns) > 1 or (turns and ids):
        raise BadUsage("%chat explore takes at most one turn or chat.", fix="`%chat history` lists the turns.")
    ids = ids or [chat_of_turn(turn) for turn in turns if TURN_ID.fullmatch(turn) and not has_turn(context.chat, turn)]
    source = _journal_history(context, ids[0]) if ids else HistorySource(context)
    turn = turn_to_open(source, turns)
    if not source.tree.roots:
        return describe_empty(EMPTY_HISTORY)
    bundle = source.bundle()
    if getattr(context.kernel.shell, "kernel", None) is None:
        return bundle["text/plain"]
    if STATIC not in args and has_front_end(context.kernel.shell):
        # Imported here, so that only `explore` pays for the import of a widget.
        from nbtool.view.explorer_widget import ExplorerWidget  # noqa: PLC0415

        title = title_of(context, source)
        widget = ExplorerWidget(source, title=title, acts=source.actions, turn=turn)
        display({**widget.mimebundle(), HISTORY_MIME: source.saved(title, turn)}, raw=True)  # type: ignore[no-untyped-call]  # IPython ships no types for it
    display(bundle, raw=True)  # type: ignore[no-untyped-call]  # the same
    return ""


def turn_to_open(source: HistorySource, args: list[str]) -> str:
    """Return the full id of the turn to open first; empty if none was given.

    Raises:
        BadUsage: there is no such turn.
    """
    return source.tree.get(args[0])[1].turn_id if args else ""


def title_of(context: CommandContext, source: HistorySource) -> str:
    """Return the title with the chat that is shown; of one that was opened here also the id, if it is of maps."""
    if source.chat_id:
        return f"History of {short_id(source.chat_id)}"
    chat_id = context.chat.chat_id
    return f"History of {context.name}{f' ({short_id(chat_id)})' if is_map_chat(chat_id) else ''}"


def _journal_history(context: CommandContext, begin: str) -> HistorySource:
    """Load a chat from the journal, read-only.

    Raises:
        BadUsage: no chat id, or several, start with `begin`.
        nbtool.errors.JournalError: the journal cannot be read.
    """
    ids = journal().read(lambda connection: queries.find_chats(connection, begin))
    if ids == [context.chat.chat_id]:
        return HistorySource(context)
    if len(ids) != 1:
        many = "several chat ids start" if ids else "no chat id starts"
        raise BadUsage(f"In the journal {many} with {shorten(begin, 60)!r}.", fix="`%chat history list` lists them.")
    events = journal().read(lambda connection: queries.chat_events(connection, ids[0]))
    return HistorySource(context, restore.restore_tree(events), chat_id=ids[0])
