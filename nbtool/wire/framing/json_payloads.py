"""Bytes in, JSON values out: an event stream, one whole JSON document, or a page that is neither.

Servers answer a request for a stream with one document and the other way round, and pad documents with blank
lines while a model works. So the first byte that is not blank decides how the rest is read.
"""

from __future__ import annotations

import json
from typing import Any, Literal

from pydantic_core import from_json

from nbtool.errors import IncompleteReply, InvalidReply, ReplyTooLarge
from nbtool.messages import clean_text
from nbtool.wire.framing.redaction import excerpt
from nbtool.wire.framing.sse import EventParser, ServerEvent

DONE = "[DONE]"
"""What a stream of JSON events says after its last one."""

MAX_BODY_BYTES = 64 * 1024 * 1024
"""Bytes that one reply may have at most."""

MAX_VALUES = 1_000_000
"""Commas and opening brackets of one JSON text: each may be a value of its own, of a hundred bytes once it is read."""

_BLANK = b" \t\r\n\xef\xbb\xbf"
_GZIP = b"\x1f\x8b"


_Framing = Literal["events", "document", "page"]


class PayloadReader:
    """Reads one reply's JSON values; it can be fed at any cut, and copied with `copy.deepcopy`.

    Each value comes as the pair of its event's name (or an empty string) and the value itself; the end mark of a
    stream comes as `DONE`. `is_document` says that the reply is one document: it then comes out of `close`.
    """

    def __init__(self) -> None:
        self.is_document = False
        self._events = EventParser()
        self._framing: _Framing | None = None
        self._body: list[bytes] = []
        self._size = 0
        self._value_count = 0

    def feed(self, data: bytes) -> list[tuple[str, Any]]:
        """Take the next bytes and give the values that they complete.

        Raises:
            nbtool.errors.InvalidReply: an event is no JSON.
            nbtool.errors.ReplyTooLarge: the reply, or one event, is over its bound.
        """
        self._size += len(data)
        if self._size > MAX_BODY_BYTES:
            raise ReplyTooLarge(f"The reply is larger than {MAX_BODY_BYTES >> 20} MiB.", fix="Ask for less.")
        if self._framing == "events":
            return self._values(self._events.feed(data))
        self._body.append(data)
        if self._framing or not (head := data.lstrip(_BLANK)):
            return []
        self._framing = _detect_framing(head[:1])
        self.is_document = self._framing == "document"
        if self._framing != "events":
            return []
        start = b"".join(self._body)
        self._body = [start[:400]]
        return self._values(self._events.feed(start))

    def close(self) -> list[tuple[str, Any]]:
        """Take note that no more bytes will come, and give what they left.

        Raises:
            nbtool.errors.IncompleteReply: a document that ends in its middle.
            nbtool.errors.InvalidReply: what came is no JSON at all.
        """
        if self._framing == "events":
            return self._final_event()
        body = b"".join(self._body).strip(_BLANK)
        self._body.clear()
        if not body:
            return []
        if self._framing == "page":
            raise InvalidReply(f"A page came in place of JSON: {excerpt(body)!r}.", fix=_FIX)
        try:
            return [("", parse(body))]
        except ValueError:
            if _is_truncated(body):
                raise IncompleteReply("The reply ended in the middle of its JSON.", fix="Send it again.") from None
            raise InvalidReply(f"The reply is no JSON: {excerpt(body)!r}.", fix=_FIX) from None

    def _values(self, events: list[ServerEvent]) -> list[tuple[str, Any]]:
        values: list[tuple[str, Any]] = []
        for data, name in events:
            self._value_count += 1
            if len(data) > MAX_VALUES:
                _check_values(data)
            try:
                values.append((name, from_json(data)))
            except ValueError:
                self._fallback(name, data, values)
        return values

    def _fallback(self, name: str, data: bytes, values: list[tuple[str, Any]]) -> None:
        """Take what the fast parser refuses: the end mark, an error in bare words, JSON with lone surrogates."""
        if data.strip() == b"[DONE]":
            values.append((name, DONE))
            return
        try:
            values.append((name, parse(data)))
        except ValueError:
            if name == "error":
                values.append((name, {"error": data.decode("utf-8", "replace")}))
            elif data.lstrip().startswith(b"{"):
                raise InvalidReply(f"An event of the stream is no JSON: {excerpt(data)!r}.", fix=_FIX) from None

    def _final_event(self) -> list[tuple[str, Any]]:
        """Give the last event if it is whole; if it was cut it is no fault of the dialect, only an end too early."""
        try:
            values = self._values(self._events.close())
        except InvalidReply:
            return []
        start = b"".join(self._body).lstrip(_BLANK)
        if start.startswith(_GZIP):
            raise InvalidReply("The reply is compressed (gzip), and its headers do not say so.", fix="Unpack it first.")
        if not self._value_count and not any(start.startswith(field) or field.startswith(start) for field in _FIELDS):
            raise InvalidReply(f"The reply is no event stream: {excerpt(start)!r}.", fix=_FIX)
        return values


def _detect_framing(first: bytes) -> _Framing:
    if first in b"{[":
        return "document"
    return "page" if first == b"<" else "events"


_FIELDS = (b"data:", b"event:", b"id:", b"retry:", b":")
_FIX = "Check the address and the wire (`--wire`)."


def parse(data: bytes) -> Any:
    """Parse JSON as leniently as bytes need it, and never leniently in its syntax.

    Bytes that are no UTF-8 and lone surrogates become U+FFFD.

    Raises:
        ValueError: it is no JSON.
        nbtool.errors.ReplyTooLarge: it may hold more than `MAX_VALUES` values.
    """
    _check_values(data)
    try:
        return from_json(data)
    except ValueError:
        pass
    try:
        return _clean_text(json.loads(data.decode("utf-8", "replace")))
    except RecursionError:
        raise ValueError("too deeply nested") from None


def _check_values(data: bytes) -> None:
    """Refuse what would take far more memory as values than as text; counted before anything is read."""
    if len(data) > MAX_VALUES and sum(map(data.count, (b",", b"[", b"{"))) > MAX_VALUES:
        raise ReplyTooLarge(f"The reply holds more than {MAX_VALUES:,} values.", fix="Ask for less.")


def _clean_text(value: Any) -> Any:
    if isinstance(value, str):
        return clean_text(value)
    if isinstance(value, list):
        return [_clean_text(item) for item in value]
    if isinstance(value, dict):
        return {clean_text(key): _clean_text(item) for key, item in value.items()}
    return value


def _is_truncated(body: bytes) -> bool:
    """Whether a document is sound as far as it goes."""
    try:
        from_json(body, allow_partial=True)
    except ValueError:
        return False
    return True
