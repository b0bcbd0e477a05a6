from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from nbtool.chat.journal import journal
from nbtool.chat.turn import Turn
from tests.security.model import ChaosServer
from tests.shells import end_shell, new_shell

CELLS = """
import pandas as pd
from nbtool import ToolFailed, tool

df = pd.DataFrame({"who": ["SENTINEL", "SENTINEL"], "mass": [3700, 5076]})
got = []

@tool(run="auto")
def keep(data) -> str:
    "Keep an object."
    got.append(data)
    return "kept"
"""

Say = Callable[..., Turn]


@pytest.fixture(autouse=True)
def own_journal() -> Iterator[None]:
    """Give the test the journal of its own home: a file of an earlier test would count as one outside it."""
    journal.cache_clear()
    yield
    journal.cache_clear()


@pytest.fixture
def shell() -> Iterator[Any]:
    """Give a real IPython with the extension loaded, a frame with secrets in its cells, and a tool."""
    yield world()
    end_shell()


def world() -> Any:
    """Make an IPython as it is after a restart of the kernel, with its first cell run."""
    shell = new_shell()
    shell.run_line_magic("load_ext", "nbtool")
    assert shell.run_cell(CELLS).success
    return shell


@pytest.fixture
def run_chat_cell(shell: Any, monkeypatch: pytest.MonkeyPatch) -> Say:
    """Give a way to run a %%chat cell against a model on loopback, which gives the turn."""

    def run(server: ChaosServer, body: str, flags: str = "") -> Turn:
        monkeypatch.setenv("OLLAMA_HOST", server.url)
        shell.run_cell(f"%%chat -m ollama:tiny {flags} -o turn\n{body}")
        turn: Turn = shell.user_ns["turn"]
        assert turn.status == "completed", turn.error
        return turn

    return run
