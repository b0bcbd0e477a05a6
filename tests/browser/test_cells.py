"""The cells of a notebook as tools, in real pages: what is shown, what is changed, what a person types meanwhile."""

from __future__ import annotations

import json
import re
from typing import Any, Literal

import pytest
from playwright.sync_api import Locator, expect

from tests.browser.lab import (
    NUMBERED,
    PANEL,
    PICTURED_THEMES,
    Front,
    Lab,
    Notebook,
    notebook_7_nightly,
    older_kernel_nightly,
    screenshot,
)
from tests.browser.test_finished_calls import open_call

SETUP = """
%load_ext nbtool
from nbtool import Chat
from nbtool.testing import ScriptedWire, call

def script(*steps):
    global agent
    agent = Chat(wire=ScriptedWire([*(call(name, **arguments) for name, arguments in steps), "Done."]))
"""
ASK = "%%chat -c agent -t nbtool:notebook -o answer\nDo it."
CHECK = "print([(one.name, one.status, one.shown) for one in answer.calls])"
SOURCE = "x = 1\ny = 2"
OWN, TARGET, CHAT, LAST = 0, 1, 2, 3


def open_cells(
    lab: Lab,
    *steps: tuple[str, dict[str, Any]],
    front: Front = "lab",
    target: str = SOURCE,
    kernel: str = "python3",
) -> Notebook:
    """Open a notebook with a model that makes these calls; `TARGET` stands for the id of its cell."""
    notebook = lab.open_cells(SETUP, target, ASK, CHECK, kernel=kernel, name=f"cells-{front}.ipynb", front=front)
    notebook.run_cell(OWN)
    write_script(notebook, *steps)
    return notebook


def write_script(notebook: Notebook, *steps: tuple[str, dict[str, Any]]) -> None:
    ids = {"TARGET": cell_id(notebook, TARGET), "CHAT": cell_id(notebook, CHAT), "OWN": cell_id(notebook, OWN)}
    filled = [(name, {key: ids.get(value, value) for key, value in arguments.items()}) for name, arguments in steps]
    notebook.write_cell(OWN, SETUP + f"\nscript(*{filled!r})")
    notebook.run_cell(OWN)


def cell_id(notebook: Notebook, index: int) -> str:
    return str(notebook.page.evaluate(f"at => {PANEL}.content.widgets[at].model.id", index))


def sources(notebook: Notebook) -> list[str]:
    return [notebook.source(index) for index in range(notebook.cell_count())]


def chat_cell(notebook: Notebook) -> Locator:
    """Find the chat's cell, wherever it is."""
    return notebook.page.locator(".jp-Notebook .jp-Cell", has_text=ASK.splitlines()[0])


def chat_output(notebook: Notebook) -> Locator:
    """Find what is under the chat's cell."""
    return chat_cell(notebook).locator(".jp-Cell-outputWrapper")


def wait_card(notebook: Notebook, text: str = "") -> Locator:
    """Wait for a question under the chat's cell that can be answered, and return its output."""
    output = chat_output(notebook)
    if text:
        expect(output).to_contain_text(text)
    expect(output.get_by_role("button", name="Approve").first).to_be_enabled(timeout=30_000)
    return output


def approve(notebook: Notebook, text: str = "") -> None:
    wait_card(notebook, text).get_by_role("button", name="Approve").first.click()


def wait_done(notebook: Notebook) -> None:
    """Wait until the chat's cell has got its number; a card may contain the last words of the model before."""
    expect(chat_cell(notebook).locator(".jp-InputPrompt")).to_have_text(NUMBERED, timeout=30_000)
    expect(chat_output(notebook)).to_contain_text("Done.")


@pytest.mark.journey
@pytest.mark.sampled(1)
@pytest.mark.parametrize("front", ["lab", "notebook"])
def test_an_edit_is_shown_as_a_diff_and_made_after_the_click_and_can_be_undone_like_any_other(
    lab: Lab, front: Front
) -> None:
    notebook = open_cells(lab, ("edit_cell", {"cell": "TARGET", "old": "y = 2", "new": "y = 3"}), front=front)
    notebook.start_cell(CHAT)

    card = wait_card(notebook)
    expect(card.locator(".nb-removed", has_text="y = 2").first).to_be_visible()
    expect(card.locator(".nb-added", has_text="y = 3").first).to_be_visible()
    assert notebook.source(TARGET) == SOURCE
    screenshot(notebook.page, f"cells-edit-{front}")
    approve(notebook)
    wait_done(notebook)

    assert notebook.source(TARGET) == "x = 1\ny = 3"
    notebook.cell(TARGET).locator(".cm-content").click()
    notebook.page.keyboard.press("Control+z")
    expect(notebook.cell(TARGET).locator(".cm-content")).to_contain_text("y = 2")
    assert notebook.source(TARGET) == SOURCE
    assert not [error for error in notebook.errors if "nbtool" in error]


