"""Files that tools may not access: those with secrets, and those that control this notebook and its protections.

A tool that could write its own policy, a startup file or a git hook could bypass every approval.
"""

from __future__ import annotations

import itertools
import os
import re
from collections.abc import Iterator
from contextlib import suppress
from fnmatch import translate
from functools import lru_cache
from pathlib import Path, PurePath

from nbtool.errors import SettingsError
from nbtool.settings import data_dir
from nbtool.tools.secret_patterns import is_secret_path, normalized_parts

CONTROL_FILES = (
    "ipython_*config.*", "jupyter_*config.*", "sitecustomize.py", "usercustomize.py", "pip.conf", "pip.ini",
    ".bashrc", ".bash_profile", ".bash_login", ".bash_logout", ".profile", ".zshrc", ".zshenv",
    ".zprofile", ".zlogin", ".kshrc", ".cshrc", ".tcshrc", ".inputrc", ".pythonrc*", ".pdbrc", ".gitconfig",
    ".gitmodules", ".pre-commit-config.*", "authorized_keys", "crontab",
)  # fmt: skip
"""Names of files that control what runs, as lower-case patterns."""

_CONTROL_NAMES = re.compile("|".join(map(translate, CONTROL_FILES)))

CONTROL_FOLDERS = frozenset(
    {".ipython", ".jupyter", ".git", ".hg", ".svn", ".vscode", ".idea", ".nbtool", "site-packages", "dist-packages"}
)
"""Names of folders whose files control what runs."""

_CONTROL_PAIRS = frozenset(
    {("share", "jupyter"), ("etc", "jupyter"), ("etc", "ipython"), ("library", "jupyter"), ("roaming", "jupyter")}
)
_CONTROL_VARIABLES = ("IPYTHONDIR", "JUPYTER_CONFIG_DIR", "JUPYTER_DATA_DIR", "JUPYTER_RUNTIME_DIR")
_SYSTEM_FOLDERS = frozenset({"proc", "sys", "dev"})


GIVE_ANYWAY = (
    "If it has none, a person can give its text to the chat: read it into a variable and expose that to be read."
)
"""What can be done where a file only looks like one of secrets."""


def protected_reason(path: PurePath) -> str:
    """Return why tools may not access an absolute path; empty if they may."""
    parts = normalized_parts(path)
    if not parts:
        return ""
    if len(parts) > 1 and path.anchor == "/" and parts[1] in _SYSTEM_FOLDERS:
        return "it belongs to the system"
    if is_secret_path(path):
        return "it looks like a file of secrets"
    is_control = CONTROL_FOLDERS & set(parts) or _CONTROL_PAIRS & set(itertools.pairwise(parts))
    if is_control or _is_in_protected_dir(parts):
        return "it controls this notebook or its tools"
    if _CONTROL_NAMES.match(parts[-1]):
        return "it controls what runs on this machine"
    return ""


def _is_in_protected_dir(parts: tuple[str, ...]) -> bool:
    settings = tuple(os.environ.get(name, "") for name in ("NBTOOL_HOME", *_CONTROL_VARIABLES))
    return any(parts[: len(protected)] == protected for protected in _protected_parts(settings))


@lru_cache(maxsize=8)
def _protected_parts(_: tuple[str, ...]) -> tuple[tuple[str, ...], ...]:
    """Return the parts of the protected folders that the environment variables set; a list protects all its entries."""
    return tuple(map(normalized_parts, _protected_dirs()))


def _protected_dirs() -> Iterator[Path]:
    with suppress(SettingsError):  # it cannot be created, so it has no files
        yield data_dir().resolve()
    for name in _CONTROL_VARIABLES:
        if folder := os.environ.get(name):
            yield Path(folder).expanduser().resolve()
