"""An agent in place of a model: what a chat knows of it before a turn; it is imported with every chat, and light."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from nbtool.errors import Unsupported
from nbtool.events import Delta
from nbtool.secret import Secret
from nbtool.wire.agents.profiles import PROVIDER, AgentProfile, find_profile
from nbtool.wire.base import Prompt

if TYPE_CHECKING:
    from nbtool.wire.agents.settings import AgentCommand

DIALECT = "acp"
"""The name of the protocol, where a model has that of its wire."""


@dataclass(frozen=True, slots=True)
class AgentEndpoint:
    """An agent that can be started; a chat makes an endpoint of it for each turn."""

    profile: AgentProfile
    command: AgentCommand = field(repr=False)

    dialect = DIALECT
    provider = PROVIDER
    abilities: frozenset[str] = frozenset()

    @property
    def host(self) -> str:
        """The agent: where it sends what it gets is its own setting."""
        return self.profile.model_id

    @property
    def model(self) -> str:
        """The name of the agent."""
        return self.profile.name

    @property
    def secrets(self) -> list[Secret]:
        """The values of variables that only this agent gets."""
        return self.command.secrets

    async def stream(self, prompt: Prompt) -> AsyncGenerator[Delta, None]:  # noqa: ARG002 - the interface of endpoints
        """Refuse: only a turn of a chat has an agent.

        Raises:
            Unsupported: always.
        """
        raise Unsupported(f"{self.host} answers the turns of a chat only.", fix="Send the prompt in a cell.")
        yield  # type: ignore[unreachable]  # what makes this a generator


def make_agent_endpoint(model_id: str) -> AgentEndpoint:
    """Return the endpoint of an agent; nothing is started.

    Raises:
        nbtool.errors.ModelError: there is no such agent, it is refused, or its command was not found.
        BadUsage: a package is missing.
        PolicyRefused: the administrator's policy does not allow it.
    """
    from nbtool.wire.agents.mapping import require_packages  # noqa: PLC0415 - only where an agent is used
    from nbtool.wire.agents.settings import find_command  # noqa: PLC0415 - the same

    profile = find_profile(model_id)
    command = find_command(profile)
    require_packages()
    return AgentEndpoint(profile, command)
