"""What programs that run notebooks unseen say of a cell that failed: the cause stands in their log."""

from __future__ import annotations

from pathlib import Path

import nbformat
import pytest
from nbclient import NotebookClient
from nbclient.exceptions import CellExecutionError


def test_the_error_of_a_cell_that_failed_names_its_cause(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """nbclient raises it, which nbconvert and papermill log as it is."""
    monkeypatch.setenv("NBTOOL_HOME", str(tmp_path))
    cells = ["%load_ext nbtool", "%%chat -m practice:nowhere\nHello"]
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(cell) for cell in cells])
    client = NotebookClient(notebook, timeout=60, resources={"metadata": {"path": str(tmp_path)}})
    with pytest.raises(CellExecutionError) as raised:
        client.execute()

    assert "The turn failed before any output (see above" in str(raised.value)
    assert "The model `nowhere` does not exist" in str(raised.value)
