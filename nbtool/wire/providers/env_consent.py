"""Consent to a model or an address that only a `.env` names, which may belong to a downloaded project.

It is stored per folder and file content, in nbtool's data folder, not in the project.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable

from nbtool.errors import EnvFileNotAllowed, SettingsError
from nbtool.settings import data_dir, env
from nbtool.settings import display_path as shown_absolute
from nbtool.wire.providers.credentials import Credential
from nbtool.wire.providers.env_file import find_env_file, shown_path

FOLDER = "allowed-env-files"
"""The folder with one empty file per allowed `.env`, named by the hash of its path and values."""

VARIABLE = "NBTOOL_ALLOW_ENV_FILE"
"""Set to 1 in the environment (not in a `.env`), it allows every file, for non-interactive use."""


def check_allowed(credentials: Iterable[Credential | None], destination: str) -> None:
    """Check that the user allowed the settings that come from a `.env`.

    Raises:
        EnvFileNotAllowed: they were not allowed.
    """
    names = [from_env_file.name for from_env_file in credentials if from_env_file and from_env_file.from_env_file]
    if names and not is_allowed():
        raise EnvFileNotAllowed(shown_path(find_env_file()[1]), names, destination)


def is_allowed() -> bool:
    """Whether the nearest `.env`, as read, may name models and addresses."""
    if env(VARIABLE) == "1":
        return True
    try:
        return (data_dir() / FOLDER / _digest()).exists()
    except (SettingsError, OSError):
        return False


def allow() -> None:
    """Store that the user allowed the nearest `.env`, as read.

    Raises:
        SettingsError: it cannot be stored.
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
    """Revoke `allow` for this file."""
    (data_dir() / FOLDER / _digest()).unlink(missing_ok=True)


def _digest() -> str:
    values, path = find_env_file()
    parts = [path, *(f"{name}={value.get_secret_value()}" for name, value in sorted(values.items()))]
    return hashlib.sha256("\0".join(parts).encode("utf-8", "surrogatepass")).hexdigest()
