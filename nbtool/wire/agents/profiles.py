"""What is known of each agent: its command, how its own tools are switched off, how a call of the notebook is known."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from nbtool.errors import UnknownModel, Unsupported
from nbtool.text import shorten

PROVIDER = "acp"
"""What the id of an agent begins with: `acp:claude`."""

SERVER_NAME = "notebook"
"""The name under which an agent gets the tools of a turn."""

LEVEL = "notebook only"
"""What every agent may do here: call the notebook's tools, and nothing else."""

MAX_NAME = 40
"""Characters of an unknown name that an error shows."""

OWN_TOOLS = "tools"
"""What follows `+` in an id that asks for the agent's own tools."""

Json = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class AgentProfile:
    """One agent.

    Args:
        name: follows `acp:`.
        label: what people call it.
        command: the usual name of the program that speaks the protocol.
        install: how a person installs that program.
        log_in: what a person runs to log in; nbtool never does it.
        mode: the mode in which it asks before it uses a tool.
        tested: the newest version that was tried.
        call_seconds: how long a call of the notebook may wait for a person; the agent gives up later.
        session_options: the `_meta` of a new session, which leaves the agent without tools and settings of its own.
        environment: variables that are set for it.
        variables: names of its own variables, which it gets if this kernel has them.
        tool_names: the names of the tool in a report of a call; only of fields that a command or a title cannot fill.
        tool_prefix: what the names of the notebook's tools begin with.
        server_of_question: the server of the tool in a request for permission; None if it does not say.
    """

    name: str
    label: str
    command: str
    install: str
    log_in: str
    mode: str
    tested: str
    call_seconds: float
    tool_names: Callable[[Json], list[object]] = field(repr=False)
    tool_prefix: str
    server_of_question: Callable[[Json], str | None] = field(repr=False)
    session_options: Json = field(default_factory=dict, repr=False)
    environment: Mapping[str, str] = field(default_factory=dict, repr=False)
    variables: tuple[str, ...] = ()

    @property
    def model_id(self) -> str:
        """The id that `-m` takes."""
        return f"{PROVIDER}:{self.name}"

    def is_notebook_call(self, call: Json) -> bool | None:
        """Whether a reported call is of a tool of the notebook; None if the report does not name its tool."""
        names = self.tool_names(call)
        return all(isinstance(name, str) and name.startswith(self.tool_prefix) for name in names) if names else None


def _claude_meta(call: Json) -> Json:
    meta = call.get("_meta")
    own = meta.get("claudeCode") if isinstance(meta, Mapping) else None
    return own if isinstance(own, Mapping) else {}


def _tool_names_of_claude(call: Json) -> list[object]:
    return [item for item in (call.get("name"), _claude_meta(call).get("toolName")) if item is not None]


def _server_of_claude(call: Json) -> str | None:
    server = _claude_meta(call).get("mcpServer")
    if server is None:
        return None
    return str(server.get("name", "")) if isinstance(server, Mapping) else ""


PROFILES = {
    "claude": AgentProfile(
        "claude",
        "Claude Code",
        "claude-agent-acp",
        "It is not `claude` itself, but its adapter: npm install --global @agentclientprotocol/claude-agent-acp.",
        "claude",
        mode="default",
        tested="0.101.0",
        call_seconds=280.0,
        tool_names=_tool_names_of_claude,
        tool_prefix=f"mcp__{SERVER_NAME}__",
        server_of_question=_server_of_claude,
        session_options={
            "claudeCode": {
                "options": {
                    "tools": [],
                    "settingSources": [],
                    "strictMcpConfig": True,
                    "promptSuggestions": False,  # else a request more for each prompt, which nobody sees
                    "title": "nbtool",  # else a request more for each session
                }
            }
        },
        environment={
            "DISABLE_AUTOUPDATER": "1",
            "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
            "ENABLE_TOOL_SEARCH": "false",
            "NO_BROWSER": "1",
        },
        variables=("CLAUDE_CONFIG_DIR",),
    )
}
"""The agents that can be used, by name."""

REFUSALS = {
    "codex": "its models bring tools of their own with them (apply_patch, exec), whatever is switched off",
    "opencode": "what it reports of a call has no field by which a call of the notebook is told from its own",
    "gemini": "it was not tried whether it can be left without tools of its own",
}
"""Why other agents are refused: that they have no effect without a card was not shown of them."""


def is_agent_id(model_id: str) -> bool:
    """Whether a model id names an agent."""
    return model_id.strip().lower().startswith(f"{PROVIDER}:")


def find_profile(model_id: str) -> AgentProfile:
    """Return the agent that an id names.

    Raises:
        nbtool.errors.Unsupported: it is refused, or its own tools are asked for.
        nbtool.errors.UnknownModel: there is no such agent.
    """
    name, has_extra, extra = model_id.strip().lower().removeprefix(f"{PROVIDER}:").partition("+")
    usable = ", ".join(agent_profile.model_id for agent_profile in PROFILES.values())
    if name in REFUSALS:
        raise Unsupported(f"{PROVIDER}:{name} is refused: {REFUSALS[name]}.", fix=f"Use {usable}.")
    profile = PROFILES.get(name)
    if profile is None:
        raise UnknownModel(f"There is no agent {shorten(name, MAX_NAME)!r}.", fix=f"Use {usable}.")
    if has_extra:
        asked = "An agent's own tools are" if extra == OWN_TOOLS else f"{shorten(extra, MAX_NAME)!r} is"
        raise Unsupported(
            f"{asked} not offered: an agent gets the notebook's tools, and no others.", fix=f"Use {profile.model_id}."
        )
    return profile
