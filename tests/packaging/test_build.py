"""What is shipped: an sdist that holds the built script, and from it a wheel, on a machine without Node."""

from __future__ import annotations

import tarfile
from pathlib import Path
from zipfile import ZipFile

import pytest
from build import ProjectBuilder

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def unpacked(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("sdist")
    with tarfile.open(ProjectBuilder(ROOT).build("sdist", folder)) as sdist:
        sdist.extraction_filter = getattr(tarfile, "data_filter", None)  # type: ignore[assignment]  # not in 3.11.2
        sdist.extractall(folder)
    return next(path for path in folder.iterdir() if path.is_dir())


def needs_node(project: Path) -> bool:
    return any("nodejs" in need for need in ProjectBuilder(project).get_requires_for_build("wheel"))


def test_a_wheel_is_made_from_the_sdist_without_node(unpacked: Path, tmp_path: Path) -> None:
    assert not needs_node(unpacked)

    with ZipFile(ProjectBuilder(unpacked).build("wheel", tmp_path)) as wheel:
        names = set(wheel.namelist())

    assert {"nbtool/py.typed", "nbtool/view/static/widget.js", "nbtool/view/static/widget.css"} <= names
    assert {name.split("/")[0].partition("-")[0] for name in names} == {"nbtool", "nbtool_chat"}


def test_a_changed_source_of_the_page_asks_for_node(unpacked: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    source = unpacked / "js" / "src" / "styles.css"
    before = source.stat()

    source.touch()
    asked = needs_node(unpacked)
    monkeypatch.setenv("NBTOOL_SKIP_JS", "1")
    skipped = needs_node(unpacked)

    assert asked
    assert not skipped
    assert source.stat().st_mtime > before.st_mtime
