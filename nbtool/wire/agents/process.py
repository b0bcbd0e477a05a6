"""The process of an agent: its start under the supervisor `agent_process.py`, and its end."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sys
from contextlib import suppress
from pathlib import Path

from nbtool.text import clean_text, shorten
from nbtool.wire.agents import agent_process
from nbtool.wire.agents.settings import AgentCommand

MAX_MESSAGE = 4 * 1024 * 1024
"""Maximum size in bytes of one message of an agent; a longer one is dropped, and ends the turn."""

END_SECONDS = 7.0
"""Seconds that the supervisor has to end an agent and everything that it started; then it is killed itself."""

MAX_REPORT = 64 * 1024
"""Maximum bytes that are read of the report of the supervisor."""

MAX_SHOWN = 300
"""Characters of an agent's own texts in an error."""


def one_line(text: object, limit: int = MAX_SHOWN) -> str:
    """Return a text of an agent as one line of limited length, for an error."""
    return shorten(" ".join(clean_text(str(text)).split()), limit)


class AgentProcess:
    """A running agent; `reader` and `writer` are its standard output and input."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        assert process.stdin
        assert process.stdout
        assert process.stderr
        self._process, self._stderr = process, process.stderr
        self.reader, self.writer = process.stdout, process.stdin
        self._ending: asyncio.Task[str] | None = None

    @classmethod
    async def start(cls, command: AgentCommand, folder: Path) -> AgentProcess:
        """Start the supervisor, which starts the agent; it gets the environment of the command and no other."""
        environment = {name: value.get_secret_value() for name, value in command.environment.items()}
        process = await asyncio.create_subprocess_exec(
            sys.executable,
            *("-I", "-S", agent_process.__file__, str(MAX_MESSAGE), ",".join(environment)),
            *(command.command, *command.args),
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
            env=environment,
            cwd=folder,
            limit=MAX_MESSAGE + 2,
            start_new_session=True,
        )
        return cls(process)

    @property
    def pid(self) -> int:
        """The id of the supervisor, whose descendants the agent and all that it starts are."""
        return self._process.pid

    def begin_end(self) -> None:
        """Let the supervisor end the agent, without waiting for it."""
        with suppress(RuntimeError):  # the loop is closed
            self.writer.close()

    async def end(self) -> str:
        """End the agent and everything that it started; return how it ended and what it last wrote to stderr."""
        if self._ending is None:
            self._ending = asyncio.create_task(self._end())
        return await asyncio.shield(self._ending)

    async def _end(self) -> str:
        self.begin_end()
        report = b""
        try:
            async with asyncio.timeout(END_SECONDS):
                report = await self._stderr.read(MAX_REPORT)
                await self._process.wait()
        except TimeoutError:  # pragma: no cover - the supervisor itself hangs
            with suppress(ProcessLookupError):
                os.killpg(self._process.pid, signal.SIGKILL)
            await self._process.wait()
        return describe_end(report)


def describe_end(report: bytes) -> str:
    """Return the report of the supervisor in words: how the agent ended, and the end of its stderr."""
    try:
        end = json.loads(report)
        status, stderr = end["exit"], str(end["stderr"])
    except (ValueError, KeyError, TypeError, RecursionError):
        status, stderr = None, report.decode("utf-8", "replace")
    how = f" (exit status {status})" if isinstance(status, int) and status >= 0 else ""
    if isinstance(status, int) and status < 0:
        how = f" (killed by signal {-status})"
    last = one_line(stderr[-MAX_SHOWN:])
    return f"{how}{f'. The last lines of its stderr: {last}' if last else ''}"
