"""The commands of `%chat` that took over others: each does what those did, and help, Tab and refusals say so."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

import nbtool
from nbtool.ids import short_id
from nbtool.magics.commands.command_table import FORMER_COMMANDS
from nbtool.magics.commands.dispatch import COMMANDS, help_text
from nbtool.magics.flags.config import NbTool
from nbtool.magics.flags.flag_table import FORMER_FLAGS, cell_parser
from tests.magics.commands.saying import run_command
from tests.magics.parking import ParkingChat

MAGICS = Path(nbtool.__file__).parent / "magics"


def chat_of(shell: Any, name: str = "main") -> Any:
    return shell.magics_manager.registry["ChatMagics"].chats[name]


@pytest.fixture
def asked(shell: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Give a shell whose chat has three turns: `one`, `two` and `three`."""
    monkeypatch.chdir(tmp_path)
    for word in ("one", "two", "three"):
        assert shell.run_cell(f"%%chat -q -m practice:fast\n{word}").success
    return shell


def prompts(shell: Any) -> list[str]:
    return [node.turn.prompt.text for node in chat_of(shell).tree.active_path]


@pytest.mark.parametrize("name", FORMER_COMMANDS)
def test_a_former_command_runs_nothing_and_names_the_present_way(
    asked: Any, capsys: pytest.CaptureFixture[str], name: str
) -> None:
    before = prompts(asked)
    capsys.readouterr()
    ran = asked.run_cell(f"%chat {name} 1")
    said = "".join(capsys.readouterr())

    assert not ran.success
    assert FORMER_COMMANDS[name] in said
    assert said.count("\n") == 1
    assert prompts(asked) == before
    words = FORMER_COMMANDS[name].strip("`").split()
    assert words[0] != "%chat" or words[1] in COMMANDS
    assert name not in COMMANDS


@pytest.mark.parametrize("flag", FORMER_FLAGS)
def test_a_former_flag_sends_nothing_and_names_the_present_way(
    asked: Any, capsys: pytest.CaptureFixture[str], flag: str
) -> None:
    before = prompts(asked)
    capsys.readouterr()
    ran = asked.run_cell(f"%%chat {flag} 1\nHello")
    said = "".join(capsys.readouterr())

    assert not ran.success
    assert f"`{FORMER_FLAGS[flag]}`" in said
    assert prompts(asked) == before
    present = {name for action in cell_parser().flags() for name in action.option_strings}
    assert flag not in present
    assert FORMER_FLAGS[flag].split()[0] in present


def test_each_setting_that_replaces_a_flag_is_one() -> None:
    named = [instead.partition(" ")[2].partition("=")[0] for instead in FORMER_FLAGS.values() if "--set" in instead]

    assert set(named) <= set(NbTool.class_traits(config=True))


def test_the_surface_is_as_small_as_the_interface_says() -> None:
    assert len(COMMANDS) <= 25
    assert len(cell_parser().flags()) <= 21
    assert len(cell_parser().format_help().splitlines()) <= 48


def test_every_command_has_a_heading_and_a_help() -> None:
    assert all(command.heading and help_text(command).endswith(".") for command in COMMANDS.values())


def test_every_flag_is_read(asked: Any) -> None:
    """A flag that is parsed and used nowhere does nothing, without a word."""
    source = "".join(path.read_text(encoding="utf-8") for path in MAGICS.rglob("*.py") if path.name != "flag_table.py")
    names = {action.dest for action in cell_parser().flags()}

    assert asked
    assert {name for name in names if not re.search(rf"\b(?:flags|filled)\.{name}\b", source)} == set()


def test_the_chats_of_cells_are_there_in_python(asked: Any) -> None:
    asked.run_cell("import nbtool\nnbtool.chats()['main'].hide('1')")

    assert chat_of(asked).tree.active_path[0].hidden


def test_tools_also_lists_the_variables(shell: Any, capsys: pytest.CaptureFixture[str]) -> None:
    empty = run_command(shell, "tools", capsys)
    shell.run_cell("%%chat -q -m practice:fast -t double -v frame\nHello")
    tools, _, variables = run_command(shell, "tools", capsys).partition("\n\n")

    assert "No tools." in empty
    assert "No variables." in empty
    assert tools.startswith("double ")
    assert "frame" in variables


