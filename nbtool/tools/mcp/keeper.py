"""Keeps one MCP server on stdio; a program of its own, started for each of them and never imported.

    python -I -S keeper.py NAME,NAME,… COMMAND ARGUMENT…

It stands between the notebook and the server, so that whatever happens to either of them ends well. Its stdin ends
when the notebook closes the server or dies, however it dies: then the server's stdin ends too, and soon after
everything that it started is killed. Lines on the server's stdout that are no messages are held back and told as a
log message; a message beyond all measure ends the server. The last that the server wrote to stderr is told at its end.
The server gets the environment variables that are named, and no others.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import threading
from typing import IO

MAX_MESSAGE = 16 * 1024 * 1024
"""Bytes of one message."""

MAX_NOISE = 20
"""Lines that are no messages which are told; more are dropped."""

MAX_LINE = 200
"""Characters that are told of such a line."""

MAX_LAST_WORDS = 2_000
"""Bytes of stderr that are told when the server has ended."""

GRACE = 1.0
"""Seconds that a server is given to end by itself."""

_finish = threading.Lock()


def main(names: str, *command: str) -> None:  # pragma: no cover - ends its process
    """Run the server to its end, and leave nothing of it behind."""
    environment = {name: os.environ[name] for name in names.split(",") if name in os.environ}
    pipe = subprocess.PIPE
    try:
        server = subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=pipe, env=environment)
    except OSError as error:
        sys.exit(f"{command[0]}: {error.strerror}")
    assert server.stdin
    assert server.stdout
    assert server.stderr
    last_words = bytearray()
    hearing = threading.Thread(target=hear, args=(server.stderr, last_words), daemon=True)
    hearing.start()
    threading.Thread(target=feed, args=(server, server.stdin), daemon=True).start()
    with contextlib.suppress(OSError):  # the notebook is gone
        if not pass_on(server.stdout, sys.stdout.buffer):
            last_words += f"\nIt sent a message of more than {MAX_MESSAGE} bytes.".encode()
    with contextlib.suppress(subprocess.TimeoutExpired):
        server.wait(GRACE)
    hearing.join(GRACE)
    end(server, bytes(last_words))


def feed(server: subprocess.Popen[bytes], stdin: IO[bytes]) -> None:  # pragma: no cover - ends its process
    """Give the server what the notebook says; when that has ended, see that the server ends."""
    while data := os.read(0, 65536):
        with contextlib.suppress(OSError):  # it no longer listens; that it has ended is seen where it speaks
            stdin.write(data)
            stdin.flush()
    with contextlib.suppress(OSError):
        stdin.close()
    with contextlib.suppress(subprocess.TimeoutExpired):
        server.wait(GRACE)
    end(server, b"")


def pass_on(stdout: IO[bytes], out: IO[bytes]) -> bool:
    """Pass messages on until the server says no more; False when one was too large."""
    noise = 0
    while line := stdout.readline(MAX_MESSAGE + 1):
        if len(line) > MAX_MESSAGE:
            return False
        if not is_message(line):
            noise += bool(line.strip())
            line = told(line) if line.strip() and noise <= MAX_NOISE else b""
        out.write(line)
        out.flush()
    return True


def is_message(line: bytes) -> bool:
    """Whether a line is JSON-RPC; a cheap look, for the reader checks it again."""
    return line.lstrip().startswith(b"{") and b'"jsonrpc"' in line and line.endswith(b"\n")


def told(line: bytes) -> bytes:
    """Make a log message of a line that is no message."""
    text = line.decode("utf-8", "replace").strip()[:MAX_LINE]
    params = {"level": "warning", "logger": "nbtool", "data": text}
    return json.dumps({"jsonrpc": "2.0", "method": "notifications/message", "params": params}).encode() + b"\n"


def hear(stderr: IO[bytes], last_words: bytearray) -> None:
    """Remember the end of what the server writes to stderr."""
    with contextlib.suppress(OSError, ValueError):
        while data := os.read(stderr.fileno(), 65536):
            last_words += data
            del last_words[:-MAX_LAST_WORDS]


def end(server: subprocess.Popen[bytes], last_words: bytes) -> None:  # pragma: no cover - ends its process
    """Tell the server's last words and kill whatever is left, this program included."""
    _finish.acquire()  # held for ever: the process ends here
    with contextlib.suppress(OSError, ValueError):
        sys.stderr.buffer.write(last_words)
        sys.stderr.buffer.flush()
    server.kill()
    if os.name == "posix" and os.getpgid(0) == os.getpid():  # the group is its own, and holds what the server started
        os.killpg(0, signal.SIGKILL)
    os._exit(0)


if __name__ == "__main__":  # pragma: no cover - a program of its own
    main(*sys.argv[1:])
