"""What a worker says to the process of its map: messages of a closed form, as JSON, which runs nothing.

begin      may this run of a chunk start, and with which of its prompts
event      what happened in a turn; with the result of a call it waits until that is written
may_start  the same, with the start of a call: it waits for the answer
may_send   the same, before a request that a budget has to allow
used       what requests of a turn used, or that it has ended
wait       may a request be sent now; it waits until it may
rates      what the answer to a request says of the limits of its provider
answer     a prompt is at its end
ask        a question to the approver; withdraw takes it back
done       all messages of the run are sent
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from nbtool.chat.batch.remote.packed_error import PackedError
from nbtool.errors import NbtoolError
from nbtool.event_json import dump_data, event_data, load_events
from nbtool.events import Event

if TYPE_CHECKING:
    from pydantic import TypeAdapter

MAX_MESSAGE = 256 * 1024 * 1024
"""Maximum bytes of one message with the events of a turn, and of one answer to it."""

TOO_LARGE = f"What happened in this turn is larger than {MAX_MESSAGE >> 20} MiB, too large to be sent from a worker."
"""Why a turn ends whose events do not fit into a message."""

YES, NO = "yes", "no"
"""The answers to `may_start`."""

STOP = "stop"
"""The key under which a worker is told, unasked, to stop its prompts; with `CLOSED`, that nobody listens any more."""

CLOSED = "closed"

MessageKind = Literal[
    "begin", "event", "may_start", "may_send", "used", "wait", "rates", "answer", "ask", "withdraw", "done"
]


class WorkerPlace(NamedTuple):
    """Where an engine finds the run of a chunk: its worker, and the run."""

    worker: str
    run: str = ""


@dataclass(frozen=True, slots=True)
class WorkerMessage:
    """A message of the run of a chunk; a field that its kind does not have is empty.

    With `asking` the worker waits for an answer under this id. `text` is the id of a chunk, or a question; `key` is
    that of a prompt. A prompt that `is_unsent` was not sent because the run was stopped.
    """

    kind: MessageKind
    run: str
    asking: str = ""
    text: str = field(default="", repr=False)
    key: str = ""
    turn_id: str = ""
    events: Sequence[dict[str, Any]] = field(default=(), repr=False)
    error: PackedError | None = None
    is_unsent: bool = False

    def load_events(self) -> list[Event]:
        """Return the events.

        Raises:
            nbtool.errors.UnreadableEvent: one of them is none.
        """
        return load_events(self.events)


def pack_events(events: Sequence[Event]) -> list[dict[str, Any]]:
    """Return events in the form in which a message has them."""
    return [event_data(event) for event in events]


def pack_message(message: WorkerMessage, *, max_size: int = MAX_MESSAGE) -> str:
    """Return a message as JSON.

    Raises:
        NbtoolError: it is too large.
    """
    from pydantic_core import to_jsonable_python  # noqa: PLC0415 - only where a worker sends

    text = dump_data(to_jsonable_python(message))
    if len(text) > max_size:
        raise NbtoolError(TOO_LARGE)
    return text


def read_message(text: str, *, max_size: int = MAX_MESSAGE) -> WorkerMessage | None:
    """Return the message; None if it is none."""
    if len(text) > max_size:
        return None
    try:
        return _message_adapter().validate_json(text, strict=True)
    except (ValueError, RecursionError):  # the former includes what pydantic raises
        return None


def read_answers(text: str | bytes) -> dict[str, str]:
    """Return the answers to messages, by the ids under which they were asked; none of another form."""
    try:
        return _answers_adapter().validate_json(text, strict=True)
    except (ValueError, RecursionError):
        return {}


@cache
def _message_adapter() -> TypeAdapter[WorkerMessage]:
    from pydantic import TypeAdapter  # noqa: PLC0415 - only where a message is read

    return TypeAdapter(WorkerMessage)


@cache
def _answers_adapter() -> TypeAdapter[dict[str, str]]:
    from pydantic import TypeAdapter  # noqa: PLC0415 - only where an answer is read

    return TypeAdapter(dict[str, str])
