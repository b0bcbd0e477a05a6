"""The contents of the notebook's objects, as digests: what a turn changed in place, and what a person has since."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import BuiltinFunctionType, FunctionType, ModuleType
from typing import Any

from nbtool.threads.threadless import thread_time
from nbtool.tools.content_hash.change_token import ChangeToken, change_token
from nbtool.tools.content_hash.samples import sample_digest

WATCH_SECONDS = 0.2
"""Processor seconds for reading the contents of all objects before the first call of a turn, and after it; as many for
those that the turn left, and for each before it is overwritten."""

SAMPLE_SECONDS = 0.1
"""Processor seconds for reading parts of all objects, before that: of those that are too large for the time left."""

MAX_WATCHED_BYTES = 256 * 1024 * 1024
"""Bytes read of one object."""

_DATA = frozenset({str, bytes, int, float, complex, bool, type(None), range, frozenset})
"""Types whose objects do not change in place; an object of a subclass may."""

_MODULES = (ModuleType, BuiltinFunctionType)
"""Types whose content is not the notebook's."""

_CODE = (*_MODULES, type, FunctionType)
"""Those, and types whose content is code."""

_UNREAD = ChangeToken("", "there was no time to read it")


@dataclass(frozen=True, slots=True)
class ContentDigest:
    """The digests of an object's content: of parts of it, and of all of it; empty if there was no time."""

    parts: str = ""
    whole: str = ""

    def differs_from(self, other: ContentDigest) -> bool:
        """Whether the contents are known to be different."""
        pairs = ((self.parts, other.parts), (self.whole, other.whole))
        return any(pair and former and pair != former for pair, former in pairs)


def content_digests(values: Mapping[str, Any]) -> dict[str, ContentDigest]:
    """Return the digests of objects that may change in place: of parts of all, then of the whole of small ones first.

    Large objects cost none of the time of small ones; of those for which there is no time, parts are compared.
    """
    able = {name: value for name, value in values.items() if not _is_fixed(value, _CODE)}
    deadline, parts, seconds = thread_time() + SAMPLE_SECONDS, {}, {}
    for name, value in able.items():
        began = thread_time()
        left = deadline - began
        parts[name] = sample_digest(value, seconds=left, max_bytes=MAX_WATCHED_BYTES) if left > 0 else ""
        seconds[name] = thread_time() - began
    deadline, digests = thread_time() + WATCH_SECONDS, {}
    for name in sorted(able, key=lambda name: (size_hint(able[name]), seconds[name])):
        left = deadline - thread_time()
        token = read_token(able[name], left) if left > 0 else _UNREAD
        digest = ContentDigest(parts[name], "" if token.problem else token.digest)
        if digest != ContentDigest():
            digests[name] = digest
    return digests


def left_tokens(values: Mapping[str, Any]) -> dict[str, ChangeToken]:
    """Return the tokens of the objects that a turn left, without those of types whose objects do not change."""
    deadline = thread_time() + WATCH_SECONDS
    return {
        name: read_token(value, left) if (left := deadline - thread_time()) > 0 else _UNREAD
        for name, value in values.items()
        if not _is_fixed(value, _MODULES)
    }


def size_hint(value: Any) -> int:
    """Return the bytes of an array or a frame, without code of the object; 0 for anything else."""
    kind = type(value)
    if kind.__module__.partition(".")[0] == "numpy" and kind.__name__ == "ndarray":
        return int(value.nbytes)
    if kind.__module__.partition(".")[0] == "pandas" and kind.__name__ in ("DataFrame", "Series"):
        return int(value.size) * 8
    return 0


def read_token(value: Any, seconds: float = WATCH_SECONDS) -> ChangeToken:
    """Return the token of an object's content now."""
    return change_token(value, seconds=seconds, max_bytes=MAX_WATCHED_BYTES)


def _is_fixed(value: Any, types: tuple[type, ...]) -> bool:
    """Return whether an object has no content to compare: immutable data, one of these types, one of nbtool's own."""
    kind = type(value)  # not isinstance: a proxy may raise where it is asked for its class
    return kind in _DATA or issubclass(kind, types) or str(kind.__module__).startswith("nbtool.")
