"""The agents that can answer in a cell, and what the one of a chat is and may do."""

from __future__ import annotations

from nbtool.blocks.sanitize import one_line
from nbtool.chat.agent_turns import agent_of
from nbtool.chat.chat import Chat
from nbtool.errors import NbtoolError
from nbtool.magics.commands.context import format_table
from nbtool.wire.agents.profiles import PROFILES, REFUSALS, find_profile

MAX_SHOWN = 200
"""Characters of what an agent says of itself that are shown."""

NOT_STARTED = "{label}, which starts with the first prompt"
MAY = "call the notebook's tools, through the approvals; its own tools are off, and settings of folders are not read"
NOT_GATED = (
    "what it sends to its own provider, which has prompts and results from it; its sessions, which it keeps by its own"
    " rules and deleting a turn does not erase"
)
REFUSED = "refused: {reason}"


def describe_agent(chat: Chat) -> list[tuple[str, str]]:
    """Return the agent of a chat, its version and mode, what it may do, and what is not gated; nothing for a model."""
    if not chat.model.is_agent:
        return []
    agent = agent_of(chat)
    session = agent.session if agent else None
    try:
        label = find_profile(chat.model.name).label
    except NbtoolError as error:
        return [("agent", str(error))]
    about = one_line(session.describe(), MAX_SHOWN) if session else NOT_STARTED.format(label=label)
    return [("agent", about), ("  may", MAY), ("  not gated", NOT_GATED)]


def list_agents() -> str:
    """Return the table of the agents: where each is found, or why it cannot be used."""
    from nbtool.wire.agents.settings import find_command  # noqa: PLC0415 - only for this table

    rows = []
    for profile in PROFILES.values():
        try:
            rows.append((profile.model_id, f"{profile.label}, {find_command(profile).command}"))
        except NbtoolError as error:
            rows.append((profile.model_id, str(error)))
    rows += [(f"acp:{name}", REFUSED.format(reason=reason)) for name, reason in REFUSALS.items()]
    return format_table(*rows)
