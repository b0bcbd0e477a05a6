"""Supervise one MCP server on stdio; run as a separate program for each server, never imported.

    python -I -S stdio_process.py BYTES NAME,NAME,… COMMAND ARGUMENT…

It runs between the notebook and the server, and cleans up after both. Its stdin ends when the notebook closes the
server or dies: then the server's stdin ends too, and soon after everything that it started is killed. Lines on the
server's stdout that are not messages are held back and reported as a log message. A message of more than BYTES is
dropped while it is received, and the call that it answers gets an error instead. When the server has ended, a line of
JSON on stderr reports how (`exit`, `problem`) and the last output on its stderr. The server gets the named environment
variables, and no others.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import signal
import subprocess
import sys
import threading
from typing import IO

MAX_MESSAGE = 16 * 1024 * 1024
"""Maximum size in bytes of one message, unless another is set."""

MAX_DROPPED = 1024 * 1024 * 1024
"""Maximum number of bytes of one message that are dropped; a longer one ends the server."""

READ_BYTES = 64 * 1024
"""Number of bytes read at once of a message that is too large."""

ID_SEARCH_BYTES = 1_000
"""Number of bytes at both ends of a message that is too large in which its id is searched."""

TOO_LARGE = "nbtool: too large"
"""The `data` of the error that replaces a message that was too large."""

MAX_NESTING = 100
"""Maximum nesting depth of a message."""

MAX_TOKENS = 500_000
"""Maximum number of strings, brackets and commas of a message: parsed, each takes a hundred times the memory."""

TOO_COMPLEX = "nbtool: too complex"
"""The `data` of the error that replaces a message with too many values, or too deeply nested."""

MAX_UNCOUNTED_BYTES = 64 * 1024
"""Messages up to this size are not checked for the number of values."""

MAX_STRAY_LINES = 20
"""Maximum number of reported lines that are not messages; more are dropped."""

MAX_UNASKED = 2_000
"""Maximum number of messages since the notebook's last request; after that only responses are passed on."""

LEFT_OUT = "nbtool.left_out"
"""The logger of the message with the number of dropped messages."""

MAX_LINE_CHARS = 200
"""Maximum number of characters reported of such a line."""

MAX_STDERR_BYTES = 2_000
"""Maximum number of bytes of stderr reported when the server has ended."""

STOP_GRACE_SECONDS = 1.0
"""Seconds that a server has to end by itself."""

_finish = threading.Lock()
_REST = re.compile(rb'[^"\\]*+(?:\\.[^"\\]*+)*+("|\\?\Z)', re.DOTALL)
_TOKEN = re.compile(rb'"' + _REST.pattern + rb"|[][{},]", re.DOTALL)
_ID = rb'"id"\s*:\s*(-?\d{1,18}|"[^"\\]{1,100}")'
_ID_FIRST = re.compile(rb'\s*\{\s*(?:"jsonrpc"\s*:\s*"2\.0"\s*,\s*)?' + _ID + rb"\s*,")
_ID_LAST = re.compile(rb",\s*" + _ID + rb'\s*(?:,\s*"jsonrpc"\s*:\s*"2\.0"\s*)?\}\s*$')


def main(max_message: str, names: str, *command: str) -> None:  # pragma: no cover - ends its process
    """Run the server until it ends, and clean up after it."""
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


class Flow:
    """Counts what a server sends between two requests of the notebook, and drops the excess."""

    def __init__(self) -> None:
        self._passed = self._left_out = 0
        self._end = b""

    def note_question(self, data: bytes) -> None:
        """Process a message of the notebook: a request or notification resets the count; a response does not."""
        if b'"method"' in self._end + data:
            self._passed = 0
        self._end = data[-7:]

    def passing(self, line: bytes) -> bytes:
        """Return the message, nothing, or a response preceded by the number of dropped messages."""
        if self._passed >= MAX_UNASKED and (self._passed >= 2 * MAX_UNASKED or not is_answer(line)):
            self._left_out += 1
            return b""
        self._passed += 1
        if self._left_out and is_answer(line):
            count, self._left_out = self._left_out, 0
            return log_message("warning", LEFT_OUT, count) + line
        return line


def is_answer(line: bytes) -> bool:
    """Whether a message is a response; False if it cannot be parsed."""
    try:
        message = json.loads(line)
    except (ValueError, RecursionError):
        return False
    return isinstance(message, dict) and "id" in message and ("result" in message or "error" in message)


