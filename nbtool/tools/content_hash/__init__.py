"""Content hashes of objects: equal in every kernel for equal content.

They show whether an object is what it was when a turn was recorded. No code of the object runs: its type is compared by
identity, and its fields are read without its `__getattribute__`. Objects of other types (a connection, a fitted model,
a subclass with its own behavior) have no hash and cannot be compared.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from nbtool.tools.content_hash.builtins import hash_value
from nbtool.tools.content_hash.hasher import MAX_BYTES, MAX_ITEMS, MAX_SECONDS, CodeNotHashable, Hasher, NotHashable

__all__ = ["MAX_BYTES", "MAX_ITEMS", "MAX_SECONDS", "ContentHash", "content_hash", "content_hash_or_reason"]


@dataclass(frozen=True, slots=True)
class ContentHash:
    """The content hash of an object; `digest` is None if it cannot be compared, and `reason` says why.

    `is_unhashable_code`: it is, or calls, code of the notebook that cannot be compared.
    """

    digest: str | None
    reason: str = ""
    is_unhashable_code: bool = False


def content_hash(value: Any) -> str | None:
    """Return the digest of a value's content, equal in every kernel; None if it cannot be hashed."""
    return content_hash_or_reason(value).digest


def content_hash_or_reason(
    value: Any, *, seconds: float = MAX_SECONDS, max_bytes: int = MAX_BYTES, max_items: int = MAX_ITEMS
) -> ContentHash:
    """Return the content hash of a value, or the reason why it has none.

    At most these bounds are spent on it; a larger object cannot be compared.
    """
    hasher = Hasher(seconds, max_bytes=max_bytes, max_items=max_items)
    try:
        hash_value(value, hasher)
    except NotHashable as unhashable:
        return ContentHash(None, str(unhashable), isinstance(unhashable, CodeNotHashable))
    except RecursionError:
        return ContentHash(None, "it is nested too deep to compare")
    except Exception as error:  # noqa: BLE001 - a library may fail on its own object: then it has no hash
        return ContentHash(None, f"it cannot be read ({type(error).__name__})")
    return ContentHash(hasher.hexdigest())
