"""A page's messages over the kernel's control channel, to real kernels of the 7.x and the 6.x line."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest

from nbtool.view.message_fields import REASON_LIMIT
from tests.compat.page import Page, open_page
from tests.compat.test_kernels import EXPECTED, SETUP, STATUS, USE

ROOT = Path(__file__).parents[2]
PYTHONS = {"newest": Path(sys.executable), "ipykernel6": ROOT / ".venv-ipykernel6" / "bin" / "python"}
STOP_SECONDS = 5.0
"""How long a stop may take to end its cell on a busy machine; the tool would run for a minute."""

BLOCKING = """
import time
from nbtool import Chat, tool
from nbtool.testing import ScriptedWire, call
@tool(run="auto")
def block() -> str:
    "Occupy the thread of the notebook."
    print("occupied")
    for _ in range(1_200):
        time.sleep(0.05)
    return "done"
chat = Chat(wire=ScriptedWire([call("block"), "Done."]), tools=[block])
"""
BLOCK = "%%chat -c chat -o answer\nGo."
ENDED = "print(answer.status, answer.calls[0].status)"
HAS_HANDLER = "print('nbtool_message' in get_ipython().kernel.control_handlers)"


@pytest.fixture(params=list(PYTHONS))
def kernel(request: pytest.FixtureRequest) -> dict[str, Any]:
    """Give how to start the newest ipykernel, and one of the 6.x line, both with the nbtool of this folder."""
    path = PYTHONS[request.param]
    if not path.exists():
        pytest.fail(f"There is no {path}: `make build/.old` installs it.", pytrace=False)
    return {"python": str(path), "overlay": ROOT}


@pytest.mark.sampled(1)
def test_a_front_end_that_holds_back_its_comms_clicks_while_the_cell_runs(kernel: dict[str, Any]) -> None:
    with open_page(**kernel, holds_back=True, ways=("comm", "control")) as page:
        page.run(SETUP)
        page.run(USE, click="approve")

        assert page.during == 1
        assert set(page.replies) == {"ok"}
        assert page.run(EXPECTED).endswith(" [21] ok button\n")


@pytest.mark.sampled(1)
def test_a_stop_arrives_while_a_synchronous_tool_occupies_the_thread_of_the_notebook(
    kernel: dict[str, Any], record_property: Any
) -> None:
    with open_page(**kernel, ways=("control",), stop_at="occupied") as page:
        page.run("%load_ext nbtool")
        page.run(BLOCKING)
        page.run(BLOCK)

        record_property("seconds", page.stopped_in)
        assert 0 < page.stopped_in < STOP_SECONDS
        assert page.run(ENDED) == "cancelled cancelled\n"


@pytest.mark.sampled(0)
def test_a_click_that_arrives_over_both_ways_counts_once(kernel: dict[str, Any]) -> None:
    with open_page(**kernel, ways=("control", "comm")) as page:
        page.run(SETUP)
        page.run(USE, click="approve")

        assert page.during == 1
        assert page.run(EXPECTED).endswith(" [21] ok button\n")
        assert page.run("print(len(answer.calls[0].decisions))") == "1\n"


@pytest.mark.sampled(0)
def test_the_kernel_stays_busy_for_the_page_while_its_cell_runs(kernel: dict[str, Any]) -> None:
    with open_page(**kernel, ways=("control",)) as page:
        page.run(SETUP)
        page.states.clear()
        page.run(USE, click="approve")

        replied = page.states.index(("nbtool_message", "idle"))
        assert page.states[replied + 1] == ("execute_request", "busy")
        assert page.states[-1] == ("execute_request", "idle")


@pytest.mark.sampled(0)
def test_what_stays_of_a_turn_is_taken_over_the_control_channel_after_the_cell(kernel: dict[str, Any]) -> None:
    with open_page(**kernel, ways=("control",)) as page:
        page.run(SETUP)
        page.run(USE, click="approve")
        page.wait_closed(page.comm_id)
        page.say("ping")

        assert page.replies[-1] == "error"


@pytest.mark.sampled(1)
@pytest.mark.parametrize("way", ["comm", "control"])
@pytest.mark.parametrize(
    "wrong",
    [{"nonce": "guessed"}, {"turn": "another"}, {"id": "x" * 65}, {"digest": "another"}, {"more": "1"}],
    ids=lambda wrong: next(iter(wrong)),
)
def test_neither_way_takes_a_click_that_the_other_refuses(way: Any, wrong: dict[str, str]) -> None:
    with open_page(ways=(way,)) as page:
        assert_denied(page, {"kind": "approve"} | wrong)


@pytest.mark.sampled(0)
@pytest.mark.parametrize("way", ["comm", "control"])
def test_neither_way_takes_a_reason_beyond_its_bound(way: Any) -> None:
    with open_page(ways=(way,)) as page:
        assert_denied(page, {"kind": "deny", "reason": "x" * (REASON_LIMIT + 1)})

        assert page.run("print(answer.calls[0].decisions[0])").count("x") < REASON_LIMIT


def assert_denied(page: Page, wrong: dict[str, str]) -> None:
    """The wrong message changes nothing: the denial that follows it is the first decision."""
    page.run(SETUP)
    page.wrong = wrong
    page.run(USE, click="deny")

    assert page.during == 1
    assert page.run(STATUS) == "[] completed denied\n"
    assert page.run("print(len(answer.calls[0].decisions))") == "1\n"


@pytest.mark.sampled(1)
def test_the_extension_leaves_no_handler(kernel: dict[str, Any]) -> None:
    with open_page(**kernel, ways=("control",)) as page:
        page.run(SETUP)
        assert page.run(HAS_HANDLER) == "False\n"
        page.run(USE, click="approve")

        assert page.run(HAS_HANDLER) == "True\n"
        page.run("%unload_ext nbtool")
        assert page.run(HAS_HANDLER) == "False\n"
