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
TEXT = {
    "02_tools.ipynb": {
        "ask": "3718.9",
        "failed-shown": "error · Unknown island Madeira: there are Torgersen, Biscoe, Dream.",
        "async-took": "3 calls, side by side: True",
        "ask-progress": "4123.3 to 4298.2",
        "timed-out": "timed_out · The call timed out after 0.3 s and was stopped.",
        "listed": "2",
        "rules": "True",
        "shipped": "146",
        "files": "list_files",
    },
    "03_variables.ipynb": {
        "is": "True",
        "left": "- $VAR_REF{{penguins}}: DataFrame, 344 rows by 8 columns",
        "closed-status": "withheld",
        "slip-shown": "The user withheld the text of its error (ValueError).",
        "ask-parts": "Series of length 344: Adelie",
        "results-seen": "[preview: 5 of 172 rows; this is not the full data]",
        "bound": "(True, 172)",
        "list": "- masses (result): Series",
        "python": "Gentoo",
    },
    "04_approvals.ipynb": {
        "dropped": "denied · This turn was started with --approve deny.\n344",
        "python": "gave no result: The user did not approve this call.",
        "edit": "approved · edited: True",
        "bound": "344 rows\n$VAR_REF{{penguins}}: DataFrame, 333 rows",
        "remember": "1 question for three calls\nsample tool by approver\n2 questions after it was revoked",
        "ask-policy": "3 ok \n50 denied",
        "result": "ok: 123 penguins, at an undisclosed location",
        "sensitive": "[('publish', True, False)]",
    },
    "07_your_own_provider.ipynb": {
        "once": "completed · I am nbtool's embedded practice model",
        "models": "lab:fast",
        "company": "completed\nConnection(headers={'X-Team': Secret('**********')}",
        "renewed": "1 key for 3 turns",
        "wrong": "Available: practice:default, practice:fast",
        "tools": "plain does not support native tools; they are described in the prompt instead.",
        "status": "lab:fast (set by you)",
    },
    "08_mcp.ipynb": {
        "start": "time_convert_time",
        "value": "h'",
        "no": 'denied · No approver is available. Set `run="auto"` on the tool, or pass `approver=` to the chat.',
        "narrow": "time_convert_time\n",
    },
    "09_batch.ipynb": {
        "column": "nbtool: 12 of 12 prompts, ",
        "right": "(np.int64(12), 12)",
        "again": "12 answered before",
        "budget": "The other prompts were not sent, or not finished.",
        "come": "0 Bird(",
    },
    "10_media.ipynb": {
        "ask": "I was shown: image/png, ",
        "array": "image/png, 4 by 333 pixels",
        "secret": ".env looks like a file of secrets and was not attached.",
        "tool-result": "<Figure size 400x250",
        "image-used": "image/png, 256 by 256 pixels",
    },
    "11_serve.ipynb": {
        "serve": "2 tools and 1 variable",
        "connect": "mean_mass heaviest ListVars ReadVar\nDataFrame, 344 rows",
        "call": "'Kept as $VAR_REF{{mean_mass_1_result}}.'",
        "ask": "Nobody can be asked in this notebook",
        "history": "agent calls heaviest.",
        "state": "2 calls",
        "stop": "Stopped",
    },
    "12_cells.ipynb": {
        "context": "Sent with 2 cells from IPython's history, about",
        "changed": "(61, True)",
        "undo": "Put back `penguins`. Removed `dropped`. `counted` changed in place: no former state is kept.",
        "undone": "(344, False)",
        "ask-cells": "This front end has no notebook model that tools can reach",
    },
    "13_agents.ipynb": {
        "which": "acp:codex     refused",
        "other": "gives **5076.0**",
        "sent": "$VAR_REF{{penguins}}",
        "skill": "name: nbtool",
    },
    "14_skills_and_many_tools.ipynb": {
        "list": "- weighing: How masses",
        "read": "Masses are whole grams.",
        "folder": "no skills",
        "many": "'find_tools', 'call_tool'",
        "find": '"name": "sensor_217"',
        "pattern-calls": "20 °C",
    },
}
"""What stands under the cells of a notebook whose prose speaks of it, by the cells' ids."""
NOTEBOOK_SECONDS = 180


@pytest.fixture
def manual(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Give a copy of the manual, and to the kernels that start from now on the practice model and no network."""
    monkeypatch.setenv("PYTHONPATH", str(ROOT / "tests" / "no_network"))
    monkeypatch.setenv("NBTOOL_MODEL", "practice:fast")
    for folder in ("CONFIG", "DATA", "RUNTIME"):
        monkeypatch.setenv(f"JUPYTER_{folder}_DIR", str(tmp_path / folder.lower()))
    monkeypatch.setenv("IPYTHONDIR", str(tmp_path / "ipython"))
    return Path(shutil.copytree(ROOT / "notebooks", tmp_path / "notebooks"))


@pytest.mark.sampled(5)
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
    shown = {cell.id: _text(cell.outputs) for cell in code}
    assert {key: text for key, text in TEXT.get(name, {}).items() if text not in shown[key]} == {}


def _text(outputs: list[nbformat.NotebookNode]) -> str:
    return "".join(output.get("text") or output.get("data", {}).get("text/plain", "") for output in outputs)


def test_the_manual_begins_with_a_first_chat() -> None:
    assert [notebook.name for notebook in NOTEBOOKS][:1] == ["01_first_chat.ipynb"]
