"""Fingerprints of objects: the same in every kernel for the same content, and another one for other content.

They say whether an object is what it was when a turn was recorded. Nothing of the object runs: its type is compared by
identity, its fields are read past its own `__getattribute__`, and what is not known through and through (a
connection, a fitted model, a subclass with ways of its own) has no fingerprint: such an object cannot be compared.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from nbtool.tools.content_hash.builtins import write
from nbtool.tools.content_hash.hasher import MAX_BYTES, MAX_ITEMS, MAX_SECONDS, Ink, Unknown, UnknownCode

__all__ = ["MAX_BYTES", "MAX_ITEMS", "MAX_SECONDS", "Fingerprint", "fingerprint", "print_of"]


@dataclass(frozen=True, slots=True)
class Fingerprint:
    """What tells an object's content apart; `word` is None where it cannot be compared, and `why` says why.

    `is_unknown_code`: it is, or calls, code of the notebook that cannot be compared.
    """

    word: str | None
    why: str = ""
    is_unknown_code: bool = False


def fingerprint(value: Any) -> str | None:
    """Give a word for what a value holds, the same in every kernel; None where that is not known."""
    return print_of(value).word


def print_of(value: Any, *, seconds: float = MAX_SECONDS) -> Fingerprint:
    """Give the fingerprint of a value, or why it has none.

    At most `MAX_BYTES`, `MAX_ITEMS` and `seconds` are spent on one; beyond them it is too large to compare.
    """
    ink = Ink(seconds)
    try:
        write(value, ink)
    except Unknown as unknown:
        return Fingerprint(None, str(unknown), isinstance(unknown, UnknownCode))
    except RecursionError:
        return Fingerprint(None, "it is nested too deep to compare")
    except Exception as error:  # noqa: BLE001 - a library that fails on its own object: then nothing is known of it
        return Fingerprint(None, f"it cannot be read ({type(error).__name__})")
    return Fingerprint(ink.word())
