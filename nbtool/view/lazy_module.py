"""The page's second module: colours for code, formulas, and the views that are opened. A page asks for it once.

It is too heavy to travel with every widget, so it lies in a file of its own and is sent when a page asks, packed. The
page imports it as anywidget imports the first one, and shows all in plain until it has come.
"""

from __future__ import annotations

import gzip
import hashlib
from dataclasses import dataclass
from functools import cache
from pathlib import Path

MODULE = Path(__file__).parent / "static" / "rich.js"

MAX_LAZY_BYTES = 150_000
"""Bytes of the module as it is sent, gzipped."""


@dataclass(frozen=True, slots=True)
class LazyModule:
    """The module: `version` names its text, which the first module must have been built with; `packed` is gzipped."""

    version: str
    gzipped: bytes


@cache
def load_lazy_module() -> LazyModule:
    """Read and pack the module, once in a process.

    Raises:
        OSError: it is not built.
    """
    text = MODULE.read_bytes()
    return LazyModule(hashlib.sha256(text).hexdigest()[:16], gzip.compress(text, mtime=0))
