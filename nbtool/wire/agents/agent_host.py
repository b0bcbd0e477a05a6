"""The agent of one chat: its session goes on as long as it has seen exactly the turns before the next one."""

from __future__ import annotations

import asyncio
import weakref
from dataclasses import dataclass, field
from functools import partial

from nbtool.clock import monotonic
from nbtool.errors import BadUsage
from nbtool.text import count_of
from nbtool.threads.loop import background_loop
from nbtool.wire.agents.limits import AgentLimits
from nbtool.wire.agents.profiles import AgentProfile
from nbtool.wire.agents.session import AgentSession
from nbtool.wire.agents.session_record import EarlierSession
from nbtool.wire.agents.settings import AgentCommand
from nbtool.wire.base import ToolSpec

RESUMED = "{label} goes on with its session {session}."
LOADED = "{label} goes on with its session {session}, which it has read again."
OTHER_VERSION = "{label}: {command} is version {version} here; {tested} was tried."
REPEATED = "{label} has a new session, which got the conversation so far as a transcript."


@dataclass(slots=True)
class _Slot:
    """What of a host is ended when it is no longer used: referred to by the finalizer, which the host is not."""

    session: AgentSession | None = None
    loop: asyncio.AbstractEventLoop | None = None  # that of the session; after a fork there is another one
    is_busy: bool = False
    used: float = field(default_factory=monotonic)


_slots: weakref.WeakSet[AgentHost] = weakref.WeakSet()


class AgentHost:
    """The agent of a chat, with its process, for one turn at a time."""

    def __init__(self, limits: AgentLimits | None = None) -> None:
        self.limits = limits or AgentLimits()
        self._slot = _Slot()
        weakref.finalize(self, _end_slot, self._slot).atexit = False  # then the supervisors see the end of the kernel
        _slots.add(self)

    @property
    def session(self) -> AgentSession | None:
        """The session that is open; None before the first prompt, and after its end."""
        session = self._slot.session
        return session if session and session.is_open else None

    def take(self) -> None:
        """Use the agent for a turn, until `release`.

        Raises:
            BadUsage: another turn uses it.
        """
        if self._slot.is_busy:
            raise BadUsage("The agent still answers another turn of this chat.", fix="Wait for it, or `%chat stop` it.")
        self._slot.is_busy, self._slot.used = True, monotonic()

    def release(self) -> None:
        """Let another turn use the agent."""
        self._slot.is_busy, self._slot.used = False, monotonic()

    async def prepare(
        self,
        profile: AgentProfile,
        command: AgentCommand,
        tools: tuple[ToolSpec, ...],
        line: str,
        earlier: EarlierSession,
    ) -> tuple[AgentSession, list[str]]:
        """Return a session for the next prompt, and what is to be said of it; raises as `AgentSession.open`.

        A session that has seen exactly the turns of `line` goes on; with other tools in a new process. Any other turn
        gets a new session, whose `line` is then empty.
        """
        live = self._slot.session if self._slot.loop is asyncio.get_running_loop() else None
        if live and live.is_open and live.profile is profile and live.line == line and live.tools == tools:
            return live, []
        session_id = ""
        if live and live.profile is profile and live.line == line:
            session_id = live.session_id
        elif live is None and (earlier.agent, earlier.line) == (profile.name, line):
            session_id = earlier.session_id
        await self.close()
        await _make_room(self)
        session = await AgentSession.open(profile, command, tools, session_id, self.limits)
        self._slot.session, self._slot.loop = session, asyncio.get_running_loop()
        notices = [text] if (text := _version_notice(session)) else []
        if session.how != "new":
            session.line = line
            text = RESUMED if session.how == "resumed" else LOADED
            notices.append(text.format(label=profile.label, session=session.session_id[:12]))
        return session, notices

    def abandon(self) -> None:
        """End the agent's process without waiting; the session is not used again."""
        _end_slot(self._slot)
        self._slot = _Slot()

    async def close(self) -> None:
        """End the agent's process; its session can go on in a later one."""
        if self._slot.session and self._slot.loop is asyncio.get_running_loop():
            await self._slot.session.close()


def _version_notice(session: AgentSession) -> str:
    """Return that an agent has another version than the one that was tried; empty if it has that one."""
    profile, version = session.profile, session.abilities.version or "of an unknown version"
    if version == profile.tested:
        return ""
    return OTHER_VERSION.format(label=profile.label, command=profile.command, version=version, tested=profile.tested)


async def _make_room(host: AgentHost) -> None:
    """End the agents that were used longest ago, so that another one can start.

    Raises:
        BadUsage: all of them answer a turn.
    """
    most, loop = host.limits.max_agents, asyncio.get_running_loop()
    others = [other for other in _slots if other is not host and other.session and other._slot.loop is loop]
    for item in sorted(others, key=lambda other: other._slot.used)[: max(0, len(others) - most + 1)]:
        if item._slot.is_busy:
            raise BadUsage(
                f"{count_of(most, 'agent')} answer other chats of this kernel, which is the limit.",
                fix="Wait for one, or `%chat stop` it.",
            )
        await item.close()


def _end_slot(slot: _Slot) -> None:
    """End the process of a chat that is garbage."""
    if session := slot.session:
        background_loop().call_soon(partial(_close_soon, session, slot.loop))


def _close_soon(session: AgentSession, loop: asyncio.AbstractEventLoop | None) -> None:
    if loop is not asyncio.get_running_loop():
        return  # it belongs to another process, or its loop has ended, and with it the process
    task = asyncio.ensure_future(session.close())
    _closing.add(task)
    task.add_done_callback(_closing.discard)


_closing: set[asyncio.Future[None]] = set()
"""The ends of sessions under way, which nothing else refers to."""
