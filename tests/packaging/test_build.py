"""What is shipped: an sdist that holds the built script, and from it a wheel, on a machine without Node."""

from __future__ import annotations

import gzip
import json
import os
import re
import subprocess
import sys
import tarfile
from pathlib import Path
from zipfile import ZipFile

import pytest
from build import ProjectBuilder

from nbtool import __version__
from nbtool.view.lazy_module import MAX_LAZY_BYTES, load_lazy_module

ROOT = Path(__file__).parents[2]
START_LIMIT = 36_000
"""Bytes of what JupyterLab loads at start, gzipped."""

HISTORY_LIMIT = 46_000
"""Bytes of what draws saved conversations, gzipped: only a page that has one loads it."""

CELLS_LIMIT = 2_500
"""Bytes of what reads and changes cells, gzipped: only a page that is asked about them loads it."""


@pytest.fixture(scope="module")
def unpacked(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("sdist")
    with tarfile.open(ProjectBuilder(ROOT).build("sdist", folder)) as sdist:
        sdist.extraction_filter = getattr(tarfile, "data_filter", None)  # type: ignore[assignment]  # not in 3.11.2
        sdist.extractall(folder)
    return next(path for path in folder.iterdir() if path.is_dir())


def needs_node(project: Path) -> bool:
    return any("nodejs" in need for need in ProjectBuilder(project).get_requires_for_build("wheel"))


@pytest.fixture(scope="module")
def wheel(unpacked: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    assert not needs_node(unpacked)
    return Path(ProjectBuilder(unpacked).build("wheel", tmp_path_factory.mktemp("wheel")))


@pytest.mark.sampled(0)
def test_a_wheel_is_made_from_the_sdist_without_node(wheel: Path) -> None:
    names = set(ZipFile(wheel).namelist())

    assert {"nbtool/py.typed", "nbtool/view/static/widget.js", "nbtool/view/static/widget.css"} <= names
    assert {name.split("/")[0].partition("-")[0] for name in names} == {"nbtool", "nbtool_chat"}


@pytest.mark.sampled(0)
def test_jupyterlab_finds_the_extension_where_the_wheel_puts_it(wheel: Path, tmp_path: Path) -> None:
    ZipFile(wheel).extractall(tmp_path)
    (shared,) = tmp_path.glob("*.data/data/share/jupyter")
    folder = shared / "labextensions" / "nbtool-chat"
    actual = json.loads((folder / "package.json").read_text())

    command = [sys.executable, "-m", "jupyter", "labextension", "list"]
    environment = {**os.environ, "JUPYTER_PATH": str(shared), "JUPYTER_PREFER_ENV_PATH": "0"}
    listed = subprocess.run(command, env=environment, capture_output=True, text=True, check=True).stderr

    lines = re.sub(r"\x1b\[\d+m", "", listed).partition(f"{shared}/labextensions\n")[2].splitlines()
    assert lines[0].split() == ["nbtool-chat", f"v{__version__}", "enabled", "OK", "(python,", "nbtool-chat)"]
    assert actual["version"] == __version__
    assert (folder / actual["jupyterlab"]["_build"]["load"]).is_file()
    for name in MAX_LAZY_BYTES:
        (module,) = (folder / "static").glob(f"{name}.*.js")
        assert gzip.compress(module.read_bytes(), mtime=0) == load_lazy_module(name).gzipped
    assert gzipped_size(folder / actual["jupyterlab"]["_build"]["load"]) <= START_LIMIT
    assert gzipped_size(next((folder / "static").glob("history.*.js"))) <= HISTORY_LIMIT
    assert gzipped_size(next((folder / "static").glob("cells.*.js"))) <= CELLS_LIMIT


def gzipped_size(path: Path) -> int:
    return len(gzip.compress(path.read_bytes()))


def test_a_changed_source_of_the_page_asks_for_node(unpacked: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    source = unpacked / "js" / "src" / "styles" / "frame.css"
    before = source.stat()

    source.touch()
    asked = needs_node(unpacked)
    monkeypatch.setenv("NBTOOL_SKIP_JS", "1")
    skipped = needs_node(unpacked)

    assert asked
    assert not skipped
    assert source.stat().st_mtime > before.st_mtime
