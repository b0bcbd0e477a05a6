from __future__ import annotations

import inspect
import re
from pathlib import Path
from typing import Any

import pytest

from nbtool import Chat
from nbtool.magics.commands.dispatch import COMMANDS
from nbtool.plugins import Budget, Privacy
from nbtool.settings import data_dir
from nbtool.testing import ScriptedWire, call
from nbtool.wire.transport import traffic
from tests.chaos import event, finish, head, serve_each, text, whole
from tests.magics.commands.saying import run_command
from tests.policy.in_force import policy_in_force


def make_tool(number: int) -> Any:
    def work(identifier: str) -> str:
        return identifier

    work.__name__, work.__doc__ = f"open_drawer_{number}", "Open a drawer. " * 40
    return work


def test_status_says_which_model_and_why(shell: Any, capsys: pytest.CaptureFixture[str]) -> None:
    shell.run_cell("%%chat -q -m practice:fast -t double -v frame\nHello")

    actual = run_command(shell, "status", capsys)

    assert re.search("^model +practice:fast ", actual, re.MULTILINE)
    assert "double" in actual
    assert "frame" in actual
    assert re.search("^turns +1 ", actual, re.MULTILINE)


def test_status_says_what_a_search_among_many_tools_saves(shell: Any, capsys: pytest.CaptureFixture[str]) -> None:
    shell.user_ns["many"] = Chat(tools=[make_tool(number) for number in range(60)])

    actual = run_command(shell, "-c many status", capsys)

    assert re.search(r"^  search +60 tools searched by name: about [\d,]+ tokens ", actual, re.MULTILINE)


def test_status_says_what_the_person_set_and_where(shell: Any, capsys: pytest.CaptureFixture[str]) -> None:
    shell.run_cell("%config NbTool.history = 'native'\n%config NbTool.max_rounds = 3")
    shell.run_cell("%config NbTool.tool_mode = 'prompted'")
    shell.run_cell("%%chat -q -m practice:fast\nHello")
    actual = run_command(shell, "status", capsys)

    assert "native (%config NbTool.history)" in actual
    assert "3 (%config NbTool.max_rounds)" in actual
    assert "prompted (" in actual


def test_the_chat_may_be_named_before_the_command_or_after_it(shell: Any, capsys: pytest.CaptureFixture[str]) -> None:
    shell.run_cell("%%chat -q -m practice:fast -c notes\nHello")

    assert run_command(shell, "show -c notes", capsys) == run_command(shell, "-c notes show", capsys)
    assert "Hello" in run_command(shell, "history --chat notes", capsys)


