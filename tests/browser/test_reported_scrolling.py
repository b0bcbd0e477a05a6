"""Situations of public reports: where a page stands while an output grows, is replaced, or asks."""

from __future__ import annotations

from playwright.sync_api import expect

from tests.browser.lab import Lab, Notebook
from tests.browser.paced_model import PacedModel
from tests.browser.test_scrolling import (
    ASK,
    CODE,
    PAY,
    PAY_ASK,
    RECORD,
    end,
    model,
    opened,
    run,
    say,
    top,
    wheel,
    wheel_to,
)

__all__ = ["model"]


def start_recording(notebook: Notebook, words: str) -> None:
    notebook.page.evaluate(RECORD, words)


def test_scrolling_up_while_an_output_streams(lab: Lab, model: PacedModel) -> None:
    """microsoft/vscode#177834: the page scrolls back to the latest output of a cell that runs. Right: it stays where
    the person has scrolled to. Before: wrong."""
    notebook = opened(lab, model, *[CODE] * 2, ASK)
    run(notebook, 3)
    say(notebook, model, "First", 40)
    wheel_to(notebook, "First 5")
    start_recording(notebook, "First 5")

    for part in ("Second", "Third"):
        say(notebook, model, part, 10)

    assert len(end(notebook, model)) == 1


def test_a_small_turn_of_the_wheel_ends_following(lab: Lab, model: PacedModel) -> None:
    """Mintplex-Labs/anything-llm#6015: each token pulls the page down again before the person has scrolled far enough
    from its end. Right: the first turn of the wheel counts. Before: wrong."""
    notebook = opened(lab, model, CODE, ASK, CODE)
    run(notebook, 2, "Control+Enter")
    say(notebook, model, "First", 9)
    wheel(notebook, 30)
    wheel(notebook, -30)
    start_recording(notebook, "First 0")

    say(notebook, model, "Second", 20)

    assert len(end(notebook, model)) == 1


def test_running_with_control_and_enter(lab: Lab, model: PacedModel) -> None:
    """jupyter/notebook#1141: after Ctrl+Enter the page scrolls so that the cell that one works on is off it. Right: the
    cell stays on the page. Before: wrong."""
    notebook = opened(lab, model, *[CODE] * 3, ASK, CODE)
    run(notebook, 4, "Control+Enter")

    say(notebook, model, "First", 60)

    assert 0 <= top(notebook, "%%chat") < 600
    end(notebook, model)


def test_running_a_cell_again_leaves_the_page_where_it_is(lab: Lab, model: PacedModel) -> None:
    """nteract/archived-desktop-app#803: a cell cannot be run twice without losing one's place. Right: its prompt and
    its answer are where they were. Before: right."""
    notebook = opened(lab, model, CODE, ASK, *[CODE] * 4)
    places = []
    for _ in range(2):
        run(notebook, 2, "Control+Enter")
        say(notebook, model, "First", 4)
        model.end()
        notebook.wait_ended(2)
        expect(notebook.output(2).locator(".nb-saved")).to_be_visible()
        places.append((top(notebook, "%%chat"), top(notebook, "First 3")))

    assert places[0] == places[1]


def test_a_rerun_whose_output_is_much_shorter(lab: Lab, model: PacedModel) -> None:
    """jupyterlab/jupyterlab#15693: rerunning a cell jumps where the height of its output changes much. Right: the
    prompt is on the page all the time. Before: right."""
    notebook = opened(lab, model, *[CODE] * 2, ASK, *[CODE] * 4)
    for part, count in (("First", 50), ("Second", 2)):
        run(notebook, 3, "Control+Enter")
        start_recording(notebook, "%%chat")
        say(notebook, model, part, count)
        places = end(notebook, model)
        assert all(0 <= place < 800 for place in places)
        assert places[-1] == min(places)


