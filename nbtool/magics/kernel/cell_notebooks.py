"""Which notebook a cell belongs to: two notebooks on one kernel can have cells of one id, as copies have.

A request names the session of the page that sent it. A page that was loaded again has another session and the same
notebook, so sessions are compared by the path of their notebook, which pages say. The id of a cell that is no id of the
notebook format, as VS Code's, contains its notebook.
"""

from __future__ import annotations

import os
import re
import threading
from collections.abc import Callable, Mapping
from typing import Any

KERNEL_NOTEBOOK = "JPY_SESSION_NAME"
"""The environment variable in which Jupyter's server names the notebook that a kernel was started for."""

_FORMAT_ID = re.compile(r"[A-Za-z0-9_-]+")


class CellNotebooks:
    """The notebooks that have run a cell, by its id, and the paths of notebooks, by the sessions of their pages."""

    def __init__(self, kernel_notebook: str = "") -> None:
        self._kernel_notebook = kernel_notebook
        self._paths: dict[str, str] = {}
        self._sessions: dict[str, list[set[str]]] = {}
        self._lock = threading.Lock()

    def note_page(self, session: str, path: str) -> None:
        """Note the path of a page's notebook; on any thread."""
        with self._lock:
            self._paths[session] = path

    def number(self, cell: str, session: str, ask: Callable[[], str] | None = None) -> int:
        """Return which of the notebooks that have run a cell of this id a session belongs to, from 0 on.

        `ask` returns the path of the notebook, or "" if no page answers; it is called once for a session, if another
        one has run the cell. Without it nothing is noted.
        """
        notebooks = self._sessions.setdefault(cell, [])
        if not _FORMAT_ID.fullmatch(cell) or any(session in sessions for sessions in notebooks[:1]):
            return 0
        if ask and notebooks and session not in self._paths:
            self.note_page(session, ask())
        for number, sessions in enumerate(notebooks):
            if session in sessions or any(self._is_same(item, session) for item in sessions):
                sessions.add(session)
                return number
        if ask:
            notebooks.append({session})
        return len(notebooks) - bool(ask)

    def is_same_cell(self, cell: str, session: str, other: str) -> bool:
        """Return whether a cell of this id is known to be the same one in two sessions."""
        return session == other or not _FORMAT_ID.fullmatch(cell) or self._is_same(session, other)

    def _is_same(self, session: str, other: str) -> bool:
        """Compare by paths; of a page that said none, before a session began, the kernel's own notebook is assumed."""
        with self._lock:
            paths = [self._paths.get(text, self._kernel_notebook) for text in (session, other)]
        return all(paths) and _is_end_of(*paths)


def session_of(request: Mapping[str, Any]) -> str:
    """Return the session of the page that sent a request; empty if it names none."""
    return str(request.get("header", {}).get("session") or "")


def _is_end_of(path: str, other: str) -> bool:
    """Return whether two paths name one file, of which one may be relative to the server's folder."""
    text, two = sorted((_normal(path), _normal(other)), key=len)
    return f"/{two}".endswith(f"/{text}")


def _normal(path: str) -> str:
    """Return a path without its drive, as `RTC:` is one, and with slashes."""
    return path.replace("\\", "/").rpartition(":")[2].strip("/")


cell_notebooks = CellNotebooks(os.environ.get(KERNEL_NOTEBOOK, ""))
"""Those of this kernel."""
