"""The person's file of agents: `agents.toml` in nbtool's data folder. No file of a project names a command.

    [claude]
    command = "/home/me/.local/bin/claude-agent-acp"
    args = []
    variables = ["ANTHROPIC_API_KEY"]

`variables` are names of environment variables of the kernel that the agent gets too, such as a key of its own. Without
a table, the agent's usual command is searched in `PATH`; nothing is downloaded.
"""

from __future__ import annotations

import os
import re
import shutil
import sys
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from nbtool.errors import SettingsError, Unsupported
from nbtool.policy import site_policy
from nbtool.secret import Secret
from nbtool.settings import data_dir, display_path
from nbtool.wire.agents.profiles import AgentProfile

SETTINGS_FILE = "agents.toml"

FOLDER = "agents"
"""The folder below the data folder in which agents work: nothing of a notebook's folder is in it."""

INHERITED_VARIABLES = (
    "HOME", "PATH", "LANG", "LC_ALL", "TERM", "USER", "LOGNAME", "TMPDIR", "TEMP", "TMP",
    "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY", "http_proxy", "https_proxy", "all_proxy", "no_proxy",
    "SSL_CERT_FILE", "SSL_CERT_DIR", "NODE_EXTRA_CA_CERTS",
)  # fmt: skip
"""The variables of the kernel that every agent gets, if they are set: no keys, and nothing that makes it run code."""

_RUNS_CODE = re.compile(
    r"(?:LD|DYLD|BASH_FUNC)_.*|PYTHON.*|NODE_(?:OPTIONS|PATH)|BASH_ENV|ENV|PERL5.*|RUBY.*|GCONV_PATH|(?:(?!JAVA).)*+JAVA.*OPTIONS"
    r"|PATH|HOME",
    re.IGNORECASE,
)
_FIELDS: dict[str, type[Any]] = {"command": str, "args": list, "variables": list}


@dataclass(frozen=True, slots=True)
class AgentCommand:
    """How an agent is started: an absolute command, its arguments, and its whole environment."""

    command: str
    args: tuple[str, ...]
    environment: Mapping[str, Secret]

    @property
    def secrets(self) -> list[Secret]:
        """The values that only this agent gets, such as a key."""
        return [value for name, value in self.environment.items() if name not in INHERITED_VARIABLES]


def find_command(profile: AgentProfile) -> AgentCommand:
    """Return the command of an agent.

    Raises:
        SettingsError: the person's file is invalid.
        Unsupported: there is no such command, or agents do not run on this system.
        PolicyRefused: the administrator's policy does not allow it.
    """
    if sys.platform in ("win32", "emscripten"):
        raise Unsupported("Agents need Linux or macOS.", fix="Choose a model, such as `-m openai`.")
    table = _read_table(profile)
    path = _search_path()
    name = table.get("command", profile.command)
    found = _resolve(name, path)
    if not found:
        raise Unsupported(
            f"{profile.model_id} needs the command {name!r}, which was not found.",
            fix=f"{profile.install} Or name it in {display_path(data_dir() / SETTINGS_FILE)}: "
            f'[{profile.name}] and below it command = "/path/to/{profile.command}".',
        )
    site_policy().check_agent(found)
    own = {
        variable: os.environ[variable]
        for variable in (*profile.variables, *table.get("variables", ()))
        if variable in os.environ
    }
    inherited = {variable: os.environ[variable] for variable in INHERITED_VARIABLES if variable in os.environ}
    environment = {**inherited, "PATH": path, **profile.environment, **own}
    secrets = {item: Secret(value) for item, value in environment.items() if value}
    return AgentCommand(found, tuple(table.get("args", ())), secrets)


def agent_folder(profile: AgentProfile) -> Path:
    """Return the folder in which an agent works: empty, for this user alone, and the same every day.

    An agent looks for settings, hooks and instructions in its folder and those above it, so it gets none of a notebook.

    Raises:
        SettingsError: it cannot be made, or is not empty.
    """
    folder = data_dir() / FOLDER / profile.name
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        found = next(folder.iterdir(), None)
    except OSError as error:
        raise SettingsError(f"The folder {display_path(folder)} cannot be used ({error.strerror}).") from None
    if found:
        raise SettingsError(
            f"{display_path(found)} is in the folder in which {profile.label} works, which has to be empty: it could"
            " be read as settings.",
            fix="Remove it.",
        )
    return folder


def _search_path() -> str:
    """Return the folders in which programs are searched: absolute ones, and none that a notebook is in."""
    try:
        here = Path.cwd()
    except OSError:  # the folder was removed
        here = Path(os.devnull)
    folders = [part for part in os.environ.get("PATH", os.defpath).split(os.pathsep) if os.path.isabs(part)]  # noqa: PTH117 - as text
    return os.pathsep.join(
        folder for folder in folders if not Path(folder).resolve().is_relative_to(here) or _is_home(here)
    )


def _is_home(folder: Path) -> bool:
    """Whether a folder contains the person's own programs anyway."""
    return Path.home().is_relative_to(folder)


def _resolve(name: str, path: str) -> str:
    """Return the absolute path of a command; empty if there is none."""
    if os.sep in name:
        full = Path(name).expanduser()
        return str(full) if full.is_absolute() and os.access(full, os.X_OK) else ""
    return shutil.which(name, path=path) or ""


def _read_table(profile: AgentProfile) -> dict[str, Any]:
    path = data_dir() / SETTINGS_FILE
    shown = display_path(path)
    try:
        tables: dict[str, Any] = tomllib.loads(path.read_text("utf-8"))
    except FileNotFoundError:
        return {}
    except (OSError, ValueError) as error:
        raise SettingsError(f"{shown} cannot be read ({error}).", fix="Fix it, or remove it.") from None
    table: Any = tables.get(profile.name, {})
    location = f"[{profile.name}] in {shown}"
    if not isinstance(table, dict):
        raise SettingsError(f"{location} is not a table.", fix="Write `[name]` and below it `command = …`.")
    for key, value in table.items():
        _check_field(location, key, value)
    return dict(table)


def _check_field(location: str, key: str, value: Any) -> None:
    if key not in _FIELDS:
        raise SettingsError(f"{location} has an unknown field {key!r}.", fix=f"Available: {', '.join(_FIELDS)}.")
    texts = value if isinstance(value, list) else [value]
    if not isinstance(value, _FIELDS[key]) or not all(isinstance(text, str) and "\0" not in text for text in texts):
        kind = "a text" if _FIELDS[key] is str else "a list of texts"
        raise SettingsError(f"{location}: {key} has to be {kind}.")
    unfit = next((text for text in texts if key == "variables" and _RUNS_CODE.fullmatch(text)), None)
    if unfit:
        raise SettingsError(
            f"{location} passes on {unfit!r}, by which an agent would run other code.", fix="Remove it."
        )
