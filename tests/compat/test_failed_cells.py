"""What programs that run notebooks unseen say of a cell that failed: the cause stands in their log."""

from __future__ import annotations

from pathlib import Path

import nbformat
import pytest
from nbclient import NotebookClient

from tests.compat.processes import start_command, write_notebook

FAILURES = {
    "%%chat -m ollama:nowhere\nHello": "ollama (127.0.0.1:9) cannot be reached",
    "%%chat --no-such-flag\nHello": "UsageError: %%chat: unrecognized arguments: --no-such-flag",
    "%%chat -m openai:gpt-6.1-terra\nHello": "UsageError: No key for openai",
    "%%chat --set replay=only\nHello": "No recording to replay from.",
    '%chat bind "unclosed': "UsageError: The line cannot be parsed (No closing quotation).",
}
"""Cells that fail, and what of each stands in a log."""


def test_the_error_of_each_cell_that_failed_names_its_cause(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """nbclient raises it, and papermill logs it; neither says what a cell printed."""
    monkeypatch.setenv("NBTOOL_HOME", str(tmp_path))
    monkeypatch.setenv("OLLAMA_HOST", "127.0.0.1:9")
    write_notebook(tmp_path / "run.ipynb", "%load_ext nbtool", *FAILURES)
    notebook = nbformat.read(tmp_path / "run.ipynb", as_version=4)

    NotebookClient(notebook, timeout=60, allow_errors=True, resources={"metadata": {"path": str(tmp_path)}}).execute()

    errors = [
        "\n".join(line for output in cell.outputs for line in output.get("traceback", ()))
        for cell in notebook.cells[1:]
    ]
    assert [cause in error for cause, error in zip(FAILURES.values(), errors, strict=True)] == [True] * 5, errors
    assert "above" in errors[0]


@pytest.mark.sampled(0)
@pytest.mark.parametrize(
    "program",
    [
        ("papermill", "run.ipynb", "done.ipynb"),
        ("nbconvert", "--to", "notebook", "--execute", "run.ipynb", "--output", "done"),
    ],
    ids=lambda words: words[0],
)
def test_the_log_of_a_run_names_the_cause_of_a_cell_that_failed(tmp_path: Path, program: tuple[str, ...]) -> None:
    cell, cause = list(FAILURES.items())[1]
    write_notebook(tmp_path / "run.ipynb", "%load_ext nbtool", cell)

    done = start_command("-m", *program, cwd=tmp_path, NBTOOL_HOME=str(tmp_path))

    assert done.returncode != 0
    assert cause in done.stderr
