"""The usage of a reply, as it grows: read in each dialect's fields, and merged over the events that report it.

Counts are totals of the reply so far, so each event replaces the former ones. Servers repeat the usage with zeros, with
null, or with other fields: what does not count anything replaces no count.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from nbtool.text import leaves, shorten
from nbtool.usage import Usage

MAX_COUNT = 10**15
"""Exclusive bound on a count of tokens; a larger one is no count."""

MAX_DIGITS = 15
"""Digits of a count that is sent as a text."""

MAX_MODEL_NAME = 200
"""Maximum length of the name of the model that answered, in characters."""

_OUTPUT = ("output_tokens", "thinking_tokens", "output_audio_tokens", "output_image_tokens")


class CumulativeUsage:
    """The usage of one reply; `read` reads the fields of a dialect, `model` is the model that answered."""

    def __init__(self, read: Callable[[Mapping[str, Any]], Usage]) -> None:
        self.model = ""
        self.usage = Usage()
        self._read = read
        self._fields: dict[str, Any] = {}

    def set_model(self, name: Any) -> None:
        """Note the name of the model that answers, if it is one."""
        if name != self.model and isinstance(name, str) and name.strip():
            self.model = shorten(name.strip(), MAX_MODEL_NAME)

    def add(self, fields: Any) -> Usage | None:
        """Add the fields of an event, and return the usage so far; None if they are no object."""
        if not isinstance(fields, dict):
            return None
        self._fields = _merged(self._fields, fields)
        newest = self._read(self._fields)
        if newest.output_tokens < self.usage.output_tokens:  # a total never falls; an estimate of the input may
            output = {name: getattr(self.usage, name) for name in _OUTPUT}
            newest = replace(newest, **output)
        self.usage = replace(newest, model=newest.model or self.model)
        return self.usage


def count(value: Any) -> int:
    """Return a count of tokens, which some servers send as digits; 0 for anything else."""
    if isinstance(value, str) and value.isascii() and value.isdecimal() and len(value) <= MAX_DIGITS:
        value = int(value)
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    return int(value) if is_number and 0 <= value < MAX_COUNT else 0


def count_at(fields: Any, *path: str) -> int:
    """Return the count at a path of objects; 0 where there is none."""
    for name in path:
        fields = fields.get(name) if isinstance(fields, Mapping) else None
    return count(fields)


def first_count(fields: Any, *paths: tuple[str, ...]) -> int:
    """Return the first count that is not 0, of the names that servers use for it."""
    return next((found for path in paths if (found := count_at(fields, *path))), 0)


def _merged(former: Mapping[str, Any], newer: Mapping[str, Any]) -> dict[str, Any]:
    """Return the former fields with those of the newer ones that count or say something."""
    merged = dict(former)
    for name, value in newer.items():
        known = merged.get(name)
        if isinstance(known, dict) and isinstance(value, dict):
            merged[name] = _merged(known, value)
        elif not known or _replaces(value, known):
            merged[name] = value
    return merged


def _replaces(value: Any, known: Any) -> bool:
    if isinstance(known, list):  # counts of several kinds, or of several models
        return isinstance(value, list) and any(map(_is_amount, leaves(value)))
    return _is_amount(value) if _is_amount(known) else type(value) is type(known) and bool(value)


def _is_amount(value: Any) -> bool:
    if isinstance(value, str):
        return count(value) > 0
    return isinstance(value, int | float) and not isinstance(value, bool) and 0 < value < MAX_COUNT
