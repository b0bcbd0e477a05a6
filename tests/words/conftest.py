from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from syrupy.assertion import SnapshotAssertion

from nbtool.chat import map_chats
from nbtool.wire.transport import traffic
from tests.shells import end_shell, new_shell
from tests.words.topic_file import TopicFile


@pytest.fixture
def snapshot(snapshot: SnapshotAssertion) -> SnapshotAssertion:
    """Compare with the text file of the topic; `pytest tests/words --snapshot-update` writes it."""
    return snapshot.use_extension(TopicFile)


@pytest.fixture
def shell(own_journal: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:  # noqa: ARG001 - used
    """Give a real IPython with the extension loaded, the practice model as its default, in a folder of its own."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(map_chats, "_latest", [])  # of other tests
    monkeypatch.setattr(traffic, "_totals", {})  # the same
    shell = new_shell()
    shell.run_line_magic("load_ext", "nbtool")
    shell.run_line_magic("config", "NbTool.model = 'practice:fast'")
    yield shell
    end_shell()


class Page:
    """What each cell of a shell printed, by the cell."""

    def __init__(self, shell: Any, capsys: pytest.CaptureFixture[str]) -> None:
        self.shell, self._capsys = shell, capsys
        self.texts: dict[str, str] = {}

    def run(self, cell: str, title: str = "") -> str:
        """Run a cell and add what it printed, under the cell's text or another title."""
        text = self.run_unseen(cell)
        title = title or cell.replace("\n", " | ")
        while title in self.texts:
            title += " (again)"
        self.texts[title] = text
        return text

    def run_unseen(self, cell: str) -> str:
        """Run a cell, and only return what it printed."""
        self._capsys.readouterr()
        self.shell.run_cell(cell)
        return "".join(self._capsys.readouterr())


@pytest.fixture
def page(shell: Any, capsys: pytest.CaptureFixture[str]) -> Page:
    """Give an empty page for the texts of one test."""
    return Page(shell, capsys)
