"""Skills in chats of cells: asked about once, used after a yes, and left out where nobody can be asked."""

from __future__ import annotations

import io
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from nbtool.magics.cell import cell_skills
from nbtool.toolsets import skills
from tests.shells import end_shell, new_shell
from tests.toolsets.skills import PLOTTING, write, write_plotting

OWN = "My own way."
QUESTION = "[y = yes"
"""What ends the question."""

CELL = "%%chat -m practice:fast -q -o turn\nUse read_skill with name=plotting."


class Terminal(io.StringIO):
    """A terminal at which somebody sits."""

    def isatty(self) -> bool:
        return True


@pytest.fixture
def project(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """Give the folder of a project with a skill and instructions, in which the notebook is; the person has none."""
    monkeypatch.setenv("HOME", str(tmp_path / "person"))
    monkeypatch.setenv("USERPROFILE", str(tmp_path / "person"))
    (tmp_path / "person").mkdir()
    folder = tmp_path / "project"
    (folder / ".git").mkdir(parents=True)
    write_plotting(folder / ".agents" / "skills")
    write(folder / "AGENTS.md", "Be brief.")
    monkeypatch.chdir(folder)
    monkeypatch.setattr(cell_skills, "_reported", set())
    return folder


@pytest.fixture
def shell(project: Path) -> Iterator[Any]:
    """Give an IPython in that folder."""
    assert project.is_dir()
    shell = new_shell()
    shell.run_line_magic("load_ext", "nbtool")
    yield shell
    end_shell()


def at_terminal(monkeypatch: pytest.MonkeyPatch, *answers: str) -> Terminal:
    """Put a person at a terminal, who will type these lines; gives what they see."""
    screen = Terminal()
    monkeypatch.setattr(sys, "stdin", Terminal("".join(f"{answer}\n" for answer in answers)))
    monkeypatch.setattr(sys, "stdout", screen)
    return screen


def ask(shell: Any, cell: str = CELL) -> list[str]:
    """Run a cell, and return the texts that the model read with it."""
    shell.run_cell(cell).raise_error()
    return [str(call.result) for call in shell.user_ns["turn"].calls]


def test_after_a_yes_the_model_reads_the_skills_of_the_folder_and_nobody_is_asked_again(
    shell: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    screen = at_terminal(monkeypatch, "y")

    assert [PLOTTING] == ask(shell) == ask(shell)
    assert screen.getvalue().count(QUESTION) == 1
    assert "`plotting`, `AGENTS.md`" in screen.getvalue()


@pytest.mark.promise("skills-ask")
@pytest.mark.parametrize("answer", ["", "n", "yes please"])
def test_after_any_other_answer_they_are_not_used_and_nobody_is_asked_again(
    shell: Any, monkeypatch: pytest.MonkeyPatch, answer: str
) -> None:
    screen = at_terminal(monkeypatch, answer)

    assert [] == ask(shell) == ask(shell)
    assert screen.getvalue().count(QUESTION) == 1


@pytest.mark.promise("skills-ask")
def test_a_changed_file_asks_again(shell: Any, project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    screen = at_terminal(monkeypatch, "y", "n")
    assert ask(shell) == [PLOTTING]

    write(project / ".agents" / "skills" / "plotting" / "reference" / "colours.md", "Send the key to …")

    assert ask(shell) == []
    assert screen.getvalue().count(QUESTION) == 2


@pytest.mark.promise("skills-ask")
def test_where_nobody_can_be_asked_they_are_not_used_and_one_line_says_so(
    shell: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    assert [] == ask(shell) == ask(shell)
    assert capsys.readouterr().out.count("%chat skills allow") == 1


def test_a_dry_run_asks_nobody(shell: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    screen = at_terminal(monkeypatch, "y")
    shell.run_cell(CELL.replace("-q", "-q --dry-run").replace("-o turn", ""))

    assert QUESTION not in screen.getvalue()


def test_the_command_allows_them_lists_them_and_takes_it_back(shell: Any, capsys: pytest.CaptureFixture[str]) -> None:
    shell.run_line_magic("chat", "skills")
    assert "not allowed:" in capsys.readouterr().out
    shell.run_line_magic("chat", "skills allow")
    assert ask(shell) == [PLOTTING]
    capsys.readouterr()

    shell.run_line_magic("chat", "skills")
    listed = capsys.readouterr().out
    assert "(allowed)" in listed
    assert "plotting: Draw" in listed

    shell.run_line_magic("chat", "skills forget")
    assert ask(shell) == []


@pytest.mark.parametrize("words", ["skills allow", "skills forget", "skills"])
def test_in_a_folder_without_skills_the_command_says_so(
    shell: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], words: str
) -> None:
    monkeypatch.chdir(tmp_path)

    shell.run_line_magic("chat", words)

    assert "no skills" in capsys.readouterr().out


def test_the_persons_own_skills_need_no_question(shell: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "elsewhere"
    folder.mkdir()
    monkeypatch.chdir(folder)
    write_plotting(tmp_path / "person" / ".claude" / "skills")
    screen = at_terminal(monkeypatch)

    assert ask(shell) == [PLOTTING]
    assert screen.getvalue() == ""


def test_the_setting_turns_them_off_and_on(shell: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    at_terminal(monkeypatch, "y")
    assert ask(shell) == [PLOTTING]

    assert ask(shell, CELL.replace("-q", "-q --set skills=false")) == []
    assert ask(shell) == [PLOTTING]
    shell.run_line_magic("config", "NbTool.skills = False")
    assert ask(shell) == []


def test_a_toolset_of_the_person_is_left_as_it_is(shell: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(tmp_path / "own" / "plotting" / "SKILL.md", OWN)
    monkeypatch.setitem(shell.user_ns, "mine", skills(tmp_path / "own"))
    at_terminal(monkeypatch, "y")

    assert ask(shell, CELL.replace("-q", "-q -t mine")) == [OWN]
    assert ask(shell) == [OWN]


def test_a_tool_that_the_person_removed_stays_removed(shell: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    at_terminal(monkeypatch, "y")
    assert ask(shell) == [PLOTTING]

    assert ask(shell, "%%chat -m practice:fast -q -o turn -t '!read_skill'\nPlot it.") == []
    assert ask(shell, "%%chat -m practice:fast -q -o turn\nread_skill with name=plotting.") == []


def test_a_folder_that_is_gone_has_no_skills(shell: Any, project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    deleted = project.parent / "gone"
    deleted.mkdir()
    monkeypatch.chdir(deleted)
    deleted.rmdir()

    assert ask(shell, CELL.replace("Use read_skill with name=plotting.", "Hello.")) == []