def test_tools_and_variables_are_listed_as_the_model_receives_them(
    shell: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    shell.run_cell("%%chat -q -m practice:fast -t double rows -v frame\nHello")

    assert re.search("^rows +asks ", run_command(shell, "tools", capsys), re.MULTILINE)
    assert "Frame" in run_command(shell, "tools", capsys)


def test_a_long_row_of_the_status_goes_on_in_its_column(shell: Any, capsys: pytest.CaptureFixture[str]) -> None:
    names = " ".join(f"a_tool_with_a_long_name_{number}" for number in range(6))
    shell.run_cell("\n".join(f"@tool\ndef {name}(n: int) -> int:\n    'Do.'\n    return n" for name in names.split()))
    shell.run_cell(f"%%chat -q -m practice:fast -t {names}\nHello")

    lines = run_command(shell, "status", capsys).splitlines()
    (at,) = [at for at, line in enumerate(lines) if line.startswith("tools ")]

    column = lines[at].index("a_tool")
    assert lines[at + 1].index("a_tool") == column
    assert lines[at + 1][:column].strip() == ""
    assert max(map(len, lines[at : at + 2])) <= 96


def test_what_stays_in_the_kernel_is_not_among_what_was_sent(
    shell: Any, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(traffic, "_totals", {})
    shell.run_cell("%%chat -q -m practice:fast\nHello")
    only_inside = run_command(shell, "status", capsys)
    traffic.record("api.example.com", 300)
    actual = run_command(shell, "status", capsys)

    assert re.search(r"^sent to providers +nothing\npractice model +1 request, ", only_inside, re.M)
    assert re.search(r"^sent to providers +\n  api.example.com +1 request, 300 bytes\npractice model ", actual, re.M)


def test_a_tool_whose_arguments_decide_on_approval_is_listed_so(shell: Any, capsys: pytest.CaptureFixture[str]) -> None:
    shell.run_cell("%%chat -q -m practice:fast -t nbtool:notebook\nHello")

    assert re.search("^read_cell +by ", run_command(shell, "tools", capsys), re.MULTILINE)


@pytest.mark.parametrize("command", sorted(COMMANDS))
def test_words_that_a_command_does_not_take_are_refused_in_one_line(
    command: str, shell: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    words = inspect.signature(COMMANDS[command].run).parameters
    takes_none = COMMANDS[command].arguments == "none"
    assert takes_none is (list(words)[1].startswith("_") or command == "status")  # which has an option
    if takes_none:
        shell.run_cell(f"%chat {command} foo bar")
        actual = capsys.readouterr()
        assert f"%chat {command}" in actual.out + actual.err
        assert "'foo bar'" in actual.out + actual.err


def test_a_provider_that_lists_no_models_is_reported(
    shell: Any, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "a-key-of-a-test")
    with serve_each([head(), text("Hi."), finish()], [whole(200, {"data": []})]) as server:
        monkeypatch.setenv("OPENAI_BASE_URL", server.url)
        shell.run_cell("%%chat -q -m openai:a-model\nHello")
        actual = run_command(shell, "models", capsys)

    assert "openai:a-model " in actual
    assert actual.count("\n") == 1


def test_help_lists_every_command_under_a_heading_in_one_line(shell: Any, capsys: pytest.CaptureFixture[str]) -> None:
    actual = run_command(shell, "help", capsys)

    listed = [line.split()[0] for line in actual.splitlines() if line.startswith("  ")]
    assert sorted(listed) == sorted(COMMANDS)
    assert actual.startswith("This chat\n  status ")
    assert max(len(line) for line in actual.splitlines() if line.startswith("  ")) <= 96


def test_help_explains_one_command(shell: Any, capsys: pytest.CaptureFixture[str]) -> None:
    actual = run_command(shell, "help export", capsys)
    shell.run_cell("%chat help exprot")
    refused = "".join(capsys.readouterr())

    assert actual.startswith("export ")
    assert "FILE_files beside it" in actual
    assert "export?" in refused


def test_status_is_a_card_of_what_the_model_can_see_and_of_what_has_left(
    shell: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    shell.run_cell("numbers = list(range(1000))")
    shell.run_cell("%%chat -q -m practice:fast -v frame --read numbers\nHello")

    actual = run_command(shell, "status", capsys)

    assert "  frame" in actual
    assert "values withheld" in actual
    assert re.search("^ +numbers .*values may", actual, re.MULTILINE)
    assert "127.0.0.1:" in actual
    assert "request" in actual


def test_results_are_listed_with_the_variables_for_bind_to_name(shell: Any, capsys: pytest.CaptureFixture[str]) -> None:
    shell.run_cell("%%chat -q -m practice:fast -t double\nUse double with n=4")

    listed = run_command(shell, "tools", capsys)
    name = listed.partition("\n\n")[2].split()[0]

    assert "result: " in listed
    assert "eight" in run_command(shell, f"bind {name} eight", capsys)
    assert shell.user_ns["eight"] == 8


def test_the_model_keeps_notes_only_where_a_cell_says_so(shell: Any, capsys: pytest.CaptureFixture[str]) -> None:
    wire = ScriptedWire(
        ["Hello.", call("WriteVar", name="todo", value="buy tea"), call("ReadVar", name="todo"), "Noted.", "Over."]
    )
    shell.magics_manager.registry["ChatMagics"].kernel_chats.chat("main").model = Chat(wire=wire).model

    shell.run_cell("%%chat -q -t double\nHello")
    assert shell.run_cell("%%chat -q -t nbtool:notes -o noted\nKeep a note").success
    assert shell.run_cell("%%chat -q -t !nbtool:notes\nNo more notes").success

    assert [record.status for record in shell.user_ns["noted"].calls] == ["ok", "ok"]
    assert "buy tea" in shell.user_ns["noted"].calls[1].shown
    assert ["WriteVar" in {tool.name for tool in prompt.tools} for prompt in wire.prompts] == [
        False,
        True,
        True,
        True,
        False,
    ]
    assert "todo" in run_command(shell, "tools", capsys)


@pytest.mark.parametrize(
    ("model", "host"),
    [
        ("practice:fast", "127.0.0.1: the practice model runs in this kernel"),
        ("groq:llama", "api.groq.com"),
        ("ollama:llama3", "127.0.0.1:11434"),
    ],
)
def test_status_names_the_host_that_requests_go_to(
    shell: Any, model: str, host: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("OLLAMA_HOST", raising=False)
    shell.run_cell(f"%chat config model {model}")

    rows = [line.split(maxsplit=1) for line in run_command(shell, "status", capsys).splitlines()]
    assert ["host", host] in rows


def test_status_shows_the_plugins_of_the_chat(shell: Any, capsys: pytest.CaptureFixture[str]) -> None:
    # a column is as wide as its longest entry, such as a host that another test has sent to
    assert re.search(r"\nplugins +none\n", run_command(shell, "status", capsys))
    shell.user_ns["mine"] = Chat("practice:fast", plugins=[Budget(tokens=1), Privacy()])

    assert re.search(r"\nplugins +Budget, Privacy\n", run_command(shell, "-c mine status", capsys))


def test_status_shows_where_the_file_of_providers_is_looked_for(
    shell: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("NBTOOL_HOME", str(tmp_path))
    assert "$NBTOOL_HOME/providers.toml (" in run_command(shell, "status", capsys)
    (tmp_path / "providers.toml").write_text("")

    assert "$NBTOOL_HOME/providers.toml\n" in run_command(shell, "status", capsys)


def test_status_says_how_to_give_the_price_of_a_model_of_unknown_cost(
    shell: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    usage = event({"choices": [], "usage": {"prompt_tokens": 7, "completion_tokens": 1}})
    monkeypatch.setenv("NBTOOL_HOME", str(tmp_path))
    with serve_each([head(), text("Well."), finish(), usage]) as server:
        (tmp_path / "providers.toml").write_text(f'[lab]\nbase_url = "{server.url}"\n')
        shell.run_cell("%%chat -q -m lab:large\nHello")
        actual = run_command(shell, "status", capsys)

    assert "unknown in 1 of them" in actual
    unwrapped = " ".join(actual.split())  # the names of rows say where, and other tests add some
    assert "prices={'lab:large': Price(input=0.25, output=2.00)}" in unwrapped


def test_status_says_how_large_the_history_is_and_what_deletes_of_it(
    shell: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    (data_dir() / "journal.sqlite").write_bytes(bytes(12_300))
    (data_dir() / "journal.sqlite-wal").write_bytes(bytes(1_000_000))

    actual = " ".join(run_command(shell, "status", capsys).split())

    assert "journal.sqlite, 1.01 MB: `%chat history vacuum DAYS`" in actual


def test_a_tool_that_asks_by_the_policy_is_listed_so(
    shell: Any, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    with policy_in_force(tmp_path, "[approval]\nalways_ask = ['double']"):
        shell.run_cell("%%chat -q -m practice:fast -t double\nHello")
        actual = run_command(shell, "tools", capsys)

    assert re.search("^double +asks ", actual, re.MULTILINE)
    assert "policy" in actual
    assert not re.search("^double +runs ", actual, re.MULTILINE)


def test_status_says_of_a_result_larger_than_the_bound_when_it_goes(
    shell: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    shell.run_cell("@tool(run='auto')\ndef load(size: int) -> bytes:\n    'Load.'\n    return bytes(size)")
    run_command(shell, "config result_bytes 10kB", capsys)
    shell.run_cell("%%chat -q -m practice:fast\nUse &`load` with size=20000.")
    before = " ".join(run_command(shell, "status", capsys).split())
    shell.run_cell("%%chat -q\nHello")
    after = " ".join(run_command(shell, "status", capsys).split())

    assert "of 10 kB in total (result_bytes). `load_1_result` (" in before
    assert "(10 kB)" in before
    assert " 0 bytes of 10 kB " in after
    assert "1 dropped" in after
