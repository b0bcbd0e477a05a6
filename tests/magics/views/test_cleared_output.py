"""Code that clears the output of the cell in which a turn is shown."""

from __future__ import annotations

from typing import Any

import pytest
from IPython.display import clear_output
from ipywidgets import Output  # type: ignore[import-untyped]  # it ships no types

from nbtool.magics.views.cleared_output import follow_clearing, is_captured
from tests.shells import end_shell, new_shell


@pytest.fixture
def shell() -> Any:
    yield new_shell()
    end_shell()


@pytest.mark.parametrize("wait", [False, True])
def test_who_clears_the_output_of_the_cell_is_noticed_until_the_end(shell: Any, wait: bool) -> None:
    cleared: list[str] = []
    publisher = shell.display_pub

    with follow_clearing(shell, lambda: cleared.append("turn")):
        clear_output(wait=wait)
    clear_output(wait=wait)

    assert cleared == ["turn"]
    assert shell.display_pub is publisher


def test_what_an_output_widget_clears_is_its_own(shell: Any) -> None:
    cleared: list[str] = []
    output = Output()

    with follow_clearing(shell, lambda: cleared.append("turn")):
        output.msg_id = "request"  # as inside its `with` block
        clear_output()
        output.msg_id = ""

    assert (cleared, is_captured()) == ([], False)
