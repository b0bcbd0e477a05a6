"""Consent to a model or an address that only a `.env` names, which may belong to a downloaded project.

It is kept per folder and file content.
"""

from __future__ import annotations

from collections.abc import Iterable

from nbtool.errors import EnvFileNotAllowed
from nbtool.folder_consent import Consent
from nbtool.settings import env
from nbtool.wire.providers.credentials import Credential
from nbtool.wire.providers.env_file import find_env_file, shown_path

VARIABLE = "NBTOOL_ALLOW_ENV_FILE"
"""Set to 1 in the environment (not in a `.env`), it allows every file, for non-interactive use."""

_CONSENT = Consent("allowed-env-files", f"Set {VARIABLE}=1.")


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
    return env(VARIABLE) == "1" or _CONSENT.is_given(_parts())


def allow() -> None:
    """Keep that the user allowed the nearest `.env`, as read.

    Raises:
        SettingsError: it cannot be kept.
    """
    _CONSENT.give(_parts())


def forget() -> None:
    """Revoke `allow` for this file."""
    _CONSENT.revoke(_parts())


def _parts() -> list[str]:
    values, path = find_env_file()
    return [path, *(f"{name}={value.get_secret_value()}" for name, value in sorted(values.items()))]
