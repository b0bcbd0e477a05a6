"""A saved notebook and an exported one have no value that was withheld or by reference only, and no key, in no form."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import nbformat
import pytest
from nbclient import NotebookClient

from tests.contract.notebook import process_environment
from tests.contract.simulator import KEY, Provider, call, simulate
from tests.contract.tools import SECRET

EMAIL = "grace@navy.example"
TOOLS = """
import os
from nbtool import tool
@tool(run="auto", result="always")
def diary() -> str:
    "Read the diary."
    return hidden[0]
@tool(run="auto", result="reference")
def people() -> list:
    "Give all people."
    return hidden
@tool(run="auto")
def show(data) -> str:
    "Show it."
    return f"It is {data}"
@tool(run="auto")
def fail(data) -> str:
    "Fail."
    raise ValueError(f"no use for {data}")
@tool(run="auto")
def read_settings() -> str:
    "Read the settings."
    return "key = " + os.environ["LAB_KEY"]
@tool(run="auto")
def contact() -> str:
    "Give the address of somebody."
    return "Write to " + os.environ["ADDRESS"]
"""
CELLS = [
    f"%load_ext nbtool\nhidden = ['{SECRET}']",
    TOOLS,
    *(f"%%chat -m lab:tiny -t {flags}\nUse it." for flags in ("diary", "people", "show -v hidden", "fail -v hidden")),
    "%%chat -t read_settings\nUse it.",
    "%config NbTool.privacy = True",
    "%%chat -t contact read_settings\nUse it.",
    *(f"%chat export {kind} export.{kind}" for kind in ("ipynb", "md", "json")),
]
VALUES, KEYS, MASKED = slice(2, 6), 6, 8
"""The cells whose results are kept back, that with a key, and that with a private value."""


@dataclass
class Saved:
    """What a notebook left: its file, the exports, and what was sent."""

    folder: Path
    notebook: Any
    model: Provider

    def forms(self, cell: int) -> dict[str, str]:
        """Return each form of the turn of a cell as text."""
        (data,) = [output["data"] for output in self.notebook.cells[cell].outputs if "data" in output]
        return {form: json.dumps(content) for form, content in data.items()}


@pytest.fixture(scope="module")
def saved(tmp_path_factory: pytest.TempPathFactory) -> Saved:
    """Run a notebook as a program does, and read its file."""
    folder = tmp_path_factory.mktemp("values")
    hidden = "$VAR_REF{{hidden}}"
    with simulate(
        call("diary"), "Withheld.", call("people"), "Kept.", call("show", data=hidden), "Shown.",
        call("fail", data=hidden), "Failed.", call("read_settings"), f"The key is {KEY}.",
        [call("contact"), call("read_settings")], "Found.",
    ) as model:  # fmt: skip
        lab = f'[lab]\nbase_url = "{model.url}"\nkeys = ["LAB_KEY"]\nwire = "chat"\ndefault_model = "tiny"\n'
        (folder / "providers.toml").write_text(lab, encoding="utf-8")
        notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(source) for source in CELLS])
        environment = process_environment(folder, LAB_KEY=KEY, ADDRESS=EMAIL, NBTOOL_MODEL="lab:tiny")
        NotebookClient(notebook, timeout=240, kernel_name="python3").execute(env=environment, cwd=str(folder))
    nbformat.write(notebook, folder / "saved.ipynb")
    return Saved(folder, nbformat.read(folder / "saved.ipynb", as_version=4), model)


@pytest.mark.promise("withheld")
@pytest.mark.promise("by-reference")
def test_no_form_of_a_saved_turn_has_a_value_that_was_withheld_or_by_reference_only(saved: Saved) -> None:
    forms = [form for cell in range(len(CELLS))[VALUES] for form in saved.forms(cell).items()]

    assert {name for name, _ in forms} == {"text/plain", "text/html", "application/vnd.nbtool.turn+json"}
    assert [name for name, content in forms if SECRET in content] == []
    assert SECRET not in saved.model.everything


@pytest.mark.promise("no-secret-told")
def test_a_key_that_a_tool_returned_is_nowhere_in_a_saved_notebook(saved: Saved) -> None:
    assert "read_settings" in saved.forms(KEYS)["text/plain"]
    assert all("key" in content for content in saved.forms(KEYS).values())
    assert KEY not in (saved.folder / "saved.ipynb").read_text(encoding="utf-8")


@pytest.mark.promise("no-secret-told")
@pytest.mark.promise("withheld")
@pytest.mark.promise("masked")
@pytest.mark.parametrize("kind", ["ipynb", "md", "json"])
def test_an_export_has_no_key_no_masked_value_and_none_that_was_kept_back(saved: Saved, kind: str) -> None:
    exported = (saved.folder / f"export.{kind}").read_text(encoding="utf-8")

    assert "read_settings" in exported
    assert [value for value in (KEY, EMAIL, SECRET) if value in exported] == []


@pytest.mark.promise("masked")
def test_a_saved_turn_shows_a_masked_value_as_the_person_saw_it_and_the_model_did_not_get_it(saved: Saved) -> None:
    assert EMAIL in saved.forms(MASKED)["text/plain"]
    assert EMAIL not in saved.model.everything


@pytest.mark.promise("no-secret-told")
def test_a_key_that_a_tool_returns_is_in_no_request(saved: Saved) -> None:
    bodies = [request.content for request in saved.model.requests]  # its header has it in each of them

    assert len(bodies) == 12
    assert [body for body in bodies if KEY.encode() in body] == []
