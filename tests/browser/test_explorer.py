"""The history explorer in a real page, over a thousand recorded turns."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Literal

import nbformat
import pytest
from playwright.sync_api import Locator, expect

from nbtool.blocks.history.saved_history import HISTORY_LIMIT, HISTORY_MIME
from tests.browser.axe import find_violations
from tests.browser.lab import Lab, Notebook, screenshot
from tests.browser.test_saved import NO_KERNEL

WIDGET_MIME = "application/vnd.jupyter.widget-view+json"
TURNS = 1_000
MOST_NODES = 900
"""Elements that the explorer may have in the page, whatever is opened of it."""

ACTIVE = "() => window.jupyterapp.shell.currentWidget.content.activeCellIndex"
HISTORY_MODULE = re.compile(r"/nbtool-chat/static/history\.")
"""The address of the module that draws saved conversations."""

MAKE = (Path(__file__).parents[1] / "history_of_many.py").read_text(encoding="utf-8")
GROW = f"""
%load_ext nbtool
chat = get_ipython().magics_manager.registry["ChatMagics"].kernel_chats.chat("main")
grow(chat.tree, {TURNS})
print("grown")
"""


def explorer(lab: Lab) -> tuple[Notebook, Locator]:
    """Open the explorer of a thousand turns; its cell is the last one."""
    notebook = lab.open_cells(MAKE, GROW, "%chat explore", kernel="python3")
    notebook.run_cell(0)
    notebook.run_cell(1)
    notebook.wait_output(1, "grown")
    notebook.run_cell(2)
    found = notebook.output(2).locator(".nb-explorer")
    expect(found.get_by_role("article", name="Turn")).to_be_visible(timeout=30_000)
    return notebook, found


def rows(found: Locator) -> Locator:
    return found.get_by_role("treeitem")


def nodes(found: Locator) -> int:
    return int(found.evaluate("el => el.querySelectorAll('*').length"))


def search_and_open(notebook: Notebook, found: Locator) -> None:
    """Search for what one turn says, and open it by Enter."""
    found.get_by_role("searchbox").fill("answer to question 777")
    expect(rows(found)).to_have_count(1)
    expect(found).to_contain_text("1 of 861 turns")
    expect(found.get_by_role("tabpanel")).to_contain_text("One turn matches, and the turn that was open does not.")
    expect(rows(found)).to_contain_text(re.compile("Question 777: please find.*reply: .*answer to question 777"))
    found.get_by_role("searchbox").press("Enter")
    pane = found.get_by_role("article", name="Turn")
    expect(pane).to_contain_text("Question 777: please find")
    marked = "() => [...CSS.highlights.get('nb-x-words')].map(range => range.toString().toLowerCase())"
    assert {"answer", "question", "777"} <= set(notebook.page.evaluate(marked))
    expect(found.get_by_role("searchbox")).to_be_focused()


def test_a_thousand_turns_are_scrolled_searched_opened_compared_and_replayed(lab: Lab) -> None:
    notebook, found = explorer(lab)
    expect(found).to_contain_text("861 turns, 139 other versions")
    assert rows(found).count() < 60
    assert nodes(found) < MOST_NODES

    tree = found.get_by_role("tree")
    for part in (0.0, 0.25, 0.5, 0.75):
        tree.evaluate("(el, part) => { el.scrollTop = el.scrollHeight * part; }", part)
        expect(rows(found).first).to_be_visible()
    tree.evaluate("el => { el.scrollTop = 0; }")
    expect(rows(found).first).to_contain_text("Question 0:")
    assert rows(found).count() < 60

    search_and_open(notebook, found)
    pane = found.get_by_role("article", name="Turn")
    expect(pane.get_by_role("img", name=re.compile("^Waiting time: Model .* You .* Tools "))).to_be_visible()

    call = pane.locator("details.nb-call").last
    call.locator("summary").first.click()
    expect(call).to_contain_text("DataFrame, 120 rows by 3 columns")
    expect(call).to_contain_text("The call was approved")
    expect(call).to_contain_text("onerror")
    assert notebook.page.evaluate("() => window.hacked") is None

    slider = found.get_by_role("slider")
    slider.focus()
    notebook.page.keyboard.press("Home")
    expect(found).to_contain_text("Before the first of")
    expect(pane.locator("details.nb-call")).to_have_count(0)
    for _ in range(5):
        notebook.page.keyboard.press("ArrowRight")
    expect(found).to_contain_text("Step 5 of")
    notebook.page.keyboard.press("End")
    expect(pane.locator("details.nb-call")).to_have_count(2)
    assert nodes(found) < MOST_NODES
    assert notebook.errors == []


def test_two_turns_are_compared_and_what_acts_is_a_cell_below_that_has_not_run(lab: Lab) -> None:
    notebook, found = explorer(lab)
    found.get_by_role("searchbox").fill("turn_00000000000000000006")
    expect(rows(found).first).to_contain_text("Question 6:")
    rows(found).first.click()
    found.get_by_role("article", name="Turn").get_by_role("button", name="Compare with…").click()
    found.get_by_role("button", name="version 1").click()
    comparison = found.get_by_role("article", name="Comparison")
    expect(comparison).to_contain_text("Two versions of turn 6.")
    expect(comparison).to_contain_text("Prompt: different")
    expect(comparison.locator("del").first).to_be_visible()
    expect(comparison.locator("ins").first).to_be_visible()

    found.get_by_role("tab", name="Totals").click()
    expect(found.get_by_role("rowheader", name="price")).to_be_visible()
    expect(found.get_by_role("article", name="Totals")).to_contain_text("2,000 calls")

    found.get_by_role("tab", name="Turn").click()
    found.get_by_role("button", name="Rerun").click()
    said = found.get_by_role("status").filter(has_text="Added as a new cell below")
    expect(said).to_be_in_viewport()
    expect(notebook.cell(3)).to_be_in_viewport()
    assert notebook.page.evaluate(ACTIVE) == 3
    assert re.fullmatch(r"%%chat --rerun turn_0{8}", notebook.source(3))
    expect(notebook.cell(3).locator(".jp-InputPrompt")).to_have_text("[ ]:")
    screenshot(notebook.page, "explorer-inserted")

    notebook.write_cell(3, "1 + 1")
    notebook.run_cell(3)
    expect(said).to_have_count(0)
    assert notebook.errors == []


@pytest.mark.journey
def test_the_tree_is_walked_by_keys_and_a_saved_notebook_can_be_read(lab: Lab) -> None:
    notebook, found = explorer(lab)
    tree = found.get_by_role("tree")
    tree.focus()
    notebook.page.keyboard.press("Home")
    expect(found.get_by_role("article", name="Turn")).to_contain_text("Question 0: please")
    notebook.page.keyboard.press("ArrowDown")
    expect(found.get_by_role("article", name="Turn")).to_contain_text("Question 1: please")
    notebook.page.keyboard.press("End")
    expect(found.get_by_role("article", name="Turn")).to_contain_text("Question 999: please")

    saved = notebook.save()
    stored = "".join(saved.cells[2].outputs[-1].data["text/html"])
    assert "--><details" in stored
    assert "Question 999" in stored
    assert "<script" not in stored
    assert "<img" not in stored
    assert len(stored.encode()) < 200_000
    assert notebook.errors == []


@pytest.mark.shots
@pytest.mark.parametrize("theme", ["light", "dark"])
def test_the_explorer_can_be_seen(lab: Lab, theme: Literal["light", "dark"]) -> None:
    lab.set_theme(theme)
    notebook, found = explorer(lab)
    rows(found).last.scroll_into_view_if_needed()
    pane = found.get_by_role("article", name="Turn")
    screenshot(found, f"explorer-turn-{theme}")
    pane.locator("details.nb-call").first.locator("summary").first.click()
    found.get_by_role("button", name="To code").first.click()
    screenshot(found, f"explorer-call-{theme}")
    found.get_by_role("button", name="Close").click()
    found.get_by_role("searchbox").fill("answer to question 77")
    expect(found.get_by_role("tabpanel")).to_contain_text("turns match, and the turn that was open does not.")
    screenshot(found, f"explorer-excluded-{theme}")
    found.get_by_role("searchbox").press("Enter")
    found.get_by_role("searchbox").press("ArrowDown")
    expect(pane).to_contain_text("This is the answer to question")
    screenshot(found, f"explorer-found-{theme}")
    found.get_by_role("searchbox").fill("turn_00000000000000000006")
    expect(rows(found).first).to_contain_text("Question 6:")
    rows(found).first.click()
    pane.get_by_role("button", name="Compare with…").click()
    found.get_by_role("button", name="version 1").click()
    expect(found.locator("ins").first).to_be_visible()
    screenshot(found, f"explorer-compare-{theme}")
    found.get_by_role("tab", name="Totals").click()
    expect(found.get_by_role("rowheader", name="price")).to_be_visible()
    screenshot(found, f"explorer-totals-{theme}")
    found.get_by_role("searchbox").fill("")
    page = notebook.page
    page.set_viewport_size({"width": 700, "height": 1000})
    found.get_by_role("tab", name="Turn").click()
    screenshot(found, f"explorer-narrow-{theme}")
    page.set_viewport_size({"width": 1200, "height": 900})
    assert notebook.errors == []


@pytest.mark.nightly
@pytest.mark.parametrize("theme", ["light", "dark"])
def test_no_view_of_the_explorer_keeps_anybody_out(lab: Lab, theme: Literal["light", "dark"]) -> None:
    lab.set_theme(theme)
    notebook, found = explorer(lab)
    page, broken = notebook.page, {}
    found.get_by_role("searchbox").fill("answer to question 77")
    expect(found.get_by_role("tabpanel")).to_contain_text("turns match")
    broken["excluded"] = find_violations(page, ".nb-explorer")
    found.get_by_role("searchbox").press("Enter")
    expect(found.get_by_role("article", name="Turn")).to_contain_text("This is the answer to question")
    for call in found.get_by_role("article", name="Turn").locator("details.nb-call").all():
        call.locator("summary").first.click()
    expect(found.locator(".nb-x-pane .nb-section").first).to_be_visible()
    broken["turn"] = find_violations(page, ".nb-explorer")
    found.get_by_role("button", name="Compare with…").click()
    found.get_by_role("treeitem").first.click()
    broken["compare"] = find_violations(page, ".nb-explorer")
    found.get_by_role("tab", name="Totals").click()
    expect(found.get_by_role("rowheader", name="price")).to_be_visible()
    broken["totals"] = find_violations(page, ".nb-explorer")

    assert {name: rules for name, rules in broken.items() if rules} == {}
    assert notebook.errors == []


@pytest.mark.parametrize("has_kernel", [False, True])
def test_a_reopened_explorer_shows_what_the_notebook_has(lab: Lab, has_kernel: bool) -> None:
    notebook, found = explorer(lab)
    expect(notebook.output(2).locator(".nb-explorer")).to_have_count(1)
    expect(found.get_by_role("button", name="Refresh")).to_be_visible()
    saved = notebook.save()
    data = saved.cells[2].outputs[0].data
    assert set(data) == {HISTORY_MIME, WIDGET_MIME, "text/plain"}
    assert len(json.dumps(data[HISTORY_MIME], ensure_ascii=False).encode()) < 1.1 * HISTORY_LIMIT
    notebook.close()
    lab.server.shut_down_kernels()
    if not has_kernel:
        saved.metadata = nbformat.from_dict({})
        lab.server.put(notebook.name, saved, kernel=NO_KERNEL)

    again = Notebook(lab.context.new_page(), lab.server, notebook.name, "lab")
    requests: list[str] = []
    again.page.on("request", lambda request: requests.append(request.url))
    if has_kernel:
        again.open()
    else:
        again.open_without_kernel()

    found = again.output(2).locator(".nb-explorer")
    expect(found).to_have_count(1)
    expect(found).to_contain_text("saved with the notebook")
    expect(found.get_by_role("article", name="Turn")).to_contain_text("Question 999: please")
    expect(found.get_by_role("article", name="Turn")).to_contain_text("turn 807 · ")
    expect(again.output(2).get_by_text("Error displaying widget")).not_to_be_visible()
    expect(again.output(2).get_by_text("Loading widget")).not_to_be_visible()
    screenshot(found, f"explorer-saved-{has_kernel}")
    found.get_by_role("searchbox").fill("answer to question 990")
    expect(rows(found)).to_have_count(1)
    found.get_by_role("tab", name="Totals").click()
    expect(found.get_by_role("article", name="Totals")).to_contain_text("spent")
    assert again.page.evaluate("() => window.hacked") is None
    assert [url for url in requests if HISTORY_MODULE.search(url)]
    assert [url for url in requests if not url.startswith((lab.server.url, "blob:", "data:"))] == []
    assert again.errors == []
