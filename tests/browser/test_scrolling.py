"""Where the page stands while a turn grows, asks and ends, and the pill that leads to what waits."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import pytest
from playwright.sync_api import expect

from tests.browser.lab import Front, Lab, Notebook
from tests.browser.paced_model import PacedModel, paced_model

CODE = "x = 1\n" * 12
ASK = "%%chat -c paced\nTell me."
PAY = """
paid = []
@tool
def pay(to: str) -> str:
    "Pay somebody."
    paid.append(to)
    return "paid " + to
"""
PAY_ASK = "%%chat -c paced -t pay\nPay them."
PANEL = "window.jupyterapp.shell.currentWidget"
SELECT = f"""async (at) => {{
    const {{ content }} = {PANEL};
    content.activeCellIndex = at;
    await content.scrollToItem(at);
    content.mode = "command";
    content.activate();
}}"""
"""Select a cell as a click beside it does; it may be out of the page until then."""

TOP = f"""(words) => {{
    const page = {PANEL}.node.querySelector(".jp-WindowedPanel-outer");
    const lines = [...page.querySelectorAll(".nb-turn p, .cm-line")];
    const line = lines.find((one) => one.textContent.startsWith(words));
    return line ? line.getBoundingClientRect().top - page.getBoundingClientRect().top : null;
}}"""
RECORD = f"""(words) => {{
    window.tops = [];
    const page = {PANEL}.node.querySelector(".jp-WindowedPanel-outer");
    const note = ([entry]) => {{
        const top = entry.boundingClientRect.top - entry.rootBounds.top;
        if (!(Math.abs(top - window.tops.at(-1)) < 1)) window.tops.push(top);
    }};
    const look = () => {{
        const lines = [...page.querySelectorAll(".nb-turn p, .cm-line")];
        const line = lines.find((one) => one.textContent.startsWith(words));
        if (line) new IntersectionObserver((seen, observer) => {{
            observer.disconnect();
            note(seen);
        }}, {{ root: page }}).observe(line);
        requestAnimationFrame(look);
    }};
    look();
}}"""
"""Record every place at which a line is painted: an observer of intersections gives it as it is in the frame."""

EVERY_MODE = pytest.mark.parametrize(
    "windowing",
    ["contentVisibility", "full", *(pytest.param(mode, marks=pytest.mark.nightly) for mode in ("defer", "none"))],
)
"""What JupyterLab attaches to the page: all cells, which the browser may pass over, or those in sight."""


@pytest.fixture
def model() -> Iterator[PacedModel]:
    with paced_model() as model:
        yield model


def opened(
    lab: Lab, model: PacedModel, *cells: str, setup: str = "", windowing: str = "", front: Front = "lab"
) -> Notebook:
    if windowing:
        lab.use_new_pages()
        lab.server.set("notebook-extension/tracker", windowingMode=windowing)
    notebook = lab.open_cells(model.setup + setup, *cells, kernel="python3", front=front)
    notebook.run_cell(0)
    return notebook


def run(notebook: Notebook, index: int, keys: str = "Shift+Enter") -> None:
    notebook.page.evaluate(SELECT, index)
    notebook.page.keyboard.press(keys)


def say(notebook: Notebook, model: PacedModel, word: str, count: int) -> None:
    """Send paragraphs, and wait until the last is drawn."""
    model.say(*(f"{word} {number}." for number in range(count)))
    last = notebook.page.locator(".nb-turn p").filter(has_text=re.compile(rf"^{word} {count - 1}\.$"))
    expect(last).to_be_attached()


def top(notebook: Notebook, words: str) -> float:
    """Give the distance of a line from the top of the page."""
    return float(notebook.page.evaluate(TOP, words))


def wait_top(notebook: Notebook, words: str, *, less_than: float) -> None:
    notebook.page.wait_for_function(f"([words, most]) => ({TOP})(words) < most", arg=[words, less_than])


def end(notebook: Notebook, model: PacedModel, count: int = 1) -> list[Any]:
    """End the reply; give every place that the recorded line had until the output was drawn that is saved."""
    model.end()
    expect(notebook.page.locator(".nb-saved")).to_have_count(count)
    notebook.page.evaluate("() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))")
    return list(notebook.page.evaluate("() => window.tops ?? []"))


def wheel(notebook: Notebook, pixels: int) -> None:
    """Scroll as a person does, and wait until the page has moved."""
    page = notebook.page
    outer = page.locator(".jp-WindowedPanel-outer").first
    before = outer.evaluate("el => el.scrollTop")
    outer.hover()
    page.mouse.wheel(0, pixels)
    page.wait_for_function(
        f"before => {PANEL}.node.querySelector('.jp-WindowedPanel-outer').scrollTop !== before",
        arg=before,
    )


def wheel_to(notebook: Notebook, words: str, *, by: int = 200) -> None:
    """Scroll until a line is in the upper half of the page: by so much while its cell is not attached to it."""
    while (at := notebook.page.evaluate(TOP, words)) is None or not 50 < at < 500:
        wheel(notebook, by if at is None else round(max(-300, min(300, at - 275))))


@pytest.mark.sampled(1)
@EVERY_MODE
def test_after_shift_enter_in_the_last_cell_the_prompt_stays_at_the_top(
    lab: Lab, model: PacedModel, windowing: str
) -> None:
    notebook = opened(lab, model, *[CODE] * 4, ASK, windowing=windowing)

    run(notebook, 5)
    wait_top(notebook, "%%chat", less_than=20)
    notebook.page.evaluate(RECORD, "%%chat")
    for part in ("First", "Second", "Third"):
        say(notebook, model, part, 12)

    assert 0 <= top(notebook, "%%chat") < 20
    assert 0 < top(notebook, "First 0") < 100
    assert len(end(notebook, model)) == 1
    assert notebook.errors == []


def test_of_a_long_prompt_the_end_stays_in_sight(lab: Lab, model: PacedModel) -> None:
    notebook = opened(lab, model, CODE, ASK + "\nMore of it." * 60)

    run(notebook, 2)
    say(notebook, model, "Line", 60)

    notebook.page.evaluate(RECORD, "Line 0")
    height = notebook.page.locator(".jp-WindowedPanel-outer").first.evaluate("el => el.clientHeight")
    assert 0 < top(notebook, "Line 0") < height * 0.6
    assert len(end(notebook, model)) == 1


def test_in_a_cell_with_others_below_the_page_moves_along_only_until_the_prompt_is_at_the_top(
    lab: Lab, model: PacedModel
) -> None:
    notebook = opened(lab, model, *[CODE] * 4, ASK, *[CODE] * 4)
    run(notebook, 5, "Control+Enter")
    say(notebook, model, "First", 1)
    first = top(notebook, "%%chat")

    say(notebook, model, "Second", 40)

    assert first > 100
    assert 0 <= top(notebook, "%%chat") < 20
    notebook.page.evaluate(RECORD, "%%chat")
    say(notebook, model, "Third", 20)
    assert len(end(notebook, model)) == 1


@pytest.mark.parametrize("by", ["wheel", "script"])
def test_once_the_person_scrolls_nothing_scrolls_by_itself(lab: Lab, model: PacedModel, by: str) -> None:
    notebook = opened(lab, model, *[CODE] * 4, ASK)
    run(notebook, 5)
    wait_top(notebook, "%%chat", less_than=20)
    say(notebook, model, "First", 40)
    if by == "wheel":
        wheel(notebook, 200)
    else:
        notebook.page.wait_for_timeout(700)  # until then JupyterLab may still scroll to the new cell
        notebook.page.evaluate(f"() => {{ {PANEL}.node.querySelector('.jp-WindowedPanel-outer').scrollTop -= 300; }}")
    line = "First 12" if by == "wheel" else "%%chat"
    notebook.page.evaluate(RECORD, line)

    say(notebook, model, "Second", 20)

    assert len(end(notebook, model)) == 1
    assert notebook.errors == []


@pytest.mark.sampled(1)
@EVERY_MODE
@pytest.mark.parametrize("where", ["above", "below"])
def test_a_person_who_reads_elsewhere_is_never_moved(lab: Lab, model: PacedModel, windowing: str, where: str) -> None:
    elsewhere = f"read = 1\n{CODE}"
    others = [CODE] * 3
    cells = [elsewhere, *others, ASK, *others, CODE] if where == "above" else [CODE, *others, ASK, *others, elsewhere]
    notebook = opened(lab, model, *cells, *others, windowing=windowing)
    run(notebook, 5, "Control+Enter")
    say(notebook, model, "First", 1)
    wheel_to(notebook, "read = 1", by=-200 if where == "above" else 200)
    notebook.page.evaluate(RECORD, "read = 1")

    for part in ("Second", "Third"):
        model.say(*(f"{part} {number}." for number in range(20)))

    assert len(end(notebook, model)) == 1
    assert notebook.errors == []


@pytest.mark.parametrize("count", [1, 60])
def test_nothing_moves_when_a_turn_ends_at_the_beginning_of_a_notebook(lab: Lab, model: PacedModel, count: int) -> None:
    notebook = opened(lab, model, ASK)
    run(notebook, 1, "Control+Enter")
    say(notebook, model, "Line", count)
    notebook.page.evaluate(RECORD, "Line 0")

    assert len(end(notebook, model)) == 1
    assert notebook.errors == []


def test_in_notebook_7_a_long_answer_gets_no_box_that_scrolls_unless_the_person_chose_it(
    lab: Lab, model: PacedModel
) -> None:
    notebook = opened(lab, model, CODE, ASK, front="notebook")
    run(notebook, 2)
    say(notebook, model, "Line", 90)
    wait_top(notebook, "%%chat", less_than=60)
    notebook.page.evaluate(RECORD, "Line 3")

    assert len(end(notebook, model)) == 1
    cell = notebook.cell(2)
    expect(cell).not_to_have_class(re.compile("jp-mod-outputsScrolled"))
    notebook.page.evaluate(f"() => {{ {PANEL}.content.widgets[2].outputsScrolled = true; }}")
    expect(cell).to_have_class(re.compile("jp-mod-outputsScrolled"))


def test_nothing_that_is_read_moves_when_a_card_comes_and_is_decided(lab: Lab, model: PacedModel) -> None:
    notebook = opened(lab, model, CODE, PAY_ASK, setup=PAY)
    run(notebook, 2)
    say(notebook, model, "Line", 3)
    wait_top(notebook, "%%chat", less_than=20)
    notebook.page.evaluate(RECORD, "Line 2")

    model.call(("pay", {"to": "Ada"}), ("pay", {"to": "Bob"}))
    approve = notebook.output(2).get_by_role("button", name="Approve all 2")
    expect(approve).to_be_enabled()
    expect(approve).to_be_in_viewport()
    expect(notebook.page.locator(".nb-pill button")).to_have_count(0)
    approve.click()
    say(notebook, model, "After", 2)

    assert len(end(notebook, model)) == 1
    assert notebook.errors == []


@pytest.mark.journey
@pytest.mark.sampled(1)
@EVERY_MODE
def test_a_pill_names_what_waits_and_leads_to_it_and_decides_nothing(
    lab: Lab, model: PacedModel, windowing: str
) -> None:
    notebook = opened(lab, model, *[CODE] * 4, PAY_ASK, setup=PAY, windowing=windowing)
    page = notebook.page
    pill = page.locator(".nb-pill button")
    run(notebook, 5)
    say(notebook, model, "Line", 60)
    model.call(*(("pay", {"to": name}) for name in ("Ada", "Bob", "Cid")))
    expect(pill).to_have_text("3 calls wait ↓")
    expect(page.locator(".nb-pill")).to_have_role("status")
    expect(page.get_by_role("button", name="3 calls wait, below: go there")).to_be_visible()

    pill.focus()
    page.keyboard.press("Enter")
    card = page.get_by_role("group", name="Approval")
    expect(card).to_be_focused()
    expect(pill).to_have_count(0)
    for name in ("Approve all 3", "Deny all 3"):
        expect(card.get_by_role("button", name=name)).to_be_in_viewport(ratio=1)
    expect(card.get_by_role("button", name="Approve all 3")).to_be_enabled()
    page.keyboard.press("Enter")
    page.keyboard.press("Space")
    expect(card.locator(".nb-item")).to_have_count(3)

    for _ in range(8):
        wheel(notebook, -400)
    expect(pill).to_have_text("3 calls wait ↓")
    pill.click()
    expect(card.get_by_role("button", name="Deny all 3")).to_be_in_viewport(ratio=1)
    card.get_by_role("button", name="Deny all 3").click()
    expect(page.locator(".nb-pill")).to_have_count(0)
    notebook.page.evaluate(RECORD, "After 0")
    say(notebook, model, "After", 1)
    end(notebook, model)
    assert notebook.errors == []


@pytest.mark.parametrize("front", ["lab", "notebook"])
def test_a_pill_shows_a_collapsed_output_and_says_on_which_side_its_cell_is(
    lab: Lab, model: PacedModel, front: Front
) -> None:
    notebook = opened(lab, model, PAY_ASK, *[CODE] * 30, setup=PAY, front=front)
    pill = notebook.page.locator(".nb-pill button")
    run(notebook, 1, "Control+Enter")
    model.call(("pay", {"to": "Ada"}))
    card = notebook.output(1).get_by_role("group", name="Approval")
    expect(card).to_be_visible()

    notebook.page.evaluate(f"() => {{ {PANEL}.content.widgets[1].outputHidden = true; }}")
    expect(card).to_have_count(0)
    pill.click()
    expect(card).to_be_focused()
    expect(pill).to_have_count(0)

    notebook.page.evaluate(f"() => {{ {PANEL}.content.widgets[1].outputHidden = true; }}")
    notebook.page.evaluate(f"async () => {PANEL}.content.scrollToItem(25, 'center')")
    expect(pill).to_have_text("Run pay? waits ↑")
    pill.click()
    expect(card).to_be_focused()
    expect(card.get_by_role("button", name="Approve", exact=True)).to_be_in_viewport(ratio=1)

    assert front == "notebook" or notebook.errors == []  # Notebook 7 has some of its own, and what follows in both

    collapse = (
        "(cell) => { cell.model.sharedModel.setSource('# Part'); cell.rendered = true; cell.headingCollapsed = true; }"
    )
    notebook.page.evaluate(f"async () => {PANEL}.content.scrollToItem(0, 'center')")
    notebook.page.evaluate(SELECT, 0)
    notebook.page.keyboard.press("m")
    notebook.page.evaluate(f"() => ({collapse})({PANEL}.content.widgets[0])")
    expect(card).to_be_hidden()
    pill.click()
    expect(card).to_be_focused()
    expect(card.get_by_role("button", name="Approve", exact=True)).to_be_in_viewport(ratio=1)


def test_a_pill_names_a_question_whose_cell_was_deleted(lab: Lab, model: PacedModel) -> None:
    notebook = opened(lab, model, PAY_ASK, CODE, "%chat -c paced deny", setup=PAY)
    pill = notebook.page.locator(".nb-pill")
    run(notebook, 1, "Control+Enter")
    model.call(("pay", {"to": "Ada"}))
    expect(notebook.output(1).get_by_role("group", name="Approval")).to_be_visible()

    notebook.page.evaluate(SELECT, 1)
    notebook.page.keyboard.press("Escape")
    notebook.page.keyboard.press("d")
    notebook.page.keyboard.press("d")
    expect(pill).to_have_text("Run pay? waits, its output is gone: %chat approvals")

    notebook.page.evaluate(SELECT, 2)
    notebook.run_cell(2)
    expect(pill).to_have_count(0)


def test_a_pill_counts_several_turns_and_goes_from_one_to_the_next(lab: Lab, model: PacedModel) -> None:
    park = PAY_ASK.replace("-t pay", "-t pay --approve park")
    cells = [park.replace("paced", f"chat{n}") for n in range(2)]
    names = "".join(
        f"\nchat{n} = Chat('paced', base_url='{model.url}/v1', api_key='none', wire='chat')" for n in range(2)
    )
    notebook = opened(lab, model, cells[0], *[CODE] * 6, cells[1], *[CODE] * 6, setup=PAY + names)
    pill = notebook.page.locator(".nb-pill button")
    for index, count in ((1, 1), (8, 2)):
        model.call(*(("pay", {"to": str(number)}) for number in range(count)))
        notebook.page.evaluate(SELECT, index)
        notebook.run_cell(index)
        expect(notebook.output(index).get_by_role("group", name="Approval")).to_be_visible()

    notebook.page.evaluate(f"async () => {PANEL}.content.scrollToItem(5, 'center')")
    expect(pill).to_have_text("3 calls wait in 2 turns ↓")
    pill.click()
    expect(notebook.output(8).get_by_role("group", name="Approval")).to_be_focused()
    expect(pill).to_have_text("Run pay? waits ↑")
    pill.click()
    expect(notebook.output(1).get_by_role("group", name="Approval")).to_be_focused()
    expect(pill).to_have_text("2 calls wait ↓")
    assert notebook.errors == []
