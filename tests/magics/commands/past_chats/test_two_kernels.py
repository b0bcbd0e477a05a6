"""A chat that two kernels have open: the second one says so, and takes nothing for lost that the first one has."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from nbtool.chat.journal.chat_use import leave_chats, use_chat
from nbtool.ids import new_id
from nbtool.settings import data_dir
from tests.magics.commands.saying import run_command

pytestmark = pytest.mark.usefixtures("own_journal")

OTHER = """
from tests.shells import new_shell
shell = new_shell()
shell.run_line_magic("load_ext", "nbtool")
shell.run_cell("def price(ticker: str) -> dict:\\n    'Price of a ticker.'\\n    return {1.5: object()}")
shell.run_cell("%%chat -q -m practice:fast -t price -o answer --approve auto\\nUse &`price` for AAPL.")
chat = shell.magics_manager.registry["ChatMagics"].chats["main"]
print("CHAT", chat.chat_id, chat.tree.active_path[0].turn.calls[0].reference, flush=True)
input()
"""


@pytest.fixture
def other() -> Iterator[tuple[subprocess.Popen[str], str, str]]:
    """Run another kernel with a chat; give it, the id of the chat and the name of a result."""
    root = Path(__file__).parents[4]
    with subprocess.Popen(
        [sys.executable, "-c", OTHER], cwd=root, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        line = next(line for line in process.stdout if line.startswith("CHAT "))
        _, chat_id, reference = line.split()
        yield process, chat_id, reference
        process.kill()


def test_a_chat_of_a_running_kernel_is_opened_with_a_warning(
    shell: Any, other: tuple[subprocess.Popen[str], str, str], capsys: pytest.CaptureFixture[str]
) -> None:
    shell.run_line_magic("config", "NbTool.model = 'practice:fast'")
    opened = run_command(shell, f"open {other[1]}", capsys)
    bound = run_command(shell, f"bind {other[2]} it", capsys)

    assert "running kernel" in opened
    assert "earlier kernel" not in opened
    assert "earlier kernel" not in opened + bound


@pytest.mark.sampled(0)
def test_a_chat_of_a_kernel_that_was_killed_is_of_an_earlier_kernel(
    shell: Any, other: tuple[subprocess.Popen[str], str, str], capsys: pytest.CaptureFixture[str]
) -> None:
    other[0].kill()
    other[0].wait()
    shell.run_line_magic("config", "NbTool.model = 'practice:fast'")
    opened = run_command(shell, f"open {other[1]}", capsys)

    assert "running kernel" not in opened
    assert "earlier kernel" in opened


def test_a_chat_is_left_with_its_process_and_without_a_file() -> None:
    chat_id = new_id("chat")

    assert use_chat(chat_id)
    assert use_chat(chat_id)
    leave_chats()
    assert not list((data_dir() / "locks").glob(f"{chat_id}*"))


@pytest.mark.parametrize("chat_id", ["", "../escape", "chat_x/../../y"])
def test_what_is_no_id_of_a_chat_becomes_no_file(chat_id: str) -> None:
    assert use_chat(chat_id)
    assert not [path for path in data_dir().rglob("*") if "escape" in path.name]


def test_a_history_in_memory_leaves_no_file(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NBTOOL_JOURNAL", "off")

    assert use_chat(new_id("chat"))
    assert not (data_dir() / "locks").exists()


def test_a_folder_without_locks_hinders_no_chat() -> None:
    (data_dir() / "locks").write_text("a file")

    assert use_chat(new_id("chat"))


def test_a_chat_that_is_open_has_a_lock_in_a_folder_of_this_person() -> None:
    chat_id = new_id("chat")

    assert use_chat(chat_id)

    folder = data_dir() / "locks"
    assert [one.name for one in folder.iterdir()] == [f"{chat_id}.lock"]
    assert sys.platform == "win32" or folder.stat().st_mode & 0o777 == 0o700
    leave_chats()
