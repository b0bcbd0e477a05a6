"""The file with the address and the token of a served notebook, from which `nbtool-mcp` and its user take them."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from nbtool.errors import BadUsage
from nbtool.secret import Secret
from nbtool.settings import data_dir

FOLDER = "mcp"
MAX_BYTES = 10_000
"""Maximum size of an address file in bytes; a larger one is none of ours."""

NO_SERVER = "No served notebook is noted in {folder}."
START = "Run `%chat serve` in a cell of the notebook first; set NBTOOL_HOME if the notebook uses another folder."


@dataclass(frozen=True, slots=True)
class ServerAddress:
    """The address of a served notebook: its URL, token, process, and the folder of its kernel."""

    url: str
    token: Secret
    pid: int
    folder: str

    @property
    def path(self) -> Path:
        """The file: readable by this user alone."""
        return data_dir() / FOLDER / f"{self.pid}.json"

    def write(self) -> None:
        """Write the file for its owner alone, from its first byte on."""
        self.path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        self.path.unlink(missing_ok=True)
        text = json.dumps({
            "url": self.url, "token": self.token.get_secret_value(), "pid": self.pid, "folder": self.folder,
        })  # fmt: skip
        with os.fdopen(os.open(self.path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w", encoding="utf-8") as file:
            file.write(text)

    def remove(self) -> None:
        """Remove the file."""
        self.path.unlink(missing_ok=True)


def find_server(pid: int | None = None) -> ServerAddress:
    """Return the address of the served notebook; with `pid`, of that kernel; of several, the one served last.

    Raises:
        BadUsage: none is served.
    """
    found = [address for address in _addresses() if pid in (None, address.pid) and _is_running(address.pid)]
    if not found:
        raise BadUsage(NO_SERVER.format(folder=data_dir() / FOLDER), fix=START)
    return max(found, key=lambda server_address: server_address.path.stat().st_mtime)


def _addresses() -> Iterator[ServerAddress]:
    for path in sorted((data_dir() / FOLDER).glob("*.json")):
        try:
            if path.stat().st_size > MAX_BYTES:
                continue
            fields = json.loads(path.read_text(encoding="utf-8"))
            yield ServerAddress(
                str(fields["url"]), Secret(str(fields["token"])), int(fields["pid"]), str(fields["folder"])
            )
        except (OSError, ValueError, KeyError, TypeError, RecursionError):
            continue  # another process removed it, or it is none of ours


def _is_running(pid: int) -> bool:
    """Return whether a process exists; a file stays behind when a kernel is killed."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:  # pragma: no cover - a process of another user has taken the number
        return False
    return True
