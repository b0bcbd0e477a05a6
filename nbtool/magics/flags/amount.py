"""A setting that is a text of a number, and is also given as a number."""

from __future__ import annotations

from typing import Any

from traitlets import Unicode


class Amount(Unicode[Any, Any]):
    """A trait that takes a number, or a text of one, and keeps the text: `5` and `5.0` may mean different things."""

    def validate(self, obj: Any, value: Any) -> Any:
        """Return a text; of a number, as Python writes it."""
        is_number = isinstance(value, int | float) and not isinstance(value, bool)
        return super().validate(obj, repr(value) if is_number else value)

    def from_string(self, s: str) -> str | None:
        """Return a text from the command line; None for `None`, where the setting may be unset."""
        return None if s == "None" and self.allow_none else super().from_string(s)
