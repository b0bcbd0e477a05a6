"""A decoder that changes the deltas of another one."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Any

from nbtool.errors import WireError
from nbtool.events import Delta
from nbtool.wire.base import Continuable, Decoder
from nbtool.wire.delta_merging import coalesce


class WrappedDecoder(ABC):
    """Changes the deltas of an inner decoder, and may hold text back; an error is raised after the text before it."""

    def __init__(self, inner: Decoder) -> None:
        self._inner = inner
        self._error: WireError | None = None

    @abstractmethod
    def _translate(self, deltas: list[Delta]) -> list[Delta]:
        """Return what replaces these deltas."""

    @abstractmethod
    def _flush(self) -> list[Delta]:
        """Return the deltas of the text that is held back."""

    @property
    def is_done(self) -> bool:
        """Whether the reply is complete."""
        return self._inner.is_done and self._error is None

    @property
    def pending(self) -> str:
        """The status of a reply that the provider generates in the background; see `dialects.responses.decoder`."""
        return str(getattr(self._inner, "pending", ""))

    @property
    def continuation(self) -> Mapping[str, Any]:
        """The fields of the request that continues the reply; see `base.Continuable`."""
        return self._inner.continuation if isinstance(self._inner, Continuable) else {}

    def resume(self) -> None:
        """Expect the bytes of the next response; text that is held back is still held back."""
        assert isinstance(self._inner, Continuable)  # only a decoder with a continuation is resumed
        self._inner.resume()

    def feed(self, data: bytes) -> list[Delta]:
        """Feed the next bytes."""
        self._raise_error()
        try:
            return self._translate(coalesce(self._inner.feed(data)))  # before: a translation costs more than a merge
        except WireError as error:
            return self._flush_before(error)

    def close(self) -> list[Delta]:
        """Signal the end of the bytes."""
        self._raise_error()
        try:
            deltas = self._translate(self._inner.close())
        except WireError as error:
            return self._flush_before(error)
        return deltas if self.continuation else [*deltas, *self._flush()]

    def _flush_before(self, error: WireError) -> list[Delta]:
        """Return the text that is held back, and raise the error with the next call; at once if there is no text."""
        deltas = self._flush()
        if not deltas:
            raise error
        self._error = error
        return deltas

    def _raise_error(self) -> None:
        if self._error is not None:
            error, self._error = self._error, None
            raise error
