"""A turn that outlives its cell, in a real page: the cell ends, others run, and a click goes on with it."""

from __future__ import annotations

import pytest
from playwright.sync_api import Locator, expect

from tests.browser.lab import Lab, Notebook, older_kernel_nightly, screenshot

SETUP = """
%load_ext nbtool
import threading
from nbtool import tool

threads = []

@tool
def pay(amount: int) -> str:
    "Pay an amount."
    threads.append(threading.current_thread() is threading.main_thread())
    print("printed by pay")
    return f"paid {amount}"
"""
ASK = "%%chat -m practice:fast --approve park -o answer\nUse &`pay` with 21."
CHECK = "print('status:', answer.status, '|', threads, '|', [c.status for c in answer.calls])"
BUSY = "import time\nprint('begun')\nwhile not threads: time.sleep(0.01)\nprint('saw the call')"


def park(lab: Lab, kernel: str, *cells: str, setup: str = SETUP, ask: str = ASK) -> Notebook:
    """Open a notebook and let its second cell park a turn."""
    notebook = lab.open_cells(setup, ask, *cells, kernel=kernel)
    notebook.run_cell(0)
    notebook.wait_output(0, "nbtool: ")
    notebook.run_cell(1)
    notebook.wait_output(1, "Waiting for you; other cells can run.")
    return notebook


def card(notebook: Notebook) -> Locator:
    """Wait for the live card under the cell that has ended."""
    approve = notebook.output(1).get_by_role("button", name="Approve")
    expect(approve).to_be_enabled(timeout=30_000)
    return notebook.output(1)


@pytest.mark.journey
@pytest.mark.sampled(1)
def test_a_parked_cell_ends_others_run_and_a_click_goes_on_with_it(lab: Lab, kernel: str) -> None:
    notebook = park(lab, kernel, CHECK, CHECK)

    waiting = card(notebook)
    assert not notebook.is_running(1)
    notebook.run_cell(2)
    notebook.wait_output(2, "status: parked | [] | ['waiting']")
    waiting.get_by_role("button", name="Approve").click()

    notebook.wait_output(1, "gives paid 21")
    notebook.run_cell(3)
    notebook.wait_output(3, "status: completed | [False] | ['ok']")
    assert "printed by pay" not in notebook.output(2).inner_text() + notebook.output(3).inner_text()
    assert notebook.errors == []


@older_kernel_nightly
def test_the_notebook_of_a_turn_that_was_parked_is_saved_static(lab: Lab, kernel: str) -> None:
    notebook = park(lab, kernel)
    card(notebook).get_by_role("button", name="Approve").click()
    expect(notebook.output(1).get_by_role("button", name="Rerun")).to_have_count(1, timeout=30_000)

    saved = notebook.save()
    notebook.close()
    lab.server.shut_down_kernels()
    again = lab.open_notebook(notebook.name)

    shown = [output.data for output in saved.cells[1].outputs if output.output_type == "display_data"]
    turn, note = (set(data) for data in shown)
    assert turn >= note == {"text/html", "text/plain"}
    assert "paid 21" in shown[0]["text/plain"]
    assert "widget" not in str(saved.metadata)
    again.wait_output(1, "paid 21")
    for word in ("Approve", "Deny", "Stop"):
        expect(again.output(1).get_by_role("button", name=word)).to_have_count(0)


def test_a_click_is_handled_while_another_cell_is_running(lab: Lab) -> None:
    notebook = park(lab, "python3", BUSY)
    waiting = card(notebook)

    notebook.start_cell(2)
    notebook.wait_output(2, "begun")
    waiting.get_by_role("button", name="Approve").click()
    notebook.wait_ended(2)

    notebook.wait_output(2, "saw the call")
    expect(notebook.output(1).get_by_role("button", name="Rerun")).to_have_count(1, timeout=30_000)


@pytest.mark.journey
@older_kernel_nightly
def test_a_page_that_is_reloaded_still_has_the_card_and_shows_the_end(lab: Lab, kernel: str) -> None:
    notebook = park(lab, kernel, CHECK)
    card(notebook)
    notebook.save()
    notebook.close()

    again = lab.open_notebook(notebook.name)
    card(again).get_by_role("button", name="Approve").click()

    again.wait_output(1, "gives paid 21")
    expect(again.output(1).get_by_role("button", name="Approve")).to_have_count(0)
    again.run_cell(2)
    again.wait_output(2, "status: completed")


@older_kernel_nightly
def test_after_a_restart_nothing_goes_on_and_the_output_says_so(lab: Lab, kernel: str) -> None:
    notebook = park(lab, kernel, "%load_ext nbtool\n%chat approvals", "print('pay' in globals())")
    card(notebook)

    notebook.restart()
    notebook.run_cell(2)

    notebook.wait_output(2, "No pending or remembered approvals")
    notebook.wait_output(1, "A restarted kernel does not continue it")
    notebook.run_cell(3)
    notebook.wait_output(3, "False")
    assert "paid" not in notebook.output(1).inner_text()


@pytest.mark.shots
@pytest.mark.parametrize("theme", ["light", "dark"])
def test_a_parked_turn_can_be_seen(lab: Lab, theme: str) -> None:
    lab.set_theme(theme)  # type: ignore[arg-type]  # one of its two words
    notebook = park(lab, "python3", CHECK)

    waiting = card(notebook)
    screenshot(notebook.page, f"parked-{theme}")
    waiting.get_by_role("button", name="Approve").click()
    expect(notebook.output(1).get_by_role("button", name="Rerun")).to_have_count(1, timeout=30_000)
    screenshot(notebook.page, f"parked-and-ended-{theme}")
    assert notebook.errors == []
