"""A keyring of the system for the tests: in a file, which the next process reads; `KEYRING_FILE` names it."""

from __future__ import annotations

import json
import os
from pathlib import Path

from keyring.backend import KeyringBackend
from keyring.errors import PasswordDeleteError


class FileKeyring(KeyringBackend):  # type: ignore[misc,no-any-unimported]  # the package has no types
    """Keeps passwords by service and user name, as Keychain, Secret Service and Credential Locker do."""

    priority = -9  # below that of no keyring: only PYTHON_KEYRING_BACKEND chooses it

    def get_password(self, service: str, username: str) -> str | None:
        return entries().get(f"{service}/{username}")

    def set_password(self, service: str, username: str, password: str) -> None:
        write_entries({**entries(), f"{service}/{username}": password})

    def delete_password(self, service: str, username: str) -> None:
        found = entries()
        if not found.pop(f"{service}/{username}", None):
            raise PasswordDeleteError(username)
        write_entries(found)


def entries() -> dict[str, str]:
    """Read all passwords."""
    path = Path(os.environ["KEYRING_FILE"])
    found: dict[str, str] = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
    return found


def write_entries(found: dict[str, str]) -> None:
    Path(os.environ["KEYRING_FILE"]).write_text(json.dumps(found), encoding="utf-8")
