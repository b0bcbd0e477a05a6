"""Notebooks as files, and the programs of others that run, convert and compare them: real processes."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import nbformat
import pytest
from nbformat import NotebookNode

ROOT = Path(__file__).parents[2]
SECONDS = 60


def find_overlay(name: str) -> Path:
    """Return the folder of packages that only the nightly lane needs, or fail."""
    overlay = ROOT / "build" / "places" / name
    if not overlay.is_dir():
        pytest.fail(f"There is no {overlay}: `make lane LANE=compat` installs it.", pytrace=False)
    return overlay


def environment_of(overlay: Path | None = None, **environment: str) -> dict[str, str]:
    """Return an environment with the packages of an overlay."""
    path = [str(overlay)] if overlay else []
    own = os.pathsep.join([*path, str(ROOT), os.environ.get("PYTHONPATH", "")]) if overlay else ""
    return {**os.environ, **({"PYTHONPATH": own} if own else {}), **environment}


def start_command(
    *command: str, cwd: Path, overlay: Path | None = None, seconds: float = SECONDS, **environment: str
) -> subprocess.CompletedProcess[str]:
    """Run a module of Python to its end, whatever that is."""
    return subprocess.run(
        [sys.executable, *command],
        cwd=cwd,
        env=environment_of(overlay, **environment),
        capture_output=True,
        text=True,
        timeout=seconds,
        check=False,
    )


def run_command(
    *command: str, cwd: Path, overlay: Path | None = None, seconds: float = SECONDS, **environment: str
) -> str:
    """Run a module of Python, which must succeed; return what it wrote."""
    done = start_command(*command, cwd=cwd, overlay=overlay, seconds=seconds, **environment)
    assert done.returncode == 0, (done.stdout + done.stderr)[-3000:]
    return done.stdout


def write_notebook(path: Path, *sources: str) -> Path:
    """Write a notebook of code cells."""
    kernelspec = {"name": "python3", "display_name": "Python 3", "language": "python"}
    cells = [nbformat.v4.new_code_cell(source) for source in sources]
    nbformat.write(nbformat.v4.new_notebook(cells=cells, metadata={"kernelspec": kernelspec}), path)
    return path


def sources_of(path: Path) -> list[str]:
    """Return the sources of a notebook's cells."""
    return [cell.source for cell in nbformat.read(path, as_version=4).cells]


def outputs_of(path: Path) -> list[NotebookNode]:
    """Return the outputs of a notebook's cells."""
    return [output for cell in nbformat.read(path, as_version=4).cells for output in cell.get("outputs", ())]


def printed_by(path: Path) -> str:
    """Return what the cells of a notebook printed."""
    return "".join(output.text for output in outputs_of(path) if output.get("name") == "stdout")
