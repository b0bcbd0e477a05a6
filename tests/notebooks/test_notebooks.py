"""Every notebook of the manual runs from its first cell to its last: in a fresh kernel, without a network."""

from __future__ import annotations

import shutil
from pathlib import Path

import nbformat
import pytest
from nbclient import NotebookClient

ROOT = Path(__file__).parents[2]
NOTEBOOKS = sorted((ROOT / "notebooks").glob("*.ipynb"))
CELL_SECONDS = 60
NOTEBOOK_SECONDS = 180


@pytest.fixture
def manual(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Give a copy of the manual, and to the kernels that start from now on the practice model and no network."""
    monkeypatch.setenv("PYTHONPATH", str(ROOT / "tests" / "loopback"))
    monkeypatch.setenv("NBTOOL_MODEL", "practice:fast")
    for folder in ("CONFIG", "DATA", "RUNTIME"):
        monkeypatch.setenv(f"JUPYTER_{folder}_DIR", str(tmp_path / folder.lower()))
    monkeypatch.setenv("IPYTHONDIR", str(tmp_path / "ipython"))
    return Path(shutil.copytree(ROOT / "notebooks", tmp_path / "notebooks"))


@pytest.mark.timeout(NOTEBOOK_SECONDS)
@pytest.mark.parametrize("name", [notebook.name for notebook in NOTEBOOKS])
def test_a_notebook_runs_to_its_end(manual: Path, name: str) -> None:
    notebook = nbformat.read(manual / name, as_version=4)
    client = NotebookClient(
        notebook, timeout=CELL_SECONDS, kernel_name="python3", resources={"metadata": {"path": str(manual)}}
    )

    client.execute()

    code = [cell for cell in notebook.cells if cell.cell_type == "code" and cell.source.strip()]
    said = "".join(output.text for cell in code for output in cell.outputs if output.get("name") == "stderr")
    assert [cell.execution_count for cell in code] == list(range(1, len(code) + 1))
    assert said == ""


def test_the_manual_begins_with_a_first_chat() -> None:
    assert [notebook.name for notebook in NOTEBOOKS][:1] == ["01_first_chat.ipynb"]
