"""A stream and a display publisher that stand around those of the notebook while a model's code or cell runs."""

from __future__ import annotations

import io
from collections.abc import Callable
from typing import Any

from IPython.core.displaypub import DisplayPublisher


class StreamProxy(io.TextIOBase):
    """A stream around another one: `take` sees each text first, and returns whether the text ends there."""

    def __init__(self, stream: Any, take: Callable[[str], bool]) -> None:
        self._stream, self._take = stream, take

    def write(self, text: str) -> int:
        """Offer a text, and write it to the other stream if it was not taken."""
        if not self._take(text):
            self._stream.write(text)
        return len(text)

    def flush(self) -> None:
        """Flush the other stream."""
        self._stream.flush()

    def close(self) -> None:
        """Do not close the stream: it belongs to the notebook, and Python's finalizer closes collected streams."""

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)


class PublisherProxy(DisplayPublisher):
    """A display publisher around another one; a subclass overrides what it sees."""

    def __init__(self, publisher: Any) -> None:
        super().__init__(parent=publisher.parent)  # type: ignore[no-untyped-call]  # IPython ships no types for it
        self._publisher = publisher

    def publish(self, data: dict[str, Any], metadata: dict[str, Any] | None = None, **kwargs: Any) -> None:  # type: ignore[override]  # IPython's signature differs between versions
        """Publish with the other publisher."""
        self._publisher.publish(data, metadata, **kwargs)

    def clear_output(self, wait: bool = False) -> None:
        """Clear with the other publisher."""
        self._publisher.clear_output(wait)

    def __getattr__(self, name: str) -> Any:
        if "_publisher" not in self.__dict__:
            raise AttributeError(name)
        return getattr(self._publisher, name)
