"""`!NAME` after `-t`, `-v` and `--read`, and tools of the provider by their names after `-t`."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest

from nbtool import Chat
from nbtool.magics.flags.flag_parser import parse
from nbtool.magics.flags.flag_table import cell_parser
from nbtool.testing import ScriptedWire
from tests.magics.commands.saying import run_command

MODEL = "-m openai:gpt-5-mini --set wire=responses"


@pytest.fixture(autouse=True)
def key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "k")


def chat_of(shell: Any, name: str = "main") -> Any:
    return shell.magics_manager.registry["ChatMagics"].chats[name]


def request(shell: Any, capsys: pytest.CaptureFixture[str], line: str) -> tuple[str, list[str]]:
    """Give what a cell prints before its request, and the tools in it."""
    capsys.readouterr()
    result = shell.run_cell(f"%%chat --dry-run {line}\nHi")
    out, err = capsys.readouterr()
    assert result.success, err
    said, _, body = out.partition("Nothing was sent.")
    tools = json.loads(body[body.index("\n{") :]).get("tools", [])
    names = [tool.get("name") or tool["type"] for tool in tools]
    return said, [name for name in names if name not in ("ListVars", "ReadVar")]


def exposed(shell: Any) -> dict[str, bool]:
    return {entry.name: entry.is_readable for entry in chat_of(shell).exposed_variables()}


@pytest.mark.parametrize(
    ("line", "lists"),
    [
        ("-t a !b c", {"tool": ["a", "c"], "no_tool": ["b"]}),
        ("-t !b", {"no_tool": ["b"]}),
        ("-t '!files.*' !c", {"no_tool": ["files.*", "c"]}),
        ("-v a !b", {"var": ["a"], "hide": ["b"]}),
        ("--read !b", {"hide": ["b"]}),
        ("-v !a --read !b", {"hide": ["a", "b"]}),
    ],
)
def test_a_mark_takes_away_the_name_behind_it(line: str, lists: dict[str, list[str]]) -> None:
    flags = vars(parse(cell_parser(), line))

    assert {name: flags[name] for name in ("tool", "no_tool", "var", "read", "hide") if flags[name]} == lists


@pytest.mark.parametrize("flag", ["-t", "-v", "--read"])
def test_a_mark_without_a_name_is_refused_in_one_line(
    shell: Any, capsys: pytest.CaptureFixture[str], flag: str
) -> None:
    capsys.readouterr()
    assert not shell.run_cell(f"%%chat {flag} ! double\nHello").success
    assert "`!NAME`" in capsys.readouterr().err


def test_a_tool_and_a_variable_are_taken_away(shell: Any) -> None:
    shell.run_cell("%%chat -q -m practice:fast -t double rows -v frame --read received\nHello")
    shell.run_cell("%%chat -q -t !double -v !frame\nHello")
    first = list(chat_of(shell).tools.tools()), exposed(shell)
    shell.run_cell("%%chat -q --read !received\nHello")

    assert first == (["rows"], {"received": True})
    assert exposed(shell) == {}


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("-t !triple", "There is no tool 'triple' in this chat. This chat's tools: double."),
        ("-v !fram", "`fram` is not exposed, so it cannot be hidden. Exposed: frame."),
        ("--read !frame", "`frame` is exposed by reference only. `-v !frame` takes it away."),
    ],
)
def test_what_is_not_there_is_refused_and_changes_nothing(
    shell: Any, capsys: pytest.CaptureFixture[str], line: str, expected: str
) -> None:
    shell.run_cell("%%chat -q -m practice:fast -t double -v frame\nHello")
    capsys.readouterr()
    assert not shell.run_cell(f"%%chat -q {line}\nHello").success

    assert expected in capsys.readouterr().err
    assert (list(chat_of(shell).tools.tools()), exposed(shell)) == (["double"], {"frame": False})


def test_a_tool_of_the_provider_is_asked_for_by_its_name_and_stays(
    shell: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    assert request(shell, capsys, f"{MODEL} -t web_search double") == ("", ["double", "web_search"])
    assert request(shell, capsys, MODEL) == ("", []), "a request that is not sent changes nothing"
    chat_of(shell).options = {"provider_tools": ["web_search"]}  # as a cell that was sent leaves it

    assert request(shell, capsys, f"{MODEL} -t code_interpreter")[1] == ["web_search", "code_interpreter"]
    assert request(shell, capsys, f"{MODEL} -t !web_search")[1] == []
    assert re.search("^web_search .*provider", run_command(shell, "tools", capsys), re.MULTILINE)
    assert re.search("provider +web_search\n", run_command(shell, "status", capsys))


def test_a_cell_that_is_sent_keeps_it_for_the_chat(shell: Any) -> None:
    with ScriptedWire(["Hello.", "Hello."]) as wire:
        shell.user_ns["own"] = Chat(wire=wire)
        shell.run_cell("%%chat -q -c own -t web_search\nHello")
        options = chat_of(shell, "own").options
        shell.run_cell("%%chat -q -c own -t !web_search\nHello")

    assert options == {"provider_tools": ["web_search"]}
    assert chat_of(shell, "own").options == {"provider_tools": []}


def test_a_tool_that_the_model_cannot_have_is_not_kept(shell: Any, capsys: pytest.CaptureFixture[str]) -> None:
    shell.run_cell("%%chat -q -m practice:fast -t web_search\nHello")
    said = "".join(capsys.readouterr())
    shell.run_cell("%%chat -q -m practice:fast -o answer\nHello")

    assert "The provider's tools stay as they were before this cell." in said
    assert shell.user_ns["answer"].status == "completed"


@pytest.mark.parametrize("setting", ["%config NbTool.provider_tools = ['code_interpreter']", "own = Chat(SETTING)"])
def test_it_is_added_to_those_of_the_settings_and_of_the_chat(
    shell: Any, capsys: pytest.CaptureFixture[str], setting: str
) -> None:
    shell.user_ns["own"] = Chat()
    if setting.startswith("own"):
        shell.user_ns["own"] = Chat(provider_tools=["code_interpreter"])
    else:
        shell.run_cell(setting)

    assert request(shell, capsys, f"-c own {MODEL} -t web_search")[1] == ["code_interpreter", "web_search"]
    assert request(shell, capsys, f"-c own {MODEL} -t !code_interpreter")[1] == []


@pytest.mark.parametrize(
    ("cell", "line", "tools"),
    [
        ("def web_search(q: str) -> str:\n    'Mine.'\n    return q", "-t web_search", ["web_search"]),
        (
            "from nbtool import Toolset\ndef find(q: str) -> str:\n    'Mine.'\n    return q\n"
            "web_search = Toolset('lab', [find])",
            "-t web_search",
            ["find"],
        ),
        (
            "from nbtool import Toolset\ndef find(q: str) -> str:\n    'Mine.'\n    return q\n"
            "lab = Toolset('web_search', [find])",
            "-t web_search",
            ["find"],
        ),
    ],
)
def test_a_name_of_the_notebook_wins_and_the_cell_says_so(
    shell: Any, capsys: pytest.CaptureFixture[str], cell: str, line: str, tools: list[str]
) -> None:
    assert shell.run_cell(cell).success
    said, found = request(shell, capsys, f"{MODEL} {line}")

    assert said.strip() == (
        "`web_search` is a tool of this notebook, which is meant; `--set provider_tools=web_search` is the provider's."
    )
    assert found == tools
    chat_of(shell)
    shell.run_cell(f"{cell}\n")
    assert request(shell, capsys, f"{MODEL} --set provider_tools=web_search")[1] == ["web_search"]


def test_data_of_that_name_is_no_tool_and_the_cell_says_so(shell: Any, capsys: pytest.CaptureFixture[str]) -> None:
    shell.user_ns["web_search"] = ["hits"]
    said, tools = request(shell, capsys, f"{MODEL} -t web_search")

    assert said.strip() == (
        "`web_search` is the provider's tool here: the variable web_search of the notebook is no tool."
    )
    assert tools == ["web_search"]


def test_an_unknown_name_is_refused_as_before(shell: Any, capsys: pytest.CaptureFixture[str]) -> None:
    capsys.readouterr()
    assert not shell.run_cell("%%chat -t web_serch\nHi").success
    assert "'web_serch'" in capsys.readouterr().err
