"""The code of the README runs as it stands there, in order: in a fresh kernel, with no key and no network."""

from __future__ import annotations

import re
from pathlib import Path

import nbformat
import pytest
from nbclient import NotebookClient

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text()
BLOCK = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
IS_CODE = {"python": True, "": True, "sh": False, "text": False}
"""Whether a block of this language is code of a notebook: commands of a shell and maps are not."""
TEXT = [
    "nbtool: practice:default",
    "98.7",
    "98.7",
    "[True, False]",
]
"""What stands below the blocks, in this order."""


def blocks() -> list[str]:
    return [code.rstrip() for language, code in BLOCK.findall(README) if IS_CODE[language]]


def test_the_code_of_the_readme_runs_in_order_without_a_key(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONPATH", str(ROOT / "tests" / "no_network"))
    monkeypatch.delenv("NBTOOL_MODEL", raising=False)
    monkeypatch.setenv("IPYTHONDIR", str(tmp_path / "ipython"))
    for folder in ("CONFIG", "DATA", "RUNTIME"):
        monkeypatch.setenv(f"JUPYTER_{folder}_DIR", str(tmp_path / folder.lower()))
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(code) for code in blocks()])

    NotebookClient(
        notebook, timeout=240, resources={"metadata": {"path": str(tmp_path)}}
    ).execute()  # an error is raised

    text = "\n".join(
        output.get("text") or output.get("data", {}).get("text/plain", "")
        for cell in notebook.cells
        for output in cell.outputs
    )
    at = 0
    for said in TEXT:
        assert said in text[at:], text
        at = text.index(said, at) + len(said)


def test_every_line_of_a_cell_that_the_readme_shows_begins_with_a_magic_of_nbtools_own() -> None:
    cells = [code for language, code in BLOCK.findall(README) if not language]

    assert cells
    assert all(code.startswith(("%%chat", "%chat")) for code in cells)
