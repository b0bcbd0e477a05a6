"""What is sent to workers: pickled, and without an object that is made to contain secrets.

`cloudpickle` sends what a cell defines by value, and what a module defines by its name; it comes with Dask. Without
it, what a cell defines cannot be sent.
"""

from __future__ import annotations

import io
import pickle
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from types import FunctionType, MappingProxyType
from typing import Any

from nbtool.errors import BadUsage
from nbtool.text import shorten
from nbtool.tools.toolset import Toolset
from nbtool.tools.variables.variable import is_secret

MAX_REASON = 200
"""Maximum characters of the reason why an object cannot be pickled."""


class SecretFound(pickle.PicklingError):
    """An object that is made to contain secrets is part of what was to be sent."""


@dataclass(frozen=True, slots=True)
class Sealed:
    """Pickled data that no log, error or repr shows."""

    data: bytes = field(repr=False)

    def open(self) -> Any:
        """Return the objects; importing what they need may fail."""
        return pickle.loads(self.data)  # from the user's own process, by the user's own engine


def seal(parts: Mapping[str, Any], labels: Mapping[str, str] = MappingProxyType({})) -> Sealed:
    """Pickle named objects together, so that what they share stays shared; `labels` are their names in errors.

    Raises:
        BadUsage: one of them cannot be sent; the message names it.
    """
    try:
        return Sealed(_dump(dict(parts)))
    except Exception as error:  # noqa: BLE001 - pickling runs code of the user's objects
        name, reason = next(_find_unsendable(parts, labels), ("The chat", error))
        raise _refusal(name, reason) from None


def _dump(value: Any) -> bytes:
    buffer = io.BytesIO()
    _pickler_class()(buffer, protocol=pickle.HIGHEST_PROTOCOL).dump(value)
    return buffer.getvalue()


def _pickler_class() -> Any:
    """Return a pickler that refuses secrets, and what it would send by a name that no worker knows."""
    try:
        import cloudpickle  # type: ignore[import-untyped] # noqa: PLC0415 - only where a chat is sent; it has no types

        base: Any = cloudpickle.Pickler
    except ImportError:
        base = pickle.Pickler

    class SafePickler(base):  # type: ignore[misc]  # its base is known when it is used
        def reducer_override(self, obj: Any) -> Any:
            if is_secret(obj):
                raise SecretFound("it contains a secret")
            if hasattr(base, "reducer_override"):
                return super().reducer_override(obj)
            if isinstance(obj, type | FunctionType) and obj.__module__ == "__main__":
                raise pickle.PicklingError("only cloudpickle sends what a cell or a script defines: install it")
            return NotImplemented

    return SafePickler


def _find_unsendable(parts: Mapping[str, Any], labels: Mapping[str, str]) -> Iterator[tuple[str, BaseException]]:
    """Yield what cannot be pickled on its own, with the reason."""
    for name, value in parts.items():
        for member, item in _members(value):
            try:
                _dump(item)
            except Exception as error:  # noqa: BLE001 - pickling runs code of the user's objects
                yield f"{labels.get(name, name)} {member}".strip(), error


def _members(value: Any) -> Iterator[tuple[str, Any]]:
    """Yield what is named in errors: the tools of a set, the values of a dict, the objects of a list by their types."""
    if isinstance(value, Toolset):
        yield from value.tools().items()
    elif isinstance(value, Mapping):
        yield from value.items()
    elif isinstance(value, list):
        yield from ((type(item).__name__, item) for item in value)
    yield "", value


def _refusal(name: str, reason: BaseException) -> BadUsage:
    if isinstance(reason, SecretFound):
        return BadUsage(
            f"{name} contains a secret, which is not sent to workers.",
            fix="Let the workers read it there, for example from their environment.",
        )
    text = shorten(" ".join(str(reason).split()), MAX_REASON)
    return BadUsage(
        f"{name} cannot be sent to workers ({type(reason).__name__}: {text}).",
        fix="Leave it out with on=, or make it picklable: define it in a module that the workers can import.",
    )
