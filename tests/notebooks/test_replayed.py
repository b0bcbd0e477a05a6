"""A notebook with its recording runs where nothing can be asked: no key, no network, no practice model."""

from __future__ import annotations

import shutil
from pathlib import Path

import nbformat
import pytest
from nbclient import NotebookClient
from nbclient.exceptions import CellExecutionError

ROOT = Path(__file__).parents[2]
NAME = "06_history"
WHO_RAN = "from nbtool import practice\nprint(practice._running)"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Give a copy of the manual, and to the kernels that start from now on no network and nobody to ask."""
    monkeypatch.setenv("PYTHONPATH", str(ROOT / "tests" / "no_network"))
    monkeypatch.setenv("NBTOOL_REPLAY", "only")
    for part in ("CONFIG", "DATA", "RUNTIME"):
        monkeypatch.setenv(f"JUPYTER_{part}_DIR", str(tmp_path / part.lower()))
    monkeypatch.setenv("IPYTHONDIR", str(tmp_path / "ipython"))
    return Path(shutil.copytree(ROOT / "notebooks", tmp_path / "notebooks"))


def run(folder: Path, replace: tuple[str, str] = ("", "")) -> nbformat.NotebookNode:
    notebook = nbformat.read(folder / f"{NAME}.ipynb", as_version=4)
    for cell in notebook.cells:
        cell.source = cell.source.replace(*replace) if replace[0] else cell.source
    notebook.cells.append(nbformat.v4.new_code_cell(WHO_RAN))
    resources = {"metadata": {"path": str(folder)}}
    return NotebookClient(notebook, timeout=240, kernel_name="python3", resources=resources).execute()


def text_of(notebook: nbformat.NotebookNode, cell_id: str) -> str:
    cell = next(cell for cell in notebook.cells if cell.id == cell_id)
    return "".join(
        output.get("text", "") + str(output.get("data", {}).get("text/plain", "")) for output in cell.outputs
    )


@pytest.mark.timeout(180)
def test_a_recorded_notebook_runs_to_its_end_and_no_model_is_asked(folder: Path) -> None:
    before = (folder / f"{NAME}.nbtool.json").read_bytes()

    notebook = run(folder)

    chats = [cell for cell in notebook.cells if cell.source.startswith("%%chat")]
    assert len(chats) == 4
    assert all("Replayed from" in text_of(notebook, cell.id) for cell in chats)
    assert "6300.0" in text_of(notebook, "replayed")
    assert "`penguins`, which the tool `count` reads, has other values" in text_of(notebook, "changed")
    assert notebook.cells[-1].outputs[0].text == "[]\n"
    assert (folder / f"{NAME}.nbtool.json").read_bytes() == before


@pytest.mark.sampled(0)
@pytest.mark.timeout(180)
def test_a_notebook_that_changed_fails_in_one_line(folder: Path) -> None:
    with pytest.raises(CellExecutionError, match="the tool `count` changed") as caught:
        run(folder, ("def count(species", "def count(species: str = '', *, kind"))

    assert "Traceback" not in str(caught.value)
