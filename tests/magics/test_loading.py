from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from nbtool.ids import short_id
from tests.magics.parking import SECONDS, ParkingChat
from tests.policy.in_force import policy_in_force
from tests.shells import end_shell, new_shell


@pytest.fixture
def bare() -> Iterator[Any]:
    """Give a real IPython without the extension."""
    shell = new_shell()
    for lazy in ("load_ext", "unload_ext", "reload_ext"):  # IPython registers the group of these at its first use
        assert shell.find_line_magic(lazy)
    yield shell
    end_shell()


def traces(shell: Any) -> tuple[Any, ...]:
    """Everything of a shell that an extension can hang itself into."""
    magics = shell.magics_manager
    return (
        *(sorted(names) for names in magics.magics.values()),
        sorted(magics.registry),
        [type(one).__name__ for one in shell.configurables],
        list(shell.input_transformers_cleanup),
        list(shell.Completer.custom_matchers),
        {name: list(callbacks) for name, callbacks in shell.events.callbacks.items()},
        sorted(shell.user_ns),
    )


def test_unloading_leaves_nothing_behind(bare: Any) -> None:
    before = traces(bare)
    bare.run_line_magic("load_ext", "nbtool")
    loaded = traces(bare)
    bare.run_line_magic("unload_ext", "nbtool")

    assert loaded != before
    assert traces(bare) == before


def test_loading_again_registers_everything_once(bare: Any) -> None:
    bare.run_line_magic("load_ext", "nbtool")
    once = [len(part) for part in traces(bare)]
    bare.run_line_magic("reload_ext", "nbtool")

    assert [len(part) for part in traces(bare)] == once
    assert bare.run_cell("%%chat -q -m practice:fast -o hello\nHello").success
    assert bare.user_ns["hello"].status == "completed"


def test_a_magic_of_somebody_else_is_left_alone(bare: Any, capsys: pytest.CaptureFixture[str]) -> None:
    bare.register_magic_function(lambda *_: "theirs", "line_cell", "chat")
    bare.run_line_magic("load_ext", "nbtool")
    actual = capsys.readouterr().out
    bare.run_cell("%%nbchat -q -m practice:fast -o hello\nHello")
    bare.run_cell("%nbchat histori")
    mistaken = capsys.readouterr()

    assert "Unknown command %chat histori" in mistaken.out + mistaken.err
    assert "(Here %chat is called %nbchat.)" in mistaken.out + mistaken.err
    assert "%%chat is taken, the magics are %%nbchat" in actual
    assert len(actual.splitlines()) == 1
    assert bare.run_line_magic("chat", "") == "theirs"
    assert bare.user_ns["hello"].status == "completed"


def test_the_magics_take_the_name_that_ipython_config_gives_them(bare: Any) -> None:
    bare.config.NbTool.magic = "ask"
    bare.run_line_magic("load_ext", "nbtool")

    assert bare.find_cell_magic("ask")
    assert bare.find_cell_magic("chat") is None


@pytest.mark.parametrize("name", ["two words", ""])
def test_a_name_that_is_none_is_refused_in_one_line(bare: Any, name: str, capsys: pytest.CaptureFixture[str]) -> None:
    bare.config.NbTool.magic = name
    capsys.readouterr()
    bare.run_cell("%load_ext nbtool")

    actual = capsys.readouterr()
    assert "NbTool.magic must be an identifier such as chat" in actual.out + actual.err
    assert bare.find_cell_magic("chat") is None


WATCHED = """
import sys
asked = []
def watch(event, arguments):
    if event in ("socket.connect", "socket.getaddrinfo"):
        asked.append(str(arguments[1][0] if event == "socket.connect" else arguments[0]))
sys.addaudithook(watch)
from IPython.core.interactiveshell import InteractiveShell
InteractiveShell.instance().run_line_magic("load_ext", "nbtool")
print("asked", sorted(set(asked)))
"""


@pytest.mark.parametrize(
    ("is_named", "who"),
    [(False, "corrected by the system's administrator"), (True, "corrected by the person who set NBTOOL_POLICY")],
)
def test_loading_says_in_a_line_what_is_wrong_with_a_policy_and_who_corrects_it(
    bare: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str], is_named: bool, who: str
) -> None:
    text = f"[hosts]\nmodels = ['http://{'long.' * 60}org a']"
    with policy_in_force(tmp_path, text, is_named=is_named) as path:
        bare.run_line_magic("load_ext", "nbtool")
        sent = bare.run_cell("%%chat -q -m practice:fast -o hello\nHello")

    loaded, problem, *_ = capsys.readouterr().out.splitlines()
    assert loaded.startswith("nbtool: ")
    assert problem.startswith(f"The policy {path} is invalid: hosts.models")
    assert problem.endswith(f"Nothing is sent until it is {who}: `python -m nbtool.policy FILE` checks it.")
    assert problem.isprintable()
    assert bare.find_cell_magic("chat")
    assert not sent.success


@pytest.mark.promise("quiet-load")
def test_loading_asks_no_machine_but_this_one() -> None:
    ran = subprocess.run([sys.executable, "-c", WATCHED], capture_output=True, text=True, check=True)

    assert ran.stdout.splitlines()[-1] == "asked ['127.0.0.1']"


