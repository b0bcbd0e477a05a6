"""Write every event of every turn as a line of JSON to a log file.

The journal is for nbtool; this log is for people and their tools (`tail -f`, `jq`, pandas). Consecutive fragments are
joined, long texts are truncated, strings that look like a key are redacted, and old files are rotated out.
"""

from __future__ import annotations

import json
import os
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

from nbtool.annotation_kinds import Count
from nbtool.argument_check import check_arguments
from nbtool.audience import Hide, for_audience
from nbtool.chain.hooks import EventContext
from nbtool.errors import BadUsage
from nbtool.event_filter import EventFilter
from nbtool.events import CallDelta, Event, RefusalDelta, TextDelta, ThinkingDelta, TurnEnded
from nbtool.plugins.pii_patterns import PII_TYPES
from nbtool.settings import make_private
from nbtool.text import count_of, map_text
from nbtool.wire.framing.known_secrets import hide_secrets

MAX_BYTES = 10_000_000
"""Default size of a file before it is rotated, in bytes."""

MAX_OLD_FILES = 3
"""Number of rotated files, `NAME.1` (the newest) to `NAME.3`."""

MAX_TEXT = 20_000
"""Maximum length of one text in a line, in characters."""

HIDDEN = "•••"

_SECRET = PII_TYPES["api_key"].pattern
_Fragment = TextDelta | ThinkingDelta | RefusalDelta | CallDelta


@check_arguments
class EventLog:
    """Writes events to a file that is readable by its owner only; what a link leads to keeps its mode.

        Chat(plugins=[EventLog("events.jsonl")])

    A line is `{"at": seconds since the epoch, "turn_id": …, "kind": …, …}`. It contains prompts and replies in clear
    text, but no known secret. What only the person sees is left out: a result that waits for an approval until it is
    released, the output of its call, the first rows of objects.

    Raises:
        BadUsage: the file cannot be written.
    """

    def __init__(self, path: str | os.PathLike[str], *, max_bytes: Count = MAX_BYTES) -> None:
        self.path = Path(path)
        self.max_bytes = max_bytes
        self._open_fragments: dict[str, tuple[_Fragment, list[str]]] = {}
        self._filters: dict[str, EventFilter] = {}
        try:
            self._write("")
            make_private(self.path)  # an existing file may be readable by others
        except OSError as error:
            raise BadUsage(f"The event log {self.path} cannot be written ({error.strerror}).") from None

    def on_event(self, context: EventContext) -> None:
        """Write an event, or join it to the previous fragment."""
        event, turn_id = context.event, context.turn_id
        pending = self._open_fragments.get(turn_id)
        if isinstance(event, _Fragment):
            if pending and _continues(pending[0], event):
                pending[1].append(_text(event))
                return
            self._open_fragments[turn_id] = event, [_text(event)]
        else:
            self._open_fragments.pop(turn_id, None)
        if pending:
            self._write(_line(pending[0], turn_id, "".join(pending[1]), self._filter_of(turn_id).hide))
        if not isinstance(event, _Fragment) and (shown := self._filter_of(turn_id).feed(event)):
            self._write(_line(shown, turn_id))
        if isinstance(event, TurnEnded):
            self._filters.pop(turn_id, None)

    def _filter_of(self, turn_id: str) -> EventFilter:
        """Return the filter of a turn: a tool may read this file, or somebody else."""
        return self._filters.setdefault(turn_id, EventFilter("log", hide_secrets))

    def _write(self, line: str) -> None:
        data = line.encode()
        if self.path.exists() and self.path.stat().st_size + len(data) > self.max_bytes:
            self._rotate()
        descriptor = os.open(self.path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
        with os.fdopen(descriptor, "ab") as file:
            file.write(data)

    def _rotate(self) -> None:
        names = [
            self.path,
            *(self.path.with_name(f"{self.path.name}.{number}") for number in range(1, MAX_OLD_FILES + 1)),
        ]
        for target, source in zip(names[:0:-1], names[-2::-1], strict=True):
            if source.exists():
                source.replace(target)


def _continues(first: _Fragment, event: _Fragment) -> bool:
    if isinstance(first, CallDelta) and isinstance(event, CallDelta):
        return first.key == event.key and not event.final
    return type(first) is type(event)


def _text(event: _Fragment) -> str:
    return event.arguments if isinstance(event, CallDelta) else event.text


def _line(event: Event, turn_id: str, text: str | None = None, hide: Hide | None = None) -> str:
    from pydantic_core import to_jsonable_python  # noqa: PLC0415 - only where a log is kept

    if text is not None:
        joined: Any = {"arguments" if isinstance(event, CallDelta) else "text": text}
        event = for_audience(replace(event, **joined), "log", hide=hide)
    plain = to_jsonable_python(event, bytes_mode="base64", inf_nan_mode="null", serialize_unknown=True)
    line = {"at": round(time.time(), 3), "turn_id": turn_id, "kind": plain.pop("kind"), **map_text(plain, _shorten)}
    return json.dumps(line, ensure_ascii=False) + "\n"


def _shorten(text: str) -> str:
    """Redact what looks like a key, and truncate a long text."""
    text = _SECRET.sub(HIDDEN, text)
    return text if len(text) <= MAX_TEXT else f"{text[:MAX_TEXT]}… ({count_of(len(text) - MAX_TEXT, 'more character')})"
