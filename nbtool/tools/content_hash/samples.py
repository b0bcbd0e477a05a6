"""Digests of parts of large objects: a difference is a change, no difference does not say that there is none."""

from __future__ import annotations

from typing import Any

from nbtool.tools.content_hash.builtins import hash_value
from nbtool.tools.content_hash.change_token import MAX_ITEMS
from nbtool.tools.content_hash.live import LiveObjectHasher

WHOLE_BYTES = 1024 * 1024
"""A buffer of at most this many bytes is read as a whole."""

SAMPLES = 256
"""Parts that are read of a larger one, at equal distances."""

SAMPLE_BYTES = 4096
"""Bytes of each part."""


class SampledHasher(LiveObjectHasher):
    """Reads parts of large buffers (arrays, columns, bytes), and everything else of an object."""

    def update_bytes(self, data: Any) -> None:
        """Hash bytes, or an object with a flat buffer: parts of it if it is large; raises as the hasher's."""
        view = memoryview(data).cast("B")
        if len(view) <= WHOLE_BYTES:
            super().update_bytes(view)
            return
        self.update_text(f"{len(view)} bytes")
        for start in range(0, len(view), -(-len(view) // SAMPLES)):
            super().update_bytes(view[start : start + SAMPLE_BYTES])


def sample_digest(value: Any, *, seconds: float, max_bytes: int) -> str:
    """Return a digest of parts of an object's content as it is now; empty if it cannot be read in time."""
    hasher = SampledHasher(seconds, max_bytes=max_bytes, max_items=MAX_ITEMS)
    try:
        hash_value(value, hasher)
    except Exception:  # noqa: BLE001 - code of a library, an object that another thread changes, or no time: no digest
        return ""
    return "" if hasher.problems or hasher.is_partial else hasher.hexdigest()
