"""Reads one reply of a dialect, from bytes to deltas: what all dialects of texts share.

A reply is a stream of JSON events, or one document. A subclass interprets the events; this class splits the bytes, and
refuses what is of another dialect.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable
from typing import Any

from nbtool.events import Delta
from nbtool.wire.base import Decoder
from nbtool.wire.dialects.prose import Prose
from nbtool.wire.framing.dialect_check import check_dialect
from nbtool.wire.framing.json_payloads import DONE, PayloadReader
from nbtool.wire.framing.value_types import wrong_type


class StreamReader(Decoder):
    """Reads one reply; `dialect` names its dialect, and events of these `kinds` need no check that they are of it.

    With `prose`, the deltas that arrive together are merged, and thinking in tags is separated from the text.
    """

    dialect: str
    kinds: frozenset[str] = frozenset()
    prose: Prose | None = None

    def __init__(self) -> None:
        self._payloads = PayloadReader()
        self._is_finished = False  # nothing more is read

    @property
    def is_done(self) -> bool:
        """Whether the terminal signal was received."""
        return self._is_finished

    def feed(self, data: bytes, deltas: list[Delta]) -> None:
        """Read the next bytes; see `nbtool.wire.base.Decoder`."""
        if not self._is_finished:
            self._read(self._payloads.feed(data), deltas)

    def close(self, deltas: list[Delta]) -> None:
        """Signal the end of the bytes; see `nbtool.wire.base.Decoder`."""
        if not self._is_finished:
            self._read(self._payloads.close(), deltas, is_last=True)

    @abstractmethod
    def _decode_document(self, document: Any, deltas: list[Delta]) -> None:
        """Decode a reply that is one document."""

    @abstractmethod
    def _decode_event(self, kind: str, event: dict[str, Any], deltas: list[Delta]) -> None:
        """Decode one event; irrelevant and unknown events are ignored."""

    @abstractmethod
    def _finish(self, deltas: list[Delta]) -> None:
        """Handle `[DONE]`, which gateways of every dialect send as the last event."""

    def _end(self, deltas: list[Delta]) -> None:
        """Handle the end of the bytes of a reply that is not finished."""

    def _read(self, values: Iterable[tuple[str, Any]], deltas: list[Delta], *, is_last: bool = False) -> None:
        """Decode values, and append what they say; also what came before an error."""
        arrived: list[Delta] = []
        is_failed = True
        try:
            self._decode(values, arrived)
            if is_last and not self._is_finished:
                self._end(arrived)
            is_failed = False
        finally:
            self._is_finished = self._is_finished or is_failed
            if self.prose:
                arrived = self.prose.separate(arrived)
                if is_failed or (is_last and not self.continuation):
                    arrived += self.prose.flush()
            deltas += arrived

    def _decode(self, values: Iterable[tuple[str, Any]], deltas: list[Delta]) -> None:
        for name, value in values:
            if self._payloads.is_document:
                self._decode_document(value, deltas)
            elif type(value) is dict:
                kind = value.get("type") or name
                if type(kind) is not str or kind not in self.kinds:
                    check_dialect(value, self.dialect, name)
                self._decode_event(str(kind), value, deltas)
            elif value == DONE:
                self._finish(deltas)
            else:
                raise wrong_type(value, "An event of the reply")
            if self._is_finished:
                return
