"""Supervise one agent; run as a separate program for each agent, never imported by nbtool.

    python -I -S agent_process.py BYTES NAME,NAME,… COMMAND ARGUMENT…

It runs between the notebook and the agent, and cleans up after both. Its stdin ends when the notebook closes the agent
or dies: then the agent's stdin ends too, soon after it is asked to end (SIGTERM), and then everything that it started
is killed, also what it started in sessions of their own: on Linux orphans of this program's descendants become its
children. A line of more than BYTES on the agent's stdout is dropped while it is received, and reported by a
notification of its own. When the agent has ended, a line of JSON on stderr says how (`exit`), with the last output on
its stderr. The agent gets the named environment variables, and no others.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import IO

DROPPED = "_nbtool/dropped"
"""The method of the notification that a line was dropped, with its size."""

MAX_DROPPED = 1024 * 1024 * 1024
"""Maximum bytes of one line that are dropped; a longer one ends the agent."""

CHUNK_BYTES = 64 * 1024

MAX_STDERR_BYTES = 2_000
"""Maximum number of bytes of stderr reported when the agent has ended."""

GRACE_SECONDS = 1.0
"""Seconds that an agent has to end by itself, once its stdin is closed and once it was asked to."""

KILL_SECONDS = 3.0
"""Seconds in which everything that it started is killed."""

POLL_SECONDS = 0.02

SUBREAPER = 36
"""PR_SET_CHILD_SUBREAPER of Linux."""

HAS_PROC = sys.platform.startswith("linux")
"""Whether processes are listed in /proc, and orphans can be adopted."""

_finish = threading.Lock()


def main(max_message: str, names: str, *command: str) -> None:  # pragma: no cover - ends its process
    """Run the agent until it ends, and clean up after it."""
    adopt_orphans()
    environment = {name: os.environ[name] for name in names.split(",") if name in os.environ}
    pipe = subprocess.PIPE
    try:
        agent = subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=pipe, env=environment)
    except OSError as error:
        sys.exit(json.dumps({"exit": None, "stderr": f"{command[0]}: {error.strerror}"}))
    assert agent.stdin
    assert agent.stdout
    assert agent.stderr
    stderr_tail = bytearray()
    threads = [
        threading.Thread(target=read_stderr, args=(agent.stderr, stderr_tail), daemon=True),
        threading.Thread(target=pump_lines, args=(agent.stdout, sys.stdout.buffer, int(max_message)), daemon=True),
    ]
    for thread in threads:
        thread.start()
    threading.Thread(target=pump_stdin, args=(agent, agent.stdin, stderr_tail), daemon=True).start()
    agent.wait()
    for thread in threads:  # what it started may hold its pipes open
        thread.join(GRACE_SECONDS)
    end(agent, stderr_tail)


def adopt_orphans() -> None:  # pragma: no cover - in a program of its own
    """Become the parent of processes whose own parent ends, where the system can do that."""
    if HAS_PROC:
        import ctypes  # noqa: PLC0415 - only in this program

        with contextlib.suppress(OSError, AttributeError):
            ctypes.CDLL(None).prctl(SUBREAPER, 1, 0, 0, 0)


def pump_stdin(
    agent: subprocess.Popen[bytes], stdin: IO[bytes], stderr_tail: bytearray
) -> None:  # pragma: no cover - ends its process
    """Pass the notebook's messages to the agent; when they end, make sure that the agent ends."""
    while data := os.read(0, CHUNK_BYTES):
        with contextlib.suppress(OSError):  # it has closed its stdin, or ended
            stdin.write(data)
            stdin.flush()
    with contextlib.suppress(OSError):
        stdin.close()
    with contextlib.suppress(subprocess.TimeoutExpired):
        agent.wait(GRACE_SECONDS)
    end(agent, stderr_tail)


