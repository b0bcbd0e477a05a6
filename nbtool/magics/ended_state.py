"""What ends with the magics, at `%reload_ext` or `%unload_ext`, and the command that continues each chat."""

from __future__ import annotations

from nbtool.blocks.question import describe_subject
from nbtool.blocks.sanitize import one_line
from nbtool.chat.chat import Chat
from nbtool.events import CallAsked
from nbtool.ids import short_id
from nbtool.magics.flags.config import NbTool
from nbtool.magics.kernel_chats import KernelChats
from nbtool.settings import display_path
from nbtool.text import count_of, list_names

MAX_NAMED = 10
"""Chats, and settings, that are named one by one."""

MAX_NAME = 80
"""Characters of the name of a chat, or of a call, that are shown."""

MAX_PATH = 300
"""Characters of the path of a recording that a line shows."""


def describe_ended(chats: KernelChats | None, settings: NbTool) -> str:
    """Return a line for each thing that ends with the magics; empty if nothing does. Call it before they are stopped.

    Without `chats` no cell has used nbtool. A `Chat` that the notebook has under a name is still there: only its
    running turns are stopped.
    """
    lines = [*(_ended_chats(chats) if chats else ()), _settings_line(settings)]
    return "\n".join(filter(None, lines))


def _ended_chats(chats: KernelChats) -> list[str]:
    return [
        *_named_lines([line for name, chat in chats.chats.items() if (line := _chat_line(chats, name, chat))]),
        *(line for name, chat in chats.chats.items() for line in _turn_lines(name, chat)),
        f"The server of `%{chats.magic} serve` was stopped: its clients are cut off." if chats.server else "",
        _recording_line(chats),
    ]


def _chat_line(chats: KernelChats, name: str, chat: Chat) -> str:
    turns = sum(1 for node in chat.tree.nodes() if node.versions)
    if not turns or chats.notebook_chat(name) is chat:
        return ""
    command = f"`%{chats.magic} open {short_id(chat.chat_id)}` continues it"
    return f"The chat {one_line(repr(name), MAX_NAME)} ended, with {count_of(turns, 'turn')}: {command}."


def _named_lines(lines: list[str]) -> list[str]:
    more = len(lines) - MAX_NAMED
    rest = [f"{count_of(more, 'more chat')} ended: `%chat history list` lists them."] if more > 0 else []
    return [*lines[:MAX_NAMED], *rest]


def _turn_lines(name: str, chat: Chat) -> list[str]:
    """Return the turns of a chat that are stopped, each with the call that waits for a decision, if one does."""
    lines = []
    for turn in chat.running_turns:
        asked = {event.digest: event for event in turn.log if isinstance(event, CallAsked)}
        waiting = [
            describe_subject(asked[open_question])
            for open_question in chat.open_questions(turn)
            if open_question in asked
        ]
        what = f"; it waited for a decision on {one_line(waiting[0], MAX_NAME)}" if waiting else ""
        lines.append(f"A turn of the chat {one_line(repr(name), MAX_NAME)} was stopped{what}. Nothing of it runs now.")
    return lines


def _recording_line(chats: KernelChats) -> str:
    if chats.recording is None:
        return ""
    path = one_line(display_path(chats.recording.path), MAX_PATH)
    return f"The recording {path} is closed: `%{chats.magic} record` or `replay` opens it again."


def _settings_line(settings: NbTool) -> str:
    names = [f"NbTool.{name}" for name in settings.set_here]
    return f"Unset, set them again if needed: {list_names(names, MAX_NAMED)}." if names else ""
