"""The output of a finished turn, as a notebook saves it."""

from __future__ import annotations

from typing import Any

from nbtool.blocks.render.mimebundle import turn_mimebundle
from nbtool.chat.chat import Chat
from nbtool.chat.turn import Turn

IN_KERNEL = "in this kernel: free, nothing is sent"
"""Follows the name of the model that has no host and no price."""


def host_fields(turn: Turn, chat: Chat) -> dict[str, Any]:
    """Return the model with where it is reached, if that is not the provider's own host; for a turn's head."""
    if turn.model != chat.model.name or turn.replayed:
        return {}
    if chat.model.is_in_kernel:
        return {"model": f"{turn.model} ({IN_KERNEL})"}
    host = chat.model.foreign_host
    return {"model": f"{turn.model} at {host}"} if host else {}


def saved_turn_bundle(turn: Turn, chat: Chat, name: str) -> dict[str, Any]:
    """Return the mimebundle of a finished turn; its page offers the other versions, and cells about the chat `name`."""
    transcript = turn.transcript()
    transcript.update_head(**host_fields(turn, chat), **chat_field(name), **version_fields(turn, chat))
    return turn_mimebundle(transcript.document(), transcript.media)


def earlier_turn_bundle(turn: Turn) -> dict[str, Any]:
    """Return the mimebundle of a turn whose chat is not of this kernel: its host and other versions are not shown."""
    transcript = turn.transcript()
    return turn_mimebundle(transcript.document(), transcript.media)


def chat_field(name: str) -> dict[str, str]:
    """Return the head field that names the chat of a turn; none for the usual one."""
    return {} if name == "main" else {"chat": name}


def version_fields(turn: Turn, chat: Chat) -> dict[str, Any]:
    """Return the head fields that say which version of its place a turn is; none where it is the only one."""
    versions = chat.tree.find(turn.turn_id).versions
    if len(versions) < 2:
        return {}
    turns = [version.turn_id for version in versions]
    return {"version": versions.index(turn) + 1, "versions": len(versions), "turns": turns}
