"""The common decoder of two dialects: a stream of typed events, or the reply as one document."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

from nbtool.errors import WireError
from nbtool.events import Delta
from nbtool.wire.framing.dialect_check import check_dialect
from nbtool.wire.framing.json_payloads import DONE, PayloadReader
from nbtool.wire.framing.value_types import wrong_type


class TypedEventDecoder(ABC):
    """Decodes one reply, event by event; subclasses interpret the events of a dialect."""

    dialect: str

    def __init__(self) -> None:
        self._reader = PayloadReader()
        self._error: WireError | None = None
        self._is_done = False

    @property
    def is_done(self) -> bool:
        """Whether the terminal signal was received."""
        return self._is_done

    def feed(self, data: bytes) -> list[Delta]:
        """Decode the next bytes; an error after deltas is raised by the next call, so that no delta is lost."""
        self._raise_pending()
        return [] if self._is_done else self._decode_values(self._reader.feed(data))

    def close(self) -> list[Delta]:
        """Signal the end of the bytes."""
        self._raise_pending()
        return [] if self._is_done else self._decode_values(self._reader.close())

    @abstractmethod
    def _decode_document(self, document: Any, deltas: list[Delta]) -> None:
        """Decode a reply that is one document."""

    @abstractmethod
    def _decode_event(self, kind: str, event: dict[str, Any], deltas: list[Delta]) -> None:
        """Decode one event; irrelevant and unknown events are ignored."""

    @abstractmethod
    def _finish(self, deltas: list[Delta]) -> None:
        """Handle `[DONE]`, which gateways send as the last event."""

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
                else:
                    raise wrong_type(value, "An event of the reply")
        except WireError as error:
            if not deltas:
                raise
            self._error = error
        return deltas