@pytest.mark.journey
@notebook_7_nightly
@pytest.mark.feature("let the model edit and run cells")
def test_a_cell_that_a_tool_runs_has_its_output_under_itself_and_its_names_in_the_kernel(
    lab: Lab, front: Front
) -> None:
    notebook = open_cells(
        lab, ("run_cell", {"cell": "TARGET"}), front=front, target="print('from the cell')\nvalue = 7\nvalue * 6"
    )
    notebook.start_cell(CHAT)

    approve(notebook, "print('from the cell')")
    wait_done(notebook)

    notebook.wait_output(TARGET, "from the cell")
    notebook.wait_output(TARGET, "42")
    assert "from the cell\n42" not in notebook.output(CHAT).inner_text()
    notebook.write_cell(LAST, "print('value is', value)")
    notebook.run_cell(LAST)
    notebook.wait_output(LAST, "value is 7")


@notebook_7_nightly
@pytest.mark.promise("shown-cells")
def test_a_cell_that_the_person_edits_meanwhile_is_asked_about_again_and_keeps_what_was_typed(
    lab: Lab, front: Front
) -> None:
    notebook = open_cells(lab, ("edit_cell", {"cell": "TARGET", "old": "y = 2", "new": "y = 3"}), front=front)
    notebook.start_cell(CHAT)
    wait_card(notebook)

    notebook.write_cell(TARGET, SOURCE + "\ntyped = True")
    approve(notebook)

    card = wait_card(notebook, "Asked again: it has changed since it was shown.")
    assert notebook.source(TARGET) == SOURCE + "\ntyped = True"
    screenshot(card, "cells-asked-again")
    approve(notebook)
    wait_done(notebook)
    assert notebook.source(TARGET) == "x = 1\ny = 3\ntyped = True"


def test_cells_are_read_changed_and_run_with_the_kernels_of_both_lines(lab: Lab, kernel: str) -> None:
    notebook = open_cells(
        lab,
        ("list_cells", {}),
        ("edit_cell", {"cell": "TARGET", "old": "y = 2", "new": "print('y is', x + 2)"}),
        ("run_cell", {"cell": "TARGET"}),
        kernel=kernel,
    )
    notebook.start_cell(CHAT)

    for tool in ("list_cells", "edit_cell", "run_cell"):
        approve(notebook, f"Run {tool}")
    wait_done(notebook)

    notebook.wait_output(TARGET, "y is 3")
    notebook.run_cell(LAST)
    notebook.wait_output(LAST, "('run_cell', 'ok'")


def test_a_change_that_is_denied_is_not_made(lab: Lab) -> None:
    notebook = open_cells(lab, ("delete_cell", {"cell": "TARGET"}))
    notebook.start_cell(CHAT)

    wait_card(notebook).get_by_role("button", name="Deny").click()
    wait_done(notebook)

    assert notebook.source(TARGET) == SOURCE


@notebook_7_nightly
def test_cells_are_inserted_moved_and_deleted_and_undo_takes_all_of_it_back(lab: Lab, front: Front) -> None:
    steps = (
        ("insert_cell", {"after": "TARGET", "source": "inserted = 1"}),
        ("move_cell", {"cell": "TARGET", "after": ""}),
        ("delete_cell", {"cell": "OWN"}),
    )
    notebook = open_cells(lab, *steps, front=front)
    before = sources(notebook)
    notebook.start_cell(CHAT)
    for title in ("Inserts a code cell", "Moves code cell", "Deletes code cell"):
        approve(notebook, title)
    wait_done(notebook)
    assert sources(notebook) == [SOURCE, "inserted = 1", ASK, CHECK]
    screenshot(notebook.page, "cells-changed")

    notebook.write_cell(LAST, "%chat -c agent undo")
    notebook.run_cell(LAST)
    notebook.page.wait_for_function(f"count => {PANEL}.content.widgets.length === count", arg=len(before))

    assert sources(notebook)[:LAST] == before[:LAST]
    turn = chat_output(notebook)
    expect(turn).to_contain_text("Undone: took back 1 inserted, 1 moved, 1 deleted cells.")
    expect(turn.get_by_role("button", name="Rerun")).to_be_visible()
    expect(turn.get_by_role("button", name="Undo")).to_have_count(0)
    expect(turn).not_to_contain_text("takes this back")


