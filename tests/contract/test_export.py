"""An export is a document or code that runs nothing and has no result that was withheld."""

from __future__ import annotations

import ast
import json
import re
from pathlib import Path
from typing import Any

import nbformat
import pytest

from tests.contract.notebook import Notebook
from tests.contract.simulator import Provider, call
from tests.contract.tools import written_cell

CODE = "turn calls into plain code"
FILES = "write the whole chat to a file: a document with figures, data, code, or a notebook with outputs"

TOOLS = """
from nbtool import tool
prices = {"A": 10, "B": 20}
@tool(run="auto")
def price(ticker: str) -> int:
    "The price of a ticker."
    return prices[ticker]
@tool(run="auto", result="always")
def diary() -> str:
    "Read the diary."
    return "Zanzibar"
"""


@pytest.fixture
def notebook_with_chat(notebook: Notebook, model: Provider) -> Notebook:
    """Give a notebook with a chat of two turns."""
    notebook.run(TOOLS)
    model.say([call("price", ticker="A"), call("price", ticker="B")], "A is *cheaper*.", call("diary"), "It is closed.")
    notebook.ask("Which is cheaper?", "-t price diary")
    notebook.ask("Read my diary.")
    return notebook


def export(notebook: Notebook, kind: str, path: Path) -> str:
    output = notebook.run(f"%chat export {kind} {path}")
    assert not output.error, output.error
    return path.read_text(encoding="utf-8")


@pytest.mark.feature(FILES)
def test_a_document_has_prompts_answers_and_calls(notebook_with_chat: Notebook, tmp_path: Path) -> None:
    document = export(notebook_with_chat, "md", tmp_path / "chat.md")

    assert "Which is cheaper?" in document
    assert "A is *cheaper*." in document
    assert "price" in document


@pytest.mark.feature(FILES)
def test_data_can_be_opened_again(notebook_with_chat: Notebook, model: Provider, tmp_path: Path) -> None:
    content = export(notebook_with_chat, "json", tmp_path / "chat.json")
    assert json.loads(content)

    notebook_with_chat.run(f"%chat -c copy open {tmp_path / 'chat.json'}")
    model.say("A.")
    notebook_with_chat.ask("Which one was it?", "-c copy -m ollama:tiny")

    assert "Which is cheaper?" in model.requests[-1].text


@pytest.mark.feature(FILES)
def test_a_notebook_has_prompts_as_cells_with_their_outputs(notebook_with_chat: Notebook, tmp_path: Path) -> None:
    export(notebook_with_chat, "ipynb", tmp_path / "chat.ipynb")
    written = nbformat.read(tmp_path / "chat.ipynb", as_version=4)

    nbformat.validate(written)
    sources = "\n".join(cell.source for cell in written.cells)
    assert "%%chat" in sources
    assert "Which is cheaper?" in sources
    assert any("A is *cheaper*." in str(cell.get("outputs")) for cell in written.cells)


@pytest.mark.feature(FILES)
@pytest.mark.feature(CODE)
def test_code_is_plain_python_that_gives_the_same_results(notebook_with_chat: Notebook, tmp_path: Path) -> None:
    code = export(notebook_with_chat, "py", tmp_path / "chat.py")
    namespace: dict[str, Any] = {name: notebook_with_chat.names[name] for name in ("price", "diary")}

    exec(compile(code, "chat.py", "exec"), namespace)

    assert "nbtool" not in [
        alias.name for node in ast.walk(ast.parse(code)) if isinstance(node, ast.Import) for alias in node.names
    ]
    assert {10, 20} <= {value for value in namespace.values() if isinstance(value, int)}


@pytest.mark.promise("withheld")
@pytest.mark.feature(FILES)
@pytest.mark.parametrize("kind", ["md", "json", "ipynb", "py"])
def test_no_export_has_a_result_that_was_withheld(notebook_with_chat: Notebook, tmp_path: Path, kind: str) -> None:
    assert "Zanzibar" not in export(notebook_with_chat, kind, tmp_path / "chat.file")


@pytest.mark.feature(CODE)
def test_the_calls_of_a_turn_are_written_into_a_cell(notebook_with_chat: Notebook) -> None:
    output = notebook_with_chat.run("%chat export py --cell 1")

    written = written_cell(notebook_with_chat, output)
    assert "price(" in written
    assert re.search(r"\bprice\((ticker=)?['\"]A['\"]\)", written), written


@pytest.mark.feature(CODE)
def test_the_calls_of_the_whole_chat_are_written_into_a_cell(notebook_with_chat: Notebook) -> None:
    output = notebook_with_chat.run("%chat export py --cell")

    written = written_cell(notebook_with_chat, output)
    assert written.count("= price(") == 2
    assert "Read my diary." in written


@pytest.mark.promise("inert-text")
def test_hostile_text_is_text_in_a_document(notebook: Notebook, model: Provider, tmp_path: Path) -> None:
    model.say('<script>alert(1)</script> ![x](https://evil.example/x.png) <img src="https://evil.example/y.png">')
    notebook.ask("Show me.")

    document = export(notebook, "md", tmp_path / "chat.md")

    assert "<script>" not in document
    assert "<img" not in document
    assert "![x](https://evil.example" not in document
