"""The contents of the notebook's objects, as digests: what a turn changed in place, and what a person has since."""

from __future__ import annotations

from collections.abc import Mapping
from types import BuiltinFunctionType, FunctionType, ModuleType
from typing import Any

from nbtool.threadless import thread_time
from nbtool.tools.content_hash.change_token import ChangeToken, change_token

WATCH_SECONDS = 0.2
"""Processor seconds for reading the contents of all objects before the first call of a turn, and after it; as many for
those that the turn left, and for each before it is overwritten."""

MAX_WATCHED_BYTES = 32 * 1024 * 1024
"""Bytes read of one object."""

_DATA = frozenset({str, bytes, int, float, complex, bool, type(None), range, frozenset})
"""Types whose objects do not change in place; an object of a subclass may."""

_MODULES = (ModuleType, BuiltinFunctionType)
"""Types whose content is not the notebook's."""

_CODE = (*_MODULES, type, FunctionType)
"""Those, and types whose content is code."""

_UNREAD = ChangeToken("", "there was no time to read it")


def content_digests(values: Mapping[str, Any]) -> dict[str, str]:
    """Return the digests of objects that may change in place, as many as can be read in time."""
    deadline, tokens = thread_time() + WATCH_SECONDS, {}
    for name, value in values.items():
        if (left := deadline - thread_time()) <= 0:
            break
        if token := _digest(value, left):
            tokens[name] = token
    return tokens


def left_tokens(values: Mapping[str, Any]) -> dict[str, ChangeToken]:
    """Return the tokens of the objects that a turn left, without those of types whose objects do not change."""
    deadline = thread_time() + WATCH_SECONDS
    return {
        name: read_token(value, left) if (left := deadline - thread_time()) > 0 else _UNREAD
        for name, value in values.items()
        if not _is_fixed(value, _MODULES)
    }


def _digest(value: Any, seconds: float) -> str:
    """Return a digest of an object's content; empty if it does not change in place or cannot be read."""
    if _is_fixed(value, _CODE):
        return ""
    token = read_token(value, seconds)
    return "" if token.problem else token.digest


def read_token(value: Any, seconds: float = WATCH_SECONDS) -> ChangeToken:
    """Return the token of an object's content now."""
    return change_token(value, seconds=seconds, max_bytes=MAX_WATCHED_BYTES)


def _is_fixed(value: Any, types: tuple[type, ...]) -> bool:
    """Return whether an object has no content to compare: immutable data, one of these types, one of nbtool's own."""
    kind = type(value)  # not isinstance: a proxy may raise where it is asked for its class
    return kind in _DATA or issubclass(kind, types) or str(kind.__module__).startswith("nbtool.")
