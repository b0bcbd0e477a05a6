"""A notebook that is saved while a turn runs: the text so far is in the file, and the page draws nothing again."""

from __future__ import annotations

from collections.abc import Iterator

import nbformat
import pytest
from playwright.sync_api import expect

from nbtool.blocks.render.mimebundle import TURN_MIME
from tests.browser.lab import PANEL, Front, Lab, Notebook, screenshot
from tests.browser.paced_model import PacedModel, paced_model
from tests.browser.test_chat import card

TOOL = '\n@tool\ndef pay(amount: int) -> str:\n    "Pay an amount."\n    return f"paid {amount}"\n'
STREAM = "%%chat -c paced -o answer\nTell me a story."
PAY = "%%chat -c paced -t pay -o answer\nPay 21."
NOT_ENDED = "This turn had not ended when the notebook was saved."
WIDGET = "application/vnd.jupyter.widget-view+json"
MARK_VIEW = "() => { window.view = document.querySelector('.nb-turn'); window.tops = window.view.scrollTop; }"
IS_SAME_VIEW = "() => window.view.isConnected && document.querySelectorAll('.nb-turn:not(.nb-continue)').length === 1"
FOCUSED = "() => [document.activeElement.tagName, document.activeElement.value]"


@pytest.fixture
def model() -> Iterator[PacedModel]:
    with paced_model() as model:
        yield model


def open_chat(lab: Lab, model: PacedModel, *cells: str, front: Front = "lab") -> Notebook:
    notebook = lab.open_cells(model.setup + TOOL, *cells, kernel="python3", name="midway.ipynb", front=front)
    notebook.run_cell(0)
    return notebook


def saved_turn(notebook: nbformat.NotebookNode, cell: int = 1) -> dict[str, str]:
    """Give what the file has of the turn: one output, without a widget and without what passes for a finished turn."""
    (output,) = (one for one in notebook.cells[cell].outputs if one.output_type == "display_data")
    assert output.data.keys() == {"text/plain", "text/html"}
    return dict(output.data)


def saved_until(notebook: Notebook, text: str) -> dict[str, str]:
    """Save until the file has a text: the kernel sends what is saved every few seconds."""
    for _ in range(40):
        saved = saved_turn(notebook.save())
        if text in saved["text/plain"]:
            return saved
        notebook.page.wait_for_timeout(250)
    raise AssertionError(saved)


@pytest.mark.journey
@pytest.mark.sampled(1)
@pytest.mark.parametrize("front", ["lab", "notebook"])
@pytest.mark.promise("seen-question")
def test_what_came_so_far_is_in_the_file_and_the_view_that_runs_is_left_as_it_is(
    lab: Lab, model: PacedModel, front: Front
) -> None:
    notebook = open_chat(lab, model, STREAM, front=front)
    notebook.start_cell(1)
    model.say("Once upon a time.", "There was a kernel.")
    notebook.wait_output(1, "There was a kernel.")
    notebook.page.evaluate(MARK_VIEW)

    saved = saved_until(notebook, "There was a kernel.")
    model.say("It had a page.")
    notebook.wait_output(1, "It had a page.")
    later = saved_until(notebook, "It had a page.")

    for one in (saved, later):
        assert NOT_ENDED in one["text/html"]
        assert NOT_ENDED in one["text/plain"]
        assert "%chat open turn_" in one["text/plain"]
    assert notebook.page.evaluate(IS_SAME_VIEW)
    model.end()
    notebook.wait_ended(1)
    (end,) = notebook.save().cells[1].outputs
    assert TURN_MIME in end.data
    assert NOT_ENDED not in str(end)
    assert front == "notebook" or notebook.errors == []  # Notebook 7 has one of its own


