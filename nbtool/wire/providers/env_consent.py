"""Consent to what only a `.env` names: a model or an address, which may have come with somebody else's project.

It is given once for a folder and the content of its file, and kept in the folder of nbtool, not in the project.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable

from nbtool.errors import EnvFileNotAllowed, SettingsError
from nbtool.settings import data_dir, env
from nbtool.settings import display_path as shown_absolute
from nbtool.wire.providers.credentials import Credential, find_env_file, shown_path

FOLDER = "allowed-env-files"
"""Holds an empty file for each file that was allowed, named after a hash of its path and values."""

VARIABLE = "NBTOOL_ALLOW_ENV_FILE"
"""Set to 1 in the environment (not in a `.env`), it allows every file: for places where nobody can be asked."""


def check_allowed(credentials: Iterable[Credential | None], destination: str) -> None:
    """See to it that whatever only a `.env` names was allowed by a person.

    Raises:
        EnvFileNotAllowed: it was not.
    """
    names = [from_env_file.name for from_env_file in credentials if from_env_file and from_env_file.from_env_file]
    if names and not is_allowed():
        raise EnvFileNotAllowed(shown_path(find_env_file()[1]), names, destination)


def is_allowed() -> bool:
    """Whether the nearest `.env`, as it was read, may name models and addresses."""
    if env(VARIABLE) == "1":
        return True
    try:
        return (data_dir() / FOLDER / _digest()).exists()
    except (SettingsError, OSError):
        return False


def allow() -> None:
    """Remember that a person allowed the nearest `.env`, as it was read.

    Raises:
        SettingsError: it cannot be remembered.
    """
    folder = data_dir() / FOLDER
    try:
        folder.mkdir(mode=0o700, exist_ok=True)
        (folder / _digest()).touch(mode=0o600)
    except OSError as error:
        raise SettingsError(
            f"{shown_absolute(folder)} cannot be written ({error.strerror or error}).", fix=f"Set {VARIABLE}=1."
        ) from None


def forget() -> None:
    """Take back what `allow` remembered of this file."""
    (data_dir() / FOLDER / _digest()).unlink(missing_ok=True)


def _digest() -> str:
    values, path = find_env_file()
    parts = [path, *(f"{name}={value.get_secret_value()}" for name, value in sorted(values.items()))]
    return hashlib.sha256("\0".join(parts).encode("utf-8", "surrogatepass")).hexdigest()
