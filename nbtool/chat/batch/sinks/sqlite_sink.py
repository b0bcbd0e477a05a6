"""Answers of a streamed map in an SQLite file, which a later map continues."""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from pydantic_core import to_json

from nbtool.chat.batch.earlier_maps.answer_cache import prompt_hash
from nbtool.chat.batch.prompts import PromptItem
from nbtool.chat.batch.sinks.file_lock import SinkLock, check_place
from nbtool.chat.batch.write_failure import explained_failure, is_full
from nbtool.errors import BadUsage, NbtoolError, NotRepeated

if TYPE_CHECKING:
    import os

    from nbtool.chat.batch.answers import Answer

APPLICATION_ID = 0x6E626D70
"""Marks the file as one of answers (https://www.sqlite.org/pragma.html#pragma_application_id)."""

TABLES = (
    """
    CREATE TABLE answers (
        row INTEGER PRIMARY KEY, prompt_hash TEXT NOT NULL, value TEXT, error TEXT, turn_id TEXT,
        undecided INTEGER NOT NULL, acted INTEGER NOT NULL
    )
    """,
    "CREATE TABLE map (inputs TEXT NOT NULL, began REAL NOT NULL)",
)
"""`undecided`: in the turn of the answer a call was denied or withheld, by nobody's decision. `acted`: a call had
started, and there is no answer to reuse, so the row is not sent from its beginning again. `began` is when the first map
began that wrote the file, in seconds since the epoch."""

WRITE_ROW = "INSERT OR REPLACE INTO answers VALUES (?, ?, ?, ?, ?, ?, ?)"

ADD_REFUSAL = """
    INSERT INTO answers VALUES (?, ?, ?, ?, ?, ?, ?) ON CONFLICT (row) DO UPDATE SET
    error = CASE WHEN instr(error, 'repeat_calls') THEN error ELSE error || ' ' || excluded.error END,
    undecided = excluded.undecided, acted = excluded.acted
"""
"""A row that was not sent again keeps why the earlier map did not answer it, before why it was not."""

CLOCK_SECONDS = 60.0
"""Seconds by which the clock may have been set back since the first map."""

BUSY_SECONDS = 30.0
"""Seconds to wait for another process that reads or writes the file."""


