"""What a person is told to do about tools of an earlier kernel: own functions are run, standard toolsets are added."""

from __future__ import annotations

from typing import Any

import pytest

from nbtool.ids import short_id
from nbtool.magics.names.continued_chat import steps
from nbtool.magics.names.earlier_names import Needs
from nbtool.toolsets import standard
from tests.magics.commands.saying import run_command

INSPECTION = frozenset(standard("inspection").tools())
FILES = frozenset(standard("files").tools())


def reopened(shell: Any, cells: list[str], capsys: pytest.CaptureFixture[str]) -> str:
    """Run cells, end the kernel's chats, and open the chat where none of its names is defined."""
    for cell in cells:
        assert shell.run_cell(cell).success
    chat_id = short_id(shell.magics_manager.registry["ChatMagics"].chats["main"].chat_id)
    shell.run_line_magic("reload_ext", "nbtool")
    for name in ("describe", "read_file", "head", "insert_cell", "fetch_page", "run_python", "double"):
        shell.user_ns.pop(name, None)
    return " ".join(run_command(shell, f"open {chat_id}", capsys).split())


@pytest.mark.parametrize("name", ["describe", "read_file", "head", "insert_cell"])
def test_an_own_tool_with_the_name_of_a_standard_one_is_among_the_cells_to_run(
    shell: Any, name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    define = f"def {name}(text: str) -> str:\n    'Own.'\n    return text"

    said = reopened(shell, [define, f"%%chat -q -m practice:fast -t {name} double\nHello"], capsys)

    assert f"Run the cells that define {', '.join(sorted(['double', name]))} (or add `-t nbtool:" in said
    assert f".{name}`, if that was nbtool's own)" in said


@pytest.mark.parametrize(("name", "toolset"), [("fetch_page", "web"), ("run_python", "python")])
def test_the_only_tool_of_a_standard_toolset_may_also_be_an_own_one(
    shell: Any, name: str, toolset: str, capsys: pytest.CaptureFixture[str]
) -> None:
    define = f"def {name}(text: str) -> str:\n    'Own.'\n    return text"

    said = reopened(shell, [define, f"%%chat -q -m practice:fast -t {name}\nHello"], capsys)

    assert (
        f"Add `-t nbtool:{toolset}` to the cell (or run the cell that defines {name}, if that is your own); then"
        in said
    )


def test_a_standard_toolset_is_added_and_its_tools_are_no_cells_to_run(
    shell: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    said = reopened(shell, ["%%chat -q -m practice:fast -t nbtool:inspection double\nHello"], capsys)

    assert "Run the cell that defines double and add `-t nbtool:inspection` to the cell; then" in said


@pytest.mark.parametrize(
    ("tools", "first"),
    [
        (INSPECTION, "Add `-t nbtool:inspection` to the cell"),
        (INSPECTION | FILES, "Add `-t nbtool:files -t nbtool:inspection` to the cell"),
        (INSPECTION | {"mine"}, "Run the cell that defines mine and add `-t nbtool:inspection` to the cell"),
        (frozenset({"head"}),
         "Run the cell that defines head (or add `-t nbtool:inspection.head`, if that was nbtool's own)"),
        (frozenset({"mine"}), "Run the cell that defines mine"),
    ],
)  # fmt: skip
def test_the_steps_name_each_missing_tool_once(tools: frozenset[str], first: str) -> None:
    assert steps(Needs(tools), "go on") == f"{first}; then go on."


def test_a_variable_with_the_name_of_a_standard_tool_is_only_a_variable() -> None:
    assert steps(Needs(variables=frozenset({"head"})), "go on") == "Run the cell that defines head; then go on."
