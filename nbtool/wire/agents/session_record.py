"""What a chat's last session has seen, in a file: so a later kernel goes on with it, or begins a new one.

It is written before a prompt is sent, without the digest of turns, and again at the end of the turn: a session that
has got what its chat does not have (a turn that was lost, deleted or erased) is never used again.
"""

from __future__ import annotations

import json
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from nbtool.errors import SettingsError
from nbtool.files import replace_file
from nbtool.settings import data_dir

FOLDER = "agent_sessions"

MAX_BYTES = 10_000
"""Maximum size of such a file in bytes; a larger one is none of ours."""

MAX_RECORDS = 1_000
"""Maximum number of such files; of more, the oldest is removed."""


@dataclass(frozen=True, slots=True)
class EarlierSession:
    """A session of a chat: its agent, its id, and the digest of the turns that it has seen ("": not known)."""

    agent: str = ""
    session_id: str = ""
    line: str = ""


@dataclass(frozen=True, slots=True)
class SessionRecord:
    """The file of one chat; without an id nothing is written."""

    chat_id: str = ""

    def read(self) -> EarlierSession:
        """Return what is noted; nothing where that cannot be read."""
        try:
            path = self._path()
            if not self.chat_id or path.stat().st_size > MAX_BYTES:
                return EarlierSession()
            fields = json.loads(path.read_text(encoding="utf-8"))
            return EarlierSession(str(fields["agent"]), str(fields["session"]), str(fields["line"]))
        except (OSError, ValueError, KeyError, TypeError, RecursionError, SettingsError):
            return EarlierSession()

    def write(self, session: EarlierSession) -> None:
        """Note a session, for this user alone; where it cannot be written, a later kernel begins a new one."""
        if not self.chat_id:
            return
        data = {"agent": session.agent, "session": session.session_id, "line": session.line}
        try:
            path = self._path()
            path.parent.mkdir(mode=0o700, exist_ok=True)
            replace_file(path, json.dumps(data).encode(), is_private=True)
            _remove_oldest(path.parent)
        except (OSError, SettingsError):
            self.remove()

    def remove(self) -> None:
        """Forget the session of the chat."""
        with suppress(OSError, SettingsError):
            self._path().unlink(missing_ok=True)

    def _path(self) -> Path:
        return data_dir() / FOLDER / f"{self.chat_id}.json"


def forget_sessions() -> None:
    """Forget the sessions of all chats."""
    with suppress(OSError, SettingsError):
        for path in (data_dir() / FOLDER).glob("*.json"):
            path.unlink(missing_ok=True)


def _remove_oldest(folder: Path) -> None:
    paths = list(folder.glob("*.json"))
    if len(paths) > MAX_RECORDS:
        min(paths, key=lambda path: path.stat().st_mtime).unlink(missing_ok=True)
