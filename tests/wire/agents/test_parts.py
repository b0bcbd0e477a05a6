"""The parts of an agent's connection by themselves: what a scripted agent does not reach."""

from __future__ import annotations

import asyncio
import io
import json
import os
import socket
import subprocess
import sys
import threading
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from nbtool.chat.agent_turns import agent_of, forget_records, use_agent
from nbtool.chat.chat import Chat
from nbtool.errors import BadUsage, PolicyRefused, SettingsError, Unsupported
from nbtool.messages import Media, ToolResult, user
from nbtool.settings import data_dir
from nbtool.threads.loop import run_sync
from nbtool.tools.approval import Undecided
from nbtool.wire.agents import agent_process, relay_bridge
from nbtool.wire.agents.agent_host import AgentHost
from nbtool.wire.agents.agent_process import DROPPED, descendants, parent_of, pump_lines, read_stderr, reap, send
from nbtool.wire.agents.connection import AgentConnection
from nbtool.wire.agents.limits import AgentLimits
from nbtool.wire.agents.mapping import describe_diffs, mode_of, require_packages
from nbtool.wire.agents.process import describe_end
from nbtool.wire.agents.profiles import PROFILES
from nbtool.wire.agents.relay import MAX_STRANGERS, ToolRelay, as_call_result
from nbtool.wire.agents.session_record import MAX_BYTES, MAX_RECORDS, EarlierSession, SessionRecord
from nbtool.wire.agents.settings import agent_folder, find_command
from nbtool.wire.base import Prompt
from tests.samples import PNG
from tests.wire.agents.agents import MakeAgent, is_alive

CLAUDE = PROFILES["claude"]


@pytest.fixture(autouse=True)
def packages() -> None:
    """Import the packages of the extra, as an endpoint of an agent does, and not on nbtool's loop."""
    require_packages()


def piped(data: bytes, limit: int) -> list[bytes]:
    """What the supervisor passes on of some bytes of an agent."""
    out = io.BytesIO()
    pump_lines(io.BytesIO(data), out, limit)
    return out.getvalue().splitlines(keepends=True)


@pytest.mark.parametrize("end", [b"\n", b""])
def test_a_line_above_the_limit_is_replaced_by_its_size(end: bytes) -> None:
    passed = piped(b"one\n" + b"x" * 100_000 + end + (b"two\n" if end else b""), 10)

    assert passed[0] == b"one\n"
    assert json.loads(passed[1]) == {"jsonrpc": "2.0", "method": DROPPED, "params": {"size": 100_000 + len(end)}}
    assert passed[2:] == ([b"two\n"] if end else [])


def test_a_line_of_exactly_the_limit_is_passed_on() -> None:
    assert piped(b"123456789\n", 10) == [b"123456789\n"]


def test_an_endless_line_ends_the_pump() -> None:
    out = io.BytesIO()
    pump_lines(io.BytesIO(b"x" * 500_000 + b"\ntwo\n"), out, 10, max_dropped=1_000)

    assert len(out.getvalue().splitlines()) == 0


def test_a_notebook_that_is_gone_ends_the_pump() -> None:
    target = io.BytesIO()
    target.close()
    pump_lines(io.BytesIO(b"one\n"), target, 10)


def test_of_stderr_the_end_is_read(tmp_path: Path) -> None:
    path = tmp_path / "stderr"
    path.write_bytes(b"x" * 100_000 + b"end")
    tail = bytearray()
    with path.open("rb") as file:
        read_stderr(file, tail)

    assert (len(tail), bytes(tail[-3:])) == (2_000, b"end")


def test_the_descendants_of_a_process_are_found_and_end() -> None:
    code = "import subprocess, sys; subprocess.run([sys.executable, '-c', 'input()'])"
    with subprocess.Popen([sys.executable, "-c", code], stdin=subprocess.PIPE) as child:
        while len(found := descendants(os.getpid())) < 2 or child.pid not in found:
            threading.Event().wait(0.01)
        send({*descendants(child.pid), child.pid}, agent_process.signal.SIGKILL)
        send({2**22 + 1}, agent_process.signal.SIGKILL)
    assert not is_alive(child.pid)
    reap()


