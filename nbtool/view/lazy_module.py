"""The page's second module: syntax highlighting, formulas, and the views that open on click. Requested once per page.

It is too large to send with every widget, so it is a separate file that is sent, compressed, when a page requests it.
The page imports it as anywidget imports the first one, and shows plain text until it has loaded.
"""

from __future__ import annotations

import gzip
import hashlib
from dataclasses import dataclass
from functools import cache
from pathlib import Path

MODULE = Path(__file__).parent / "static" / "rich.js"

MAX_LAZY_BYTES = 162_000
"""Size limit of the module as it is sent, gzipped, in bytes."""


@dataclass(frozen=True, slots=True)
class LazyModule:
    """The module: `version` identifies its text, the first module must be built for the same; `packed` is gzipped."""

    version: str
    gzipped: bytes


@cache
def load_lazy_module() -> LazyModule:
    """Read and compress the module, once per process.

    Raises:
        OSError: it is not built.
    """
    text = MODULE.read_bytes()
    return LazyModule(hashlib.sha256(text).hexdigest()[:16], gzip.compress(text, mtime=0))
