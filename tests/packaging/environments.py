"""Clean environments: the Pythons of this machine, a venv of one, and the files that an install puts there."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

VERSIONS = ("3.11", "3.12", "3.13", "3.14")
"""The Pythons that pyproject.toml names."""


def find_python(version: str) -> Path | None:
    """Return an interpreter of this machine: of pyenv, or of the system; None if there is none."""
    for candidate in _candidates(version):
        shown = subprocess.run([candidate, "--version"], capture_output=True, text=True, check=False)
        if shown.returncode == 0 and shown.stdout.startswith(f"Python {version}."):
            return candidate
    return None


def is_recent(python: str) -> bool:
    """Whether an interpreter is there and one of these versions."""
    if not Path(python).exists():
        return False
    shown = subprocess.run([python, "--version"], capture_output=True, text=True, check=False).stdout
    return shown.startswith(tuple(f"Python {version}." for version in VERSIONS))


def _candidates(version: str) -> Iterator[Path]:
    versions = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv"), "versions")
    yield from sorted(versions.glob(f"{version}.*/bin/python"), reverse=True)
    if found := shutil.which(f"python{version}"):
        yield Path(found)


class Environment:
    """A new venv with nothing but pip."""

    def __init__(self, folder: Path, python: Path) -> None:
        self.folder = folder
        self.python = folder / "bin" / "python"
        subprocess.run([python, "-m", "venv", folder], check=True, capture_output=True)

    def run(self, *command: str | Path, **variables: str) -> str:
        """Run a program of the venv, and return what it printed; it must succeed."""
        inherited = {name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "JUPYTER_PATH")}
        program = [self.folder / "bin" / str(command[0]), *command[1:]]
        ended = subprocess.run(
            program, capture_output=True, text=True, check=False, env={**inherited, **variables}, cwd=self.folder
        )
        assert ended.returncode == 0, f"{command}:\n{ended.stdout[-3000:]}\n{ended.stderr[-3000:]}"
        return f"{ended.stdout}{ended.stderr}"

    def pip(self, *arguments: str | Path) -> str:
        """Run the venv's own pip."""
        return self.run("python", "-m", "pip", "--quiet", "--disable-pip-version-check", *arguments)

    def files(self) -> set[str]:
        """Return the files and links of the venv, without compiled modules, which Python writes when it runs."""
        paths = (path for path in self.folder.rglob("*") if not path.is_dir() or path.is_symlink())
        return {str(path.relative_to(self.folder)) for path in paths if path.suffix != ".pyc"}


def this_python() -> Path:
    """Return the interpreter that runs the tests, outside of its venv."""
    return Path(sys.base_prefix, "bin", "python3")
