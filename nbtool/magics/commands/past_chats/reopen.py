"""Continue a chat of the journal in this kernel, selected by its id or by one of its turns."""

from __future__ import annotations

import re

from nbtool.chat.chat import Chat
from nbtool.chat.conversation import restore
from nbtool.chat.journal import journal, queries
from nbtool.errors import BadUsage
from nbtool.magics.commands.context import CommandContext
from nbtool.magics.names.name_restoration import restore_names
from nbtool.text import shorten

TURN_ID = re.compile(r"turn_\w+")


def reopen_chat_of(context: CommandContext, turn: str) -> str:
    """Continue the chat of a turn here if this kernel does not have the turn; return the message for the person.

    The buttons of a notebook that was saved in an earlier kernel need this. Only an empty chat is replaced.

    Raises:
        BadUsage: the turn is not in the journal, or this chat has turns already.
        nbtool.errors.JournalError: the journal cannot be read.
    """
    if not TURN_ID.fullmatch(turn) or has_turn(context.chat, turn):
        return ""
    chat_id = chat_of_turn(turn)
    if context.chat.tree.roots:
        raise BadUsage(
            f"The turn {shorten(turn, 60)} belongs to an earlier chat.",
            fix=f"`%chat open {chat_id}` continues it here, `%chat -c earlier open {chat_id}` beside this chat.",
        )
    return continue_chat(context, context.chat, chat_id)


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


def continue_chat(context: CommandContext, chat: Chat, chat_id: str) -> str:
    """Continue a chat of the journal in a chat without turns; return what was restored and what was not.

    Raises:
        nbtool.errors.JournalError: the journal cannot be read.
    """
    events = journal().read(lambda connection: queries.chat_events(connection, chat_id))
    restore.restore_into(chat.conversation, chat.variables, chat_id, events)
    turns = len(chat.tree.active_path)
    message = f"{chat_id} continues here as {context.name!r}: {turns} turn{'' if turns == 1 else 's'} on its line."
    return f"{message}{restore_names(context.kernel.names, chat)}{_interrupted_note(chat)}"


def has_turn(chat: Chat, turn: str) -> bool:
    """Return whether a chat has a turn whose id starts with this text."""
    return any(version.turn_id.startswith(turn) for node in chat.tree.nodes() for version in node.versions)


def _interrupted_note(chat: Chat) -> str:
    """Return a note that the last turn was interrupted with its kernel, and the command that continues it."""
    last = next((node.turn for node in chat.tree.active_path[-1:]), None)
    is_broken = last is not None and isinstance(last.error, restore.Interrupted)
    return " Its last turn was interrupted; `%%chat --resume` continues it." if is_broken else ""
