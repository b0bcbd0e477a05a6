"""Journal, recording and notebook on another machine: another home, user and Python, no `.env`, another build.

The other builds are wheels of this tree with another version, and some of them with other formats of the files.
"""

from __future__ import annotations

import os
import re
import shutil
import sqlite3
import subprocess
import sys
import tarfile
from collections.abc import Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import nbformat
import pytest
from build import ProjectBuilder

from tests.packaging.environments import VERSIONS, Environment, find_python

pytestmark = pytest.mark.nightly

ROOT = Path(__file__).parents[2]
DATA = Path(".local", "share", "nbtool")
KEY = "sk-of-this-machine-only"

RUN = """
import sys
import nbclient, nbformat
notebook = nbformat.read(sys.argv[1], 4)
nbclient.NotebookClient(notebook, timeout=300, kernel_name="python3", allow_errors=True).execute()
nbformat.write(notebook, sys.argv[1])
"""

TOOL = "def price(ticker: str) -> float:\n    'The price of a share.'\n    return 172.5"
PROMPT = "What is the price of AAPL?"
RECORD, ASK, SEARCH, VERSION = 3, 4, 6, 7
CELLS = (
    "%load_ext nbtool",
    "%config NbTool.model = 'practice:default'",
    TOOL,
    "%chat record work.nbtool.json",
    f"%%chat -t price --approve auto -o answer\n{PROMPT}",
    "print(repr(answer.text), answer.replayed)",
    "%chat history search AAPL",
    "import nbtool\nprint(nbtool.__version__)",
)


@dataclass(frozen=True)
class Machine:
    """A home folder with a project in it, and the Python that a person uses there."""

    home: Path
    python: Path

    @property
    def project(self) -> Path:
        """The folder of the notebook."""
        return self.home / "project"

    @property
    def journal(self) -> Path:
        """The file of the history."""
        return self.home / DATA / "journal.sqlite"

    def run_notebook(self, **variables: str) -> Any:
        """Run all cells of the notebook in a kernel, save it, and return it."""
        path = f"{self.python.parent}{os.pathsep}/usr/bin{os.pathsep}/bin"
        names = {"HOME": str(self.home), "USER": self.home.name, "LANG": "C.UTF-8", "PATH": path, **variables}
        subprocess.run([self.python, "-c", RUN, "work.ipynb"], cwd=self.project, env=names, check=True, timeout=600)
        return nbformat.read(self.project / "work.ipynb", 4)


def shown(cell: Any) -> str:
    """Return everything that a cell shows as text."""
    parts = (
        output.get("text") or output.get("data", {}).get("text/plain") or f"{output.ename}: {output.evalue}"
        for output in cell.outputs
    )
    return "".join(parts)


@pytest.fixture(scope="module")
def first(tmp_path_factory: pytest.TempPathFactory) -> Machine:
    """The machine on which everything was made, by this build."""
    machine = Machine(tmp_path_factory.mktemp("machine") / "alice", Path(sys.executable))
    machine.project.mkdir(parents=True)
    (machine.project / ".env").write_text(f"OPENAI_API_KEY={KEY}\n", encoding="utf-8")
    cells = [nbformat.v4.new_code_cell(cell) for cell in CELLS]
    nbformat.write(nbformat.v4.new_notebook(cells=cells), machine.project / "work.ipynb")
    notebook = machine.run_notebook()
    assert "172.5" in shown(notebook.cells[ASK])
    return machine


