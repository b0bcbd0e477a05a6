"""No name of the notebook is replaced by a command that was not told to."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from nbtool.chat.journal import journal
from nbtool.magics.commands.dispatch import COMMANDS

TURN = "%%chat -q --approve auto -m practice:fast -t double -o first\nDouble 21 with `double`."
MADE = {
    "a frame": "import pandas\n{0} = pandas.DataFrame({{'a': [1]}})",
    "a function": "def {0}(): ...",
    "a module": "import json as {0}",
    "a number": "{0} = 5",
    "nothing": "{0} = None",
}
NAME = "mine"

CELLS = {
    "-o": "%%chat -q --set append_turns=true -o mine -m practice:fast\nHello",
    "-o with a value": "%%chat -q --set append_turns=true -o mine --as int -m practice:fast\nWhat is 2 + 2?",
    "-o of a rerun": "%%chat -q -o mine --rerun\n",
    "-o of a dry run": "%%chat -q --dry-run -o mine -m practice:fast\nHello",
    "-o of a cell that fails": "%%chat -q -o mine -m opnai:x\nHello",
}
"""Every cell that could bind a name; what it sends does not matter."""

COMMAND_LINES: dict[str, list[str]] = {
    "status": ["status", "status --check"],
    "models": ["models"],
    "tools": ["tools"],
    "config": ["config model mine", "config magic mine"],
    "history": ["history", "history frame mine", "history --frame mine", "history frame mine mine", "history mine"],
    "new": ["new"],
    "show": ["show", "show mine"],
    "branch": ["branch mine", "branch mine --switch"],
    "undo": ["undo"],
    "open": ["open mine"],
    "explore": ["explore --static", "explore mine"],
    "approvals": ["approvals", "approvals mine"],
    "approve": ["approve mine", "approve mine --wait"],
    "deny": ["deny mine"],
    "bind": [
        "bind double_1_result mine",
        "bind mine mine",
        "bind double_1_result",
        "bind double_1_result mine --turn turn_0",
    ],
    "export": ["export md mine.md", "export mine", "export py --cell", "export py --cell mine"],
    "record": ["record mine.json", "record off", "record mine.json --only"],
    "env": ["env", "env allow", "env forget"],
    "skills": ["skills", "skills allow", "skills forget"],
    "help": ["help", "help mine"],
    "stop": ["stop", "stop mine"],
    "fix": ["fix", "fix mine"],
    "explain": ["explain", "explain mine"],
    "prompt": ["prompt", "prompt mine"],
    "serve": ["serve -v mine", "serve", "serve --stop"],
}
"""Every command, with the words by which it could bind the name."""


@pytest.fixture(autouse=True)
def other_folder(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)
    journal.cache_clear()


def test_every_command_has_its_row() -> None:
    assert set(COMMAND_LINES) == set(COMMANDS)


@pytest.mark.nightly
@pytest.mark.rest
@pytest.mark.parametrize("kind", MADE)
@pytest.mark.parametrize("way", [*CELLS, *COMMANDS])
def test_no_cell_and_no_command_replaces_a_name_of_the_notebook(shell: Any, way: str, kind: str) -> None:
    assert shell.run_cell(TURN).success
    assert shell.run_cell(MADE[kind].format(NAME)).success
    before = {name: value for name, value in shell.user_ns.items() if not name.startswith("_")}

    cells = [CELLS[way]] if way in CELLS else [f"%chat {words}" for words in COMMAND_LINES[way]]
    for cell in cells:
        shell.run_cell(cell)

    replaced = [name for name, value in before.items() if shell.user_ns.get(name) is not value]
    assert replaced == []


@settings(max_examples=30, suppress_health_check=[HealthCheck.function_scoped_fixture])  # a shell for all is enough
@given(
    way=st.sampled_from([*CELLS, *(name for name in COMMANDS if name not in ("serve", "explore", "doctor"))]),
    name=st.text("abcdefgh_", min_size=1, max_size=8).map(lambda text: f"x{text}"),
    value=st.none() | st.integers() | st.text(max_size=5) | st.lists(st.integers(), max_size=2) | st.just(len),
)
def test_no_value_of_any_name_is_replaced_by_a_cell_or_a_command(shell: Any, way: str, name: str, value: Any) -> None:
    if "first" not in shell.user_ns:
        assert shell.run_cell(TURN).success
    shell.push({name: value})
    before = {one: value for one, value in shell.user_ns.items() if not one.startswith("_")}

    for cell in [CELLS[way]] if way in CELLS else [f"%chat {words}" for words in COMMAND_LINES[way]]:
        shell.run_cell(re.sub(r"\bmine\b", name, cell))

    assert [one for one, value in before.items() if shell.user_ns.get(one) is not value] == []


@pytest.mark.parametrize("cell", ["%%chat -q -o mine\nHello", "%chat history frame mine", "%chat bind kept mine"])
def test_the_refusal_names_the_flag_and_sends_nothing(
    shell: Any, cell: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert shell.run_cell("%%chat -q -m practice:fast -o first\nHello").success
    shell.run_line_magic("chat", "status")
    shell.run_cell("mine, thing = 5, [1]")
    workspace = shell.magics_manager.registry["ChatMagics"].kernel_chats
    workspace.chats["main"].variables.store_note("kept", "[1]")
    capsys.readouterr()

    assert not shell.run_cell(cell).success
    actual = capsys.readouterr()
    assert re.search("--replace|replace_names=true", actual.out + actual.err)
    assert len(workspace.chats["main"].tree.active_path) == 1


@pytest.mark.parametrize("name", ["In", "Out", "get_ipython", "double"])
def test_names_of_ipython_and_of_tools_are_kept_too(shell: Any, name: str) -> None:
    before = shell.user_ns[name]

    assert not shell.run_cell(f"%%chat -q -m practice:fast -o {name}\nHello").success
    assert shell.user_ns[name] is before


def test_a_cell_that_is_run_again_renews_what_it_bound(shell: Any) -> None:
    cell = "%%chat -q -m practice:fast -o answer\nHello"
    assert shell.run_cell(cell).success
    first = shell.user_ns["answer"]

    assert shell.run_cell(cell).success
    assert shell.user_ns["answer"] is not first


@pytest.mark.parametrize("flag", ["", " --set replace_names=true"])
def test_the_result_of_another_cell_is_replaced_with_a_word(
    shell: Any, capsys: pytest.CaptureFixture[str], flag: str
) -> None:
    assert shell.run_cell("%%chat -m practice:fast -o answer\nHello").success
    assert shell.run_cell("%%chat -m practice:fast -o answer\nHello").success
    renewed = capsys.readouterr().out
    assert shell.run_cell(f"%%chat -m practice:fast -o answer{flag}\nGood morning").success
    replaced = capsys.readouterr().out

    assert "now holds" not in renewed
    assert ("`answer` now holds this answer" in replaced) is (not flag)


@pytest.mark.parametrize("type_", ["int", "str", "list[int]"])
def test_a_value_that_a_cell_bound_is_renewed_too(shell: Any, type_: str) -> None:
    cell = f"%%chat -q -m practice:fast -o value --as {type_}\nA number, please."

    assert shell.run_cell(cell).success
    assert shell.run_cell(cell).success


def test_a_frame_of_the_history_is_renewed(shell: Any) -> None:
    assert shell.run_cell("%%chat -q -m practice:fast\nHello").success

    assert shell.run_cell("%chat history frame turns").success
    assert shell.run_cell("%chat history frame turns").success


def test_what_the_person_has_put_there_since_is_not_renewed(shell: Any) -> None:
    cell = "%%chat -q -m practice:fast -o answer\nHello"
    assert shell.run_cell(cell).success
    assert shell.run_cell("answer = answer.text.upper()").success

    assert not shell.run_cell(cell).success
    assert isinstance(shell.user_ns["answer"], str)


@pytest.mark.parametrize(
    ("cell", "name"),
    [
        ("%%chat -q -m practice:fast --set replace_names=true -o mine\nHello", "mine"),
        ("%chat history frame mine --replace", "mine"),
    ],
)
def test_a_person_can_say_that_a_name_is_to_be_replaced(shell: Any, cell: str, name: str) -> None:
    shell.run_cell("mine = [5]")
    before = shell.user_ns[name]

    assert shell.run_cell(cell).success
    assert shell.user_ns[name] is not before


FILES = {
    "export md": "export md theirs",
    "export json": "export json theirs",
    "export code": "export code theirs",
    "export ipynb": "export ipynb theirs",
    "record": "record theirs",
    "replay": "replay theirs",
}


@pytest.mark.parametrize("way", FILES)
@pytest.mark.parametrize("content", ["# my notes\n", '{"a": 1}', "", "nbtool"])
def test_no_command_writes_over_a_file(shell: Any, way: str, content: str, tmp_path: Path) -> None:
    (tmp_path / "theirs").write_text(content)
    assert shell.run_cell("%%chat -q -m practice:fast\nHello").success

    shell.run_cell(f"%chat {FILES[way]}")
    shell.run_cell("%%chat -q --set append_turns=true\nHello again")

    assert (tmp_path / "theirs").read_text() == content
