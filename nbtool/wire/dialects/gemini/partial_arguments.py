"""Arguments of a call that come in pieces, each a value and the JSON path where it belongs.

See https://cloud.google.com/vertex-ai/generative-ai/docs/multimodal/function-calling#streaming-fc.
"""

from __future__ import annotations

import re
from itertools import pairwise
from typing import Any

from nbtool.call_arguments import MAX_NESTING

_STEP = re.compile(r"\.([^.\[\]]+)|\[(\d+)\]|\['((?:[^'\\]|\\.)*)'\]|\[\"((?:[^\"\\]|\\.)*)\"\]")
_VALUES = ("stringValue", "numberValue", "boolValue", "nullValue")

Step = str | int


class _Fragments(list[str]):
    """A text of which more may follow."""


class PartialArguments:
    """The arguments of one call so far; `is_valid` is False once a piece had no place in them."""

    def __init__(self) -> None:
        self.is_valid = True
        self._root: dict[str, Any] = {}

    def add(self, piece: Any) -> None:
        """Take the next piece."""
        path = _parse_path(piece.get("jsonPath")) if isinstance(piece, dict) else None
        name = next((name for name in _VALUES if name in piece), None) if path else None
        if not path or name is None or not self._place(path, None if name == "nullValue" else piece[name]):
            self.is_valid = False

    def value(self) -> dict[str, Any]:
        """Return the arguments."""
        joined: dict[str, Any] = _joined(self._root)
        return joined

    def _place(self, path: list[Step], value: Any) -> bool:
        """Put a value at its place; says no where the path leads nowhere."""
        container: Any = self._root
        for step, following in pairwise(path):
            container = _child(container, step, [] if isinstance(following, int) else {})
        return _assign(container, path[-1], value)


def _child(container: Any, step: Step, empty: Any) -> Any:
    """Return what stands at a step, made where it is new; None where there is no place for it."""
    if not _has_place(container, step):
        return None
    if isinstance(container, dict):
        return container.setdefault(step, empty)
    if step == len(container):
        container.append(empty)
    return container[step]


def _assign(container: Any, step: Step, value: Any) -> bool:
    """Set a value; a text goes on where one stands already."""
    if not _has_place(container, step):
        return False
    existing = _child(container, step, None)
    if isinstance(existing, _Fragments) and isinstance(value, str):
        existing.append(value)
    else:
        container[step] = _Fragments([value]) if isinstance(value, str) else value
    return True


def _has_place(container: Any, step: Step) -> bool:
    """Whether a container has a place for a step: any key of an object, and one more than the items of a list."""
    if isinstance(container, dict):
        return isinstance(step, str)
    is_list = isinstance(container, list) and not isinstance(container, _Fragments)
    return is_list and isinstance(step, int) and step <= len(container)


def _parse_path(text: Any) -> list[Step] | None:
    """Parse a JSON path of keys and indexes (RFC 9535); None for any other."""
    if not isinstance(text, str) or not text.startswith("$"):
        return None
    steps: list[Step] = []
    at = 1
    while at < len(text) and len(steps) < MAX_NESTING:
        match = _STEP.match(text, at)
        if not match:
            return None
        plain, index, single, double = match.groups()
        quoted = single if single is not None else double
        steps.append(int(index) if index else plain if plain is not None else re.sub(r"\\(.)", r"\1", quoted))
        at = match.end()
    return steps if steps and at == len(text) and isinstance(steps[0], str) else None


def _joined(value: Any) -> Any:
    if isinstance(value, _Fragments):
        return "".join(value)
    if isinstance(value, list):
        return [_joined(item) for item in value]
    return {key: _joined(item) for key, item in value.items()} if isinstance(value, dict) else value
