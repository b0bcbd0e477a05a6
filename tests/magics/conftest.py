from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from tests.chaos import ChaosServer, finish, head, serve, text
from tests.shells import end_shell, new_shell

CELLS = """
from nbtool import tool

class Frame:
    "Stands for a big object."
    rows = 3

frame = Frame()
received = []

@tool(run="auto")
def double(n: int) -> int:
    "Twice a number."
    return 2 * n

@tool
def rows(frame: Frame) -> int:
    "How many rows a frame has."
    received.append(frame)
    return frame.rows
"""


@pytest.fixture
def shell() -> Iterator[Any]:
    """Give a real IPython with the extension loaded and two tools defined; it has no terminal."""
    shell = new_shell()
    shell.run_line_magic("load_ext", "nbtool")
    assert shell.run_cell(CELLS).success
    yield shell
    end_shell()


@pytest.fixture
def server() -> Iterator[ChaosServer]:
    """Give a server that answers every request with one word."""
    with serve(head(), text("Hello"), finish()) as running:
        yield running