def test_running_a_cell_above_a_very_long_one(lab: Lab, model: PacedModel) -> None:
    """jupyter/notebook#348, microsoft/vscode#194690, jupyterlab/jupyterlab#14878: Shift+Enter scrolls to the next cell,
    past the output of the one that ran. Right: its output begins on the page. Before: right."""
    notebook = opened(lab, model, CODE, ASK, CODE * 8, CODE)
    run(notebook, 2)

    say(notebook, model, "First", 30)

    assert 0 <= top(notebook, "First 0") < 700
    end(notebook, model)


def test_the_prompt_goes_to_the_top(lab: Lab, model: PacedModel) -> None:
    """ipython/ipython#8061, streamlit/streamlit#8363: the cell that was run should be at the top, with its output below
    it. Right: so it is. Before: wrong."""
    notebook = opened(lab, model, *[CODE] * 3, ASK)
    run(notebook, 4)

    say(notebook, model, "First", 30)

    assert 0 <= top(notebook, "%%chat") < 20
    assert 0 < top(notebook, "First 0") < 100
    end(notebook, model)


def test_a_long_message_is_read_from_its_beginning(lab: Lab, model: PacedModel) -> None:
    """Chainlit/chainlit#1524, gradio-app/gradio#12044: a long message scrolls on before its beginning was read. Right:
    the beginning stays in sight. Before: wrong."""
    notebook = opened(lab, model, ASK)
    run(notebook, 1)
    say(notebook, model, "First", 3)

    for part in ("Second", "Third", "Fourth"):
        say(notebook, model, part, 20)

    assert 0 < top(notebook, "First 0") < 700
    end(notebook, model)


def test_a_button_in_an_output_that_is_redrawn(lab: Lab, model: PacedModel) -> None:
    """jupyter-widgets/ipywidgets#2243: a press of a button in an output, which is drawn again, moves the page. Right:
    nothing above it moves. Before: wrong."""
    notebook = opened(lab, model, *[CODE] * 3, PAY_ASK, setup=PAY)
    run(notebook, 4)
    say(notebook, model, "First", 3)
    model.call(("pay", {"to": "Ada"}))
    approve = notebook.output(4).get_by_role("button", name="Approve", exact=True)
    expect(approve).to_be_enabled()
    start_recording(notebook, "First 2")

    approve.click()
    say(notebook, model, "Second", 1)

    assert len(end(notebook, model)) == 1


def test_another_cell_that_grows_and_shrinks(lab: Lab, model: PacedModel) -> None:
    """JuliaPluto/Pluto.jl#95: the page jumps away while a large other cell is updated. Right: what is read stays.
    Before: wrong."""
    notebook = opened(lab, model, ASK, *[CODE] * 4, "read = 1", *[CODE] * 4)
    run(notebook, 1, "Control+Enter")
    say(notebook, model, "First", 3)
    wheel_to(notebook, "read = 1")
    start_recording(notebook, "read = 1")

    model.say(*(f"Second {number}." for number in range(30)))

    assert len(end(notebook, model)) == 1


def test_something_that_waits_below_what_is_read(lab: Lab, model: PacedModel) -> None:
    """gradio-app/gradio#8253: who has scrolled up does not see that something new came below. Right: what waits for a
    person is named at the edge of the page, and one press leads there. Before: wrong."""
    notebook = opened(lab, model, CODE, PAY_ASK, setup=PAY)
    run(notebook, 2)
    say(notebook, model, "First", 60)
    wheel_to(notebook, "First 3")
    start_recording(notebook, "First 3")

    model.call(("pay", {"to": "Ada"}))
    named = notebook.page.get_by_role("button", name="Run pay? waits")
    expect(named).to_be_in_viewport()
    assert len(notebook.page.evaluate("() => window.tops")) == 1
    named.click()

    expect(notebook.output(2).get_by_role("button", name="Deny")).to_be_in_viewport(ratio=1)
    notebook.output(2).get_by_role("button", name="Deny").click()
    say(notebook, model, "Second", 1)
    end(notebook, model)
