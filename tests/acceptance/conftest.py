from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from IPython.core.interactiveshell import InteractiveShell
from traitlets.config import Config

from nbtool.chat.turn import Turn
from tests.acceptance.model import ChaosServer

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


@pytest.fixture
def shell() -> Iterator[Any]:
    """Give a real IPython with the extension loaded, a frame with secrets in its cells, and a tool."""
    InteractiveShell.clear_instance()
    yield new_shell()
    InteractiveShell.clear_instance()


def new_shell() -> Any:
    shell = InteractiveShell.instance(config=Config(HistoryManager={"enabled": False}))
    shell.run_line_magic("load_ext", "nbtool")
    assert shell.run_cell(CELLS).success
    return shell


@pytest.fixture
def say(shell: Any, monkeypatch: pytest.MonkeyPatch) -> Say:
    """Give a way to run a %%chat cell against a model on loopback, which gives the turn."""

    def run(server: ChaosServer, body: str, flags: str = "") -> Turn:
        monkeypatch.setenv("OLLAMA_HOST", server.url)
        shell.run_cell(f"%%chat -m ollama:tiny {flags} -o turn\n{body}")
        turn: Turn = shell.user_ns["turn"]
        assert turn.status == "completed", turn.error
        return turn

    return run
