"""The messages of an MCP server on stdio: what is passed on to the notebook, and what is reported instead.

This file uses nothing of nbtool, because the program `stdio_process.py` loads it by itself.

A request gets an error if its response is broken (not UTF-8, not JSON, not JSON-RPC), which the notebook would
drop and wait on. A line counts as a broken response if it has the form of a message without a method, whole or cut
off, and the id of an open request; or an id that was never sent, or none that can be read, while exactly one request
is open. A response without an id may also answer a notification, as careless servers do: as long as that is possible
it decides nothing. Neither does any other line: servers print logs to stdout, also as JSON.
"""

from __future__ import annotations

import json
import re
import threading
from collections import deque
from typing import IO, Any

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

UNREADABLE = "nbtool: unreadable"
"""The `data` of the error that replaces a response that the notebook could not read."""

MAX_RECENT = 1_000
"""Number of ids of the last requests that are remembered; a response to one that is answered or cancelled is late."""

MAX_BATCH = 100
"""Number of responses in one line, which is not allowed, of which the ids are read."""

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

_OPENING = re.compile(rb"\s*[{\[]")
_REST = re.compile(rb'[^"\\]*+(?:\\.[^"\\]*+)*+("|\\?\Z)', re.DOTALL)
_TOKEN = re.compile(rb'"' + _REST.pattern + rb"|[][{},]", re.DOTALL)
_ID_VALUE = rb'(-?(?:0|[1-9]\d{0,17})|"[ !#-\[\]-~]{1,100}")'
_ID = rb'"id"\s*:\s*' + _ID_VALUE
_ID_FIRST = re.compile(rb'\s*\{\s*(?:"jsonrpc"\s*:\s*"2\.0"\s*,\s*)?' + _ID + rb'\s*,\s*("method")?')
_ID_LAST = re.compile(rb",\s*" + _ID + rb'\s*(?:,\s*"jsonrpc"\s*:\s*"2\.0"\s*)?\}\s*$')
_CANCELLED = re.compile(rb'"method"\s*:\s*"notifications/cancelled".*"requestId"\s*:\s*' + _ID_VALUE)
_PART_OF_MESSAGE = re.compile(rb'\s*"jsonrpc"\s*:\s*"2\.0"\s*+,?\s*+$')  # of one printed over several lines
_SURROGATE = re.compile(rb"\\u[dD][89a-fA-F]")


class Flow:
    """Follows both directions: counts what a server sends between two requests, and finds broken responses."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._passed = self._left_out = 0
        self._head = b""
        self._open: dict[str, int | str] = {}
        self._recent: deque[str] = deque(maxlen=MAX_RECENT)
        self._notified = 0  # notifications that a careless server may still respond to
        self._open_before: set[str] = set()  # requests that were open at the last of them

    def note_question(self, data: bytes) -> None:
        """Process a part of the notebook's messages: each but a response resets the count."""
        with self._lock:
            for number, part in enumerate(data.split(b"\n")):
                if number:
                    self._note_message(self._head)
                    self._head = b""
                self._head += part[: ID_SEARCH_BYTES - len(self._head)]

    def _note_message(self, head: bytes) -> None:
        if b'"method"' not in head:
            return
        self._passed = 0
        if (match := _ID_FIRST.match(head)) and match[2]:
            id_ = json.loads(match[1])
            self._open[_key(id_)] = id_
            self._recent.append(_key(id_))
            return
        self._notified += 1
        self._open_before = set(self._open)
        if match := _CANCELLED.search(head):
            self._open.pop(_key(json.loads(match[1])), None)

    def process(self, line: bytes, problem: str = "", size: int = 0) -> tuple[bytes, bytes]:
        """Return what to pass on of a line, and what to report of it; of one with a problem only both ends are read."""
        message: Any = None if problem else parse(line)
        with self._lock:
            is_answer = is_response(message)
            if is_answer and self._open.pop(key := _key(message["id"]), None) is not None:
                self._notified *= key in self._open_before
            elif (not is_message(message) or is_answer) and (key := self._broken_request(claims(line, message))):
                id_ = self._open.pop(key)
                if is_answer and "error" in message:  # an error without an id: the server could not read the request
                    return self._passing(json.dumps({**message, "id": id_}).encode() + b"\n", is_answer=True), b""
                error = error_response(id_, problem or UNREADABLE, size or len(line))
                return self._passing(error, is_answer=True), b"" if problem else line
            elif not is_message(message):
                return b"", b"a message of %d bytes that was dropped" % size if problem else line
            return self._passing(line, is_answer=is_answer), b""

    def _broken_request(self, claimed: list[tuple[object, bool]]) -> str:
        """Return the key of the open request that a broken response belongs to; empty if that cannot be decided."""
        for id_, is_certain in claimed:
            if (key := _key(id_)) in self._open:
                return key
            if not is_certain or key in self._recent:
                continue
            if id_ is None and self._notified:
                self._notified -= 1
            elif len(self._open) == 1:
                return next(iter(self._open))
        return ""

    def _passing(self, line: bytes, *, is_answer: bool) -> bytes:
        """Return the message, nothing, or a response preceded by the number of dropped messages."""
        if self._passed >= MAX_UNASKED and (self._passed >= 2 * MAX_UNASKED or not is_answer):
            self._left_out += 1
            return b""
        self._passed += 1
        if self._left_out and is_answer:
            count, self._left_out = self._left_out, 0
            return log_message("warning", LEFT_OUT, count) + line
        return line


