"""Long texts and bytes, each stored once under its hash, because branches and retries repeat them.

An event's body keeps the beginning of such a text, and the table `places` maps positions in events to contents. It is
outside the body, so that no text of a model or a tool can refer to a content.
"""

from __future__ import annotations

import hashlib
import sqlite3
from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from nbtool.event_json import dump_data
from nbtool.text import clean_text

MIN_BLOB_CHARS = 1_000
"""Texts of at least so many characters are stored apart from their event."""

PREVIEW = 100
"""Characters of such a text that stay in the event."""

MAX_CONTENT = 16 * 1024 * 1024
"""Maximum characters or bytes of a content; of a larger one only the beginning and the hash are stored."""

_HASHED_CHARS = 1024 * 1024
"""Characters that are hashed at a time, so that a large text is not copied whole."""


@dataclass(frozen=True, slots=True)
class Content:
    """A text or bytes, its path in an event (keys and indexes, as JSON), and its SHA-256."""

    path: str
    hash: str
    data: str | bytes | None


def extract(event: str | dict[str, Any]) -> tuple[str, list[Content]]:
    """Split an event, JSON or plain data, into its body as JSON and its long contents; the data stays unchanged."""
    from pydantic_core import from_json, to_jsonable_python  # noqa: PLC0415 - only where history is written

    if isinstance(event, str):
        if len(event) < MIN_BLOB_CHARS:
            return event, []
        plain = from_json(event)
    else:
        plain = event
    if next(_find_long_texts(plain), None) is None:
        return event if isinstance(event, str) else dump_data(event), []
    plain = to_jsonable_python(plain)  # a copy that shares the texts
    contents = [_extract_text(holder, key, path) for holder, key, path in list(_find_long_texts(plain))]
    return dump_data(plain), contents


def save(connection: sqlite3.Connection, seq: int, contents: Iterable[Content]) -> None:
    """Write the contents of an event, unless they are stored already."""
    for content in contents:
        if content.data is not None:
            connection.execute("INSERT OR IGNORE INTO contents VALUES (?, ?)", (content.hash, content.data))
        connection.execute("INSERT INTO places VALUES (?, ?, ?)", (seq, content.path, content.hash))


def restore(connection: sqlite3.Connection, seq: int, body: Any) -> Any:
    """Return an event as plain data with its contents restored; a lost or changed one stays shortened.

    Raises:
        ValueError: the body is not JSON.
    """
    from pydantic_core import from_json  # noqa: PLC0415 - only where history is read

    plain = from_json(body if isinstance(body, str | bytes) else "null", allow_inf_nan=False)
    query = "SELECT path, places.hash, data FROM places LEFT JOIN contents USING (hash) WHERE seq = ?"
    for path, hash_, data in connection.execute(query, (seq,)).fetchall():
        if isinstance(data, str | bytes) and digest(data) == hash_ and isinstance(path, str):
            _insert_text(plain, path, data)
    return plain


def digest(data: str | bytes) -> str:
    """Return the SHA-256 of a text, in UTF-8, or of bytes."""
    if isinstance(data, bytes):
        return hashlib.sha256(data).hexdigest()
    hashed = hashlib.sha256()
    for start in range(0, len(data), _HASHED_CHARS):
        hashed.update(data[start : start + _HASHED_CHARS].encode("utf-8", "replace"))
    return hashed.hexdigest()


def _find_long_texts(plain: Any) -> Iterator[tuple[Any, Any, list[Any]]]:
    """Yield the container of each long text, its key there, and its path."""
    waiting: list[tuple[Any, list[Any]]] = [(plain, [])]
    while waiting:
        holder, path = waiting.pop()
        items = holder.items() if isinstance(holder, dict) else enumerate(holder)
        for key, value in items:
            if isinstance(value, str):
                if len(value) >= MIN_BLOB_CHARS:
                    yield holder, key, [*path, key]
            elif isinstance(value, dict | list):
                waiting.append((value, [*path, key]))


def _extract_text(holder: Any, key: Any, path: list[Any]) -> Content:
    from pydantic_core import to_json  # noqa: PLC0415 - only where something long is written

    text = clean_text(holder[key])
    data = _bytes_of(text) if key == "data" and holder.get("kind") == "media" else None
    holder[key] = "" if data is not None else text[:PREVIEW]
    stored = text if data is None else data
    return Content(to_json(path).decode(), digest(stored), stored if len(stored) <= MAX_CONTENT else None)


def _bytes_of(text: str) -> bytes | None:
    try:
        data = urlsafe_b64decode(text)
    except ValueError:
        return None
    return data if urlsafe_b64encode(data).decode() == text else None


def _insert_text(plain: Any, path: str, data: str | bytes) -> None:
    from pydantic_core import from_json  # noqa: PLC0415 - only where history is read

    try:
        *above, last = from_json(path)
        holder = plain
        for key in above:
            holder = holder[key]
        if isinstance(holder[last], str):
            holder[last] = data if isinstance(data, str) else urlsafe_b64encode(data).decode()
    except (ValueError, TypeError, LookupError):
        return  # invalid path: the row does not belong to this event
