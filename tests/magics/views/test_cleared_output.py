"""Code that clears the output of the cell in which a turn is shown."""

from __future__ import annotations

from typing import Any

import pytest
from IPython.display import clear_output
from IPython.utils.capture import capture_output
from ipywidgets import Output  # type: ignore[import-untyped]  # it ships no types

from nbtool.magics.views.cleared_output import (
    capturing_outputs,
    follow_clearing,
    is_captured,
    not_captured,
    show_in_outputs,
)
from nbtool.magics.views.next_cell import say_in_next_cell
from tests.compat.page import Page, open_page
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


@pytest.mark.usefixtures("shell")
def test_what_is_shown_beside_an_output_widget_is_not_taken_by_it() -> None:
    output = Output()
    output.msg_id = "request"  # as inside its `with` block

    with not_captured(capturing_outputs()):
        assert not is_captured()

    assert (output.msg_id, capturing_outputs()) == ("request", [output])
    output.close()


@pytest.mark.usefixtures("shell")
def test_an_output_widget_gets_the_end_of_a_turn_also_after_its_block() -> None:
    inside, outside = Output(), Output()
    inside.msg_id = "request"
    bundle = {"text/plain": "the end"}

    with capture_output() as captured:
        show_in_outputs([inside, outside], bundle)

    assert [output.data for output in captured.outputs] == [
        bundle
    ]  # the page takes it into the one that takes displays
    assert outside.outputs == ({"output_type": "display_data", "data": bundle, "metadata": {}},)
    assert inside.outputs == ()
    inside.msg_id = ""


@pytest.mark.promise("seen-question")
@pytest.mark.parametrize(("is_true", "printed"), [(True, ["waits\n1\n", "2\n"]), (False, ["1\n", "2\n"])])
def test_the_next_cell_says_what_waits_once_and_only_if_it_still_does(
    shell: Any, capsys: pytest.CaptureFixture[str], is_true: bool, printed: list[str]
) -> None:
    say_in_next_cell(shell, "waits", lambda: is_true)

    outputs = []
    for cell in ("print(1)", "print(2)"):
        shell.run_cell(cell)
        outputs.append(capsys.readouterr().out)

    assert outputs == printed


WIPE = """
%load_ext nbtool
from IPython.display import clear_output
from nbtool import tool
@tool(run="auto")
def wipe(times: int) -> str:
    "Clear the output of the cell."
    for _ in range(times):
        clear_output()
    return "done"
"""


class SlowPage(Page):
    """A page that reports at once that a view is gone, and draws no output in which it is shown again."""

    def _take(self, message: dict[str, Any], click: str) -> Any:
        content = super()._take(message, click)
        if message["msg_type"] == "clear_output":
            self.outputs = 0
            self.say("gone")
        self.outputs += message["msg_type"] == "display_data"
        return content

    outputs = 0


@pytest.mark.sampled(1)
@pytest.mark.parametrize("times", [1, 2])
def test_a_turn_whose_tool_clears_the_output_is_there_once_at_its_end(times: int) -> None:
    with open_page() as page:
        page.run(WIPE)
        slow = SlowPage(page.client)
        slow.run(f"%%chat -m practice:fast\nUse &`wipe` with {times}.")

        assert slow.outputs == 1
        (shown,) = {display_id: data for display_id, data in slow.shown.items() if "text/html" in data}.values()
        assert "wipe" in shown["text/plain"]