def parse(line: bytes) -> Any:
    """Return a line as JSON; None if it is not complete, or neither an object nor a list as the notebook reads it."""
    if not (_OPENING.match(line) and line.endswith(b"\n") and line.rstrip().endswith((b"}", b"]"))):
        return None  # most lines that are no message end here: an error of the parser takes ten times as long
    try:
        message = json.loads(line.decode())
        if _SURROGATE.search(line):
            json.dumps(message, ensure_ascii=False).encode()  # fails if one is alone
    except (ValueError, RecursionError):
        return None
    return message


def is_message(message: Any) -> bool:
    """Whether JSON is a message of JSON-RPC."""
    if not isinstance(message, dict) or message.get("jsonrpc") != "2.0":
        return False
    if isinstance(message.get("method"), str):
        return isinstance(message.get("params") or {}, dict)
    return is_response(message)


def is_response(message: Any) -> bool:
    """Whether JSON is a response of JSON-RPC."""
    if not isinstance(message, dict) or message.get("jsonrpc") != "2.0" or "id" not in message:
        return False
    if isinstance(message.get("method"), str):
        return False
    id_, error = message["id"], message.get("error")
    if type(id_) in (int, str) and isinstance(message.get("result"), dict):
        return True
    is_error = isinstance(error, dict) and isinstance(error.get("message"), str) and _is_whole(error.get("code"))
    return is_error and (id_ is None or type(id_) in (int, str))


def _is_whole(code: object) -> bool:
    """Whether the notebook reads the code of an error as a number."""
    if isinstance(code, str):
        return code.removeprefix("-").isdecimal()
    return isinstance(code, int) or (isinstance(code, float) and code.is_integer())


def _key(id_: object) -> str:
    """Return an id as it is compared: the notebook accepts `"3"` for 3."""
    try:
        return str(int(id_)) if isinstance(id_, str) else str(id_)
    except ValueError:
        return str(id_)


def claims(line: bytes, message: Any) -> list[tuple[object, bool]]:
    """Return the ids of the responses that a line seems to be, and whether it is certain to be one of JSON-RPC."""
    if message is not None:
        together = message[:MAX_BATCH] if isinstance(message, list) else [message]
        parts = [part for part in together if isinstance(part, dict)]
        named = [
            (part.get("id"), True) for part in parts if "jsonrpc" in part and not isinstance(part.get("method"), str)
        ]
        return named or [(part["id"], False) for part in parts if {"id"} < part.keys() <= {"id", "result", "error"}]
    if _PART_OF_MESSAGE.match(line):
        return [(None, True)]
    if not line.lstrip().startswith((b"{", b"[")) or b'"jsonrpc"' not in line:
        return []
    head = line[:ID_SEARCH_BYTES]
    match = _ID_FIRST.match(head)
    if (match and match[2]) or (not match and b'"method"' in head):
        return []
    if match := match or _ID_LAST.search(line[-ID_SEARCH_BYTES:]):
        return [(json.loads(match[1]), True)]
    return [(None, True)] if b'"result"' in line or b'"error"' in line else []


def pump_stdout(
    stdout: IO[bytes], out: IO[bytes], flow: Flow, max_message: int = MAX_MESSAGE, max_dropped: int = MAX_DROPPED
) -> bool:
    """Pass messages on until the server's stdout ends; False if one did not end within `max_dropped` bytes."""
    stray_lines = 0
    while line := stdout.readline(max_message + 1):
        problem, size, end_of_line = "", len(line), line[-ID_SEARCH_BYTES:]
        if size > max_message:
            problem = TOO_LARGE
            size, end_of_line = skip_message(stdout, line, max_dropped)
            if size > max_dropped:
                return False
        elif is_complex(line):
            problem = TOO_COMPLEX
        if problem:
            line = line[:ID_SEARCH_BYTES] + end_of_line
        passed, stray = (b"", b"") if line.isspace() else flow.process(line, problem, size)
        if stray.strip() and (stray_lines := stray_lines + 1) <= MAX_STRAY_LINES:
            passed = as_log_message(stray) + passed
        if passed:
            out.write(passed)
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


def error_response(id_: int | str, problem: str, size: int) -> bytes:
    """Return the error response for a request whose response was not read."""
    error = {"code": -32603, "message": f"a message of {size} bytes", "data": problem}
    return json.dumps({"jsonrpc": "2.0", "id": id_, "error": error}).encode() + b"\n"


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
