"""Where settings come from, and which source won.

Precedence, the strongest first: flag, call argument, `%config`, `ipython_config.py`, environment, default. A setting
carries its source, so that `%chat status` can say why a value holds.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Generic, TypeVar

import platformdirs

from nbtool.errors import BadUsage, SettingsError

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Setting(Generic[T]):
    """A value and where it was found."""

    value: T
    source: str

    def __str__(self) -> str:
        return f"{self.value} ({self.source})"


def resolve_setting(candidates: Iterable[tuple[str, T | None]], default: T) -> Setting[T]:
    """Give the first candidate that has a value; candidates are (source, value), the strongest first."""
    for source, value in candidates:
        if value is not None:
            return Setting(value, source)
    return Setting(default, "default")


def check_choice(name: str, value: str, choices: tuple[str, ...]) -> None:
    """Check an argument that is one of a few words.

    Raises:
        BadUsage: it is none of them.
    """
    if value not in choices:
        raise BadUsage(f"{name}={value!r}: one of {', '.join(choices)} is expected.")


def env(name: str) -> str | None:
    """Read an environment variable; empty counts as not set."""
    return os.environ.get(name) or None


def display_path(path: Path | None) -> str:
    """Give a path as outputs show it, which are saved with a notebook: they do not tell where a home lies."""
    folder = env("NBTOOL_HOME")
    for name, root in (("$NBTOOL_HOME", folder), ("~", os.path.expanduser("~"))):  # noqa: PTH111 - it never raises
        if root and path and path.is_relative_to(root):
            return str(Path(name) / path.relative_to(root))
    return str(path)


def data_dir() -> Path:
    """Give the folder of the journal and the settings: `NBTOOL_HOME`, else the platform's user data folder.

    The folder is made when missing, readable by its owner alone.

    Raises:
        SettingsError: it cannot be made.
    """
    folder = Path(env("NBTOOL_HOME") or platformdirs.user_data_dir("nbtool", appauthor=False))
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        raise SettingsError(
            f"The folder {folder} cannot be made ({error.strerror or error}).",
            fix="Name another one in NBTOOL_HOME.",
        ) from None
    return folder
