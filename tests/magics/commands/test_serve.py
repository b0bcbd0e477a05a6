from __future__ import annotations

import asyncio
import json
import os
import stat
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from IPython.core.error import UsageError

from nbtool.magics.commands import serve as command
from nbtool.magics.commands.context import CommandContext
from nbtool.magics.commands.past_chats.history_source import HistorySource
from nbtool.magics.commands.serve import bridge_command
from nbtool.magics.views.served import ServedView
from nbtool.mcp_server.address import ServerAddress, find_server
from nbtool.mcp_server.bridge import main
from tests.magics.commands.saying import run_command
from tests.mcp_server.clients import connect, texts
from tests.samples import PNG


@pytest.fixture
def serving(shell: Any, capsys: pytest.CaptureFixture[str]) -> Iterator[tuple[Any, str]]:
    """Give a shell that serves two tools and a variable, and what the command printed."""
    printed = run_command(shell, "serve -t double rows -v frame", capsys)
    yield server_of(shell), printed
    run_command(shell, "serve --stop", capsys)


def kernel_chats(shell: Any) -> Any:
    return shell.magics_manager.registry["ChatMagics"].kernel_chats


def server_of(shell: Any) -> Any:
    return kernel_chats(shell).server


def call_tool(server: Any, name: str, arguments: dict[str, Any], client: str = "agent") -> Any:
    async def use() -> Any:
        async with connect(server, client) as session:
            return await session.call_tool(name, arguments)

    return asyncio.run(use())


def test_what_is_served_is_named_with_what_clients_need_and_without_the_token(serving: tuple[Any, str]) -> None:
    server, printed = serving

    assert "2 tools and 1 variable" in printed
    assert f" -- {bridge_command()}\n" in printed
    assert server.address.url in printed
    assert server.address.token.get_secret_value() not in printed
    assert str(server.address.path) not in printed


@pytest.mark.promise("served")
def test_only_what_was_named_is_served(serving: tuple[Any, str]) -> None:
    server, _ = serving

    async def use() -> tuple[list[str], list[str]]:
        async with connect(server) as session:
            tools, resources = await session.list_tools(), await session.list_resources()
            return [one.name for one in tools.tools], [one.name for one in resources.resources]

    assert asyncio.run(use()) == (["double", "rows", "ListVars", "ReadVar"], ["frame"])


def test_a_function_that_was_defined_again_is_served_as_it_is_now(shell: Any, serving: tuple[Any, str]) -> None:
    server, _ = serving
    assert texts(call_tool(server, "double", {"n": 4}))[0] == "8"

    shell.run_cell("@tool(run='auto')\ndef double(n: int) -> int:\n    'Now three times.'\n    return 3 * n")

    assert texts(call_tool(server, "double", {"n": 4}))[0] == "12"


def test_the_state_lists_the_clients_and_what_was_returned_to_them(
    shell: Any, serving: tuple[Any, str], capsys: pytest.CaptureFixture[str]
) -> None:
    server, _ = serving
    call_tool(server, "double", {"n": 4}, "agent")

    state = run_command(shell, "serve", capsys)

    assert server.address.url in state
    assert "0 requests" in state
    server.access.refused = 1
    assert "1 request " in run_command(shell, "serve", capsys)
    assert "agent" in state
    assert "1 calls" not in state
    assert "1 call, 1 character returned" in state
    assert "agent: 1 call, 1 character returned" in run_command(shell, "status", capsys)


