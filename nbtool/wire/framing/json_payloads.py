"""Bytes in, JSON values out: an event stream, one whole JSON document, or a page that is neither.

Servers answer a request for a stream with one document and the other way round, and pad documents with blank
lines while a model works. So the first byte that is not blank decides how the rest is read.
"""

from __future__ import annotations

import json
from typing import Any, Literal

from pydantic_core import from_json

from nbtool.errors import BadReply, IncompleteReply, TooLarge
from nbtool.messages import clean_text
from nbtool.wire.framing.redaction import excerpt
from nbtool.wire.framing.sse import EventParser, ServerEvent

DONE = "[DONE]"
"""What a stream of JSON events says after its last one."""

MAX_BODY = 64 * 1024 * 1024
"""Bytes that one reply may have at most."""

MAX_VALUES = 1_000_000
"""Commas and opening brackets of one JSON text: each may be a value of its own, of a hundred bytes once it is read."""

_BLANK = b" \t\r\n\xef\xbb\xbf"
_GZIP = b"\x1f\x8b"


_Shape = Literal["events", "document", "page"]


class PayloadReader:
    """Reads one reply's JSON values; it can be fed at any cut, and copied with `copy.deepcopy`.

    Each value comes as the pair of its event's name (or an empty string) and the value itself; the end mark of a
    stream comes as `DONE`. `is_whole` says that the reply is one document: it then comes out of `close`.
    """

    def __init__(self) -> None:
        self.is_whole = False
        self._events = EventParser()
        self._shape: _Shape | None = None
        self._body: list[bytes] = []
        self._size = 0
        self._seen = 0

    def feed(self, data: bytes) -> list[tuple[str, Any]]:
        """Take the next bytes and give the values that they complete.

        Raises:
            nbtool.errors.BadReply: an event is no JSON.
            nbtool.errors.TooLarge: the reply, or one event, is over its bound.
        """
        self._size += len(data)
        if self._size > MAX_BODY:
            raise TooLarge(f"The reply is larger than {MAX_BODY >> 20} MiB.", fix="Ask for less.")
        if self._shape == "events":
            return self._values(self._events.feed(data))
        self._body.append(data)
        if self._shape or not (head := data.lstrip(_BLANK)):
            return []
        self._shape = _shape(head[:1])
        self.is_whole = self._shape == "document"
        if self._shape != "events":
            return []
        opening = b"".join(self._body)
        self._body = [opening[:400]]
        return self._values(self._events.feed(opening))

    def close(self) -> list[tuple[str, Any]]:
        """Take note that no more bytes will come, and give what they left.

        Raises:
            nbtool.errors.IncompleteReply: a document that ends in its middle.
            nbtool.errors.BadReply: what came is no JSON at all.
        """
        if self._shape == "events":
            return self._last_event()
        body = b"".join(self._body).strip(_BLANK)
        self._body.clear()
        if not body:
            return []
        if self._shape == "page":
            raise BadReply(f"A page came in place of JSON: {excerpt(body)!r}.", fix=_FIX)
        try:
            return [("", parse(body))]
        except ValueError:
            if _is_beginning(body):
                raise IncompleteReply("The reply ended in the middle of its JSON.", fix="Send it again.") from None
            raise BadReply(f"The reply is no JSON: {excerpt(body)!r}.", fix=_FIX) from None

    def _values(self, events: list[ServerEvent]) -> list[tuple[str, Any]]:
        values: list[tuple[str, Any]] = []
        for data, name in events:
            self._seen += 1
            if len(data) > MAX_VALUES:
                _check_values(data)
            try:
                values.append((name, from_json(data)))
            except ValueError:
                self._odd(name, data, values)
        return values

    def _odd(self, name: str, data: bytes, values: list[tuple[str, Any]]) -> None:
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
                raise BadReply(f"An event of the stream is no JSON: {excerpt(data)!r}.", fix=_FIX) from None

    def _last_event(self) -> list[tuple[str, Any]]:
        """Give the last event if it is whole; if it was cut it is no fault of the dialect, only an end too early."""
        try:
            values = self._values(self._events.close())
        except BadReply:
            return []
        opening = b"".join(self._body).lstrip(_BLANK)
        if opening.startswith(_GZIP):
            raise BadReply("The reply is compressed (gzip), and its headers do not say so.", fix="Unpack it first.")
        if not self._seen and not any(opening.startswith(field) or field.startswith(opening) for field in _FIELDS):
            raise BadReply(f"The reply is no event stream: {excerpt(opening)!r}.", fix=_FIX)
        return values


def _shape(first: bytes) -> _Shape:
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
        nbtool.errors.TooLarge: it may hold more than `MAX_VALUES` values.
    """
    _check_values(data)
    try:
        return from_json(data)
    except ValueError:
        pass
    try:
        return _clean(json.loads(data.decode("utf-8", "replace")))
    except RecursionError:
        raise ValueError("too deeply nested") from None


def _check_values(data: bytes) -> None:
    """Refuse what would take far more memory as values than as text; counted before anything is read."""
    if len(data) > MAX_VALUES and sum(map(data.count, (b",", b"[", b"{"))) > MAX_VALUES:
        raise TooLarge(f"The reply holds more than {MAX_VALUES:,} values.", fix="Ask for less.")


def _clean(value: Any) -> Any:
    if isinstance(value, str):
        return clean_text(value)
    if isinstance(value, list):
        return [_clean(item) for item in value]
    if isinstance(value, dict):
        return {clean_text(key): _clean(item) for key, item in value.items()}
    return value


def _is_beginning(body: bytes) -> bool:
    """Whether a document is sound as far as it goes."""
    try:
        from_json(body, allow_partial=True)
    except ValueError:
        return False
    return True
