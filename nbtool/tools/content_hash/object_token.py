"""Tokens of objects: an identity that is never used again, unlike `id`."""

from __future__ import annotations

import itertools
import weakref
from functools import partial
from typing import Any

_object_tokens: dict[int, tuple[weakref.ref[Any], int]] = {}
_next_token = itertools.count(1)


def object_token(value: Any) -> str:
    """Return a token of this object that no other object gets, even after it is deleted.

    An id is reused; a counter is not. Objects without weak references (lists, numbers, texts) are identified by id.
    """
    entry = _object_tokens.get(id(value))
    if entry and entry[0]() is value:
        return f"#{entry[1]}"
    try:
        reference = weakref.ref(value, partial(_forget_object, id(value)))
    except TypeError:
        return str(id(value))
    _object_tokens[id(value)] = (reference, next(_next_token))
    return f"#{_object_tokens[id(value)][1]}"


def _forget_object(key: int, _: object) -> None:
    _object_tokens.pop(key, None)
