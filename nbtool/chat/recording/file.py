"""The file of a recording: readable JSON with small diffs, stored next to the notebook and in git.

    {"nbtool_recording": 2, "turns": [{"recorded": "2026-11-21", "prompt": …, "key": {…}, "calls": {…}, "events": […]}]}

Turns are in the order of their first recording; a turn that is recorded again keeps its position. A file is untrusted
input: it is validated against a closed schema and limits, nothing in it is looked up or run, and a file that cannot be
read is never overwritten.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, field, replace
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from nbtool.audience import FREE, NESTED, OWN, TEXT
from nbtool.chat.recording.key_part import Part, dump_parts, load_parts
from nbtool.errors import BadRecording
from nbtool.files import replace_file
from nbtool.text import shorten

if TYPE_CHECKING:
    from pydantic import TypeAdapter
import hashlib
from contextlib import contextmanager

from nbtool.errors import JournalError
from nbtool.files import take_lock
from nbtool.settings import data_dir

WAIT_SECONDS = 5.0
"""Longest time that a kernel waits for another one to finish writing."""


@contextmanager
def file_lock(path: Path, seconds: float = WAIT_SECONDS) -> Iterator[None]:
    """Hold the lock for writing a file.

    Raises:
        JournalError: another kernel has held it for `seconds`.
        OSError: the lock file cannot be created.
    """
    folder = data_dir() / "locks"
    folder.mkdir(mode=0o700, exist_ok=True)
    name = hashlib.sha256(os.fsencode(path)).hexdigest()[:32]
    if (lock := take_lock(folder / f"{name}.lock", seconds)) is None:
        raise JournalError(f"Another kernel is writing {path.name}.")
    try:
        yield
    finally:
        lock.release()


FORMAT = 3
"""The version of the format; a file of another version is refused."""

MAX_BYTES = 64 * 1024 * 1024
"""Maximum bytes of a recording."""

MAX_TURNS = 2_000
"""Maximum turns in a recording."""

MAX_TURN_BYTES = 16 * 1024 * 1024
"""Maximum bytes of one recorded turn."""

_DATE = re.compile(r"\d{4}-\d\d-\d\d")


@dataclass(frozen=True, slots=True)
class RecordedCall:
    """The data of a call besides its events: its result if it is a JSON value, or that the call has to run again.

    `numpy` has the places of numbers of numpy in the result, by type. `edited` is the JSON of the arguments as edited
    by the user.
    """

    again: bool = field(default=False, metadata=OWN)
    has_value: bool = field(default=False, metadata=OWN)
    value: Any = field(default=None, metadata=FREE)
    numpy: Mapping[str, list[str]] = field(default_factory=dict, metadata=FREE)
    arguments_reference: str = field(default="", metadata=TEXT)
    edited: str = field(default="", metadata=TEXT)


@dataclass(frozen=True, slots=True)
class RecordedTurn:
    """A recorded turn: the date, the prompt (for readers of the file), the parts of its key, calls, and events.

    Its `events` are in the form for a recording already.
    """

    recorded: str = field(metadata=OWN)
    model: str = field(metadata=TEXT)
    prompt: str = field(metadata=TEXT)
    key: Mapping[Part, str] = field(metadata=OWN)
    calls: Mapping[str, RecordedCall] = field(default_factory=dict, metadata=NESTED)
    events: list[dict[str, Any]] = field(default_factory=list, metadata=OWN)


class Recording:
    """A file of recorded turns; loaded on first use, and again when it has changed on disk.

    `used` are the digests of the keys of the turns that were replayed from here or recorded here.
    """

    stored = "recorded"
    place = "recording"

    def __init__(self, path: str | os.PathLike[str], *, writes: bool = False) -> None:
        self.path = Path(path).expanduser().resolve()
        self.writes = writes
        self.used: set[str] = set()
        self._stamp: tuple[int, int, int] | None = None
        self._turns: tuple[RecordedTurn, ...] = ()

    def turns(self) -> tuple[RecordedTurn, ...]:
        """Return the recorded turns, in order; none if the file does not exist.

        Raises:
            BadRecording: the file cannot be read, or is not a recording.
        """
        try:
            stat = self.path.stat()
        except FileNotFoundError:
            self._stamp, self._turns = None, ()
            return ()
        except OSError as error:
            raise _unreadable(self.path, error.strerror or str(error)) from None
        stamp = (stat.st_mtime_ns, stat.st_size, stat.st_ino)
        if stamp != self._stamp:
            self._turns = _read(self.path, stat.st_size)
            self._stamp = stamp
        return self._turns

    def turns_of(self, prompt: str) -> Iterator[RecordedTurn]:
        """Yield the recorded turns whose prompt has this digest. Raises: as `turns`."""
        return (turn for turn in self.turns() if turn.key.get(Part("prompt")) == prompt)

    def add(self, turn: RecordedTurn) -> None:
        """Add a turn, replacing one with the same key; safe with concurrent writers in other kernels.

        Raises:
            BadRecording: the file cannot be read or written, or would be too large.
        """
        if len(serialize_turns([turn])) > MAX_TURN_BYTES:
            raise BadRecording(f"The turn is larger than {MAX_TURN_BYTES >> 20} MiB and was not recorded.")
        try:
            with file_lock(self.path):
                turns = _insert_turn(self.turns(), turn)
                data = serialize_turns(turns)
                if len(turns) > MAX_TURNS or len(data) > MAX_BYTES:
                    limit = f"{MAX_TURNS:,} turns or {MAX_BYTES >> 20} MiB"
                    raise BadRecording(f"{self.path.name} is full ({limit}).", fix="Record into another file.")
                self.path.parent.mkdir(parents=True, exist_ok=True)
                replace_file(self.path, data, is_durable=True)
        except OSError as error:
            raise BadRecording(f"{self.path} cannot be written ({error.strerror or error}).") from None


def _insert_turn(turns: tuple[RecordedTurn, ...], new: RecordedTurn) -> list[RecordedTurn]:
    result = list(turns)
    for index, turn in enumerate(result):
        if dict(turn.key) == dict(new.key):
            is_same = replace(turn, recorded=new.recorded) == new
            result[index] = turn if is_same else new  # do not rewrite the file for a new date only
            return result
    return [*result, new]


def parse_turn(body: str) -> RecordedTurn:
    """Return the only turn of a text in the format of the file.

    Raises:
        BadRecording: it is invalid, or has another number of turns.
    """
    turns = _parse(body.encode())
    if len(turns) != 1:
        raise BadRecording("A recorded turn cannot be read: there is another number of them.")
    return turns[0]


def _read(path: Path, size: int) -> tuple[RecordedTurn, ...]:
    if size > MAX_BYTES:
        raise _unreadable(path, f"it is larger than {MAX_BYTES >> 20} MiB")
    try:
        return _parse(path.read_bytes())
    except OSError as error:
        raise _unreadable(path, error.strerror or str(error)) from None
    except BadRecording as error:
        raise _unreadable(path, error.message) from None


def _parse(data: bytes) -> tuple[RecordedTurn, ...]:
    """Return the turns of a text in the format of the file.

    Raises:
        BadRecording: it is invalid; the message says only where.
    """
    from pydantic import ValidationError  # noqa: PLC0415 - only where a recording is read

    try:
        parsed = _adapter().validate_json(data, strict=True)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False, include_context=False)[0]
        where = shorten(".".join(map(str, first["loc"])), 80)
        raise BadRecording(f"{where or 'the file'}: {shorten(first['msg'], 120)}") from None
    except (ValueError, RecursionError) as error:
        raise BadRecording(shorten(str(error), 120)) from None
    if parsed.nbtool_recording != FORMAT:
        raise BadRecording(f"it has format {parsed.nbtool_recording}, and this nbtool reads format {FORMAT}")
    if len(parsed.turns) > MAX_TURNS or any(not _DATE.fullmatch(turn.recorded) for turn in parsed.turns):
        raise BadRecording(f"it has more than {MAX_TURNS:,} turns, or one without a date")
    return tuple(
        RecordedTurn(turn.recorded, turn.model, turn.prompt, load_parts(turn.key), turn.calls, turn.events)
        for turn in parsed.turns
    )


def serialize_turns(turns: list[RecordedTurn]) -> bytes:
    """Return turns in the format of the file."""
    items = [
        {
            **asdict(turn),
            "key": dump_parts(turn.key),
            "calls": {name: _compact(call) for name, call in turn.calls.items()},
        }
        for turn in turns
    ]
    data = {"nbtool_recording": FORMAT, "turns": items}
    return (json.dumps(data, ensure_ascii=False, indent=1, allow_nan=False) + "\n").encode()


def _compact(call: RecordedCall) -> dict[str, Any]:
    default = RecordedCall()
    return {
        name: value
        for name, value in asdict(call).items()
        if value != getattr(default, name) or (name == "value" and call.has_value)
    }


def _unreadable(path: Path, problem: str) -> BadRecording:
    return BadRecording(f"{path.name} cannot be read as a recording ({problem}).", fix="Record into another file.")


@dataclass(frozen=True, slots=True)
class _WrittenTurn:
    recorded: str
    model: str
    prompt: str
    key: Mapping[str, Any]
    calls: Mapping[str, RecordedCall] = field(default_factory=dict)
    events: list[dict[str, Any]] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class _RecordingFile:
    nbtool_recording: int
    turns: list[_WrittenTurn]


@cache
def _adapter() -> TypeAdapter[_RecordingFile]:
    from pydantic import ConfigDict, TypeAdapter, with_config  # noqa: PLC0415 - only where a recording is read

    closed = ConfigDict(extra="forbid", allow_inf_nan=False)
    for kind in (RecordedCall, _WrittenTurn, _RecordingFile):
        with_config(closed)(kind)
    return TypeAdapter(_RecordingFile)