@pytest.mark.promise("undo-keeps-edits")
def test_undo_leaves_a_cell_that_the_person_has_edited_since(lab: Lab) -> None:
    notebook = open_cells(lab, ("edit_cell", {"cell": "TARGET", "old": "y = 2", "new": "y = 3"}))
    notebook.start_cell(CHAT)
    approve(notebook)
    wait_done(notebook)

    notebook.write_cell(TARGET, "mine = True")
    notebook.write_cell(LAST, "%chat -c agent undo")
    notebook.run_cell(LAST)

    notebook.wait_output(LAST, "is left as it is")
    assert notebook.source(TARGET) == "mine = True"


def test_reading_asks_once_a_chat_and_gives_outlines_and_parts(lab: Lab) -> None:
    notebook = open_cells(
        lab,
        ("list_cells", {}),
        ("read_cell", {"cell": "TARGET"}),
        ("read_cell", {"cell": "TARGET", "output": 1, "start": 3_990}),
        target="print('a' * 4_000)",
    )
    notebook.run_cell(TARGET)
    notebook.start_cell(CHAT)

    approve(notebook, "list_cells")
    wait_done(notebook)

    notebook.run_cell(LAST)
    said = notebook.output(LAST).inner_text()
    assert f"2. {cell_id(notebook, TARGET)} code [" in said
    assert "the cell of this chat" in said
    assert "[4,001 characters in all: read_cell with output=1]" in said
    assert "[from character 3,990]\\naaaaaaaaaa" in said


@notebook_7_nightly
def test_cells_of_the_page_are_context_also_those_that_never_ran(lab: Lab, front: Front) -> None:
    notebook = open_cells(lab, front=front, target="never_ran = 'xylophone'")
    notebook.write_cell(LAST, "%%chat --cells 1 --dry-run\nWhat is above?")
    notebook.run_cell(LAST)

    notebook.wait_output(LAST, "Sent with 1 cell from the page's notebook, about")
    notebook.wait_output(LAST, "never_ran = 'xylophone'")


@pytest.mark.parametrize("theme", PICTURED_THEMES)
@notebook_7_nightly
def test_the_cell_to_fix_is_that_of_the_page_as_it_ran_and_as_it_was_edited_since(
    lab: Lab, front: Front, theme: Literal["light", "dark"]
) -> None:
    lab.set_theme(theme)
    notebook = open_cells(lab, front=front, target="x + undefined_name")
    notebook.run_cell(TARGET)
    notebook.write_cell(TARGET, "x + defined_name")
    notebook.write_cell(CHAT, "%chat -c agent fix please")
    notebook.run_cell(CHAT)
    notebook.wait_output(CHAT, "Sent with 1 cell from the page's notebook, about")
    notebook.wait_output(CHAT, "Done.")
    screenshot(notebook.page, f"cells-fix-{front}-{theme}")

    notebook.write_cell(LAST, "print(agent.model.wire.prompts[0].messages[-1].text)")
    notebook.run_cell(LAST)
    said = notebook.output(LAST).inner_text()
    assert "x + undefined_name" in said
    assert "NameError" in said
    assert said.index("has not run as it is now") < said.index("x + defined_name")
    assert not [error for error in notebook.errors if "nbtool" in error]


@older_kernel_nightly
@pytest.mark.parametrize("theme", PICTURED_THEMES)
def test_the_cell_that_ran_last_is_explained_with_its_output(
    lab: Lab, kernel: str, theme: Literal["light", "dark"]
) -> None:
    lab.set_theme(theme)
    notebook = open_cells(lab, target="print('one'); 6 * 7", kernel=kernel)
    notebook.run_cell(TARGET)
    notebook.write_cell(CHAT, "%chat -c agent explain in one word")
    notebook.run_cell(CHAT)
    notebook.wait_output(CHAT, "Sent with 1 cell from the page's notebook, about")
    notebook.wait_output(CHAT, "Done.")
    screenshot(notebook.page, f"cells-explain-{kernel}-{theme}")

    notebook.write_cell(LAST, "print(agent.model.wire.prompts[0].messages[-1].text)")
    notebook.run_cell(LAST)
    said = notebook.output(LAST).inner_text()
    assert [words for words in ("Explain what the last", "in one word", "6 * 7", "one\n42") if words not in said] == []
    assert SETUP.strip() not in said
    assert not [error for error in notebook.errors if "nbtool" in error]


