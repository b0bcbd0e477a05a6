"""Situations of public reports: flags and settings of a line, what stays for a chat, and names that two things have."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

from nbtool import Chat
from nbtool.testing import ScriptedWire
from tests.magics.commands.saying import run_command
from tests.shells import end_shell, new_shell

SEARCH = "def web_search(query: str) -> str:\n    'Search the lab.'\n    return query"
FILES = """
from nbtool import Toolset
def ask(question: str) -> str:
    'Ask.'
    return question
def read(path: str) -> str:
    'Read.'
    return path
helpers = Toolset('helpers', [ask, read])
"""


@pytest.fixture
def shell(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """Give an IPython with the extension loaded, and a key for a provider that has tools."""
    monkeypatch.setenv("OPENAI_API_KEY", "k")
    shell = new_shell()
    shell.run_line_magic("load_ext", "nbtool")
    yield shell
    end_shell()


def request(shell: Any, capsys: pytest.CaptureFixture[str], line: str) -> tuple[str, list[str]]:
    """Give what a cell says before its request, and the names of the tools in that."""
    capsys.readouterr()
    shell.run_cell(f"%%chat --dry-run -m openai:gpt-5-mini {line}\nHi")
    said, _, body = capsys.readouterr().out.partition("Nothing was sent.")
    tools = json.loads(body[body.index("\n{") :]).get("tools", []) if body else []
    return said, [tool.get("name") or tool["type"] for tool in tools]


def test_a_line_without_words_lists_the_commands(shell: Any, capsys: pytest.CaptureFixture[str]) -> None:
    """jupyterlab/jupyter-ai#1450: a magic without arguments answers a newcomer with an error of its parser.

    Right: the commands, each with what it does. Before: right.
    """
    said = run_command(shell, "", capsys)

    assert "status" in said
    assert "`%chat help COMMAND` says more of one." in said


@pytest.mark.parametrize("line", ["%chat config max_round 3", "%chat config maxRounds 3"])
def test_a_misspelled_setting_is_refused_with_the_nearest_one(
    shell: Any, capsys: pytest.CaptureFixture[str], line: str
) -> None:
    """ipython/traitlets#119: a misspelt setting is ignored, and the person looks for the reason elsewhere.

    Right: it is refused, and the near one is named. Before: wrong.
    """
    capsys.readouterr()
    assert not shell.run_cell(line).success
    assert "Did you mean max_rounds?" in "".join(capsys.readouterr())


@pytest.mark.parametrize("name", ["NbTol", "nbtool", "NBTool"])
def test_settings_of_a_misspelled_name_are_not_ignored_silently(shell: Any, name: str) -> None:
    """ipython/traitlets#926, cta-observatory/ctapipe#699: what a configuration does not have is taken without a word.

    Right: a warning names the near one. Before: wrong.
    """
    with pytest.warns(UserWarning, match="NbTool") as warned:
        shell.run_cell(f"%config {name}.max_rounds = 3")

    assert len(warned) == 1
    assert shell.run_cell("%config NbTool.max_rounds").result is None


def test_settings_of_another_program_are_its_own(shell: Any, recwarn: pytest.WarningsRecorder) -> None:
    """ipython/traitlets#119: a misspelt setting is ignored. Right: one of another class is not taken for it. Before:
    right."""
    shell.run_cell("%config NotebookApp.open_browser = False")

    assert [str(warning.message) for warning in recwarn if "NbTool" in str(warning.message)] == []


def test_a_search_that_was_asked_for_once_is_there_in_the_next_prompt(shell: Any) -> None:
    """simonw/llm-gemini#47, simonw/llm#771: a search is on in the first prompt of a conversation only.

    Right: it stays for the chat, until it is taken away. Before: wrong.
    """
    with ScriptedWire(["Found.", "Found.", "Done."]) as wire:
        shell.user_ns["own"] = Chat(wire=wire)
        shell.run_cell("%%chat -q -c own -t web_search\nWhat happens today?")
        shell.run_cell("%%chat -q -c own\nAnd tomorrow?")
        options = dict(shell.user_ns["own"].options)
        shell.run_cell("%%chat -q -c own -t !web_search\nThank you.")

    assert options == {"provider_tools": ["web_search"]}
    assert shell.user_ns["own"].options == {"provider_tools": []}


def test_a_function_with_the_name_of_a_built_in_tool_wins_and_the_cell_says_so(
    shell: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    """anomalyco/opencode#14248, Pasta-Devs/Marinara-Engine#3010: whose tool is meant where two have a name is not said.

    Right: the person's own, and the cell says so. Before: wrong.
    """
    shell.run_cell(SEARCH)
    said, tools = request(shell, capsys, "-t web_search")

    assert "web_search" in tools
    assert "`web_search` is a tool of this notebook, which is meant" in said


def test_one_tool_of_a_set_is_left_out_also_where_nothing_is_sent(
    shell: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    """earendil-works/pi#5109, github/copilot-cli#2948: one tool cannot be left out, or one way of running ignores it.

    Right: the tool is not offered, in a preview neither. Before: right.
    """
    shell.run_cell(FILES)

    _, tools = request(shell, capsys, "-t helpers '!helpers.ask'")

    assert [name for name in tools if name not in ("ListVars", "ReadVar")] == ["read"]
