"""Recognizes the cells of nbtool's own magics, which are no context and cannot run inside one another."""

from __future__ import annotations

import re
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class OwnMagic:
    """The magics of one name."""

    magic: str = "chat"

    def matches(self, source: str) -> bool:
        """Return whether a cell begins with the magic, of lines or of cells."""
        return re.match(rf"\s*%{{1,2}}{re.escape(self.magic)}\b", source) is not None
