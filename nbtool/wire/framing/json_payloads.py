"""Parse JSON values from bytes: an event stream, one JSON document, a document in each line, or a page.

Servers answer a streaming request with one document and vice versa, and pad documents with blank lines while a model
works. So the first byte that is not blank decides how the rest is parsed; and where that begins a document, whether it
ends with its line and another one follows.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from contextlib import suppress
from typing import Any, Literal

from pydantic_core import from_json

from nbtool.errors import IncompleteReply, InvalidReply, ReplyTooLarge
from nbtool.text import clean_text, map_text
from nbtool.wire.framing.redaction import excerpt
from nbtool.wire.framing.sse import EventParser, ServerEvent

DONE = "[DONE]"
"""The end mark of a stream of JSON events."""

MAX_BODY_BYTES = 64 * 1024 * 1024
"""Maximum size of one reply, in bytes."""

MAX_VALUES = 1_000_000
"""Maximum number of commas and opening brackets of one JSON text; each may be a value of about 100 bytes."""

MAX_EVENTS = 1_000_000
"""Maximum number of events of one reply: a small compressed body may contain many millions of empty ones."""

_BLANK = b" \t\r\n\xef\xbb\xbf"
_GZIP = b"\x1f\x8b"


_Framing = Literal["events", "document", "lines", "page"]


class PayloadReader:
    """Parses the JSON values of one reply from bytes, split anywhere; it can be copied with `copy.deepcopy`.

    Each value is returned as the pair of its event's name (or an empty string) and the value; the end mark of a stream
    is `DONE`. If `is_document`, the reply is one document, which `close` returns.
    """

    def __init__(self) -> None:
        self.is_document = False
        self._events = EventParser()
        self._framing: _Framing | None = None
        self._lines = LineBuffer()
        self._may_be_lines = self._has_line = False  # nothing follows its first line, which has ended or not
        self._body: list[bytes] = []
        self._size = 0
        self._value_count = 0

    def feed(self, data: bytes) -> Iterable[tuple[str, Any]]:
        """Take the next bytes, and return the values that they complete; each is parsed when it is read.

        Raises:
            nbtool.errors.InvalidReply: an event is not JSON.
            nbtool.errors.ReplyTooLarge: the reply, one event, or the number of events exceeds its limit.
        """
        self._size += len(data)
        if self._size > MAX_BODY_BYTES:
            raise ReplyTooLarge(f"The reply is larger than {MAX_BODY_BYTES >> 20} MiB.", fix="Ask for less.")
        if self._framing == "events":
            return self._values(self._events.feed(data))
        if self._framing == "lines":
            return self._values(self._lines.feed(data))
        self._body.append(data)
        if self._framing:
            return self._read_lines(data) if self._may_be_lines else []
        if not (head := data.lstrip(_BLANK)):
            return []
        self._framing = _detect_framing(head[:1])
        self.is_document = self._framing == "document"
        if head[:1] == b"{":
            self._may_be_lines = True
            return self._read_lines(data)
        if self._framing != "events":
            return []
        start = b"".join(self._body)
        self._body = [start[:400]]
        return self._values(self._events.feed(start))

    def close(self) -> Iterable[tuple[str, Any]]:
        """Signal the end of the bytes, and return the remaining values.

        Raises:
            nbtool.errors.IncompleteReply: the document is truncated.
            nbtool.errors.InvalidReply: the reply is not JSON.
        """
        if self._framing == "events":
            return self._final_event()
        if self._framing == "lines":
            return self._final_line()
        body = b"".join(self._body).strip(_BLANK)
        self._body.clear()
        if not body:
            return []
        if self._framing == "page":
            raise InvalidReply(f"Expected JSON, received a page: {excerpt(body)!r}.", fix=FIX)
        try:
            return [("", parse(body))]
        except ValueError:
            if _is_truncated(body):
                raise IncompleteReply("The JSON of the reply is truncated.", fix="Send it again.") from None
            raise InvalidReply(f"The reply is not JSON: {excerpt(body)!r}.", fix=FIX) from None

    def _read_lines(self, data: bytes) -> Iterable[tuple[str, Any]]:
        """Read a body as a document in each line, if its first line is one and something follows."""
        if b"\n" not in data and not self._has_line:
            return []
        body = b"".join(self._body).lstrip(_BLANK)
        first, newline, rest = body.partition(b"\n")
        if not newline or not rest.strip(_BLANK):
            self._has_line, self._body = bool(newline), [first + newline]
            return []
        self._may_be_lines = False
        if not _is_json(first):
            self._body = [body]
            return []
        self._framing, self.is_document = "lines", False
        self._body.clear()
        return self._values(self._lines.feed(body))

    def _final_line(self) -> Iterator[tuple[str, Any]]:
        """Read the last line if it is complete; a truncated one means an early end, not an invalid reply."""
        with suppress(InvalidReply):
            yield from self._values(self._lines.close())

    def _values(self, events: list[ServerEvent]) -> Iterator[tuple[str, Any]]:
        """Parse the data of events one after another: an error is raised after the values before it."""
        for data, name in events:
            self._value_count += 1
            if self._value_count > MAX_EVENTS:
                raise ReplyTooLarge(f"The reply has more than {MAX_EVENTS:,} events.", fix="Ask for less.")
            if len(data) > MAX_VALUES:
                _check_values(data)
            try:
                value = from_json(data)
            except ValueError:
                yield from self._fallback(name, data)
            else:
                yield name, value

    def _fallback(self, name: str, data: bytes) -> Iterator[tuple[str, Any]]:
        """Parse what the fast parser rejects: the end mark, an error as plain text, JSON with lone surrogates."""
        data = _repeated_field(data)
        if data.strip().upper() == b"[DONE]":
            yield name, DONE
            return
        if data.startswith(b":"):
            return  # a comment that a gateway has passed on as an event
        try:
            value = parse(data)
        except ValueError:
            if name != "error":
                raise InvalidReply(f"An event of the stream is not JSON: {excerpt(data)!r}.", fix=FIX) from None
            value = {"error": data.decode("utf-8", "replace")}
        yield name, value

    def _final_event(self) -> Iterator[tuple[str, Any]]:
        """Read the last event if it is complete; a truncated one means an early end, not an invalid reply."""
        with suppress(InvalidReply):
            yield from self._values(self._events.close())
        start = b"".join(self._body).lstrip(_BLANK)
        if start.startswith(_GZIP):
            raise InvalidReply(
                "The reply is compressed (gzip) without a header that says so.",
                fix="Let the server or gateway send `Content-Encoding: gzip`, or no compressed replies.",
            )
        if not self._value_count and not any(start.startswith(field) or field.startswith(start) for field in _FIELDS):
            raise InvalidReply(f"The reply is not an event stream: {excerpt(start)!r}.", fix=FIX)


class LineBuffer:
    """Splits bytes into the lines that are not blank, as events without a name."""

    def __init__(self) -> None:
        self._pieces: list[bytes] = []

    def feed(self, data: bytes) -> list[ServerEvent]:
        """Take the next bytes, and return the lines that they complete."""
        *complete, rest = data.split(b"\n")
        if complete:
            complete[0] = b"".join((*self._pieces, complete[0]))
            self._pieces.clear()
        self._pieces.append(rest)
        return [ServerEvent(line) for line in complete if line.strip(_BLANK)]

    def close(self) -> list[ServerEvent]:
        """Return the last line."""
        return self.feed(b"\n")


def _repeated_field(data: bytes) -> bytes:
    """Return the data of an event whose field a gateway has put before it once more: `data: data: {…}`."""
    return data[5:] if data.startswith(b"data:") else data


def _is_json(line: bytes) -> bool:
    """Whether a line is a whole JSON value; counted before it is parsed, as all are."""
    try:
        parse(line)
    except ValueError:
        return False
    return True


def _detect_framing(first: bytes) -> _Framing:
    if first in b"{[":
        return "document"
    return "page" if first == b"<" else "events"


_FIELDS = (b"data:", b"event:", b"id:", b"retry:", b":")
FIX = "Check the address and the wire (`--set wire=NAME`)."


def parse(data: bytes) -> Any:
    """Parse JSON, leniently about its encoding and strictly about its syntax.

    Invalid UTF-8 and lone surrogates become U+FFFD.

    Raises:
        ValueError: it is not JSON.
        nbtool.errors.ReplyTooLarge: it may contain more than `MAX_VALUES` values.
    """
    _check_values(data)
    try:
        return from_json(data)
    except ValueError:
        pass
    try:
        return map_text(json.loads(data.decode("utf-8", "replace")), clean_text, keys=clean_text)
    except RecursionError:
        raise ValueError("too deeply nested") from None


def _check_values(data: bytes) -> None:
    """Reject a text that would need far more memory once parsed; counted before parsing."""
    if len(data) > MAX_VALUES and sum(map(data.count, (b",", b"[", b"{"))) > MAX_VALUES:
        raise ReplyTooLarge(f"The reply contains more than {MAX_VALUES:,} values.", fix="Ask for less.")


def _is_truncated(body: bytes) -> bool:
    """Whether a document is the beginning of valid JSON."""
    try:
        from_json(body, allow_partial=True)
    except ValueError:
        return False
    return True