def test_a_terminal_waits_for_the_prompt_after_the_first_line(bare: Any) -> None:
    bare.run_line_magic("load_ext", "nbtool")
    is_complete = bare.input_transformer_manager.check_complete

    assert is_complete("%%chat -m practice:fast")[0] == "incomplete"
    assert is_complete("%%chat\nHello\n\n")[0] == "complete"


IMPORTED = """
import sys
from IPython.core.interactiveshell import InteractiveShell
InteractiveShell.instance().run_line_magic("load_ext", "nbtool")
print(*sys.modules)
"""


def test_loading_imports_neither_the_chain_nor_a_client_before_they_are_used() -> None:
    ran = subprocess.run([sys.executable, "-c", IMPORTED], capture_output=True, text=True, check=True, timeout=120)
    imported = set(ran.stdout.split())

    assert {"nbtool.magics", "nbtool.wire.providers.catalog"} <= imported
    assert not imported & {
        "anywidget", "httpx", "ipywidgets", "nbtool.chain", "nbtool.chat", "nbtool.events", "nbtool.messages",
        "nbtool.tools", "nbtool.view", "pydantic", "pydantic_core",
    }  # fmt: skip


def reload(bare: Any, capsys: pytest.CaptureFixture[str], magic: str = "reload_ext") -> list[str]:
    """Remove the magics, and give what is printed before the line of loading."""
    capsys.readouterr()
    bare.run_line_magic(magic, "nbtool")
    return [line for line in capsys.readouterr().out.splitlines() if not line.startswith("nbtool: ")]


@pytest.mark.parametrize("magic", ["reload_ext", "unload_ext"])
def test_unloading_names_the_chats_that_end_and_the_command_that_continues_each(
    bare: Any, magic: str, capsys: pytest.CaptureFixture[str]
) -> None:
    bare.run_line_magic("load_ext", "nbtool")
    bare.run_cell("%%chat -q -m practice:fast\nHello")
    bare.run_cell("%%chat -q -m practice:fast -c side\nHello")
    bare.run_cell("%%chat -q -m practice:fast -c side\nHello again")
    ids = [short_id(bare.magics_manager.registry["ChatMagics"].chats[name].chat_id) for name in ("main", "side")]
    said = reload(bare, capsys, magic)
    if magic == "unload_ext":
        bare.run_line_magic("load_ext", "nbtool")
    bare.run_cell(f"%chat open {ids[1]}")

    assert said == [
        f"The chat 'main' ended, with 1 turn: `%chat open {ids[0]}` continues it.",
        f"The chat 'side' ended, with 2 turns: `%chat open {ids[1]}` continues it.",
    ]
    assert len(bare.magics_manager.registry["ChatMagics"].chats["main"].tree.active_path) == 2


def test_unloading_names_parked_turns_settings_and_a_recording(
    bare: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    bare.run_line_magic("load_ext", "nbtool")
    bare.run_cell("%config NbTool.max_rounds = 7\n%config NbTool.api_key = 'sk-a-secret-of-this-test'")
    bare.run_cell(f"%chat record {tmp_path / 'some.nbtool.json'}")
    parking = ParkingChat()
    bare.user_ns["paying"] = parking.chat
    bare.run_cell("%chat -c paying history")
    turn = parking.park()
    (stopped, recording, settings) = reload(bare, capsys)
    turn.done.result(SECONDS)

    assert stopped == (
        "A turn of the chat 'paying' was stopped; it waited for a decision on pay(amount=3). Nothing of it runs now."
    )
    assert (turn.status, parking.threads) == ("cancelled", [])
    assert "some.nbtool.json is closed" in recording
    assert settings == "Unset, set them again if needed: NbTool.api_key, NbTool.max_rounds."


def test_unloading_names_the_server_that_is_stopped(bare: Any, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("mcp")
    bare.run_line_magic("load_ext", "nbtool")
    bare.user_ns["frame"] = [1]
    bare.run_cell("%chat serve -v frame")
    server = bare.magics_manager.registry["ChatMagics"].kernel_chats.server

    assert server
    assert reload(bare, capsys) == ["The server of `%chat serve` was stopped: its clients are cut off."]


def test_unloading_says_nothing_where_nothing_ends(bare: Any, capsys: pytest.CaptureFixture[str]) -> None:
    bare.run_line_magic("load_ext", "nbtool")
    unused = reload(bare, capsys)
    bare.run_cell("%chat status")
    bare.run_cell("%config NbTool.max_rounds = 7\n%config NbTool.max_rounds = None")

    assert (unused, reload(bare, capsys)) == ([], [])


def test_a_chat_that_the_notebook_has_itself_does_not_end(bare: Any, capsys: pytest.CaptureFixture[str]) -> None:
    bare.run_line_magic("load_ext", "nbtool")
    bare.run_cell("from nbtool import Chat\nmine = Chat('practice:fast')")
    bare.run_cell("%%chat -q -c mine\nHello")

    assert reload(bare, capsys) == []
    bare.run_cell("%%chat -q -c mine\nHello again")
    assert len(bare.user_ns["mine"].tree.active_path) == 2
