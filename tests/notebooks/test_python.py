"""Code of a model in a real kernel: what it prints, shows and gives reaches the cell and the model."""

from __future__ import annotations

from pathlib import Path

import nbformat
import pytest
from nbclient import NotebookClient

ROOT = Path(__file__).parents[2]
CODE = """
import sys
import matplotlib.pyplot as plt
print("working")
print("careful", file=sys.stderr)
plt.plot([1, 2])
table = {"a": 1}
table
"""
CHAT = f"""
from nbtool import Approved, Chat
from nbtool.testing import ScriptedApprover, ScriptedWire, call
from nbtool.toolsets import notebook_python

wire = ScriptedWire([call("run_python", code={CODE!r}), call("run_python", code="1 / 0"), "Done."])
approver = ScriptedApprover([Approved(), Approved()])
turn = Chat(wire=wire, approver=approver, tools=[notebook_python]).send("Go.")
"""
TELL = """
print(turn.calls[0].shown)
print(turn.calls[1].shown)
print(turn.calls[0].result["value"] is table, len(turn.messages.chain[1].results[0].media))
"""


@pytest.mark.timeout(120)
def test_code_of_a_model_runs_in_its_cell(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONPATH", str(ROOT / "tests" / "no_network"))
    for folder in ("CONFIG", "DATA", "RUNTIME"):
        monkeypatch.setenv(f"JUPYTER_{folder}_DIR", str(tmp_path / folder.lower()))
    monkeypatch.setenv("IPYTHONDIR", str(tmp_path / "ipython"))
    cells = [nbformat.v4.new_code_cell(source) for source in ("%load_ext nbtool", CHAT, TELL)]
    notebook = nbformat.v4.new_notebook(cells=cells)

    NotebookClient(notebook, timeout=240, kernel_name="python3").execute()

    shown = [(output.output_type, output.get("text", "")) for output in notebook.cells[1].outputs]
    assert shown == [("stream", "working\n"), ("stream", "careful\n"), ("execute_result", ""), ("display_data", "")]
    assert "image/png" in notebook.cells[1].outputs[3].data
    assert notebook.cells[2].outputs[0].text == (
        'working\ncareful\nValue:\n{"a": 1}\nFigure 0: image/png, '
        + notebook.cells[2].outputs[0].text.partition("image/png, ")[2]
    )
    assert (
        notebook.cells[2]
        .outputs[0]
        .text.endswith(
            "[Whole result: $VAR_REF{{run_python_1_result}}]\nZeroDivisionError: division by zero (line 1)\nTrue 1\n"
        )
    )
