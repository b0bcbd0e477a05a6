"""Earlier chats in this kernel: a chat of the journal goes on here, also where only one of its turns is named."""

from __future__ import annotations

import re

from nbtool.chat import restore
from nbtool.chat.chat import Chat
from nbtool.chat.journal import journal, queries
from nbtool.errors import BadUsage
from nbtool.magics.command_context import CommandContext
from nbtool.magics.restored_names import restore_names
from nbtool.shorten import shorten

TURN_ID = re.compile(r"turn_\w+")


def reopen_chat_of(context: CommandContext, turn: str) -> str:
    """Let the chat of a turn go on here where this kernel does not know the turn; returns what the person is told.

    That is what the buttons of a saved notebook name on the next day. Only an empty chat is replaced.

    Raises:
        BadUsage: the turn is in no journal, or this chat has turns of its own.
        nbtool.errors.JournalError: the journal cannot be read.
    """
    if not TURN_ID.fullmatch(turn) or _has_turn(context.chat, turn):
        return ""
    chat_ids = journal().read(lambda connection: queries.chats_of_turn(connection, turn))
    if not chat_ids:
        raise BadUsage(
            f"The turn {shorten(turn, 60)} is neither in this chat nor in the journal.",
            fix="Run its cell again, or `%chat open FILE` where you exported it.",
        )
    if len(chat_ids) > 1:
        raise BadUsage(f"In the journal several turns begin with {shorten(turn, 60)}.", fix="Name more of its id.")
    if context.chat.tree.roots:
        raise BadUsage(
            f"The turn {shorten(turn, 60)} belongs to an earlier chat.",
            fix=f"`%chat open {chat_ids[0]}` continues it here, "
            f"`%chat -c earlier open {chat_ids[0]}` beside this chat.",
        )
    return continue_chat(context, context.chat, chat_ids[0])


def continue_chat(context: CommandContext, chat: Chat, chat_id: str) -> str:
    """Let a chat without turns go on with one of the journal; returns what came back and what did not.

    Raises:
        nbtool.errors.JournalError: the journal cannot be read.
    """
    events = journal().read(lambda connection: queries.chat_events(connection, chat_id))
    restore.restore_into(chat, chat_id, events)
    turns = len(chat.tree.active_path)
    message = f"{chat_id} goes on here as {context.name!r}: {turns} turn{'' if turns == 1 else 's'} on its line."
    return f"{message}{restore_names(context.kernel.names, chat)}{_interrupted_note(chat)}"


def _has_turn(chat: Chat, turn: str) -> bool:
    return any(version.turn_id.startswith(turn) for node in chat.tree.nodes() for version in node.versions)


def _interrupted_note(chat: Chat) -> str:
    """Say that the last turn of the line broke off with its kernel, and what goes on with it."""
    last = next((node.turn for node in chat.tree.active_path[-1:]), None)
    is_broken = last is not None and isinstance(last.error, restore.Interrupted)
    return " Its last turn was interrupted; `%%chat --resume` goes on with it." if is_broken else ""
