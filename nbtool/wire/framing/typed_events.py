"""What two dialects have in common: a stream of events that name their type, or the whole reply as one document."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

from nbtool.errors import WireError
from nbtool.events import Delta
from nbtool.wire.framing.dialect_check import check_dialect
from nbtool.wire.framing.json_payloads import DONE, PayloadReader


class TypedEventDecoder(ABC):
    """Reads one reply, event by event; what an event means is the dialect's own."""

    dialect: str

    def __init__(self) -> None:
        self._reader = PayloadReader()
        self._error: WireError | None = None
        self._is_done = False

    @property
    def is_done(self) -> bool:
        """Whether the terminal signal was seen."""
        return self._is_done

    def feed(self, data: bytes) -> list[Delta]:
        """Take the next bytes; an error that follows deltas is raised by the next call, so that none is lost."""
        self._raise_pending()
        return [] if self._is_done else self._decode_values(self._reader.feed(data))

    def close(self) -> list[Delta]:
        """Take note that no more bytes will come."""
        self._raise_pending()
        return [] if self._is_done else self._decode_values(self._reader.close())

    @abstractmethod
    def _decode_document(self, document: Any, deltas: list[Delta]) -> None:
        """Read a reply that is one document."""

    @abstractmethod
    def _decode_event(self, kind: str, event: dict[str, Any], deltas: list[Delta]) -> None:
        """Read one event; those of no interest, and those nobody knows yet, are passed over."""

    @abstractmethod
    def _finish(self, deltas: list[Delta]) -> None:
        """Take `[DONE]`, which gateways send: nothing comes after it."""

    def _raise_pending(self) -> None:
        if self._error:
            raise self._error

    def _decode_values(self, values: list[tuple[str, Any]]) -> list[Delta]:
        deltas: list[Delta] = []
        try:
            for name, value in values:
                if self._is_done:
                    break
                if self._reader.is_document:
                    self._decode_document(value, deltas)
                elif value == DONE:
                    self._finish(deltas)
                elif isinstance(value, dict):
                    check_dialect(value, self.dialect, name)
                    self._decode_event(str(value.get("type") or name), value, deltas)
        except WireError as error:
            if not deltas:
                raise
            self._error = error
        return deltas
