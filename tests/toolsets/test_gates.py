"""Which tools of the standard toolsets run by themselves: those that read; docs/tools-that-run-alone.md says why."""

from __future__ import annotations

from pathlib import Path

import pytest

from nbtool import Policy
from nbtool.tools.toolset import Toolset
from nbtool.tools.variable_tools import variable_tools
from nbtool.tools.variables.store import Variables
from nbtool.toolsets import STANDARD, files, notebook_python, standard
from nbtool.toolsets.runner_registry import CodeResult

PAGE = Path(__file__).parents[2] / "docs" / "tools-that-run-alone.md"

GATES = {
    "files": {"list_files": "auto", "read_file": "ask_first", "write_file": "sensitive", "edit_file": "sensitive"},
    "inspection": dict.fromkeys(
        ("describe", "columns", "head", "sample", "value_counts", "signature", "source"), "auto"
    ),
    "notebook": {
        **dict.fromkeys(("list_cells", "read_cell"), "function"),
        **dict.fromkeys(("insert_cell", "edit_cell", "delete_cell", "move_cell", "run_cell"), "sensitive"),
    },
    "person": {"ask_person": "auto"},
    "python": {"run_python": "sensitive"},
    "skills": {"read_skill": "auto"},
    "web": {"fetch_page": "ask_always"},
}  # fmt: skip


def gates(tools: Toolset) -> dict[str, str]:
    return {
        name: "sensitive" if tool.policy.sensitive else "function" if callable(tool.policy.run) else tool.policy.run
        for name, tool in tools.tools().items()
    }


@pytest.mark.every_case
@pytest.mark.promise("asks-by-default")
@pytest.mark.parametrize("name", STANDARD)
def test_of_the_standard_tools_only_those_that_read_run_by_themselves(name: str) -> None:
    tools = notebook_python(lambda _: CodeResult()) if name == "python" else standard(name)

    assert gates(tools) == GATES[name]


def test_the_tools_of_variables_change_notes_of_the_chat_only() -> None:
    assert set(gates(variable_tools(Variables())).values()) == {"auto"}


@pytest.mark.every_case
@pytest.mark.parametrize("name", STANDARD)
def test_the_page_names_every_standard_tool(name: str) -> None:
    page = PAGE.read_text(encoding="utf-8")

    assert [tool for tool in GATES[name] if f"`{tool}`" not in page] == []


def test_reading_files_without_a_question_is_one_line(tmp_path: Path) -> None:
    tools = files(tmp_path).approved(Policy("auto"))

    assert {name: one.policy.run_mode({}) for name, one in tools.tools().items()} == {
        "list_files": "auto",
        "read_file": "auto",
        "write_file": "ask_always",
        "edit_file": "ask_always",
    }
