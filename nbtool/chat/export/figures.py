"""The images and sounds of an exported document: files in a folder beside it."""

from __future__ import annotations

from collections.abc import Iterable
from hashlib import sha256
from urllib.parse import quote

from nbtool.blocks.media import describe, media_data
from nbtool.blocks.render.markdown_source import escape
from nbtool.chat.turn import Turn
from nbtool.events import CallFinished
from nbtool.messages import Media
from nbtool.mime import IMAGES, sniff

MAX_FIGURE_BYTES = 20 * 1024 * 1024
"""Bytes of an image or a sound that is exported."""

MAX_FIGURES_BYTES = 200 * 1024 * 1024
"""Bytes of all images and sounds of one document."""

_SUFFIXES = {
    "image/png": "png", "image/jpeg": "jpg", "image/webp": "webp", "image/gif": "gif", "audio/mpeg": "mp3",
    "audio/wav": "wav", "audio/flac": "flac", "audio/ogg": "ogg", "audio/aac": "aac", "audio/mp4": "m4a",
}  # fmt: skip


def unsaved_media(turn: Turn) -> dict[str, int]:
    """Return how many images and sounds the journal does not have, by the ids of the calls that returned them."""
    return {event.call_id: event.media_unsaved for event in turn.log if isinstance(event, CallFinished)}


class Figures:
    """Collects the images and sounds of a document, each once; without a folder, they are only described."""

    def __init__(self, folder: str = "", max_bytes: int = MAX_FIGURES_BYTES) -> None:
        self._folder = folder
        self._names: dict[bytes, str] = {}
        self._bytes_left = max_bytes
        self.files: dict[str, bytes] = {}
        """The bytes by the names of the files."""
        self.unsaved = 0
        """The images and sounds of results that only their own kernel had."""

    def write(self, media: Iterable[Media]) -> list[str]:
        """Return each image or sound as Markdown; what is not exported is a line that says so."""
        return [self._write(item) for item in media]

    def write_unsaved(self, count: int) -> list[str]:
        """Return a line that says how many images and sounds of a result are gone; none if there are none."""
        if count <= 0:
            return []
        self.unsaved += count
        subject = (
            "1 image or sound of this result is" if count == 1 else f"{count:,} images and sounds of this result are"
        )
        return [f"\\[{subject} not here: only the kernel that made {'it' if count == 1 else 'them'} had the bytes\\]"]

    def _write(self, media: Media) -> str:
        (shape,) = media_data([media], {})
        line = escape(describe(shape))
        suffix = _SUFFIXES.get(sniff(media.data or b""))
        if not self._folder or not suffix:
            return f"\\[{line}\\]"
        name = self._add(media.data or b"", suffix)
        if not name:
            return f"\\[{line}: too large to export\\]"
        target = f"<{quote(f'{self._folder}/{name}')}>"
        return f"![{line}]({target})" if sniff(media.data or b"") in IMAGES else f"[{line}]({target})"

    def _add(self, data: bytes, suffix: str) -> str:
        """Return the name of a file with these bytes; empty if they are too large."""
        digest = sha256(data).digest()
        if digest in self._names:
            return self._names[digest]
        if len(data) > min(MAX_FIGURE_BYTES, self._bytes_left):
            return ""
        self._bytes_left -= len(data)
        name = self._names[digest] = f"figure-{len(self.files) + 1}.{suffix}"
        self.files[name] = data
        return name
