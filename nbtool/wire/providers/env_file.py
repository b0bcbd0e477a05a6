"""Read the nearest `.env`, upwards from the working directory, without expanding anything."""

from __future__ import annotations

import io
import os
import warnings
from functools import cache
from pathlib import Path

from nbtool.errors import SettingsError
from nbtool.secret import Secret
from nbtool.text import list_names

MAX_ENV_FILE = 24 * 1024
"""Maximum size of a `.env`, in characters, for python-dotenv may take 5 ms for a thousand of them; a longer one is
refused, because its last value could be half a key."""

MAX_LISTED_LINES = 5
"""Lines that a warning names."""


@cache
def find_env_file() -> tuple[dict[str, Secret], str]:
    """Return the values and the path of the nearest `.env`, upwards from the working directory.

    The result is cached; `find_env_file.cache_clear()` clears it.

    Raises:
        nbtool.errors.SettingsError: it is larger than `MAX_ENV_FILE`.
    """
    try:
        start = Path.cwd()
    except OSError:
        return {}, ""
    for folder in (start, *start.parents):
        path = folder / ".env"
        if path.is_file():
            return read_env_file(path), str(path)
    return {}, ""


def read_env_file(path: Path) -> dict[str, Secret]:
    """Return the values of a `.env`; a file that cannot be read has none.

    Raises:
        nbtool.errors.SettingsError: it is larger than `MAX_ENV_FILE`.
    """
    from dotenv.parser import parse_stream  # noqa: PLC0415 - only where there is a `.env`

    try:
        with path.open(encoding="utf-8-sig", errors="replace") as file:
            text = file.read(MAX_ENV_FILE + 1)
    except OSError:
        return {}
    if len(text) > MAX_ENV_FILE:
        limit = f"{MAX_ENV_FILE >> 10} KiB"
        raise SettingsError(
            f"{shown_path(str(path))} is larger than {limit} and is not read.",
            fix="Keep the keys in a .env of their own, and other text in another file.",
        )
    # only parsed, nothing is expanded: a project's `https://host/${OPENAI_API_KEY}` must not read the environment
    bindings = list(parse_stream(io.StringIO(text)))
    if skipped := [str(binding.original.line) for binding in bindings if binding.error]:
        lines = list_names(skipped, MAX_LISTED_LINES)
        warnings.warn(f"Not NAME=value in {shown_path(str(path))}, and skipped: line {lines}", stacklevel=2)
    values = {binding.key: binding.value for binding in bindings}
    return {name: Secret(value) for name, value in values.items() if name and value}


def shown_path(path: str) -> str:
    """Return a path relative to the working directory: saved outputs must not contain the home folder."""
    try:
        return os.path.relpath(path) if path else ".env"
    except (OSError, ValueError):  # the directory was deleted, or is on another drive
        return Path(path).name
