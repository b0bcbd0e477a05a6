"""A chat with tools in a real page, as its people have it."""

from __future__ import annotations

import pytest
from playwright.sync_api import Locator, expect

from nbtool.blocks.render.mimebundle import TURN_MIME
from tests.browser.lab import Front, Lab, Notebook, older_kernel_nightly, screenshot

SETUP = """
%load_ext nbtool
import pandas as pd
from nbtool import tool

prices = pd.DataFrame({"ticker": ["AAA", "BBB", "CCC"], "close": [10.5, 7.25, 99.0], "note": ["SENTINEL"] * 3})
seen = []

@tool(run="auto")
def tickers() -> int:
    "How many tickers there are."
    print("printed by tickers")
    return 3

@tool
def cheapest(df: pd.DataFrame) -> str:
    "The cheapest ticker of a frame of prices."
    seen.append(df)
    return df.loc[df["close"].idxmin(), "ticker"]
"""
ASK = "%%chat -m practice:fast -o answer\nUse &`tickers` and &`cheapest` on $`prices`."
CHECK = "print('same object:', seen[0] is prices, '|', answer.status, '|', [c.status for c in answer.calls])"
SLOW = "%%chat -m practice:default -o answer\nHello, who are you, and what can you do for me here?"


def chat(lab: Lab, kernel: str, *cells: str, front: Front = "lab") -> Notebook:
    notebook = lab.open_cells(SETUP, *cells, kernel=kernel, front=front)
    notebook.run_cell(0)
    notebook.wait_output(0, "nbtool: ")
    return notebook


def card(notebook: Notebook, index: int) -> Locator:
    """Wait for the question under a running cell."""
    question = notebook.output(index).get_by_role("button", name="Approve")
    expect(question).to_be_enabled(timeout=30_000)
    return notebook.output(index)


@pytest.mark.journey
@pytest.mark.sampled(1)
def test_an_approval_is_clicked_while_its_cell_is_running(lab: Lab, kernel: str) -> None:
    notebook = chat(lab, kernel, ASK, CHECK)

    notebook.start_cell(1)
    waiting = card(notebook, 1)
    assert notebook.is_running(1)
    waiting.get_by_role("button", name="Approve").click()
    notebook.wait_ended(1)

    notebook.wait_output(1, "BBB")
    notebook.wait_output(1, "waiting for you)")
    notebook.run_cell(2)
    notebook.wait_output(2, "same object: True | completed | ['ok', 'ok']")
    assert notebook.errors == []


@pytest.mark.journey
def test_notebook_7_handles_the_click_too(lab: Lab) -> None:
    notebook = chat(lab, "python3", ASK, CHECK, front="notebook")

    notebook.start_cell(1)
    card(notebook, 1).get_by_role("button", name="Approve").click()
    notebook.wait_ended(1)

    notebook.run_cell(2)
    notebook.wait_output(2, "same object: True")


@pytest.mark.journey
@older_kernel_nightly
def test_a_denied_call_does_not_run_and_its_reason_is_reported(lab: Lab, kernel: str) -> None:
    notebook = chat(lab, kernel, ASK, "print(len(seen), answer.calls[1].status, answer.calls[1].reason)")

    notebook.start_cell(1)
    waiting = card(notebook, 1)
    waiting.get_by_label("Reason").fill("not today")
    waiting.get_by_role("button", name="Deny").click()
    notebook.wait_ended(1)

    notebook.run_cell(2)
    notebook.wait_output(2, "0 denied not today")


@pytest.mark.journey
@pytest.mark.sampled(1)
def test_the_stop_button_keeps_what_came(lab: Lab, kernel: str) -> None:
    notebook = chat(lab, kernel, SLOW, "print(answer.status, len(answer.text) > 0)")

    notebook.start_cell(1)
    notebook.wait_output(1, "embedded practice")
    notebook.output(1).get_by_role("button", name="Stop").click()
    notebook.wait_ended(1)

    notebook.wait_output(1, "topped")
    notebook.run_cell(2)
    notebook.wait_output(2, "cancelled True")


@pytest.mark.journey
@pytest.mark.sampled(1)
def test_the_kernels_interrupt_stops_a_turn_and_the_next_one_works(lab: Lab, kernel: str) -> None:
    notebook = chat(lab, kernel, SLOW, "%%chat -m practice:fast -o after\nHello")

    notebook.start_cell(1)
    notebook.wait_output(1, "embedded practice")
    notebook.interrupt()
    notebook.wait_ended(1)

    notebook.wait_output(1, "topped")
    notebook.run_cell(2)
    notebook.wait_output(2, "embedded practice")


@pytest.mark.journey
@older_kernel_nightly
def test_a_cell_that_is_run_again_makes_a_new_version(lab: Lab, kernel: str) -> None:
    notebook = chat(lab, kernel, "%%chat -m practice:fast\nHello", "%chat history")

    notebook.run_cell(1)
    notebook.run_cell(1)

    notebook.run_cell(2)
    notebook.wait_output(2, "version 2 of 2")


def sources(notebook: Notebook) -> list[str]:
    script = "() => window.jupyterapp.shell.currentWidget.content.widgets.map((cell) => cell.model.sharedModel.source)"
    return [str(source) for source in notebook.page.evaluate(script)]


