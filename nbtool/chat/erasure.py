"""Erasure of a chat or a turn: from the journal, and from the open chats, which send nothing of it any more."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from nbtool.chat.agent_turns import forget_agent, forget_records
from nbtool.chat.chat_base import ChatBase
from nbtool.chat.conversation import open_conversations
from nbtool.chat.journal import journal, retention
from nbtool.chat.turn import Turn
from nbtool.errors import BadUsage
from nbtool.ids import short_id

REASON = "its turn was erased"
"""Why a reference to a result of an erased turn fails."""


@dataclass(frozen=True, slots=True)
class Erased:
    """The number of turns that the journal had, and whether a chat of this process had some of them."""

    turns: int
    was_open: bool


def erase(id_: str = "") -> Erased:
    """Erase a chat or a turn by its full id, or everything.

    An open chat that is erased begins again, with a new id; its model, tools and exposed objects stay, its results and
    notes do not. Of a single turn the results are removed.

    Raises:
        BadUsage: a turn of an open chat that has this is running; nothing was erased.
        nbtool.errors.JournalError: the journal cannot be written; what was open is no longer sent all the same.
    """
    affected = [
        conversation
        for conversation in open_conversations()
        if isinstance(conversation, ChatBase) and _has(conversation, id_)
    ]
    for chat in affected:
        _check_ended(chat)
    forget_records(id_)
    for chat in affected:  # before the journal, so that a turn that starts meanwhile is not written to the old chat
        _forget(chat, id_)
    return Erased(journal().execute(lambda connection: retention.erase(connection, id_)), bool(affected))


def _has(chat: ChatBase, id_: str) -> bool:
    """Return whether a chat has turns that are erased."""
    versions = list(chat.tree.all_versions())
    return bool(versions) if id_ in ("", chat.chat_id) else any(version.turn_id == id_ for version in versions)


def _check_ended(chat: ChatBase) -> None:
    """Refuse while a turn runs: its next request would have the erased turns, and its end would be written again."""
    if running := next(iter(chat.running_turns), None):
        raise BadUsage(
            f"{short_id(running.turn_id)} of an open chat is still running, so nothing was erased.",
            fix="Wait for its end, or stop it: *Stop*, `%chat stop`.",
        )


def _forget(chat: ChatBase, id_: str) -> None:
    variables = chat.variables
    forget_agent(chat)
    if id_ in ("", chat.chat_id):
        chat.erase()
        variables.erase(None, REASON)
        return
    names = [name for turn in chat.tree.all_versions() if turn.turn_id == id_ for name in _results(turn)]
    chat.erase(id_)
    variables.erase(names, REASON)


def _results(turn: Turn) -> Iterator[str]:
    """Yield the names of what a turn has stored: results, long arguments, images and sounds."""
    for call in turn.calls:
        yield from (call.reference, call.arguments_reference)
    yield from (media.name for media in turn.media)
