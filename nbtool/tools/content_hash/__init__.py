"""Fingerprints of objects: the same in every kernel for the same content, and another one for other content.

They say whether an object is what it was when a turn was recorded. Nothing of the object runs: its type is compared by
identity, its fields are read past its own `__getattribute__`, and what is not known through and through (a
connection, a fitted model, a subclass with ways of its own) has no fingerprint: such an object cannot be compared.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from nbtool.tools.content_hash.builtins import hash_value
from nbtool.tools.content_hash.hasher import MAX_BYTES, MAX_ITEMS, MAX_SECONDS, CodeNotHashable, Hasher, NotHashable

__all__ = ["MAX_BYTES", "MAX_ITEMS", "MAX_SECONDS", "ContentHash", "content_hash", "content_hash_or_reason"]


@dataclass(frozen=True, slots=True)
class ContentHash:
    """What tells an object's content apart; `digest` is None where it cannot be compared, and `reason` says why.

    `is_unhashable_code`: it is, or calls, code of the notebook that cannot be compared.
    """

    digest: str | None
    reason: str = ""
    is_unhashable_code: bool = False


def content_hash(value: Any) -> str | None:
    """Give a word for what a value holds, the same in every kernel; None where that is not known."""
    return content_hash_or_reason(value).digest


def content_hash_or_reason(value: Any, *, seconds: float = MAX_SECONDS) -> ContentHash:
    """Give the fingerprint of a value, or why it has none.

    At most `MAX_BYTES`, `MAX_ITEMS` and `seconds` are spent on one; beyond them it is too large to compare.
    """
    hasher = Hasher(seconds)
    try:
        hash_value(value, hasher)
    except NotHashable as unhashable:
        return ContentHash(None, str(unhashable), isinstance(unhashable, CodeNotHashable))
    except RecursionError:
        return ContentHash(None, "it is nested too deep to compare")
    except Exception as error:  # noqa: BLE001 - a library that fails on its own object: then nothing is known of it
        return ContentHash(None, f"it cannot be read ({type(error).__name__})")
    return ContentHash(hasher.hexdigest())