@pytest.mark.parametrize("theme", PICTURED_THEMES)
def test_all_cells_above_are_context_with_outputs_and_errors_and_a_line_and_the_status_say_how_much(
    lab: Lab, theme: Literal["light", "dark"]
) -> None:
    lab.set_theme(theme)
    notebook = open_cells(lab, target="print('an output')\n1 / 0")
    notebook.run_cell(TARGET)
    notebook.write_cell(CHAT, "%%chat -c agent --cells above\nWhat went wrong?")
    notebook.run_cell(CHAT)
    notebook.wait_output(CHAT, "Done.")
    line = notebook.wait_output(CHAT, "Sent with 2 cells from the page's notebook, about").inner_text()
    screenshot(notebook.page, f"cells-above-{theme}")

    notebook.write_cell(LAST, "print(agent.model.wire.prompts[0].messages[-1].text)\n%chat -c agent status")
    notebook.run_cell(LAST)
    said = notebook.output(LAST).inner_text()
    assert [words for words in ("an output", "ZeroDivisionError", "%load_ext nbtool") if words not in said] == []
    assert re.search(r"2 cells from the page's notebook, about [\d,]+ tokens", line)
    assert re.search(r"2 cells from the page's notebook, about [\d,]+ tokens", said)


@pytest.mark.parametrize("front", ["lab", "notebook"])
@pytest.mark.promise("shown-cells")
def test_of_two_pages_of_one_notebook_only_the_one_that_runs_the_cell_is_changed(lab: Lab, front: Front) -> None:
    notebook = open_cells(lab, ("edit_cell", {"cell": "TARGET", "old": "y = 2", "new": "y = 3"}), front=front)
    notebook.save()
    other = lab.open_notebook(notebook.name, front=front)
    notebook.start_cell(CHAT)

    approve(notebook)
    wait_done(notebook)

    assert notebook.source(TARGET) == "x = 1\ny = 3"
    assert other.source(TARGET) == SOURCE
    assert not [error for error in (*notebook.errors, *other.errors) if "nbtool" in error]


def test_hidden_and_active_text_of_a_source_is_shown_marked_and_escaped(lab: Lab) -> None:
    hostile = "pay = 'a\u202eb'  # <img src=x onerror=alert(1)> --- a\u200b"
    notebook = open_cells(lab, ("insert_cell", {"after": "TARGET", "source": hostile}))
    notebook.start_cell(CHAT)

    card = wait_card(notebook)
    expect(card.locator(".nb-hidden-char").first).to_be_visible()
    assert card.locator("img").count() == 0
    assert "\u202e" not in card.inner_text()
    wait_card(notebook).get_by_role("button", name="Deny").click()
    wait_done(notebook)
    assert json.dumps(hostile) not in json.dumps(sources(notebook))


@pytest.mark.parametrize("theme", PICTURED_THEMES)
def test_the_log_of_a_call_leads_to_its_cell_or_says_that_it_no_longer_exists(
    lab: Lab, theme: Literal["light", "dark"]
) -> None:
    lab.set_theme(theme)
    steps = (
        ("edit_cell", {"cell": "TARGET", "old": "y = 2", "new": "y = 3"}),
        ("delete_cell", {"cell": "OWN"}),
    )
    notebook = open_cells(lab, *steps)
    target = cell_id(notebook, TARGET)
    notebook.start_cell(CHAT)
    approve(notebook, "y = 3")
    approve(notebook, "Deletes code cell")
    wait_done(notebook)

    edited = open_call(chat_output(notebook), "edit_cell")
    edited.get_by_role("button", name="Go to cell").click()
    assert notebook.page.evaluate(f"() => {PANEL}.content.activeCell.model.id") == target
    removed = open_call(chat_output(notebook), "delete_cell")
    removed.get_by_role("button", name="Go to cell").click()
    expect(removed).to_contain_text("The notebook no longer has this cell.")
    screenshot(notebook.page, f"cells-log-{theme}")
    assert not [error for error in notebook.errors if "nbtool" in error]


NAMES = """
%load_ext nbtool
from nbtool import tool

kept = former = [1]

@tool(run="auto")
def change_names() -> str:
    "Replace one name, and add another."
    global kept, added
    kept, added = [2], 3
    return "changed"
"""


@pytest.mark.journey
@older_kernel_nightly
@pytest.mark.parametrize("theme", PICTURED_THEMES)
def test_restore_puts_back_the_names_that_a_turn_changed(
    lab: Lab, kernel: str, theme: Literal["light", "dark"]
) -> None:
    lab.set_theme(theme)
    ask, check = "%%chat -m practice:fast\nUse &`change_names`.", "print(kept is former, 'added' in globals(), '.')"
    notebook = lab.open_cells(NAMES, ask, check, kernel=kernel, name="restore.ipynb")
    notebook.run_cell(0)
    notebook.run_cell(1)
    notebook.wait_output(1, "Names: added added; replaced kept.")
    notebook.run_cell(2)
    notebook.wait_output(2, "False True .")

    notebook.output(1).get_by_role("button", name="Undo").click()
    notebook.wait_output(1, "Undone: put back kept. Removed added.")
    screenshot(notebook.page, f"cells-restore-{theme}")
    notebook.run_cell(2)
    notebook.wait_output(2, "True False .")
    assert not [error for error in notebook.errors if "nbtool" in error]
