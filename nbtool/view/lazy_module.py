"""The page's later modules: `rich` (syntax highlighting, the views that open on click) once a page, and `formulas`.

They are too large to send with every widget, so each is a file of its own that is sent, compressed, when a page
requests it. The page imports them as anywidget imports the first one, and shows plain text until they have loaded.
"""

from __future__ import annotations

import gzip
import hashlib
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Literal

LazyName = Literal["rich", "formulas"]
"""A module: `rich` is needed by nearly every page, `formulas` by those that have one."""

STATIC = Path(__file__).parent / "static"

MAX_LAZY_BYTES: dict[LazyName, int] = {"rich": 102_000, "formulas": 66_000}
"""Size limit of each module as it is sent, gzipped, in bytes."""


@dataclass(frozen=True, slots=True)
class LazyModule:
    """A module: `version` identifies its text, the first module must be built for the same."""

    version: str
    gzipped: bytes


@cache
def load_lazy_module(name: LazyName) -> LazyModule:
    """Read and compress a module, once per process.

    Raises:
        OSError: it is not built.
    """
    text = (STATIC / f"{name}.js").read_bytes()
    return LazyModule(hashlib.sha256(text).hexdigest()[:16], gzip.compress(text, mtime=0))
