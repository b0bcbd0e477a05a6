"""Plain data of Python as one block of bytes: far faster than one object after the other."""

from __future__ import annotations

import marshal
from dataclasses import dataclass
from itertools import chain
from typing import Any

from nbtool.tools.content_hash.hasher import MAX_DEPTH

MAX_PLAIN_LEAVES = 1_000_000
"""Maximum number of plain values read as one block; longer lists are read by columns."""

MAX_PLAIN_CHARS = 16 * 1024 * 1024
"""Maximum number of characters and bytes in them."""

_VERSION = 2
"""The last form of `marshal` in which what is equal is written equally, whether or not it is the same object."""


@dataclass(frozen=True, slots=True)
class PlainData:
    """The bytes of plain data, and its lists and dicts, each of which is in it once; `count` includes tuples."""

    data: bytes
    containers: list[Any]
    count: int


def plain_data(value: Any, *, max_leaves: int = MAX_PLAIN_LEAVES, max_chars: int = MAX_PLAIN_CHARS) -> PlainData | None:
    """Return plain data as bytes; None if something else is in it, a list or dict twice, or it is too large or deep."""
    level, containers, seen, count = [value], list[Any](), set[int](), 0
    leaves = chars = 0
    for _ in range(MAX_DEPTH):
        count += len(level)
        mutable = [item for item in level if type(item) is not tuple]
        containers += mutable
        seen.update(map(id, mutable))
        parts = list(chain.from_iterable(map(_parts_of, level)))
        leaves += len(parts)
        if len(seen) < len(containers) or leaves > max_leaves or not _KINDS.issuperset(map(id, map(type, parts))):
            return None
        chars += sum(map(len, (part for part in parts if type(part) is str or type(part) is bytes)))
        if chars > max_chars:
            return None
        level = [part for part in parts if id(type(part)) in PLAIN_CONTAINERS]
        if not level:
            return PlainData(marshal.dumps(value, _VERSION), containers, count)
    return None


def _parts_of(container: Any) -> Any:
    return chain(container.keys(), container.values()) if type(container) is dict else container


PLAIN_CONTAINERS = frozenset(map(id, (list, tuple, dict)))
"""By the identity of a type: hashing a type could run a metaclass."""

_KINDS = PLAIN_CONTAINERS.union(map(id, (type(None), bool, int, float, complex, str, bytes)))
