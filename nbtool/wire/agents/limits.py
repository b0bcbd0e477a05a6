"""The limits of agents: seconds, and how much of what they send is taken."""

from __future__ import annotations

from dataclasses import dataclass

START_SECONDS = 60.0
"""Seconds that an agent has to start, and to open a session."""

MODE_SECONDS = 3.0
"""Seconds that an agent has to say that it is in the mode that was set."""

CANCEL_SECONDS = 2.0
"""Seconds that an agent has to end a prompt that was cancelled; then its process is ended."""

QUIET_SECONDS = 30.0
"""Seconds without anything from an agent after which the person learns of it."""

GATHER_SECONDS = 0.05
"""Seconds after a call in which further calls join its round: agents make those of one reply one after the other."""

CALL_SECONDS = 280.0
"""Seconds that a call of the notebook may wait for a person; an agent may have a shorter time of its own."""

MAX_AGENTS = 4
"""Maximum number of agents that run in a kernel at a time; of more, the one that was used longest ago is ended."""

MAX_UPDATES = 10_000
"""Maximum number of updates that wait while a call of the notebook runs; then the agent is ended."""

MAX_CALLS = 10_000
"""Maximum number of calls that an agent reports in one prompt; then it is ended."""

MAX_WAITING = 256
"""Maximum number of calls of the notebook that wait at a time; a further one is refused."""

MAX_REFUSED = 3
"""Maximum number of calls that an agent makes after the answer that no more are possible; then it is ended."""


@dataclass(frozen=True, slots=True)
class AgentLimits:
    """The limits of the agent of one chat; each is described with its default."""

    start: float = START_SECONDS
    mode: float = MODE_SECONDS
    cancel: float = CANCEL_SECONDS
    quiet: float = QUIET_SECONDS
    gather: float = GATHER_SECONDS
    call: float = CALL_SECONDS
    max_agents: int = MAX_AGENTS
    max_updates: int = MAX_UPDATES
    max_calls: int = MAX_CALLS
    max_waiting: int = MAX_WAITING
    max_refused: int = MAX_REFUSED
