"""The first cell of a new kernel says how the notebook's earlier chat continues."""

from __future__ import annotations

import os
import sqlite3
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from nbtool.chat.journal import journal
from nbtool.chat.journal.process_journal import Journal
from nbtool.events import TurnEnded, TurnStarted
from nbtool.ids import new_id, short_id
from nbtool.magics.notebook import earlier_chat_lookup
from nbtool.messages import Usage, user
from nbtool.settings import data_dir
from nbtool.threads.loop import run_sync

BEGINS = "This cell begins a new chat. The earlier one of this notebook"


@pytest.fixture(autouse=True)
def notebook(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Path]:
    """Name the notebook as Jupyter Server does; its journal is new."""
    path = tmp_path / "private" / "analysis.ipynb"
    monkeypatch.setenv("JPY_SESSION_NAME", str(path))
    journal.cache_clear()
    yield path
    journal.cache_clear()


def record_chat(notebook: Path | str, *, cell: str = "cell-1") -> str:
    """Write a chat of one turn of an earlier kernel, and return its id."""
    book, chat, turn = Journal(data_dir() / "journal.sqlite", notebook=str(notebook)), new_id("chat"), new_id("turn")
    began = TurnStarted(turn, "model", user("A private prompt."), time.time(), cell_id=cell, node_id=new_id("n"))
    run_sync(book.write(chat, turn, [began, TurnEnded("completed", "Yes.", Usage(), 1, 0, 0.1)]))
    book.close()
    return chat


def ask(shell: Any, capsys: pytest.CaptureFixture[str], line: str = "") -> str:
    capsys.readouterr()
    shell.run_cell(f"%%chat -m practice:fast {line}\nGood morning.")
    return capsys.readouterr().out


def test_the_first_cell_names_the_one_command_once(
    shell: Any, notebook: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    record_chat(notebook)
    latest = record_chat(notebook)
    record_chat(notebook, cell="")  # of a tool, not of a cell
    record_chat("/elsewhere/other.ipynb")

    said, again = ask(shell, capsys), ask(shell, capsys)

    assert f"{BEGINS}, last used less than a minute ago, continues with `%chat open {short_id(latest)}`." in said
    assert BEGINS not in again
    assert not any(word in said for word in ("private", "analysis", "A private prompt"))
    shell.run_cell(f"%chat open {short_id(latest)}")
    assert "1 turn on its line" in capsys.readouterr().out
    assert BEGINS not in ask(shell, capsys)


@pytest.mark.parametrize("line", ["-c other", "--new"])
def test_a_chat_that_the_person_names_or_begins_has_no_notice(
    shell: Any, notebook: Path, capsys: pytest.CaptureFixture[str], line: str
) -> None:
    record_chat(notebook)

    assert BEGINS not in ask(shell, capsys, line)
    assert BEGINS not in ask(shell, capsys)


def test_a_chat_that_was_opened_has_no_notice(shell: Any, notebook: Path, capsys: pytest.CaptureFixture[str]) -> None:
    shell.run_cell(f"%chat open {record_chat(notebook)}")

    assert BEGINS not in ask(shell, capsys)


def test_a_notebook_without_an_earlier_chat_or_a_name_has_no_notice(
    shell: Any, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    record_chat("/elsewhere/other.ipynb")
    first = ask(shell, capsys)
    monkeypatch.delenv("JPY_SESSION_NAME")
    journal.cache_clear()
    record_chat("")
    shell.run_line_magic("reload_ext", "nbtool")

    assert BEGINS not in first
    assert BEGINS not in ask(shell, capsys)


def test_a_refused_cell_does_not_use_the_notice_up(
    shell: Any, notebook: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    record_chat(notebook)
    assert BEGINS not in ask(shell, capsys, "-v no_such_name")

    assert BEGINS in ask(shell, capsys)


LOADED = """
import sys
from IPython.core.interactiveshell import InteractiveShell
shell = InteractiveShell.instance()
shell.run_line_magic("load_ext", "nbtool")
print("journal" if "nbtool.chat.journal.process_journal" in sys.modules else "lookup")
shell.run_cell("%%chat -m practice:fast\\nGood morning.")
"""


def load(notebook: Path | str) -> list[str]:
    """Load the extension in a new process, ask once, and return the lines that are printed."""
    environment = {**os.environ, "JPY_SESSION_NAME": str(notebook)}
    ran = subprocess.run(
        [sys.executable, "-c", LOADED], env=environment, capture_output=True, text=True, check=True, timeout=120
    )
    return ran.stdout.splitlines()


def test_loading_names_the_earlier_chat_and_the_first_cell_only_the_command(notebook: Path) -> None:
    command = f"`%chat open {short_id(record_chat(notebook))}`"

    loaded, age, continuation, way, *rest = load(notebook)

    assert loaded.startswith("nbtool: ")
    assert age == "This notebook has an earlier chat, last used less than a minute ago."
    assert continuation == f"{command} continues it; a `%%chat` cell begins a new one."
    assert way == "lookup"
    assert f"This cell begins a new chat; {command} continues the earlier one." in "\n".join(rest)


@pytest.mark.sampled(0)
def test_loading_says_nothing_of_other_notebooks(notebook: Path) -> None:
    record_chat("/elsewhere/other.ipynb")

    assert load(notebook)[1] == "lookup"


def test_a_locked_journal_does_not_delay_loading(notebook: Path) -> None:
    record_chat(notebook)
    with closing(sqlite3.connect(data_dir() / "journal.sqlite", isolation_level=None)) as connection:
        connection.execute("PRAGMA journal_mode = DELETE")
        connection.execute("BEGIN EXCLUSIVE")

        assert earlier_chat_lookup.last_chat(str(notebook), data_dir() / "journal.sqlite") is None

    assert earlier_chat_lookup.last_chat(str(notebook), data_dir() / "journal.sqlite")


def test_a_lookup_that_takes_too_long_is_given_up(notebook: Path) -> None:
    record_chat(notebook)

    assert earlier_chat_lookup.last_chat(str(notebook), data_dir() / "journal.sqlite", seconds=-1, steps=1) is None
