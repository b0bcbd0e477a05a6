"""A setting that is a number of bytes, also with a unit: `500 MB`, `256MiB`."""

from __future__ import annotations

import re
from typing import Any

from traitlets import Integer, TraitError

from nbtool.errors import BadUsage
from nbtool.text import shorten

EXAMPLES = "a number of bytes, or one with a unit: 500MB, 1GB, 256MiB"

_SIZE = re.compile(r"([0-9]{1,15}(?:\.[0-9]{1,6})?) ?([kKmMgGtT]?)(i?)([bB]?|bytes?)", re.ASCII)

_POWERS = {"": 0, "k": 1, "m": 2, "g": 3, "t": 4}


def parse_byte_size(text: str) -> int:
    """Return the number of bytes that a text names.

    Raises:
        BadUsage: it names none.
    """
    match = _SIZE.fullmatch(text.strip().replace("_", ""))
    if not match or (match[3] and not match[2]):
        raise BadUsage(f"{shorten(text, 40)!r} is not a size: expected {EXAMPLES}.")
    unit: int = (1024 if match[3] else 1000) ** _POWERS[match[2].lower()]
    return round(float(match[1]) * unit)


class ByteSize(Integer[Any, Any]):
    """A trait that takes a number, or a text with a unit."""

    def validate(self, obj: Any, value: Any) -> Any:
        """Return a number; of a text, the one that it names."""
        return super().validate(obj, self.from_string(value) if isinstance(value, str) else value)

    def from_string(self, s: str) -> int | None:
        """Return the number that a text names; None for `None`, where the setting may be unset.

        Raises:
            TraitError: it names none.
        """
        if s == "None" and self.allow_none:
            return None
        try:
            return parse_byte_size(s)
        except BadUsage:
            raise TraitError(f"expected {EXAMPLES}") from None