def pump_stdout(
    stdout: IO[bytes], out: IO[bytes], flow: Flow, max_message: int = MAX_MESSAGE, max_dropped: int = MAX_DROPPED
) -> bool:
    """Pass messages on until the server's stdout ends; False if one did not end within `max_dropped` bytes."""
    stray_lines = 0
    while line := stdout.readline(max_message + 1):
        if len(line) > max_message:
            size, end_of_line = skip_message(stdout, line, max_dropped)
            if size > max_dropped:
                return False
            line = error_answer(line[:ID_SEARCH_BYTES], end_of_line, size)
        elif is_complex(line):
            line = error_answer(line[:ID_SEARCH_BYTES], line[-ID_SEARCH_BYTES:], len(line), TOO_COMPLEX)
        if not is_message(line):
            stray_lines += bool(line.strip())
            line = as_log_message(line) if line.strip() and stray_lines <= MAX_STRAY_LINES else b""
        if line and (line := flow.passing(line)):
            out.write(line)
            out.flush()
    return True


def skip_message(stdout: IO[bytes], line: bytes, max_dropped: int) -> tuple[int, bytes]:
    """Read a message to its end; return its size and its last bytes."""
    size, tail = len(line), line[-ID_SEARCH_BYTES:]
    while not tail.endswith(b"\n") and size <= max_dropped and (chunk := stdout.readline(READ_BYTES)):
        size += len(chunk)
        tail = (tail + chunk)[-ID_SEARCH_BYTES:]
    return size, tail


class Complexity:
    """Counts the values and the nesting of a message, which may arrive in chunks."""

    def __init__(self) -> None:
        self.reset()

    def reset(self) -> None:
        """Start another message."""
        self._count = self._depth = 0
        self._is_in_text = self._is_escaped = False

    def exceeds_limits(self, data: bytes) -> bool:
        """Process the next bytes; return whether the message exceeds the limits of values or nesting."""
        position = int(self._is_escaped and bool(data))
        if self._is_in_text and data:
            rest = _REST.match(data, position)
            assert rest  # it matches anything
            position = rest.end()
            self._set_text_state(rest[1])
        for token in _TOKEN.finditer(data, position):
            first = data[token.start()]
            if first == b'"'[0]:
                self._set_text_state(token[1])
            self._count += 1
            self._depth += (first in b"[{") - (first in b"]}")
            if self._count > MAX_TOKENS or self._depth > MAX_NESTING:
                return True
        return False

    def _set_text_state(self, end: bytes) -> None:
        self._is_in_text, self._is_escaped = end != b'"', end == b"\\"


def is_complex(line: bytes) -> bool:
    """Whether a message exceeds the limits of values or nesting."""
    if len(line) <= MAX_UNCOUNTED_BYTES and line.count(b"[") + line.count(b"{") <= MAX_NESTING:
        return False
    return Complexity().exceeds_limits(line)


def error_answer(head: bytes, tail: bytes, size: int, problem: str = TOO_LARGE) -> bytes:
    """Return the error response for a call whose response was not read; a log line if its id is unknown."""
    match = _ID_FIRST.match(head) or _ID_LAST.search(tail)
    if not match:
        return b"a message of %d bytes that was dropped\n" % size
    error = {"code": -32603, "message": f"a message of {size} bytes", "data": problem}
    answer = {"jsonrpc": "2.0", "id": json.loads(match[1]), "error": error}
    return json.dumps(answer).encode() + b"\n"


def is_message(line: bytes) -> bool:
    """Whether a line is JSON-RPC; a cheap check, because the client validates it."""
    return line.lstrip().startswith(b"{") and b'"jsonrpc"' in line and line.endswith(b"\n")


def as_log_message(line: bytes) -> bytes:
    """Return a log message with a line that is not a message."""
    text = line.decode("utf-8", "replace").strip()
    text = (
        text
        if len(text) <= MAX_LINE_CHARS
        else f"{text[:MAX_LINE_CHARS]}[… {len(text) - MAX_LINE_CHARS:,} characters more]"
    )
    return log_message("warning", "nbtool", text)


def log_message(level: str, logger: str, data: object) -> bytes:
    """Return a log message of the protocol."""
    params = {"level": level, "logger": logger, "data": data}
    return json.dumps({"jsonrpc": "2.0", "method": "notifications/message", "params": params}).encode() + b"\n"


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
