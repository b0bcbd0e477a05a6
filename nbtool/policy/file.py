"""A policy file: where it is, and how it is read."""

from __future__ import annotations

import os
import sys
import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from nbtool.errors import BadUsage, PolicyUnreadable

if TYPE_CHECKING:
    from nbtool.policy.rules import PolicyRules

NAME = "policy.toml"

VARIABLE = "NBTOOL_POLICY"
"""Environment variable: another file, whose rules apply too; it can only tighten."""

MAX_BYTES = 256 * 1024
"""Maximum size of a policy file."""

FIX = "Nothing is sent until it is corrected{who}: `python -m nbtool.policy FILE` checks it."

ADMINISTRATOR = " by the system's administrator"
"""Who corrects the system's file."""

NAMED_BY = f" by the person who set {VARIABLE}"
"""Who corrects the file that the environment names."""


@dataclass(frozen=True, slots=True)
class PolicyFile:
    """A policy file that was read: its path and its rules."""

    path: Path
    rules: PolicyRules

    @property
    def is_writable(self) -> bool:
        """Whether this process may change the file, so that it binds nobody."""
        return os.access(self.path, os.W_OK)


def system_path() -> Path:
    """Return the path of the system's policy file, which depends on nothing that a user can set.

    `platformdirs.site_config_dir` follows `XDG_CONFIG_DIRS` and `WIN_PD_OVERRIDE_COMMON_APPDATA`.
    """
    if sys.platform == "win32":  # pragma: no cover - another system
        from platformdirs.windows import get_win_folder_via_ctypes  # noqa: PLC0415 - exists on Windows only

        return Path(get_win_folder_via_ctypes("CSIDL_COMMON_APPDATA"), "nbtool", NAME)
    return Path("/Library/Application Support" if sys.platform == "darwin" else "/etc/xdg", "nbtool", NAME)


def read_policy_file(path: Path, *, is_required: bool, who: str = "") -> PolicyFile | None:
    """Read a policy file; None if there is none and it is not required.

    Args:
        path: the file.
        is_required: whether a missing file is an error.
        who: who corrects the file, for an error.

    Raises:
        PolicyUnreadable: it cannot be read, is too large, is no TOML, or has an invalid rule.
    """
    fix = FIX.format(who=who)
    try:
        with path.open("rb") as file:
            data = file.read(MAX_BYTES + 1)
    except (FileNotFoundError, NotADirectoryError):
        if not is_required:
            return None
        raise PolicyUnreadable(f"The policy {path} does not exist.", fix=f"Correct {VARIABLE}, or unset it.") from None
    except (OSError, ValueError) as error:  # ValueError: a NUL in the path
        reason = getattr(error, "strerror", None) or error
        raise PolicyUnreadable(f"The policy {path} cannot be read ({reason}).", fix=fix) from None
    if len(data) > MAX_BYTES:
        raise PolicyUnreadable(f"The policy {path} has more than {MAX_BYTES >> 10} KiB.", fix=fix)
    return PolicyFile(path, _parse(path, data, fix))


def _parse(path: Path, data: bytes, fix: str) -> PolicyRules:
    from nbtool.policy.rules import parse_rules  # noqa: PLC0415 - pydantic loads only where there is a policy

    try:
        return parse_rules(tomllib.loads(data.decode("utf-8-sig")))
    except UnicodeDecodeError:
        problem = "it is not UTF-8."
    except tomllib.TOMLDecodeError as error:
        problem = f"it is not TOML: {error}."
    except BadUsage as error:
        problem = str(error)
    raise PolicyUnreadable(f"The policy {path} is invalid: {problem}", fix=fix)