def test_branch_continues_after_a_turn_and_switches_to_a_branch_or_a_version(
    asked: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    run_command(asked, "branch 1", capsys)
    asked.run_cell("%%chat -q\nother")
    beside = prompts(asked)
    run_command(asked, "branch b1", capsys)
    first = prompts(asked)
    run_command(asked, "branch b2", capsys)
    second = prompts(asked)
    run_command(asked, f"branch {chat_of(asked).tree.branches()[0].turn.turn_id}", capsys)

    assert (beside, first, second) == (["one", "other"], ["one", "two", "three"], ["one", "other"])
    assert prompts(asked) == ["one", "two", "three"], "after the last turn of a branch, the chat is on that branch"


def test_branch_with_switch_goes_to_a_turn_and_the_end_of_its_branch(
    asked: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    second = chat_of(asked).tree.active_path[1].turn.turn_id
    run_command(asked, "branch 1", capsys)
    asked.run_cell("%%chat -q\nother")
    here = run_command(asked, "branch 2 --switch", capsys)
    beside = prompts(asked)
    there = run_command(asked, f"branch {short_id(second)} --switch", capsys)

    assert here.startswith("Switched to turn 2 (")
    assert beside == ["one", "other"]
    assert there.startswith("Switched to turn 2 (two")
    assert prompts(asked) == ["one", "two", "three"]


def test_branch_switches_to_a_version_of_a_turn(asked: Any, capsys: pytest.CaptureFixture[str]) -> None:
    assert asked.run_cell("%%chat -q --rerun 3").success
    node = chat_of(asked).tree.active_path[-1]
    before = node.current
    said = run_command(asked, "branch 3.1", capsys)

    assert (before, node.current) == (1, 0)
    assert "version 1 of 2" in said


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ("branch b9", "This chat has no branch 9: it has branch 1 only."),
        ("branch 3.9", "Turn 3 has no version 9: it has one version."),
        ("branch --switch", "%chat branch takes one turn, and none was given."),
        ("branch 1 --swich", "Did you mean --switch?"),
        ("branch 1 2", "%chat branch takes one turn, not '1 2'."),
        ("status --chek", "Unknown option --chek of %chat status. Did you mean --check?"),
        ("status now", "%chat status takes no arguments, not 'now'. `%chat status [--check]`"),
        ("stop now", "%chat stop takes no arguments, not 'now'. `%chat stop`"),
        ("history lists", "Unknown arguments of %chat history: 'lists'."),
        ("record --only", "--only needs a file to replay."),
        ("record off --only", "--only needs a file to replay."),
        ("record a.json --onyl", "Did you mean --only?"),
        ("export md --cell", "--cell inserts code, of one turn or of all. `%chat export py --cell [TURN]`"),
        ("export py --cell 1 2", "--cell inserts code, of one turn or of all."),
        ("open main -m practice:slow", "`%%chat -c main -m practice:slow` changes it."),
        ("stopp", "Did you mean stop?"),
    ],
)
def test_a_wrong_line_is_refused_in_one_line_with_what_to_write(
    asked: Any, capsys: pytest.CaptureFixture[str], words: str, expected: str
) -> None:
    capsys.readouterr()
    assert not asked.run_cell(f"%chat {words}").success
    actual = "".join(capsys.readouterr())

    assert expected in actual
    assert len(actual.strip().splitlines()) == 1


def test_open_makes_a_chat_of_this_kernel_the_one_of_cells_without_a_name(
    asked: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    Path("weather").write_text("not an export", encoding="utf-8")  # a chat of this kernel comes first
    asked.run_cell("%%chat -q -c weather -m practice:fast\nrain")
    said = run_command(asked, "open weather", capsys)
    asked.run_cell("%%chat -q\nsnow")

    assert "'weather' (practice:fast)" in said
    assert [node.turn.prompt.text for node in chat_of(asked, "weather").tree.active_path] == ["rain", "snow"]
    assert prompts(asked) == ["one", "two", "three"]


def test_export_writes_code_as_py(asked: Any, capsys: pytest.CaptureFixture[str]) -> None:
    asked.run_cell("%%chat -q -t double\nDouble 3 with &`double`.")

    run_command(asked, "export code a.py", capsys)
    run_command(asked, "export py b.py", capsys)
    assert Path("a.py").read_text() == Path("b.py").read_text() != ""


def test_record_with_only_replays_a_file_and_adds_nothing(asked: Any, capsys: pytest.CaptureFixture[str]) -> None:
    run_command(asked, "record turns.json", capsys)
    asked.run_cell("%%chat -q --new -m practice:fast\nkept")
    before = Path("turns.json").read_bytes()
    said = run_command(asked, "record turns.json --only", capsys)
    asked.run_cell("%%chat -q --new -m practice:fast -o again\nkept")
    asked.run_cell("%%chat -q --new -m practice:fast\nnot kept")

    assert "1 turn, nothing" in said
    assert asked.user_ns["again"].replayed
    assert Path("turns.json").read_bytes() == before


def test_status_says_what_waits_and_stop_stops_it(shell: Any, capsys: pytest.CaptureFixture[str]) -> None:
    def waiting() -> str:
        rows = run_command(shell, "-c pay status", capsys).splitlines()
        return next(row.removeprefix("waiting").strip() for row in rows if row.startswith("waiting"))

    parking = ParkingChat()
    shell.magics_manager.registry["ChatMagics"].chats["pay"] = parking.chat
    empty = waiting()
    turn = parking.park()
    parked = waiting()
    said = run_command(shell, "-c pay stop", capsys)

    assert empty == waiting() == "none"
    assert parked.startswith("1 call: `%chat approvals` ")
    assert (said, turn.status) == ("Stopped.\n", "cancelled")
    assert "Stopped" not in run_command(shell, "-c pay stop", capsys)
