"""Supervise one MCP server on stdio; run as a separate program for each server, never imported.

    python -I -S stdio_process.py BYTES NAME,NAME,… COMMAND ARGUMENT…

It runs between the notebook and the server, and cleans up after both. Its stdin ends when the notebook closes the
server or dies: then the server's stdin ends too, and soon after everything that it started is killed. Lines on the
server's stdout that are not messages are held back and reported as a log message. A message of more than BYTES is
dropped while it is received. A request whose response is too large or broken gets an error (`stdio_messages.py`).
When the server has ended, a line of JSON on stderr reports how (`exit`, `problem`) and the last output on its stderr.
The server gets the named environment variables, and no others.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import threading
from pathlib import Path
from typing import IO, TYPE_CHECKING

if TYPE_CHECKING:
    from nbtool.tools.mcp.stdio.stdio_messages import Flow

MAX_STDERR_BYTES = 2_000
"""Maximum number of bytes of stderr reported when the server has ended."""

STOP_GRACE_SECONDS = 1.0
"""Seconds that a server has to end by itself."""

_finish = threading.Lock()


def main(max_message: str, names: str, *command: str) -> None:  # pragma: no cover - ends its process
    """Run the server until it ends, and clean up after it."""
    sys.path.append(str(Path(__file__).parent))  # at the end, so that no module here is taken for one of Python's
    from stdio_messages import (  # type: ignore[import-not-found]  # noqa: PLC0415 - found only in this program
        MAX_DROPPED,
        Flow,
        pump_stdout,
    )

    environment = {name: os.environ[name] for name in names.split(",") if name in os.environ}
    pipe = subprocess.PIPE
    try:
        server = subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=pipe, env=environment)
    except OSError as error:
        sys.exit(report(None, b"", f"{command[0]}: {error.strerror}"))
    assert server.stdin
    assert server.stdout
    assert server.stderr
    stderr_tail = bytearray()
    stderr_thread = threading.Thread(target=read_stderr, args=(server.stderr, stderr_tail), daemon=True)
    stderr_thread.start()
    flow = Flow()
    threading.Thread(target=pump_stdin, args=(server, server.stdin, flow), daemon=True).start()
    problem = ""
    with contextlib.suppress(OSError):  # the notebook is gone
        if not pump_stdout(server.stdout, sys.stdout.buffer, flow, int(max_message)):
            problem = f"It sent a message of more than {MAX_DROPPED} bytes."
    with contextlib.suppress(subprocess.TimeoutExpired):
        server.wait(STOP_GRACE_SECONDS)
    stderr_thread.join(STOP_GRACE_SECONDS)
    kill_group(server, report(server.returncode, bytes(stderr_tail), problem))


def pump_stdin(
    server: subprocess.Popen[bytes], stdin: IO[bytes], flow: Flow
) -> None:  # pragma: no cover - ends its process
    """Pass the notebook's messages to the server; when they end, make sure that the server ends."""
    while data := os.read(0, 65536):
        flow.note_question(data)
        with contextlib.suppress(OSError):  # it closed its stdin; its end is noticed on its stdout
            stdin.write(data)
            stdin.flush()
    with contextlib.suppress(OSError):
        stdin.close()
    with contextlib.suppress(subprocess.TimeoutExpired):
        server.wait(STOP_GRACE_SECONDS)
    kill_group(server, "")


def read_stderr(stderr: IO[bytes], stderr_tail: bytearray) -> None:
    """Store the end of the server's stderr."""
    with contextlib.suppress(OSError, ValueError):
        while data := os.read(stderr.fileno(), 65536):
            stderr_tail += data
            del stderr_tail[:-MAX_STDERR_BYTES]


def report(status: int | None, stderr_tail: bytes, problem: str) -> str:
    """Report how the server ended."""
    return json.dumps({"exit": status, "stderr": stderr_tail.decode("utf-8", "replace"), "problem": problem})


def kill_group(server: subprocess.Popen[bytes], text: str) -> None:  # pragma: no cover - ends its process
    """Report the end and kill the process group, including this program."""
    _finish.acquire()  # never released: the process ends here
    with contextlib.suppress(OSError, ValueError):
        sys.stderr.write(text)
        sys.stderr.flush()
    server.kill()
    if os.name == "posix" and os.getpgid(0) == os.getpid():  # the group is its own, and holds what the server started
        os.killpg(0, signal.SIGKILL)
    os._exit(0)


if __name__ == "__main__":  # pragma: no cover - a program of its own
    main(*sys.argv[1:])
