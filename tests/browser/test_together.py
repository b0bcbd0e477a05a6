"""Two browsers on one notebook that is edited together (jupyter-collaboration): one turn, a click in either."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Iterator

import pytest
from playwright.sync_api import BrowserContext, expect

from tests.browser.lab import PANEL, Front, Lab, Notebook, lab_of
from tests.browser.server import ROOT, Server
from tests.browser.test_cell_campaign import CELLS, WATCH, check, run_sequence
from tests.browser.test_cell_campaign import SOURCE as TYPED_IN
from tests.browser.test_cells import ASK as MODEL
from tests.browser.test_cells import CHAT, SETUP, SOURCE, TARGET, approve, cell_id, open_cells, wait_card, wait_done
from tests.browser.test_chat import ASK, CHECK, card, chat

TOGETHER = ROOT / "build" / "places" / "together"
FRONTS: tuple[Front, ...] = ("lab", "notebook")


@pytest.fixture
def together(profile: BrowserContext, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lab]:
    if not TOGETHER.is_dir():
        pytest.fail("There is no jupyter-collaboration: `make lane LANE=compat` installs it.", pytrace=False)
    with lab_of(Server(tmp_path_factory.mktemp("together"), extensions=TOGETHER), profile) as lab:
        yield lab


@pytest.fixture(scope="session")
def other_browser(open_profile: Callable[[str], BrowserContext]) -> BrowserContext:
    """Give another browser, whose pages share nothing with those of the first one but the server."""
    return open_profile("other")


def open_elsewhere(notebook: Notebook, browser: BrowserContext, front: Front = "lab") -> Notebook:
    """Open the same notebook in another browser."""
    return Notebook(browser.new_page(), notebook.server, notebook.name, front).open()


def trust(notebook: Notebook) -> None:
    """Do what *Trust Notebook* does once the person has said yes; trust is of each browser alone."""
    notebook.page.evaluate(f"() => {{ for (const cell of {PANEL}.content.model.cells) cell.trusted = true; }}")


@pytest.mark.nightly
def test_a_question_is_shown_in_both_browsers_and_the_other_one_answers_it(
    together: Lab, other_browser: BrowserContext
) -> None:
    one = chat(together, "python3", ASK, CHECK)
    other = open_elsewhere(one, other_browser)
    trust(other)

    one.start_cell(1)
    card(one, 1)
    card(other, 1).get_by_role("button", name="Approve").click()

    for notebook in (one, other):
        notebook.wait_output(1, "approved")
        expect(notebook.output(1).get_by_role("button", name="Rerun")).to_have_count(1)
    one.run_cell(2)
    one.wait_output(2, "same object: True | completed | ['ok', 'ok']")
    other.wait_output(2, "same object: True | completed | ['ok', 'ok']")
    assert one.errors == other.errors == []
    other.close()


def wait_source(notebook: Notebook, text: str) -> None:
    """Wait until a cell says exactly this, whoever wrote it."""
    script = f"([at, text]) => {PANEL}.content.widgets[at].model.sharedModel.getSource() === text"
    notebook.page.wait_for_function(script, arg=[TARGET, text])


@pytest.mark.nightly
@pytest.mark.promise("shown-cells")
@pytest.mark.parametrize("front", FRONTS)
def test_an_edit_by_a_tool_reaches_the_other_browser_and_keeps_what_is_typed_there(
    together: Lab, other_browser: BrowserContext, front: Front
) -> None:
    one = open_cells(together, ("edit_cell", {"cell": "TARGET", "old": "y = 2", "new": "y = 3"}), front=front)
    other = open_elsewhere(one, other_browser, front)
    one.start_cell(CHAT)
    wait_card(one)

    other.write_cell(TARGET, SOURCE + "\ntyped = True")
    wait_source(one, SOURCE + "\ntyped = True")
    approve(one)
    wait_card(one, "Asked again: it has changed since it was shown.")
    approve(one)
    wait_done(one)

    wait_source(other, "x = 1\ny = 3\ntyped = True")
    assert one.source(TARGET) == other.source(TARGET)
    assert not [error for error in (*one.errors, *other.errors) if "nbtool" in error]
    other.close()


@pytest.mark.nightly
@pytest.mark.promise("shown-cells")
@pytest.mark.parametrize("front", FRONTS)
def test_cells_that_a_tool_inserts_moves_deletes_and_runs_are_the_same_in_the_other_browser(
    together: Lab, other_browser: BrowserContext, front: Front
) -> None:
    steps = (
        ("insert_cell", {"after": "TARGET", "source": "inserted = 1"}),
        ("run_cell", {"cell": "TARGET"}),
        ("move_cell", {"cell": "TARGET", "after": ""}),
        ("delete_cell", {"cell": "OWN"}),
    )
    one = open_cells(together, *steps, front=front, target="print('from the cell')")
    other = open_elsewhere(one, other_browser, front)
    one.start_cell(CHAT)
    for title in ("Inserts a code cell", "Runs code cell", "Moves code cell", "Deletes code cell"):
        approve(one, title)
    wait_done(one)

    expected = ["print('from the cell')", "inserted = 1"]
    script = f"""expected => expected.every((source, at) =>
        {PANEL}.content.widgets[at]?.model.sharedModel.getSource() === source)"""
    for notebook in (one, other):
        notebook.page.wait_for_function(script, arg=expected)
        assert notebook.cell_count() == 4
        notebook.wait_output(0, "from the cell")
    assert not [error for error in (*one.errors, *other.errors) if "nbtool" in error]
    other.close()


SEQUENCES = 15
AS_JUPYTERLAB_DOES = ("move_cell", "delete_cell")
"""To move a cell, JupyterLab deletes and inserts it: what somebody else types into it in that moment goes with it."""


@pytest.mark.nightly
@pytest.mark.timeout(600)
@pytest.mark.promise("shown-cells")
@pytest.mark.parametrize("front", FRONTS)
def test_nothing_that_is_typed_in_the_other_browser_meanwhile_is_lost_and_no_edit_is_made_that_was_not_shown(
    together: Lab, other_browser: BrowserContext, front: Front, record_property: Callable[[str, object], None]
) -> None:
    generator = random.Random(FRONTS.index(front))
    cells = [TYPED_IN.format(number) for number in range(CELLS)]
    one = together.open_cells(SETUP, *cells, MODEL, kernel="python3", name=f"typing-{front}.ipynb", front=front)
    other = open_elsewhere(one, other_browser, front)
    one.page.evaluate(WATCH)
    own, statuses = cell_id(one, 0), list[str]()
    made: Counter[str] = Counter()
    typed = 0
    for number in range(SEQUENCES):
        state = run_sequence(one, generator, own, number, typing_in=other, without=AS_JUPYTERLAB_DOES)
        made += check(state)
        typed += len(state["typed"])
        statuses += state["statuses"]
    other.close()
    record_property("injected", SEQUENCES)
    record_property("calls", len(statuses))
    assert "ok" in statuses
    assert typed > SEQUENCES
    assert set(made) == {"edit_cell", "insert_cell", "run_cell"}
    assert not [error for error in (*one.errors, *other.errors) if "nbtool" in error]
