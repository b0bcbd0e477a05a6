"""Parse server-sent events from bytes, without I/O.

Follows https://html.spec.whatwg.org/multipage/server-sent-events.html#parsing-an-event-stream, with three exceptions
for real servers: the last event counts without a blank line after it (`close`), events that are not separated by blank
lines are split if each is a JSON object, and an event without data is ignored. The cost is linear in the bytes, however
they are split.
"""

from __future__ import annotations

from typing import NamedTuple

from pydantic_core import from_json

from nbtool.errors import ReplyTooLarge

MAX_EVENT_BYTES = 8 * 1024 * 1024
"""Maximum size of one event, and so of one line, in bytes."""

_BOM = b"\xef\xbb\xbf"


class ServerEvent(NamedTuple):
    """One event: its data, and the name from its `event:` line or an empty string."""

    data: bytes
    name: str = ""


class EventParser:
    """Parses one stream from bytes, split anywhere; it can be copied with `copy.deepcopy`.

    `comments` counts the comment lines, which servers send to keep a connection alive, and which are not progress.
    """

    def __init__(self) -> None:
        self.comments = 0
        self._tail: list[bytes] = []  # the bytes of an incomplete line
        self._buffered = 0  # the size of the tail and of the incomplete event
        self._data: list[bytes] = []
        self._name = ""
        self._has_begun = False
        self._after_cr = False  # the last byte was CR: a following LF belongs to it

    def feed(self, data: bytes) -> list[ServerEvent]:
        """Parse the next bytes and return the events that they complete.

        Raises:
            nbtool.errors.ReplyTooLarge: an event exceeds `MAX_EVENT_BYTES`.
        """
        if self._after_cr and data:
            self._after_cr = False
            data = data.removeprefix(b"\n")
        if not self._has_begun:
            data = self._strip_bom(data)
        if b"\n" not in data and b"\r" not in data:
            self._buffer(data)
            return []
        if self._tail:
            data = b"".join((*self._tail, data))
            self._buffered -= sum(map(len, self._tail))
            self._tail.clear()
        if b"\r" in data:
            self._after_cr = data.endswith(b"\r")
            data = data.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
        return self._parse_blocks(data)

    def close(self) -> list[ServerEvent]:
        """Signal the end of the bytes, and return the last event, even without a blank line after it."""
        events: list[ServerEvent] = []
        line = b"".join(self._tail)
        self._tail.clear()
        self._parse_line(line.removeprefix(_BOM) if not self._has_begun else line, events)
        self._dispatch(events)
        return events

    def _strip_bom(self, data: bytes) -> bytes:
        """Remove a byte order mark, which may be split."""
        head = b"".join((*self._tail, data))
        self._tail.clear()
        self._buffered = 0
        if len(head) < len(_BOM) and _BOM.startswith(head):
            self._buffer(head)
            return b""
        self._has_begun = True
        return head.removeprefix(_BOM)

    def _buffer(self, data: bytes) -> None:
        if data:
            self._tail.append(data)
            self._count(len(data))

    def _parse_blocks(self, data: bytes) -> list[ServerEvent]:
        """Parse blocks separated by blank lines; nearly every block is one `data:` line, or `event:` and `data:`."""
        events: list[ServerEvent] = []
        *blocks, rest = data.split(b"\n\n")
        may_be_large = len(data) + self._buffered > MAX_EVENT_BYTES
        is_idle = not (self._data or self._name)
        for block in blocks:
            if is_idle and not block:
                continue
            if may_be_large and len(block) + self._buffered > MAX_EVENT_BYTES:
                raise _too_large()
            if is_idle and block.startswith(b"data: ") and len(block) > 6 and b"\n" not in block:
                events.append(ServerEvent(block[6:]))
            elif is_idle and block.startswith(b"event: ") and self._parse_named_block(block, events):
                pass
            else:
                for line in block.split(b"\n"):
                    self._parse_line(line, events)
                self._dispatch(events)
                is_idle = True
        *lines, tail = rest.split(b"\n")
        for line in lines:
            self._parse_line(line, events)
        self._buffer(tail)
        return events

    def _parse_named_block(self, block: bytes, events: list[ServerEvent]) -> bool:
        """Parse a block of an `event:` line and a `data:` line; return False for any other block."""
        head, _, line = block.partition(b"\n")
        if not line.startswith(b"data: ") or len(line) == 6 or b"\n" in line:
            return False
        events.append(ServerEvent(line[6:], head[7:].strip().decode("utf-8", "replace")))
        return True

    def _parse_line(self, line: bytes, events: list[ServerEvent]) -> None:
        """Parse one line of any kind."""
        if not line:
            self._dispatch(events)
            return
        if line.startswith(b":"):
            self.comments += 1
            return
        field, _, value = line.partition(b":")
        value = value.removeprefix(b" ")
        if field == b"data":
            self._split_unseparated(events)
            self._data.append(value)
            self._count(len(value))
        elif field == b"event":
            if self._name:
                self._split_unseparated(events)
            self._name = value.strip().decode("utf-8", "replace")

    def _split_unseparated(self, events: list[ServerEvent]) -> None:
        """End the previous event if the blank line is missing: a complete JSON object has no second line."""
        if len(self._data) == 1 and _is_object(self._data[0]):
            self._dispatch(events)

    def _dispatch(self, events: list[ServerEvent]) -> None:
        value = b"\n".join(self._data)
        if value:
            events.append(ServerEvent(value, self._name))
        self._data.clear()
        self._name = ""
        self._buffered = 0

    def _count(self, size: int) -> None:
        self._buffered += size
        if self._buffered > MAX_EVENT_BYTES:
            raise _too_large()


def _is_object(data: bytes) -> bool:
    """Whether these bytes are a complete JSON object, so that the next line belongs to another event."""
    if not (data.startswith(b"{") and data.endswith(b"}")):
        return False
    try:
        from_json(data)
    except ValueError:
        return False
    return True


def _too_large() -> ReplyTooLarge:
    return ReplyTooLarge(
        f"An event of the reply is larger than {MAX_EVENT_BYTES >> 20} MiB.", fix="Ask for less at once."
    )