def pump_lines(source: IO[bytes], target: IO[bytes], max_message: int, max_dropped: int = MAX_DROPPED) -> None:
    """Pass lines on until they end, or one is endless; in place of one that is too long, a notification of its size."""
    with contextlib.suppress(OSError, ValueError):  # the notebook is gone
        while line := source.readline(max_message + 1):
            if len(line) > max_message:
                size = skip_line(source, line, max_dropped)
                line = json.dumps({"jsonrpc": "2.0", "method": DROPPED, "params": {"size": size}}).encode() + b"\n"
                if size > max_dropped:
                    return
            target.write(line)
            target.flush()


def skip_line(source: IO[bytes], line: bytes, max_dropped: int) -> int:
    """Read a line to its end, or until it is longer than what is dropped of one; return its size."""
    size = len(line)
    while not line.endswith(b"\n") and size <= max_dropped and (line := source.readline(CHUNK_BYTES)):
        size += len(line)
    return size


def read_stderr(stderr: IO[bytes], stderr_tail: bytearray) -> None:
    """Store the end of the agent's stderr."""
    with contextlib.suppress(OSError, ValueError):
        while data := os.read(stderr.fileno(), CHUNK_BYTES):
            stderr_tail += data
            del stderr_tail[:-MAX_STDERR_BYTES]


def end(agent: subprocess.Popen[bytes], stderr_tail: bytearray) -> None:  # pragma: no cover - ends its process
    """End the agent and everything that it started, and then this program."""
    _finish.acquire()  # never released: the process ends here
    started = descendants(os.getpid())
    if agent.poll() is None:
        send(started, signal.SIGTERM)
        with contextlib.suppress(subprocess.TimeoutExpired):
            agent.wait(GRACE_SECONDS)
    deadline = time.monotonic() + KILL_SECONDS
    left = descendants(os.getpid()) | (set() if HAS_PROC else started)
    while left and time.monotonic() < deadline:
        send(left, signal.SIGKILL)
        reap()
        time.sleep(POLL_SECONDS)
        left = descendants(os.getpid())
    with contextlib.suppress(OSError, ValueError):
        text = bytes(stderr_tail).decode("utf-8", "replace")
        sys.stderr.write(json.dumps({"exit": agent.returncode, "stderr": text}))
        sys.stderr.flush()
    os._exit(0)


def send(processes: set[int], number: signal.Signals) -> None:
    """Send a signal to processes, of which some may have ended."""
    for process in processes:
        with contextlib.suppress(OSError):
            os.kill(process, number)


def reap() -> None:
    """Take note of children that have ended, so that they are processes no longer."""
    with contextlib.suppress(ChildProcessError):
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass


def descendants(root: int) -> set[int]:
    """Return the processes that a process has started, and those that they have started."""
    children: dict[int, list[int]] = {}
    for process, parent in parents():
        children.setdefault(parent, []).append(process)
    found: set[int] = set()
    waiting = [root]
    while waiting:
        new = [child for child in children.get(waiting.pop(), ()) if child not in found]
        found.update(new)
        waiting += new
    return found


def parents() -> list[tuple[int, int]]:
    """Return every process with its parent."""
    if HAS_PROC:
        return [(int(path.name), parent) for path in Path("/proc").iterdir() if (parent := parent_of(path)) >= 0]
    return listed_by_ps()  # pragma: no cover - another system


def listed_by_ps() -> list[tuple[int, int]]:
    """Return every process with its parent, where there is no /proc."""
    listing = subprocess.run(["ps", "-axo", "pid=,ppid="], capture_output=True, text=True, check=False).stdout
    pairs = [line.split() for line in listing.splitlines()]
    return [(int(pair[0]), int(pair[1])) for pair in pairs if len(pair) == 2]


def parent_of(folder: Path) -> int:
    """Return the parent of the process of a folder in /proc; -1 if it is none, or has ended."""
    if not folder.name.isdigit():
        return -1
    try:
        fields = (folder / "stat").read_bytes().rpartition(b")")[2].split()
    except OSError:
        return -1
    return int(fields[1]) if len(fields) > 1 else -1


if __name__ == "__main__":  # pragma: no cover - a program of its own
    main(*sys.argv[1:])