@pytest.fixture(scope="module")
def sources(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("sdist")
    with tarfile.open(ProjectBuilder(ROOT).build("sdist", folder)) as sdist:
        sdist.extractall(folder, filter="data")
    return next(path for path in folder.iterdir() if path.is_dir())


@pytest.fixture(scope="module")
def other_python(tmp_path_factory: pytest.TempPathFactory) -> Environment:
    """The newest other Python of this machine, with what a notebook needs."""
    this = f"{sys.version_info.major}.{sys.version_info.minor}"
    found = [python for version in VERSIONS if version != this and (python := find_python(version))]
    if not found:
        pytest.skip("there is no other Python on this machine")
    return Environment(tmp_path_factory.mktemp("other") / "venv", found[-1])


def install(environment: Environment, sources: Path, folder: Path, version: str, formats: Mapping[str, str]) -> None:
    """Build a wheel of another version, with other numbers of formats, and install it."""
    shutil.copytree(sources, folder)
    replace(folder / "PKG-INFO", r"(?m)^Version: .+$", f"Version: {version}")  # what a build from an sdist takes
    replace(folder / "nbtool" / "__init__.py", r'__version__ = "[^"]+"', f'__version__ = "{version}"')
    for name, number in formats.items():
        replace(folder / name, r"(?m)^((?:VERSION|FORMAT) = )\d+$", rf"\g<1>{number}")
    wheel = ProjectBuilder(folder).build("wheel", folder / "wheel")
    environment.pip("install", "--upgrade", wheel, "nbclient", "ipykernel")


def replace(path: Path, pattern: str, by: str) -> None:
    text, count = re.subn(pattern, by, path.read_text(encoding="utf-8"))
    assert count == 1
    path.write_text(text, encoding="utf-8")


def moved(first: Machine, environment: Environment, home: Path) -> Machine:
    """Copy the journal and the project, without `.env`, to the home of another user."""
    machine = Machine(home, environment.python)
    shutil.copytree(first.home / DATA, home / DATA)
    shutil.copytree(first.project, machine.project, ignore=shutil.ignore_patterns(".env"))
    return machine


@pytest.fixture
def files(first: Machine) -> Iterator[None]:
    """Hold that the files of the first machine stay as they are."""
    before = {path: path.read_bytes() for path in first.project.iterdir()}
    yield
    assert {path: path.read_bytes() for path in first.project.iterdir()} == before


@pytest.mark.usefixtures("files")
def test_a_newer_build_opens_journal_recording_and_notebook(
    first: Machine, sources: Path, other_python: Environment, tmp_path: Path
) -> None:
    install(other_python, sources, tmp_path / "source", "99.0.0", {})
    machine = moved(first, other_python, tmp_path / "bob")
    recorded = (machine.project / "work.nbtool.json").read_bytes()

    cells = machine.run_notebook(NBTOOL_REPLAY="only").cells

    assert shown(cells[VERSION]) == "99.0.0\n"
    assert "Replayed from" in shown(cells[ASK])
    assert (machine.project / "work.nbtool.json").read_bytes() == recorded
    assert shown(cells[SEARCH]).count(PROMPT) == 2  # of this kernel, and of the other machine
    copied = [path for path in machine.home.rglob("*") if path.is_file() and KEY.encode() in path.read_bytes()]
    assert copied == []


NEWER = {"nbtool/chat/journal/schema.py": "9", "nbtool/chat/recording/file.py": "9"}
OLDER = {"nbtool/chat/journal/schema.py": "1", "nbtool/chat/recording/file.py": "1"}


@pytest.mark.usefixtures("files")
@pytest.mark.parametrize(
    ("version", "formats", "named"),
    [("99.1.0", NEWER, "journal.format3.sqlite"), ("0.0.1", OLDER, "(format 3)")],
    ids=["a newer format", "an older format"],
)
def test_a_build_with_other_formats_says_why_and_loses_nothing(
    first: Machine,
    sources: Path,
    other_python: Environment,
    tmp_path: Path,
    version: str,
    formats: Mapping[str, str],
    named: str,
) -> None:
    install(other_python, sources, tmp_path / "source", version, formats)
    machine = moved(first, other_python, tmp_path / "bob")
    recorded = (machine.project / "work.nbtool.json").read_bytes()

    cells = machine.run_notebook().cells

    assert shown(cells[VERSION]) == f"{version}\n"
    assert f"format {formats['nbtool/chat/recording/file.py']}" in shown(cells[RECORD])
    assert (machine.project / "work.nbtool.json").read_bytes() == recorded
    assert named in shown(cells[ASK])
    assert "172.5" in shown(cells[ASK])
    assert shown(cells[SEARCH]).count(PROMPT) == 1
    assert "172.5" in text_of_earlier_turns(machine, first)


def text_of_earlier_turns(machine: Machine, first: Machine) -> str:
    """Return what the copied journal, under its present name, still has of the first machine."""
    with closing(sqlite3.connect(first.journal)) as connection:
        (chat,) = {row[0] for row in connection.execute("SELECT chat_id FROM turns")}
    for path in machine.journal.parent.glob("journal*.sqlite"):
        with closing(sqlite3.connect(path)) as connection:
            dump = "\n".join(connection.iterdump())
        if chat in dump:
            return dump
    return ""