def test_calls_without_a_result_are_named_apart_with_the_tools_and_the_variables_read(
    shell: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    shell.run_cell("note = 'hello'")
    run_command(shell, "serve -t double rows -v frame --read note", capsys)
    server = server_of(shell)
    call_tool(server, "double", {"n": 4})
    call_tool(server, "ReadVar", {"name": "note"})
    denied = call_tool(server, "rows", {"frame": "$VAR_REF{{frame}}"})
    call_tool(server, "invented" * 40, {})

    state = run_command(shell, "serve", capsys)
    run_command(shell, "serve --stop", capsys)
    later = run_command(shell, "serve", capsys)

    totals = server.handlers.clients["agent"].totals
    assert denied.is_error
    assert "4 calls (1 denied, 1 not found), " in state
    assert f" {totals.message_characters} characters" in state
    assert totals.message_characters >= len(texts(denied)[0])
    assert "called double (1), ReadVar (1), rows (1); read note (1)" in state
    assert "invented" not in state
    assert server.address.url not in later
    assert "called double (1), ReadVar (1), rows (1); read note (1)" in later
    assert server_of(shell) is None


def test_the_question_about_a_result_names_the_client_that_would_receive_it(
    shell: Any, serving: tuple[Any, str], capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    server, _ = serving
    monkeypatch.setattr(ServedView, "can_ask", lambda _: True)
    call_tool(server, "double", {"n": 4})
    is_asked = threading.Event()
    kernel_chats(shell).chats["mcp:agent"].approvals.add_listener(
        lambda change: change.kind == "asked" and is_asked.set()
    )
    with ThreadPoolExecutor() as pool:
        result = pool.submit(call_tool, server, "ReadVar", {"name": "frame"})
        assert is_asked.wait(240)
        listed = run_command(shell, "approvals", capsys)
        run_command(shell, f"deny {listed.split()[0]} private", capsys)
        withheld = texts(result.result(240))[0]

    assert "private" in withheld
    assert all(part in listed for part in (" mcp:agent: ", " of ReadVar to agent ("))


def test_without_a_server_the_state_says_how_to_start_one(shell: Any, capsys: pytest.CaptureFixture[str]) -> None:
    assert run_command(shell, "serve", capsys).strip() == command.NOTHING_SERVED


def test_the_command_of_clients_has_its_path_unless_it_is_found_without(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    bridge = tmp_path / "bin" / "nbtool-mcp"
    bridge.parent.mkdir()
    bridge.write_text("")
    bridge.chmod(0o755)
    monkeypatch.setattr("sys.executable", str(bridge.with_name("python")))

    monkeypatch.setenv("PATH", str(tmp_path))
    assert bridge_command() == str(bridge)
    monkeypatch.setenv("PATH", str(bridge.parent))
    assert bridge_command() == "nbtool-mcp"
    bridge.unlink()
    assert bridge_command() == "nbtool-mcp"


def test_images_that_were_returned_are_counted(shell: Any, capsys: pytest.CaptureFixture[str]) -> None:
    source = "from nbtool.messages import Media\n@tool(run='auto')\ndef chart() -> Media:\n    'Draw.'\n"
    shell.run_cell(f"{source}    return Media('image/png', data={PNG!r})")
    run_command(shell, "serve -t chart", capsys)
    call_tool(server_of(shell), "chart", {}, "agent")

    state = run_command(shell, "serve", capsys)
    run_command(shell, "serve --stop", capsys)

    assert ", 1 image " in state


def test_the_calls_of_a_client_are_explored_searched_and_written_as_code(
    shell: Any, serving: tuple[Any, str], capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    server, _ = serving
    call_tool(server, "double", {"n": 21}, "agent")
    call_tool(server, "double", {"n": "$VAR_REF{{double_1_result}}"}, "agent")

    written = run_command(shell, "-c mcp:agent export py --cell", capsys)
    found = run_command(shell, "history search double", capsys)
    run_command(shell, f"-c mcp:agent export {tmp_path / 'agent.md'}", capsys)
    run_command(shell, f"-c mcp:agent export {tmp_path / 'agent.py'}", capsys)
    explored = HistorySource(CommandContext(kernel_chats(shell), "mcp:agent")).search("double")

    assert "(2 calls)" in written
    assert [" double." in text for text in (found, (tmp_path / "agent.md").read_text(encoding="utf-8"))] == [True, True]
    assert (tmp_path / "agent.py").read_text(encoding="utf-8").count("= double(") == 2
    assert len(explored) >= 2


def test_the_calls_of_a_client_are_a_chat_that_history_lists(
    shell: Any, serving: tuple[Any, str], capsys: pytest.CaptureFixture[str]
) -> None:
    server, _ = serving
    call_tool(server, "double", {"n": 4}, "agent")

    assert " double." in run_command(shell, "-c mcp:agent history", capsys)


def test_a_client_cannot_choose_the_chat_of_a_cell_or_of_the_notebook(shell: Any, serving: tuple[Any, str]) -> None:
    shell.run_cell("from nbtool import Chat\nmine = Chat()")
    server, _ = serving

    for name in ("main", "mine", "mcp:mine", "../x", "a\nb"):
        call_tool(server, "double", {"n": 1}, name)

    chats = shell.magics_manager.registry["ChatMagics"].chats
    assert {name for name in chats if name.startswith("mcp:")} == {
        "mcp:main", "mcp:mine", "mcp:mcp:mine", "mcp:../x", "mcp:a b",
    }  # fmt: skip
    assert shell.user_ns["mine"].tree.active_path == ()


@pytest.mark.parametrize(
    ("line", "named"),
    [
        ("serve -t no_such_tool", "'no_such_tool'"),
        ("serve -v no_such_name", "'no_such_name'"),
        ("serve --prot 1", "--prot"),
        ("serve -t double --port 99999", "99999"),
        ("serve -t double --answer-within x", "invalid"),
        ("serve -t double --answer-within -1", "greater than 0"),
        ("serve -t double --answer-within nan", "greater than 0"),
    ],
)
def test_a_wrong_line_is_refused_and_nothing_is_served(shell: Any, line: str, named: str) -> None:
    result = shell.run_cell(f"%chat {line}")

    assert isinstance(result.error_in_exec, UsageError)
    assert named in str(result.error_in_exec)
    assert server_of(shell) is None


def test_a_notebook_is_served_once(shell: Any, serving: tuple[Any, str]) -> None:
    assert "served already" in str(shell.run_cell("%chat serve -t double").error_in_exec)
    assert server_of(shell) is serving[0]


def test_the_token_is_in_a_file_of_the_user_until_the_server_stops(
    shell: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    run_command(shell, "serve -t double", capsys)
    server = server_of(shell)
    path = server.address.path
    mode = stat.S_IMODE(path.stat().st_mode)
    found = find_server()
    status = main(["--token"])
    printed = capsys.readouterr().out
    run_command(shell, "serve --stop", capsys)

    assert mode == 0o600
    assert json.loads(json.dumps(found.url)) == server.address.url
    assert (status, printed.split()) == (0, [server.address.url, server.address.token.get_secret_value()])
    assert not path.exists()
    assert main([]) == 1
    refusal = capsys.readouterr().err
    assert all(part in refusal for part in (str(path.parent), "`%chat serve`", "NBTOOL_HOME"))


def test_files_of_ended_kernels_and_of_strangers_are_no_servers(shell: Any, capsys: pytest.CaptureFixture[str]) -> None:
    run_command(shell, "serve -t double", capsys)
    server = server_of(shell)
    folder = server.address.path.parent
    dead = ServerAddress("http://127.0.0.1:1/mcp", server.address.token, 2**22 + 1, "")
    dead.write()
    (folder / "1.json").write_text("[1]")
    (folder / "2.json").write_text("x" * 20_000)
    os.utime(dead.path, (2**33, 2**33))

    assert find_server().url == server.address.url
    run_command(shell, "serve --stop", capsys)


def test_python_serves_functions_and_objects_by_reference_or_readable(shell: Any) -> None:
    shell.run_cell("import nbtool\nnbtool.serve(double, big=[1, 2], note='hello', read='note')")
    server = server_of(shell)

    async def use() -> Any:
        async with connect(server) as session:
            tools, resources = await session.list_tools(), await session.list_resources()
            return [one.name for one in tools.tools], {one.name: one.description for one in resources.resources}

    names, described = asyncio.run(use())
    again = shell.run_cell("nbtool.serve(double)")
    unknown = shell.run_cell("%chat serve --stop\nnbtool.serve(double, read='nothing')")

    assert names[0] == "double"
    assert ["readable" in described[name] for name in ("big", "note")] == [False, True]
    assert "served already" in str(again.error_in_exec)
    assert "`read` names nothing" in str(unknown.error_in_exec)
    assert server_of(shell) is None


def test_unloading_the_extension_stops_the_server(shell: Any, capsys: pytest.CaptureFixture[str]) -> None:
    run_command(shell, "serve -t double", capsys)
    server = server_of(shell)

    shell.run_line_magic("unload_ext", "nbtool")

    assert not server.is_running
    assert not server.address.path.exists()


def test_the_chat_of_a_client_that_is_empty_says_where_its_earlier_calls_are(
    shell: Any, serving: tuple[Any, str], capsys: pytest.CaptureFixture[str]
) -> None:
    server, _ = serving
    call_tool(server, "double", {"n": 4}, "agent")
    run_command(shell, "serve --stop", capsys)
    run_command(shell, "-c mcp:agent new", capsys)

    assert "`%chat history list`" in run_command(shell, "-c mcp:agent history", capsys)