@pytest.mark.parametrize("name", ["self", "1"])
def test_the_parent_of_a_process_is_read_and_that_of_none_is_not(name: str, tmp_path: Path) -> None:
    assert parent_of(Path("/proc") / str(os.getpid())) == os.getppid()
    assert parent_of(tmp_path / name) == -1
    (tmp_path / "7").mkdir()
    (tmp_path / "7" / "stat").write_text("7 (a b)")
    assert parent_of(tmp_path / "7") == -1


def test_where_there_is_no_proc_processes_are_listed_by_ps(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    program = tmp_path / "ps"
    program.write_text("#!/bin/sh\necho '  12  1'\necho 'broken'\necho '13 12'\n")
    program.chmod(0o700)
    monkeypatch.setenv("PATH", str(tmp_path))

    assert agent_process.listed_by_ps() == [(12, 1), (13, 12)]


@pytest.mark.parametrize(
    ("report", "words"),
    [
        (b'{"exit": 3, "stderr": "a\\nb"}', ["3", "a b"]),
        (b'{"exit": -9, "stderr": ""}', ["9"]),
        (b'{"exit": null, "stderr": ""}', []),
        (b"Traceback", ["Traceback"]),
        (b"[]", ["[]"]),
    ],
)
def test_the_report_of_an_end_is_read(report: bytes, words: list[str]) -> None:
    assert all(word in describe_end(report) for word in words)
    assert bool(describe_end(report)) is bool(words)


def connect(relay: ToolRelay) -> tuple[int, str]:
    """Start a relay; return its port and token."""
    server = run_sync(relay.start())
    address = json.loads(Path(server.args[-1]).read_text())
    return address["port"], address["token"]


async def no_call(name: str, _: Any) -> ToolResult:
    return ToolResult(name, "called")


async def refuse_call(_: str, __: Any) -> ToolResult:
    raise BadUsage("no")


@pytest.mark.parametrize("line", [b"wrong\n", b"\n", b"x" * 400, b""])
def test_a_connection_without_the_token_gets_nothing(line: bytes) -> None:
    relay = ToolRelay((), no_call)
    port, _ = connect(relay)
    with socket.create_connection(("127.0.0.1", port)) as stranger:
        stranger.sendall(line)
        if not line:
            stranger.shutdown(socket.SHUT_WR)
        stranger.settimeout(30)
        with suppress(ConnectionResetError):  # it has not read all of the line
            assert stranger.recv(1) == b""
    run_sync(relay.close())


def test_more_connections_without_the_token_than_may_wait_are_closed() -> None:
    relay = ToolRelay((), no_call)
    port, _ = connect(relay)
    strangers = [socket.create_connection(("127.0.0.1", port)) for _ in range(MAX_STRANGERS + 1)]
    strangers[-1].settimeout(30)

    assert strangers[-1].recv(1) == b""
    for one in strangers:
        one.close()
    run_sync(relay.close())


def test_a_relay_that_was_not_started_is_closed() -> None:
    run_sync(ToolRelay((), no_call).close())


def test_an_address_of_a_kernel_that_is_gone_is_removed() -> None:
    folder = data_dir() / "relays"
    folder.mkdir()
    for name in ("4194305-x.json", "word.json", f"{os.getpid()}-other.json"):
        (folder / name).write_text("{}")
    relay = ToolRelay((), no_call)
    connect(relay)

    names = {path.name for path in folder.iterdir()}
    assert f"{os.getpid()}-other.json" in names
    assert len(names) == 2
    run_sync(relay.close())


def test_the_bridge_says_that_there_is_no_notebook(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "address.json"
    statuses = [relay_bridge.main(str(path))]
    for text in ("{", "{}", '{"port": "x", "token": "t"}', '{"port": 1, "token": "t"}'):
        path.write_text(text)
        statuses.append(relay_bridge.main(str(path)))

    assert statuses == [1] * 5
    assert len(capsys.readouterr().err.splitlines()) == 5


def test_a_call_that_is_refused_and_media_are_results() -> None:
    relay = ToolRelay((), refuse_call)
    media = (Media("image/png", PNG), Media("audio/wav", b"RIFF"), Media("text/plain", b"x"))

    assert run_sync(relay.answer("f", {})).is_error is True
    kinds = [block.type for block in as_call_result(ToolResult("f", "x", media=media)).content]
    assert kinds == ["text", "image", "audio"]


def test_modes_that_contradict_each_other_are_none_and_no_mode_is_unknown() -> None:
    option = {"id": "mode", "currentValue": "auto"}

    assert mode_of({}) is None
    assert mode_of({"modes": {"currentModeId": "auto"}, "configOptions": [option]}) == "auto"
    assert mode_of({"modes": {"currentModeId": "default"}, "configOptions": [option, 3]}) == ""


def test_a_long_change_of_a_file_is_shown_in_part() -> None:
    content = [{"type": "diff", "path": "a", "newText": "x\n" * 500}, {"type": "content"}]

    lines = describe_diffs({"content": content}).splitlines()

    assert len(lines) == 102
    assert "400" in lines[-1]


def test_a_record_of_a_session_is_read_as_it_was_written() -> None:
    session, record = EarlierSession("claude", "S1", "digest"), SessionRecord("chat_1")
    record.write(session)
    path = next((data_dir() / "agent_sessions").iterdir())

    assert record.read() == session
    assert SessionRecord("chat_2").read() == SessionRecord().read() == EarlierSession()
    for text in ("{", "[]", "{}", "x" * (MAX_BYTES + 1)):
        path.write_text(text)
        assert record.read() == EarlierSession()
    record.remove()
    assert not path.exists()
    SessionRecord().write(session)
    assert list(path.parent.iterdir()) == []


def test_where_a_record_cannot_be_written_there_is_none() -> None:
    (data_dir() / "agent_sessions").write_text("a file")

    SessionRecord("chat_1").write(EarlierSession("claude", "S1", "digest"))

    assert SessionRecord("chat_1").read() == EarlierSession()


def test_the_oldest_record_is_removed_and_all_are_on_request() -> None:
    folder = data_dir() / "agent_sessions"
    folder.mkdir()
    for number in range(MAX_RECORDS):
        (folder / f"chat_{number}.json").write_text("{}")
        os.utime(folder / f"chat_{number}.json", (number, number))
    SessionRecord("chat_new").write(EarlierSession("claude", "S1", "digest"))

    assert not (folder / "chat_0.json").exists()
    assert len(list(folder.iterdir())) == MAX_RECORDS
    forget_records("no id")
    assert len(list(folder.iterdir())) == MAX_RECORDS
    forget_records("")
    assert list(folder.iterdir()) == []


def test_agents_need_linux_or_macos(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "platform", "win32")

    with pytest.raises(Unsupported):
        find_command(CLAUDE)


def test_a_folder_that_cannot_be_made_is_refused() -> None:
    (data_dir() / "agents").write_text("a file")

    with pytest.raises(SettingsError):
        agent_folder(CLAUDE)


def test_in_a_folder_that_was_removed_the_path_is_searched(
    make_agent: MakeAgent, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    make_agent([])
    folder = tmp_path / "removed"
    folder.mkdir()
    monkeypatch.chdir(folder)
    folder.rmdir()

    assert find_command(CLAUDE).command == sys.executable


def test_an_endpoint_that_no_chat_has_made_its_own_answers_nothing(make_agent: MakeAgent) -> None:
    agent = make_agent([{"say": "Hello."}])
    endpoint = Chat("acp:claude").model.endpoint()

    async def ask() -> None:
        async for _ in endpoint.stream(Prompt((user("Hello?"),))):
            pass

    with pytest.raises(Unsupported):
        asyncio.run(ask())
    assert agent.entries == []


def test_options_that_a_plugin_adds_are_refused(make_agent: MakeAgent, chat: Chat) -> None:
    class Warm:
        def on_before_request(self, request: Any) -> None:
            request.options = {"temperature": 1}

    agent = make_agent([{"say": "Hello."}])
    chat.plugins = [Warm()]

    turn = chat.send("Hello.")
    assert (turn.status, type(turn.error)) == ("error", Unsupported)
    assert agent.entries == []


def test_instructions_that_are_taken_back_are_named(make_agent: MakeAgent, chat: Chat) -> None:
    agent = make_agent([{"say": "One."}], [{"say": "Two."}])
    chat.tools = type(chat.tools)("chat", [])
    chat.system = "Be brief."
    chat.send("First.")
    chat.system = ""
    chat.send("Second.")

    assert "Be brief." in agent.prompts()[0]
    assert agent.prompts()[1].startswith("[nbtool]")


def test_more_agents_than_may_run_are_refused_while_all_answer(
    make_agent: MakeAgent, chat: Chat, tmp_path: Path
) -> None:
    gate = tmp_path / "gate"
    make_agent([{"say": "One "}, {"wait": str(gate)}, {"say": "two."}])
    other = chat.fork()
    use_agent(other, AgentLimits(max_agents=1))
    first = chat.start("First.")
    has_text = threading.Event()
    first.add_listener(lambda event: has_text.set() if event.kind == "text_delta" else None)
    assert has_text.wait(30)

    refused = other.send("Second.")
    gate.touch()
    first.done.result(30)

    assert (first.text, type(refused.error)) == ("One two.", BadUsage)


def test_more_calls_than_may_wait_are_refused(make_agent: MakeAgent, chat: Chat, tmp_path: Path) -> None:
    use_agent(chat, AgentLimits(max_waiting=1))
    asked = tmp_path / "asked"

    def wait(_: Any) -> Undecided:
        asked.touch()
        return Undecided()

    chat.approver = wait
    call = {"name": "add", "arguments": {"a": 1, "b": 2}}
    agent = make_agent([{"begin_call": call}, {"wait": str(asked)}, {"call": call}, {"wait": "cancel"}])
    turn = chat.start("Go.")
    while not agent.all_of("result"):
        threading.Event().wait(0.01)
    turn.cancel()
    turn.done.result(30)

    assert len(turn.calls) == 1


def test_more_reported_calls_than_are_read_end_the_agent(make_agent: MakeAgent, chat: Chat) -> None:
    use_agent(chat, AgentLimits(max_calls=2))
    report = {"sessionUpdate": "tool_call", "name": "mcp__notebook__add"}
    make_agent([*({"update": {**report, "toolCallId": f"t{number}"}} for number in range(4)), {"wait": "cancel"}])

    turn = chat.send("Go.")

    assert type(turn.error).__name__ == "AgentStopped"


def test_more_questions_than_may_be_open_end_the_agent(make_agent: MakeAgent, chat: Chat) -> None:
    line = {"jsonrpc": "2.0", "method": "session/request_permission", "params": {}}
    make_agent([{"line": json.dumps({**line, "id": True})}, {"say": "Hello."}])

    assert chat.send("Go.").status == "error"


def test_a_tool_that_the_agent_uses_while_it_opens_a_session_ends_it(make_agent: MakeAgent, chat: Chat) -> None:
    used = {"update": {"sessionUpdate": "tool_call", "toolCallId": "t", "title": "ls", "name": "Bash"}}
    agent = make_agent([{"say": "Hello."}], **{"before session/new": [used]})

    assert type(chat.send("Go.").error).__name__ == "AgentStopped"
    assert agent.prompts() == []


def test_nothing_can_be_added_to_the_turn_of_an_agent(make_agent: MakeAgent, chat: Chat) -> None:
    make_agent([{"say": "One."}])

    with pytest.raises(BadUsage):
        chat.compose("Hello").steer("Be brief.")


def test_a_budget_of_a_chat_in_dollars_refuses_an_agent(make_agent: MakeAgent, chat: Chat) -> None:
    from nbtool.plugins.budget import Budget  # noqa: PLC0415 - of this test

    agent = make_agent([{"say": "Hello."}])
    chat.plugins = [Budget(usd=1.0)]

    turn = chat.send("Go.")

    assert turn.status == "error"
    assert agent.prompts() == []
    assert not isinstance(turn.error, PolicyRefused)


def test_erasing_everything_ends_the_agents(make_agent: MakeAgent, chat: Chat) -> None:
    from nbtool.chat.agent_turns import forget_agent  # noqa: PLC0415 - of this test

    make_agent([{"say": "One."}])
    chat.send("First.")
    pid = agent_of(chat).session.pid  # type: ignore[union-attr]
    forget_agent(chat)
    forget_agent(chat)
    while is_alive(pid):
        threading.Event().wait(0.01)

    assert agent_of(chat) is None


class StillProcess:
    """What a connection uses of a process, without one."""

    def __init__(self) -> None:
        self.reader = asyncio.StreamReader(limit=100)
        self.sent: list[bytes] = []
        self.writer = self
        self.is_ended = False

    def write(self, data: bytes) -> None:
        self.sent.append(data)

    def is_closing(self) -> bool:
        return self.is_ended

    def begin_end(self) -> None:
        self.is_ended = True

    async def end(self) -> str:
        self.begin_end()
        return ""


class Listening:
    """Takes note of what a connection hands on."""

    def __init__(self) -> None:
        self.seen: list[tuple[str, object]] = []

    def notify(self, method: str, params: object) -> None:
        self.seen.append((method, params))

    def ask(self, request: object, method: str, _: object) -> None:
        self.seen.append((method, request))

    def end(self, error: Exception) -> None:
        self.seen.append(("end", type(error).__name__))


async def converse(*lines: bytes) -> tuple[StillProcess, Listening, AgentConnection]:
    process, listening = StillProcess(), Listening()
    connection = AgentConnection("Agent", process, listening)  # type: ignore[arg-type]
    for line in lines:
        process.reader.feed_data(line)
        await asyncio.sleep(0)
        await asyncio.sleep(0)
    return process, listening, connection


def test_a_line_that_the_supervisor_should_have_dropped_ends_the_connection() -> None:
    async def run() -> list[tuple[str, object]]:
        _, listening, connection = await converse(b"x" * 1_000)
        await asyncio.sleep(0)
        await connection.close()
        return listening.seen

    assert asyncio.run(run()) == [("end", "InvalidReply")]


def test_after_its_end_a_connection_sends_nothing_and_every_request_fails() -> None:
    async def run() -> tuple[list[bytes], str]:
        process, _, connection = await converse()
        await connection.close()
        connection.notify("session/cancel", {})
        error = connection.request("session/prompt", {}).exception()
        return process.sent, type(error).__name__

    assert asyncio.run(run()) == ([], "ConnectionFailed")


def test_a_request_that_comes_twice_is_answered_once() -> None:
    line = b'{"jsonrpc":"2.0","id":1,"method":"m"}\n'

    async def run() -> tuple[list[tuple[str, object]], list[bool], int]:
        process, listening, connection = await converse(line, line)
        answers = [connection.answer(1, {}), connection.answer(1, {}), connection.refuse(1, 1, "x")]
        await connection.close()
        return listening.seen[:1], answers, len(process.sent)

    assert asyncio.run(run()) == ([("m", 1)], [True, False, False], 1)


def test_an_agent_that_is_closed_while_it_answers_ends_the_turn(make_agent: MakeAgent, chat: Chat) -> None:
    make_agent([{"say": "One"}, {"wait": "cancel"}])
    has_text = threading.Event()
    turn = chat.start("Go.")
    turn.add_listener(lambda event: has_text.set() if event.kind == "text_delta" else None)
    assert has_text.wait(30)
    run_sync(agent_of(chat).close())  # type: ignore[union-attr]

    turn.done.result(30)
    assert turn.status == "error"


def test_a_package_that_is_missing_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "acp.schema", None)

    with pytest.raises(BadUsage):
        require_packages()


def test_an_agent_of_another_loop_is_left_alone() -> None:
    """After a fork, or where a loop has ended, its processes are those of somebody else."""
    host = AgentHost()
    host._slot.session = Closed()  # type: ignore[assignment]  # notes that it is closed

    async def close() -> None:
        await host.close()

    host._slot.loop = asyncio.new_event_loop()
    host._slot.loop.close()
    asyncio.run(close())

    assert host._slot.session.closed == []  # type: ignore[union-attr]  # the double's


class Closed:
    """A session that notes that it is closed."""

    def __init__(self) -> None:
        self.closed: list[bool] = []
        self.is_open = True

    async def close(self) -> None:
        self.closed.append(True)
