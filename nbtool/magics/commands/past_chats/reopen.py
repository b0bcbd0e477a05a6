"""Continue a chat of the journal in this kernel, or read it, selected by its id or by one of its turns."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import replace
from itertools import count

from nbtool.chain.usage_meter import resume_cell
from nbtool.chat.chat import Chat
from nbtool.chat.conversation import restore
from nbtool.chat.journal import journal, queries
from nbtool.chat.journal.chat_use import use_chat
from nbtool.chat.map_chats import is_map_chat
from nbtool.chat.turn import Turn
from nbtool.errors import BadUsage
from nbtool.events import Event
from nbtool.ids import short_id
from nbtool.magics.commands.context import CommandContext
from nbtool.magics.commands.past_chats.former_model import choose_former_model
from nbtool.magics.names.continued_chat import restore_names
from nbtool.magics.names.namespace import NotebookNamespace
from nbtool.text import count_of, shorten

TURN_ID = re.compile(r"turn_\w+")

OPEN_ELSEWHERE = (
    "Another running kernel has this chat open too: each goes on from what it has, and the journal keeps the turns of"
    " both, on branches of their own."
)

BESIDE = "earlier"
"""The name of a chat that is continued beside the current one; a second one gets a number."""


def reopen_chat_of(context: CommandContext, turn: str) -> tuple[CommandContext, str]:
    """Return the context of the chat that has a turn, and a message for the person if that is not this chat as it was.

    The buttons of a notebook that was saved in an earlier kernel need this: the chat of the journal continues as this
    one if it is empty, else beside it.

    Raises:
        BadUsage: the turn is not in the journal, or it was deleted from a chat of this kernel.
        nbtool.errors.JournalError: the journal cannot be read.
    """
    if not TURN_ID.fullmatch(turn) or has_turn(context.chat, turn):
        return context, ""
    if name := _chat_here(context, turn):
        return replace(context, name=name), f"This turn is of the chat {name!r}, so it is used here."
    chat_id = _earlier_chat(context, turn)
    if not context.chat.tree.roots:
        return context, continue_chat(context, context.chat, chat_id)
    beside = replace(context, name=_free_name(context))
    message = continue_chat(beside, beside.chat, chat_id)
    return beside, f"{message} Cells without `-c` stay with {context.name!r}; `%chat open {beside.name}` changes that."


def read_turn(context: CommandContext, turn: str) -> tuple[Turn, CommandContext | None, str]:
    """Return a turn to be read, with the context of its chat and a message for the person if that is not this chat.

    A turn that only the journal has is read there, and its chat is not continued: then there is no context.

    Raises:
        BadUsage: there is no such turn, or it was deleted from a chat of this kernel.
        nbtool.errors.JournalError: the journal cannot be read.
    """
    if not TURN_ID.fullmatch(turn) or has_turn(context.chat, turn):
        return context.chat.tree.get(turn)[1], context, ""
    if name := _chat_here(context, turn):
        other = replace(context, name=name)
        return other.chat.tree.get(turn)[1], other, f"This turn is of the chat {name!r}."
    chat_id = _earlier_chat(context, turn, is_read=True)
    return restore.restore_tree(_turn_events(chat_id, turn)).get(turn)[1], None, _only_read(chat_id)


def read_chat_of(context: CommandContext, turn: str) -> tuple[Chat, str]:
    """Return the chat that has a turn, to be read, and a message for the person if that is not this chat.

    One that only the journal has is not continued: it has no name in this kernel, and is not kept. Of a map it has no
    other turn: each is in a conversation of its own, and there may be any number.

    Raises:
        BadUsage: there is no such turn, or it was deleted from a chat of this kernel.
        nbtool.errors.JournalError: the journal cannot be read.
    """
    if not TURN_ID.fullmatch(turn) or has_turn(context.chat, turn):
        return context.chat, ""
    if name := _chat_here(context, turn):
        return context.kernel.chat(name), f"This turn is of the chat {name!r}."
    chat_id = _earlier_chat(context, turn, is_read=True)
    if is_map_chat(chat_id):
        events = _turn_events(chat_id, turn)
    else:
        events = journal().read(lambda connection: queries.chat_events(connection, chat_id))
    names = context.kernel.shell.user_ns
    chat = Chat(notebook=names)
    restore.adopt_tree(chat, chat.variables, restore.restore_tree(events), "its chat is only read")
    restore_names(NotebookNamespace(names), chat)  # beside those of this kernel, which keep nothing of it
    return chat, _only_read(chat_id)


def chat_of_turn(turn: str) -> str:
    """Return the id of the chat of the journal that has a turn.

    Raises:
        BadUsage: no chat has it, or several.
        nbtool.errors.JournalError: the journal cannot be read.
    """
    chat_ids = journal().read(lambda connection: queries.chats_of_turn(connection, turn))
    if not chat_ids:
        raise BadUsage(
            f"The turn {shorten(turn, 60)} is neither in this chat nor in the journal.",
            fix="Run its cell again, or `%chat open FILE` if you exported it.",
        )
    if len(chat_ids) > 1:
        raise BadUsage(f"Several turn ids in the journal start with {shorten(turn, 60)}.", fix="Give more of the id.")
    return chat_ids[0]


def continue_chat(context: CommandContext, chat: Chat, chat_id: str, *, model: str | None = None) -> str:
    """Continue a chat of the journal in a chat without turns; return what was restored and what was not.

    It goes on with its former model, or with the `model` that the person names.

    Raises:
        nbtool.errors.JournalError: the journal cannot be read.
    """
    events = journal().read(lambda connection: queries.chat_events(connection, chat_id))
    restore.restore_into(chat, chat.variables, chat_id, events)
    turns = len(chat.tree.active_path)
    message = f"{short_id(chat_id)} continues here as {context.name!r}: {count_of(turns, 'turn')} on its line."
    names = restore_names(context.kernel.names, chat)
    elsewhere = "" if use_chat(chat_id) else f" {OPEN_ELSEWHERE}"
    notes = (elsewhere, names, choose_former_model(context, model), _interrupted_note(chat))
    return f"{message}{''.join(notes)}"


def has_turn(chat: Chat, turn: str) -> bool:
    """Return whether a chat has a turn whose id starts with this text."""
    return any(version.turn_id.startswith(turn) for node in chat.tree.nodes() for version in node.versions)


def not_on_the_line(chat: Chat, turn: str) -> str:
    """Return a note that the turn by whose id a chat was opened is of another branch; empty if it is on the line."""
    if not TURN_ID.fullmatch(turn) or not has_turn(chat, turn):
        return ""
    if any(node.turn and node.turn.turn_id.startswith(turn) for node in chat.tree.active_path):
        return ""
    return f" The turn {short_id(turn)} is not on it: `%chat branch {short_id(turn)} --switch` goes there."


def _turn_events(chat_id: str, turn: str) -> Iterable[tuple[str, Event]]:
    return journal().read(lambda connection: queries.turn_events(connection, chat_id, turn))


def _only_read(chat_id: str) -> str:
    """Return the message about a turn of the journal, whose chat may be of an earlier kernel or of this one."""
    chat = short_id(chat_id)
    if is_map_chat(chat_id):
        return f"This is a turn of a map, and only read: `%chat explore {chat}` shows the others."
    return f"This turn is of {chat}, which is only read: `%chat open {chat}` continues it."


def _chat_here(context: CommandContext, turn: str) -> str:
    """Return the name of the chat of this kernel that has a turn; empty if none has."""
    return next((name for name, chat in context.kernel.chats.items() if has_turn(chat, turn)), "")


def _earlier_chat(context: CommandContext, turn: str, *, is_read: bool = False) -> str:
    """Return the id of the chat of the journal that has a turn which no chat of this kernel has.

    Raises:
        BadUsage: no chat has it, or several, or one of this kernel does not have it any more, or not yet.
    """
    chat_id = chat_of_turn(turn)
    if not any(chat.chat_id == chat_id for chat in context.kernel.chats.values()):
        return chat_id
    if not is_map_chat(chat_id):
        raise BadUsage(f"The turn {shorten(turn, 60)} was deleted.", fix="`%chat undo` restores what was deleted last.")
    if not is_read:
        raise BadUsage(
            f"The turn {shorten(turn, 60)} was deleted, or a map has added it since its chat was opened here.",
            fix=f"`%chat open {short_id(chat_id)}` opens it again.",
        )
    return chat_id


def _free_name(context: CommandContext) -> str:
    """Return a name for another chat that neither a chat of this kernel nor an object of the notebook has."""
    kernel = context.kernel
    names = (f"{BESIDE}{number if number > 1 else ''}" for number in count(1))
    return next(name for name in names if name not in kernel.chats and name not in kernel.shell.user_ns)


def _interrupted_note(chat: Chat) -> str:
    """Return a note that the last turn was interrupted with its kernel, and the command that continues it."""
    last = next((node.turn for node in chat.tree.active_path[-1:]), None)
    is_broken = last is not None and isinstance(last.error, restore.Interrupted)
    if is_broken and not use_chat(chat.chat_id):
        return " Its last turn had not ended there: wait for it there, and open the chat again."
    if last is None or not is_broken:
        return ""
    return f" Its last turn was interrupted; `{resume_cell(last.turn_id)}` continues it."