class SqliteSink:
    """Stores answers in the table `answers` of an SQLite file, by `row` from 0.

    A text is stored as it is, any other value as JSON, and of a failed prompt the `error`. A map with the same file is
    continued: rows with a value are not sent again, unless they are `undecided`: nobody could be asked about a call in
    their turn, or the approver failed. The turns of rows that have `acted` go on from what ran, or are refused where
    that is not known; `began` says from when on such turns are in the journal, once it is open.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = Path(path).expanduser()
        self.began = 0.0
        self._connection: sqlite3.Connection | None = None
        self._lock = SinkLock(self.path)

    def open(self, inputs: str) -> None:
        """Open or create the file.

        Raises:
            nbtool.errors.BadUsage: the file cannot be opened, is another file, is written by another map, or has
                answers of other inputs.
            nbtool.errors.AnswersNotWritten: the disk is full.
        """
        check_place(self.path)
        with explained_failure(self.path.name):
            self._open(inputs)

    def _open(self, inputs: str) -> None:
        self._lock.acquire()
        try:
            self._connection = sqlite3.connect(self.path, timeout=BUSY_SECONDS, check_same_thread=False)
            with self._connection as connection:
                connection.execute("BEGIN IMMEDIATE")
                if is_new := self._is_new(connection):
                    connection.execute("INSERT INTO map VALUES (?, ?)", (inputs, time.time()))
                former, began = connection.execute("SELECT inputs, began FROM map").fetchone()
                self.began = began if is_new else began - CLOCK_SECONDS
        except sqlite3.Error as error:
            self.close()
            if is_full(error):
                raise
            raise BadUsage(
                f"{self.path.name} cannot be used for answers ({error}).", fix="Choose another file."
            ) from error
        except BadUsage:
            self.close()
            raise
        if former != inputs:
            self.close()
            raise BadUsage(
                f"{self.path.name} has answers of a map with another model, tools, options or objects, or with some "
                "that cannot be compared.",
                fix="Choose another file, or use the former settings.",
            )

    def unanswered(self, items: Sequence[PromptItem]) -> Sequence[PromptItem]:
        """Return the prompts whose row has no value yet, or one although nobody could be asked about a call.

        Raises:
            nbtool.errors.BadUsage: a row has the answer to another prompt.
        """
        if not items:
            return items
        with explained_failure(self.path.name):
            former = self._former(items)
        left = []
        for item in items:
            answered, error = former.get(item.index, ("", ""))
            if not answered or error is not None:  # a failed prompt may have been corrected
                left.append(item)
            elif answered != prompt_hash(item.prompt):
                raise BadUsage(
                    f"Row {item.index} of {self.path.name} has the answer to another prompt.",
                    fix="Pass the prompts in the order of the first run, or choose another file.",
                )
        return left

    def _former(self, items: Sequence[PromptItem]) -> dict[int, tuple[str, str | None]]:
        """Return the hashes of the prompts that have a row, with the errors, by row."""
        query = (
            "SELECT row, prompt_hash, CASE WHEN undecided THEN '' ELSE error END FROM answers WHERE row BETWEEN ? AND ?"
        )
        rows = self._opened().execute(query, (items[0].index, items[-1].index))
        return {row: (answered, error) for row, answered, error in rows}

    def acted_turns(self, items: Sequence[PromptItem]) -> dict[int, str]:
        """Return the turns of prompts of which a call had started, by their rows; empty where it is not known."""
        if not items:
            return {}
        query = "SELECT row, prompt_hash, coalesce(turn_id, '') FROM answers WHERE acted AND row BETWEEN ? AND ?"
        rows = self._opened().execute(query, (items[0].index, items[-1].index))
        found = {row: (hash_, turn_id) for row, hash_, turn_id in rows}
        turns = {}
        for item in items if found else ():
            hash_, turn_id = found.get(item.index, ("", ""))
            if hash_ and hash_ == prompt_hash(item.prompt):  # else the prompt was corrected
                turns[item.index] = turn_id
        return turns

    def write(self, answers: Sequence[Answer]) -> None:
        """Store answers in one transaction, which is on the disk when this returns.

        Raises:
            nbtool.errors.AnswersNotWritten: the disk is full, or broken; none of them is stored.
        """
        with explained_failure(self.path.name):
            self._write(answers)

    def _write(self, answers: Sequence[Answer]) -> None:
        with self._opened() as connection:
            for answer in answers:
                is_refused = isinstance(answer.error, NotRepeated)
                connection.execute(ADD_REFUSAL if is_refused else WRITE_ROW, _row_of(answer))

    def close(self) -> None:
        """Close the file; idempotent."""
        if self._connection is not None:
            self._connection.close()
            self._connection = None
        self._lock.release()

    def rows(self) -> Iterator[Sequence[object]]:
        """Yield all rows: `row`, `value`, `error`, `turn_id`, whether it is undecided with an answer, and has acted."""
        query = "SELECT row, value, error, turn_id, undecided AND error IS NULL, acted FROM answers ORDER BY row"
        for *fields, is_undecided, has_acted in self._opened().execute(query):
            yield (*fields, bool(is_undecided), bool(has_acted))

    def _opened(self) -> sqlite3.Connection:
        if self._connection is None:
            raise BadUsage("The sink is closed.", fix="Pass it to `chat.map_into`, which opens it.")
        return self._connection

    def _is_new(self, connection: sqlite3.Connection) -> bool:
        """Whether the file is new, and has its tables now."""
        (application_id,) = connection.execute("PRAGMA application_id").fetchone()
        if application_id == APPLICATION_ID:
            return False
        if connection.execute("SELECT 1 FROM sqlite_master LIMIT 1").fetchone():
            raise BadUsage(
                f"{self.path.name} is a database of something else.",
                fix="Choose another file, which is for answers only.",
            )
        for table in TABLES:
            connection.execute(table)
        connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
        return True


def _row_of(answer: Answer) -> tuple[object, ...]:
    return (
        answer.index,
        prompt_hash(answer.prompt),
        None if answer.error else _value_text(answer.value),
        _error_text(answer.error) if answer.error else None,
        answer.turn_id or None,
        answer.has_undecided_calls,
        answer.has_acted,
    )


def _value_text(value: object) -> str:
    return value if isinstance(value, str) else to_json(value, fallback=str).decode()


def _error_text(error: BaseException) -> str:
    return str(error) if isinstance(error, NbtoolError) else type(error).__name__
