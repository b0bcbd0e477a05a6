"""Answers of a streamed map in an SQLite file, which a later map continues."""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from pydantic_core import to_json

from nbtool.chat.batch.continued_file import ContinuedFile
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
    "CREATE TABLE answers (row INTEGER PRIMARY KEY, prompt_hash TEXT NOT NULL, value TEXT, error TEXT, turn_id TEXT)",
    "CREATE TABLE map (inputs TEXT NOT NULL)",
)

ACTED = "CREATE TABLE IF NOT EXISTS acted (row INTEGER PRIMARY KEY)"
"""The rows without an answer to reuse of which a call had started: they are not sent from their beginning again."""

UNDECIDED = "CREATE TABLE IF NOT EXISTS undecided (row INTEGER PRIMARY KEY)"
"""The rows with an answer in whose turn a call was denied or withheld, by nobody's decision."""

RUNNING = "CREATE TABLE IF NOT EXISTS running (began REAL NOT NULL)"
"""When the map began that writes the file, in seconds since the epoch: a row that is there later is of a killed one."""

BUSY_SECONDS = 30.0
"""Seconds to wait for another process that reads or writes the file."""


class SqliteSink(ContinuedFile):
    """Stores answers in the table `answers` of an SQLite file, by `row` from 0.

    A text is stored as it is, any other value as JSON, and of a failed prompt the `error`. A map with the same file is
    continued: rows with a value are not sent again, unless nobody could be asked about a call in their turn, or the
    approver failed (table `undecided`). The turns of rows of which a call had started (table `acted`) go on from what
    ran, or are refused where that is not known.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = Path(path).expanduser()
        self._connection: sqlite3.Connection | None = None
        self._lock = SinkLock(self.path)
        self._is_running = False
        self._interrupted_since: float | None = None

    @property
    def interrupted_since(self) -> float | None:
        """When the last map began if it was killed; None if it was not."""
        return self._interrupted_since

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
            self._begin()

    def _open(self, inputs: str) -> None:
        self._lock.acquire()
        try:
            self._connection = sqlite3.connect(self.path, timeout=BUSY_SECONDS, check_same_thread=False)
            with self._connection as connection:
                connection.execute("BEGIN IMMEDIATE")
                former = self._inputs(connection)
                connection.execute(ACTED)
                connection.execute(UNDECIDED)
                if former is None:
                    connection.execute("INSERT INTO map VALUES (?)", (inputs,))
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
        if former not in (None, inputs):
            self.close()
            raise BadUsage(
                f"{self.path.name} has answers of a map with another model, tools, options or objects, or with some "
                "that cannot be compared.",
                fix="Choose another file, or use the former settings.",
            )

    def _begin(self) -> None:
        """Note that a map runs, and when the last one began if that was killed."""
        with self._opened() as connection:
            connection.execute(RUNNING)
            (self._interrupted_since,) = connection.execute("SELECT min(began) FROM running").fetchone()
            if self.interrupted_since is None:
                connection.execute("INSERT INTO running VALUES (?)", (time.time(),))
        self._is_running = True

    def end_recovery(self) -> None:
        """Forget that a map was killed, once all prompts have been looked at; a map that is stopped before keeps it."""
        self._interrupted_since = None

    def expect_recovery(self) -> None:
        """Note that answers came which have no row: the next map looks for them in the journal, as after a kill."""
        self._is_running = False

    def known_turns(self, turn_ids: Sequence[str]) -> set[str]:
        """Return those of the turns that have a row."""
        connection = self._opened()
        connection.execute("CREATE INDEX IF NOT EXISTS answers_by_turn ON answers (turn_id)")
        marks = ",".join("?" * len(turn_ids))
        query = f"SELECT turn_id FROM answers WHERE turn_id IN ({marks})"
        return {turn_id for (turn_id,) in connection.execute(query, turn_ids)}

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
            "SELECT row, prompt_hash, CASE WHEN row IN (SELECT row FROM undecided) THEN '' ELSE error END "
            "FROM answers WHERE row BETWEEN ? AND ?"
        )
        rows = self._opened().execute(query, (items[0].index, items[-1].index))
        return {row: (answered, error) for row, answered, error in rows}

    def acted_turns(self, items: Sequence[PromptItem]) -> dict[int, str]:
        """Return the turns of prompts of which a call had started, by their rows; empty where it is not known."""
        if not items:
            return {}
        query = (
            "SELECT row, prompt_hash, coalesce(turn_id, '') FROM answers "
            "WHERE row IN (SELECT row FROM acted) AND row BETWEEN ? AND ?"
        )
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

        A row of a prompt that was not sent again keeps why the earlier map did not answer it, before why it was not.

        Raises:
            nbtool.errors.AnswersNotWritten: the disk is full, or broken; none of them is stored.
        """
        with explained_failure(self.path.name):
            self._write(answers)

    def _write(self, answers: Sequence[Answer]) -> None:
        refused = [answer for answer in answers if isinstance(answer.error, NotRepeated)]
        with self._opened() as connection:
            self._write_rows(connection, refused, "IGNORE")
            addition = "UPDATE answers SET error = error || ' ' || ? WHERE row = ? AND instr(error, 'repeat_calls') = 0"
            connection.executemany(addition, [(str(answer.error), answer.index) for answer in refused])
            written = [answer for answer in answers if not isinstance(answer.error, NotRepeated)]
            self._write_rows(connection, written, "REPLACE")
            for table, is_in in (("acted", "has_acted"), ("undecided", "has_undecided_calls")):
                connection.executemany(f"DELETE FROM {table} WHERE row = ?", [(answer.index,) for answer in answers])
                those = [(answer.index,) for answer in answers if getattr(answer, is_in)]
                connection.executemany(f"INSERT INTO {table} VALUES (?)", those)

    def _write_rows(self, connection: sqlite3.Connection, answers: Sequence[Answer], on_conflict: str) -> None:
        rows = [
            (
                answer.index,
                prompt_hash(answer.prompt),
                None if answer.error else _value_text(answer.value),
                _error_text(answer.error) if answer.error else None,
                answer.turn_id or None,
            )
            for answer in answers
        ]
        connection.executemany(f"INSERT OR {on_conflict} INTO answers VALUES (?, ?, ?, ?, ?)", rows)

    def close(self) -> None:
        """Close the file; idempotent."""
        if self._connection is not None:
            if self._is_running and self.interrupted_since is None:
                with suppress(sqlite3.Error), self._connection as connection:  # the next map looks for turns in vain
                    connection.execute("DELETE FROM running")
            self._connection.close()
            self._connection, self._is_running = None, False
        self._lock.release()

    def rows(self) -> Iterator[Sequence[object]]:
        """Yield all rows: `row`, `value`, `error`, `turn_id`, and whether it is in `undecided`, and in `acted`."""
        query = (
            "SELECT row, value, error, turn_id, row IN (SELECT row FROM undecided) AND error IS NULL, "
            "row IN (SELECT row FROM acted) FROM answers ORDER BY row"
        )
        for *fields, is_undecided, has_acted in self._opened().execute(query):
            yield (*fields, bool(is_undecided), bool(has_acted))

    def _opened(self) -> sqlite3.Connection:
        if self._connection is None:
            raise BadUsage("The sink is closed.", fix="Pass it to `chat.map_into`, which opens it.")
        return self._connection

    def _inputs(self, connection: sqlite3.Connection) -> str | None:
        """Return the inputs of the former answers; None for a file that is new."""
        (application_id,) = connection.execute("PRAGMA application_id").fetchone()
        if application_id == APPLICATION_ID:
            return str(connection.execute("SELECT inputs FROM map").fetchone()[0])
        if connection.execute("SELECT 1 FROM sqlite_master LIMIT 1").fetchone():
            raise BadUsage(
                f"{self.path.name} is a database of something else.",
                fix="Choose another file, which is for answers only.",
            )
        for table in TABLES:
            connection.execute(table)
        connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
        return None


def _value_text(value: object) -> str:
    return value if isinstance(value, str) else to_json(value, fallback=str).decode()


def _error_text(error: BaseException) -> str:
    return str(error) if isinstance(error, NbtoolError) else type(error).__name__
