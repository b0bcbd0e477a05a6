"""An answer on its way home: the events of its turn as JSON, and its error with its fix.

The value is not sent: it is parsed again at home from the text of the turn, as for an answer from the journal. So it is
of the type that the user has there, and nothing that a worker returns is run.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from nbtool import errors
from nbtool.chat.batch.answers import Answer
from nbtool.chat.conversation import restore
from nbtool.chat.turn import Turn
from nbtool.errors import NbtoolError
from nbtool.event_json import dump_event, load_events
from nbtool.events import TurnStarted


@dataclass(frozen=True, slots=True)
class PackedError:
    """An error of nbtool: its class by name, and its plain attributes."""

    kind: str
    state: dict[str, Any]


@dataclass(frozen=True, slots=True)
class PackedAnswer:
    """The outcome of the prompt with this index; `is_unsent` if the batch was stopped before it was sent."""

    index: int
    events: Sequence[str] = field(default=(), repr=False)
    error: PackedError | None = None
    is_unsent: bool = False

    def restore_turn(self, error: NbtoolError | None) -> Turn | None:
        """Return the turn, if it started, with its error.

        Raises:
            nbtool.errors.NbtoolError: the events cannot be read.
        """
        if not self.events:
            return None
        turn = restore.restore_turn(load_events(self.events))
        turn.error = error if turn.error and error else turn.error
        return turn


def pack_answer(answer: Answer, *, is_unsent: bool = False) -> PackedAnswer:
    """Return an answer in the form in which it is sent."""
    log = answer.turn.log if answer.turn else []
    events = [dump_event(event) for event in log] if any(isinstance(event, TurnStarted) for event in log) else []
    return PackedAnswer(answer.index, events, pack_error(answer.error) if answer.error else None, is_unsent)


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
    vars(error).update({"message": "", "fix": "", **packed.state})
    return error.changed()  # with the message as its argument, as it was made


def _is_known(kind: Any) -> bool:
    return isinstance(kind, type) and issubclass(kind, NbtoolError) and getattr(errors, kind.__name__, None) is kind
