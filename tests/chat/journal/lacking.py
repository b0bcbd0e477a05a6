"""A SQLite that lacks something."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from typing import Any


class FailingConnection(sqlite3.Connection):
    """A SQLite that fails where it is told to."""

    says = ""

    def execute(self, sql: str, *values: Any) -> sqlite3.Cursor:  # type: ignore[override]  # as it is called here
        if self.says and ("fts5" in sql or "quick_check" in sql):
            error = sqlite3.OperationalError(self.says)
            error.sqlite_errorcode = sqlite3.SQLITE_ERROR if "fts5" in sql else sqlite3.SQLITE_IOERR
            raise error
        return super().execute(sql, *values)


@contextmanager
def failing_connection(says: str) -> Iterator[sqlite3.Connection]:
    with closing(sqlite3.connect(":memory:", factory=FailingConnection)) as connection:
        connection.says = says
        yield connection