@pytest.mark.promise("seen-question")
def test_a_question_is_in_the_file_and_what_is_half_typed_stays(lab: Lab, model: PacedModel) -> None:
    notebook = open_chat(lab, model, PAY)
    notebook.start_cell(1)
    model.call(("pay", {"amount": 21}))
    field = card(notebook, 1).get_by_label("Reason")
    field.fill("not tod")
    notebook.page.evaluate(MARK_VIEW)

    saved = saved_turn(notebook.save())

    assert "Approval needed: Run pay(amount=21)?" in saved["text/plain"]
    assert NOT_ENDED in saved["text/plain"]
    assert notebook.page.evaluate(IS_SAME_VIEW)
    assert notebook.page.evaluate(FOCUSED)[1] == "not tod"
    field.press("End")
    field.press_sequentially("ay")
    notebook.output(1).get_by_role("button", name="Deny").click()
    model.say("As you like.")
    model.end()
    notebook.wait_ended(1)
    notebook.wait_output(1, "not today")
    assert notebook.errors == []


@pytest.mark.new_page
@pytest.mark.promise("seen-question")
def test_opened_again_without_a_kernel_the_text_so_far_is_there(lab: Lab, model: PacedModel) -> None:
    notebook = open_chat(lab, model, STREAM)
    notebook.start_cell(1)
    model.say("Once upon a time.")
    notebook.wait_output(1, "Once upon a time.")
    saved_until(notebook, "Once upon a time.")
    notebook.close()
    lab.server.shut_down_kernels()

    again = lab.open_notebook("midway.ipynb")

    again.wait_output(1, "Once upon a time.")
    again.wait_output(1, NOT_ENDED)
    expect(again.output(1)).not_to_contain_text("Error displaying widget")
    screenshot(again.output(1), "saved-midway")


@pytest.mark.new_page
@pytest.mark.promise("seen-question")
def test_a_page_that_is_loaded_while_the_turn_runs_shows_it_live_in_the_place_of_what_was_saved(
    lab: Lab, model: PacedModel
) -> None:
    notebook = open_chat(
        lab, model, "print('before')\nget_ipython().run_cell_magic('chat', '-c paced', 'Hello')\nprint('end')"
    )
    notebook.start_cell(1)
    model.say("Once upon a time.")
    notebook.wait_output(1, "Once upon a time.")
    saved_until(notebook, "Once upon a time.")

    notebook.reload()

    expect(notebook.output(1).get_by_role("button", name="Stop")).to_be_visible(timeout=30_000)
    expect(notebook.output(1)).not_to_contain_text(NOT_ENDED)
    notebook.wait_output(1, "before")
    model.say("And so on.")
    notebook.wait_output(1, "And so on.")
    model.end()
    expect(notebook.output(1).locator(".nb-saved")).to_be_visible(timeout=30_000)
    outputs = notebook.save().cells[1].outputs
    assert [set(one.get("data", ())) for one in outputs if one.output_type == "display_data"] == [
        {TURN_MIME, "text/html", "text/plain"}
    ]


@pytest.mark.promise("seen-question")
def test_a_cell_that_is_moved_while_the_file_is_written_keeps_its_live_view(lab: Lab, model: PacedModel) -> None:
    notebook = open_chat(lab, model, STREAM, "1")
    notebook.start_cell(1)
    model.say("Once upon a time.")
    notebook.wait_output(1, "Once upon a time.")
    saved_until(notebook, "Once upon a time.")

    notebook.page.evaluate(
        f"""async () => {{
            const saving = {PANEL}.context.save();
            {PANEL}.content.model.sharedModel.moveCell(1, 2);
            await saving;
        }}"""
    )

    expect(notebook.output(2).get_by_role("button", name="Stop")).to_be_visible(timeout=30_000)
    model.say("And so on.")
    notebook.wait_output(2, "And so on.")
    model.end()
    notebook.wait_output(2, "And so on.")
    notebook.page.wait_for_function(f"() => {PANEL}.sessionContext.session.kernel.status === 'idle'")
    assert "And so on." in saved_end(notebook)


def saved_end(notebook: Notebook) -> str:
    """Give the text of the finished turn in the file, once the page has taken it."""
    expect(notebook.output(2).locator(".nb-saved")).to_be_visible(timeout=30_000)
    (output,) = notebook.save().cells[2].outputs
    return str(output.data["text/plain"])
