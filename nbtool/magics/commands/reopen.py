"""Earlier chats in this kernel: a chat of the journal goes on here, also where only one of its turns is named."""

from __future__ import annotations

import re

from nbtool.chat import restore
from nbtool.chat.chat import Chat
from nbtool.chat.journal import journal, queries
from nbtool.errors import BadUsage
from nbtool.magics.command_context import Here
from nbtool.magics.restored_names import restore_names
from nbtool.shorten import shorten

TURN_ID = re.compile(r"turn_\w+")


def reopen_chat_of(here: Here, turn: str) -> str:
    """Let the chat of a turn go on here where this kernel does not know the turn; returns what the person is told.

    That is what the buttons of a saved notebook name on the next day. Only an empty chat is replaced.

    Raises:
        BadUsage: the turn is in no journal, or this chat has turns of its own.
        nbtool.errors.JournalError: the journal cannot be read.
    """
    if not TURN_ID.fullmatch(turn) or _knows(here.chat, turn):
        return ""
    found = journal().read(lambda connection: queries.chats_of_turn(connection, turn))
    if not found:
        raise BadUsage(
            f"The turn {shorten(turn, 60)} is neither in this chat nor in the journal.",
            fix="Run its cell again, or `%chat open FILE` where you exported it.",
        )
    if len(found) > 1:
        raise BadUsage(f"In the journal several turns begin with {shorten(turn, 60)}.", fix="Name more of its id.")
    if here.chat.tree.roots:
        raise BadUsage(
            f"The turn {shorten(turn, 60)} belongs to an earlier chat.",
            fix=f"`%chat open {found[0]}` continues it here, `%chat -c earlier open {found[0]}` beside this chat.",
        )
    return continue_chat(here, here.chat, found[0])


def continue_chat(here: Here, chat: Chat, chat_id: str) -> str:
    """Let a chat without turns go on with one of the journal; returns what came back and what did not.

    Raises:
        nbtool.errors.JournalError: the journal cannot be read.
    """
    events = journal().read(lambda connection: queries.chat_events(connection, chat_id))
    restore.into(chat, chat_id, events)
    turns = len(chat.tree.line)
    said = f"{chat_id} goes on here as {here.name!r}: {turns} turn{'' if turns == 1 else 's'} on its line."
    return f"{said}{restore_names(here.kernel.names, chat)}{_broken(chat)}"


def _knows(chat: Chat, turn: str) -> bool:
    return any(version.turn_id.startswith(turn) for node in chat.tree.nodes() for version in node.versions)


def _broken(chat: Chat) -> str:
    """Say that the last turn of the line broke off with its kernel, and what goes on with it."""
    last = next((node.turn for node in chat.tree.line[-1:]), None)
    is_broken = last is not None and isinstance(last.error, restore.Interrupted)
    return " Its last turn was interrupted; `%%chat --resume` goes on with it." if is_broken else ""
