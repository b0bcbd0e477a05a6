"""What travels between a worker and its map beside messages: errors with their fixes, and the turns that go on."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from nbtool import errors
from nbtool.chat.conversation import restore
from nbtool.chat.turn import Turn
from nbtool.errors import NbtoolError
from nbtool.event_json import dump_event, load_events


@dataclass(frozen=True, slots=True)
class PackedError:
    """An error of nbtool: its class by name, and its plain attributes."""

    kind: str
    state: dict[str, str | int | float | bool | None]


def pack_versions(versions: Iterable[Turn]) -> list[list[str]]:
    """Return the versions of a turn in the form in which they are sent."""
    return [[dump_event(event) for event in turn.log] for turn in versions]


def unpack_versions(versions: Iterable[Iterable[str]]) -> list[Turn]:
    """Return the versions of a turn.

    Raises:
        nbtool.errors.NbtoolError: the events cannot be read.
    """
    return [restore.restore_turn(load_events(events)) for events in versions]


def pack_error(error: BaseException) -> PackedError:
    """Return an error in the form in which it is sent; one that is not nbtool's becomes a plain `NbtoolError`."""
    if not isinstance(error, NbtoolError):
        return PackedError("NbtoolError", {"message": f"{type(error).__name__}: {error}", "fix": ""})
    kind = next(kind.__name__ for kind in type(error).__mro__ if _is_known(kind))
    plain = (str, int, float, bool, type(None))
    return PackedError(kind, {name: value for name, value in vars(error).items() if isinstance(value, plain)})


def unpack_error(packed: PackedError) -> NbtoolError:
    """Return the error."""
    kind = getattr(errors, packed.kind, NbtoolError)
    error: NbtoolError = kind.__new__(kind) if _is_known(kind) else NbtoolError.__new__(NbtoolError)
    state: dict[str, Any] = {"message": "", "fix": "", **packed.state}
    vars(error).update(state)
    return error.changed()  # with the message as its argument, as it was made


def _is_known(kind: Any) -> bool:
    return isinstance(kind, type) and issubclass(kind, NbtoolError) and getattr(errors, kind.__name__, None) is kind