def test_a_turn_that_waits_offers_no_repetition_and_a_finished_one_a_cell_below_with_alt(lab: Lab) -> None:
    notebook = chat(lab, "python3", ASK, CHECK)
    notebook.start_cell(1)
    waiting = card(notebook, 1)

    for name in ("Rerun", "Edit prompt", "To code", "Explore"):
        expect(waiting.get_by_role("button", name=name)).to_have_count(0)
    waiting.get_by_role("button", name="Approve").click()
    notebook.wait_ended(1)
    waiting.get_by_role("button", name="Edit prompt").click(modifiers=["Alt"])
    expect(waiting.get_by_text("Review, then run it")).to_be_visible()

    edited = sources(notebook)[2]
    assert edited.startswith("%%chat --edit ")
    assert "Use " in edited.split("\n", 1)[1]
    assert notebook.cell(2).locator(".jp-InputPrompt").inner_text().strip() == "[ ]:"
    notebook.run_cell(3)
    notebook.wait_output(3, "same object: True")
    notebook.start_cell(1)
    again = card(notebook, 1)
    expect(again.get_by_text("2/2")).to_be_visible()
    expect(again.get_by_role("button", name="Previous version")).to_have_count(0)
    again.get_by_role("button", name="Deny").click()
    notebook.wait_ended(1)
    assert notebook.errors == []


@pytest.mark.journey
def test_a_conversation_is_read_as_one_and_what_is_sent_there_runs_in_a_cell_below(lab: Lab) -> None:
    hello = "%%chat -m practice:fast\nHello"
    notebook = chat(lab, "python3", hello, hello.replace("Hello", "Hello again"), "%chat show")
    for index in (1, 2, 3):
        notebook.run_cell(index)
    view = notebook.output(3).locator(".nb-conversation")
    expect(view.get_by_role("article")).to_have_count(2, timeout=30_000)
    expect(view.get_by_role("article").last).to_contain_text("embedded practice")
    screenshot(notebook.page, "conversation")

    box = view.get_by_label("Continue the chat")
    box.fill("And what else?")
    box.press("Shift+Enter")
    box.press_sequentially("Please.")
    assert len(sources(notebook)) == 4
    box.press("Enter")

    notebook.wait_output(4, "embedded practice")
    notebook.wait_ended(4)
    assert sources(notebook)[4] == "%%chat\nAnd what else?\nPlease."
    box.fill("Later.")
    box.press("Alt+Enter")
    expect(view.get_by_text("Review, then run it")).to_be_visible()
    assert notebook.cell(4).locator(".jp-InputPrompt").inner_text().strip() == "[ ]:"
    view.get_by_role("button", name="Refresh").click()
    expect(view.get_by_role("article")).to_have_count(3)
    assert notebook.errors == []


def test_a_reopened_conversation_shows_what_the_notebook_has(lab: Lab) -> None:
    notebook = chat(lab, "python3", "%%chat -m practice:fast\nHello", "%chat show")
    notebook.run_cell(1)
    notebook.run_cell(2)
    expect(notebook.output(2).get_by_label("Continue the chat")).to_be_visible()
    expect(notebook.output(2).locator(".nb-conversation")).to_have_count(1)
    notebook.save()
    notebook.close()
    lab.server.shut_down_kernels()

    again = lab.open_notebook(notebook.name)

    view = again.output(2).locator(".nb-conversation")
    expect(view).to_have_count(1)
    expect(view).to_contain_text("saved with the notebook")
    expect(view.get_by_role("article")).to_contain_text("embedded practice model")
    expect(view.get_by_role("textbox")).to_have_count(0)
    expect(again.output(2).get_by_text("Error displaying widget")).not_to_be_visible()
    screenshot(view, "conversation-saved")
    assert again.errors == []


@pytest.mark.journey
@older_kernel_nightly
def test_a_saved_turn_reads_without_a_kernel_and_pretends_nothing(lab: Lab, kernel: str) -> None:
    notebook = chat(lab, kernel, ASK)
    notebook.start_cell(1)
    card(notebook, 1).get_by_role("button", name="Approve").click()
    notebook.wait_ended(1)
    notebook.wait_output(1, "BBB")

    saved = notebook.save()
    notebook.close()
    lab.server.shut_down_kernels()
    again = lab.open_notebook(notebook.name)

    again.wait_output(1, "BBB")
    for name in ("Approve", "Stop"):
        expect(again.output(1).get_by_role("button", name=name)).to_have_count(0)
    (data,) = (output.data for output in saved.cells[1].outputs if output.output_type == "display_data")
    assert set(data) == {TURN_MIME, "text/html", "text/plain"}
    assert "BBB" in data["text/plain"]
    assert "widget" not in str(saved.metadata)


@pytest.mark.shots
@pytest.mark.parametrize("theme", ["light", "dark"])
def test_each_state_of_a_turn_can_be_seen(lab: Lab, theme: str) -> None:
    lab.set_theme(theme)  # type: ignore[arg-type]  # one of its two words
    notebook = chat(lab, "python3", ASK, SLOW)

    notebook.start_cell(1)
    waiting = card(notebook, 1)
    screenshot(notebook.page, f"waiting-{theme}")
    waiting.get_by_role("button", name="Approve").click()
    notebook.wait_ended(1)
    notebook.wait_output(1, "BBB")
    screenshot(notebook.page, f"finished-{theme}")
    notebook.start_cell(2)
    notebook.wait_output(2, "embedded practice")
    notebook.output(2).scroll_into_view_if_needed()
    screenshot(notebook.page, f"streaming-{theme}")
    notebook.interrupt()
    notebook.wait_ended(2)
    notebook.output(2).scroll_into_view_if_needed()
    screenshot(notebook.page, f"stopped-{theme}")
    notebook.save()
    notebook.close()
    lab.server.shut_down_kernels()
    again = lab.open_notebook(notebook.name)
    again.wait_output(1, "BBB")
    screenshot(again.page, f"reopened-{theme}")
    assert again.errors == []
