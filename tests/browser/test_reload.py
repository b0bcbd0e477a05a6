"""A page that is loaded anew while its cell runs: the turn stands under the cell again, live, and its end stays."""

from __future__ import annotations

import pytest
from playwright.sync_api import expect

from nbtool.blocks.render.mimebundle import TURN_MIME
from tests.browser import test_parking as parked
from tests.browser.lab import Lab, Notebook, older_kernel_nightly
from tests.browser.test_chat import ASK, CHECK, SLOW, card, chat

pytestmark = pytest.mark.new_page

LONG = "\n".join(f"{name} = 0" for name in (f"a_variable_that_is_told_of_{number:_>20}" for number in range(60)))
"""So many names that a reply which lists them takes the practice model half a minute."""

STREAM = f"%%chat -m practice:default -o answer -v {' '.join(line.split()[0] for line in LONG.splitlines())}\nHello"
IDLE = "async () => (await (await fetch('/api/kernels')).json()).every((one) => one.execution_state === 'idle')"
ENDED = "print('ended:', answer.status)"


def saved_mime_types(notebook: Notebook) -> list[set[str]]:
    """Wait until what stays has been put in, save, and give the forms in which the turn's cell keeps it."""
    expect(notebook.output(1).locator(".nb-saved")).to_be_visible(timeout=30_000)
    outputs = notebook.save().cells[1].outputs
    return [set(output.data) for output in outputs if output.output_type == "display_data"]


@pytest.mark.journey
@older_kernel_nightly
def test_a_question_is_shown_again_after_a_reload_and_its_click_is_handled_in_the_running_cell(
    lab: Lab, kernel: str
) -> None:
    notebook = chat(lab, kernel, ASK, CHECK)
    notebook.start_cell(1)
    card(notebook, 1)
    notebook.save()

    notebook.reload()
    card(notebook, 1).get_by_role("button", name="Approve").click()

    notebook.wait_output(1, "approved")
    for label in ("Rerun", "Edit prompt", "To code", "Explore"):
        expect(notebook.output(1).get_by_role("button", name=label)).to_be_visible()
    notebook.run_cell(2)
    notebook.wait_output(2, "same object: True | completed | ['ok', 'ok']")
    assert saved_mime_types(notebook) == [{TURN_MIME, "text/html", "text/plain"}]
    assert notebook.errors == []


@pytest.mark.nightly
def test_a_reply_goes_on_after_a_reload_of_a_notebook_that_was_not_saved_and_its_stop_is_handled(
    lab: Lab, kernel: str
) -> None:
    notebook = chat(lab, kernel, STREAM, ENDED)
    notebook.write_cell(0, f"{notebook.source(0)}\n{LONG}")
    notebook.run_cell(0)
    notebook.save()
    notebook.start_cell(1)
    notebook.wait_output(1, "embedded practice")

    notebook.reload()
    reply = notebook.wait_output(1, "embedded practice").locator(".nb-reply").last
    early = reply.inner_text()
    expect(reply).not_to_have_text(early)
    notebook.output(1).get_by_role("button", name="Stop").click()

    notebook.wait_output(1, "topped")
    notebook.run_cell(2)
    notebook.wait_output(2, "ended: cancelled")
    assert saved_mime_types(notebook) == [{TURN_MIME, "text/html", "text/plain"}]
    assert notebook.errors == []


@pytest.mark.nightly
def test_a_turn_that_ends_while_the_page_is_being_loaded_is_there_as_it_ended(lab: Lab, kernel: str) -> None:
    notebook = chat(lab, kernel, SLOW, ENDED)
    notebook.start_cell(1)
    notebook.wait_output(1, "embedded practice")
    notebook.page.goto(f"{lab.server.url}/no-such-page")  # on the same origin, and no JupyterLab
    notebook.page.wait_for_function(IDLE, polling=200)

    notebook = lab.open_notebook(notebook.name)

    notebook.wait_output(1, "embedded practice")
    expect(notebook.output(1).get_by_role("button", name="Rerun")).to_be_visible()
    notebook.run_cell(2)
    notebook.wait_output(2, "ended: completed")
    assert saved_mime_types(notebook) == [{TURN_MIME, "text/html", "text/plain"}]


@pytest.mark.nightly
def test_the_end_of_a_parked_turn_takes_both_its_places_in_a_page_that_was_reloaded(lab: Lab, kernel: str) -> None:
    notebook = parked.park(lab, kernel, parked.CHECK)
    parked.card(notebook)
    notebook.save()

    notebook.reload()
    parked.card(notebook).get_by_role("button", name="Approve").click()

    expect(notebook.output(1).get_by_role("button", name="Rerun")).to_have_count(1, timeout=30_000)
    expect(notebook.output(1)).not_to_contain_text("Waiting for you")
    for word in ("Approve", "Deny", "Stop"):
        expect(notebook.output(1).get_by_role("button", name=word)).to_have_count(0)
    notebook.run_cell(2)
    notebook.wait_output(2, "status: completed | [False] | ['ok']")
    assert saved_mime_types(notebook) == [{TURN_MIME, "text/html", "text/plain"}, {"text/html", "text/plain"}]
    assert notebook.errors == []
