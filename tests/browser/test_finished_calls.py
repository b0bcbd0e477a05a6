"""What a person reads of finished calls: results whole, frames as tables, what ran, why it failed, how long it took."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import Locator, expect

from tests.browser.lab import PICTURED_THEMES, Lab, Notebook, screenshot
from tests.browser.test_approval_card import card, press

SETUP = """
%load_ext nbtool
import pandas as pd
from nbtool import tool

birds = pd.DataFrame({"species": ["Gentoo", "Adelie", "Chinstrap"] * 20, "mass": [4955.1 + n for n in range(60)]})
wide = pd.DataFrame({f"measure number {n}": [-1234567.891 - n, 9876543.21] for n in range(30)})

@tool(run="auto")
def weigh() -> str:
    "The masses, one line each."
    return "\\n".join(f"bird {n}: {4955.1 + n} g" for n in range(60))

@tool(run="auto")
def weigh_all() -> str:
    "Many masses."
    return "4955.1 g\\n" * 20_000

@tool(run="auto")
def heaviest(df: pd.DataFrame) -> pd.DataFrame:
    "The 40 heaviest birds of a frame."
    return df.nlargest(40, "mass")

@tool(run="auto")
def widen(df: pd.DataFrame) -> pd.DataFrame:
    "A wide frame."
    return df

@tool(run="auto")
def look_up(key: str) -> float:
    "Look something up."
    masses = {"Gentoo": 5092.4}
    return masses[key]

@tool
def order(ticker: str, n: int) -> str:
    "Order some shares."
    return f"ordered {n}"
"""


def ask(lab: Lab, prompt: str, *cells: str, name: str = "calls.ipynb") -> Notebook:
    """Load the tools and write a chat cell, which is not run yet."""
    notebook = lab.open_cells(SETUP, f"%%chat -m practice:fast -o answer {prompt}", *cells, kernel="python3", name=name)
    notebook.run_cell(0)
    notebook.wait_output(0, "nbtool: ")
    return notebook


def open_call(output: Locator, name: str) -> Locator:
    """Open a call in the log and give its details."""
    call = output.locator(".nb-call").filter(has=output.page.locator("b", has_text=re.compile(f"^{name}$")))
    call.locator("summary").first.click()
    expect(call.locator(".nb-fold-body").first).to_be_visible()
    return call


def test_a_result_is_whole_in_its_call_or_says_how_much_is_shown(lab: Lab) -> None:
    notebook = ask(lab, "\nUse &`weigh` and &`weigh_all`.")
    output = notebook.run_cell(1)
    line = output.locator(".nb-call summary").first
    expect(line).to_contain_text("bird 0: 4955.1 g")

    whole = open_call(output, "weigh")
    expect(whole).to_contain_text("bird 59: 5014.1 g")
    expect(whole).not_to_contain_text("…")
    part = open_call(output, "weigh_all")
    expect(part).to_contain_text("shown in part; the whole is str, 180,000 characters")
    expect(part).to_contain_text("weigh_all_1_result")
    assert notebook.errors == []


@pytest.mark.parametrize("theme", PICTURED_THEMES)
def test_a_frame_is_a_table_whose_numbers_are_never_broken(lab: Lab, theme: str) -> None:
    lab.set_theme(theme)  # type: ignore[arg-type]  # pytest's parameters are plain texts
    notebook = ask(lab, "-v birds wide --read birds wide\nUse &`heaviest` on $`birds` and &`widen` on $`wide`.")
    output = notebook.run_cell(1)

    long = open_call(output, "heaviest")
    table = long.get_by_role("region", name="Result")
    expect(table.get_by_role("row")).to_have_count(21)
    expect(long).to_contain_text("… 20 rows more")
    expect(table.get_by_role("columnheader")).to_have_text(["", "species", "mass"])
    expect(table.get_by_role("row").nth(1)).to_contain_text("5014.1")
    assert table.get_by_role("row").nth(1).get_by_role("cell").first.inner_text() == "59", "the label of the row"
    expect(long.get_by_role("region", name="First rows")).to_have_count(0)  # those of the argument are in no saved cell
    call = open_call(output, "widen")
    wide = call.get_by_role("region", name="Result")
    cells = wide.get_by_role("cell")
    expect(cells.filter(has_text="-1234567.891")).to_have_count(1)
    screenshot(call, f"wide-table-{theme}")
    lines = cells.evaluate_all(
        """cells => cells.map((cell) => {
            const range = document.createRange();
            range.selectNodeContents(cell);
            return new Set([...range.getClientRects()].map((box) => Math.round(box.top))).size;
        })"""
    )
    sides = wide.evaluate("(el) => [el.scrollWidth > el.clientWidth, el.getBoundingClientRect().right <= innerWidth]")
    assert set(lines) == {1}
    assert sides == [True, True], "the table scrolls, not the page"
    assert notebook.errors == []


def test_a_tool_that_raises_shows_its_traceback_to_the_person_alone(lab: Lab) -> None:
    notebook = ask(lab, '\nUse &`look_up` for "Emperor".', "print('SENT', answer.calls[0].shown)")
    output = notebook.run_cell(1)
    expect(output.locator(".nb-call summary").first).to_contain_text("failed")

    call = open_call(output, "look_up")
    expect(call).to_contain_text("Traceback (most recent call last)")
    expect(call).to_contain_text("Traceback: only you see it")
    expect(call).to_contain_text("return masses[key]")
    screenshot(call, "traceback")
    notebook.run_cell(2)
    sent = notebook.wait_output(2, "SENT").inner_text()
    assert "KeyError" in sent
    assert "Traceback" not in sent
    assert "masses[key]" not in sent
    assert notebook.errors == []


def test_line_and_details_show_the_arguments_that_ran_and_the_card_those_that_will(lab: Lab) -> None:
    notebook = ask(lab, '\nUse &`order` for "AAA", n=3.')
    asked = card(notebook, 1)
    expect(asked).to_contain_text('Run order(ticker="AAA", n=3)?')
    press(asked, "Edit")
    asked.get_by_role("textbox", name="n integer").fill("7")
    expect(asked.locator(".nb-card-summary")).to_have_text('Run order(ticker="AAA", n=7) as you edited it?')
    press(asked, "Approve as edited")
    notebook.wait_ended(1)

    call = open_call(notebook.output(1), "order")
    expect(call.locator("summary").first).to_contain_text('order(ticker="AAA", n=7)')
    expect(call.locator("summary").first).to_contain_text("approved with your edit")
    expect(call.locator(".nb-section").first).to_contain_text("n: 7")
    asked_for = call.locator("details", has_text="As the model wrote it")
    asked_for.locator("summary").click()
    expect(asked_for).to_contain_text('"n": 3')
    screenshot(call, "edited-call")
    assert notebook.errors == []


def test_the_wait_for_a_person_is_not_the_time_of_the_tool(lab: Lab) -> None:
    notebook = ask(lab, '\nUse &`order` for "AAA", n=3.', "print('SECONDS', answer.calls[0].seconds)")
    asked = card(notebook, 1)
    began = notebook.page.evaluate("performance.now()")
    notebook.page.wait_for_function("began => performance.now() - began > 1_000", arg=began)
    press(asked, "Approve")
    notebook.wait_ended(1)

    line = notebook.output(1).locator(".nb-call .nb-facts")
    expect(line).to_have_text(re.compile(r"^(\d+ ms|0\.\d s) · approved$"))
    assert notebook.errors == []


SIZES = """(turn) => {
    const size = (name) => parseFloat(getComputedStyle(turn.querySelector(name)).fontSize);
    const colour = (name) => getComputedStyle(turn.querySelector(name)).color;
    return { answer: size(".nb-reply p"), log: size(".nb-group > summary"), footer: size(".nb-footer"),
        colours: [colour(".nb-reply p"), colour(".nb-facts"), colour(".nb-footer")],
        prompt: parseFloat(getComputedStyle(document.querySelector(".cm-content")).fontSize) };
}"""


@pytest.mark.journey
@pytest.mark.sampled(1)
@pytest.mark.parametrize("theme", ["light", "dark"])
def test_the_answer_dominates_and_several_finished_calls_are_one_quiet_line(lab: Lab, theme: str) -> None:
    lab.set_theme(theme)  # type: ignore[arg-type]  # pytest's parameters are plain texts
    notebook = ask(lab, "-v birds\nUse &`weigh`, &`weigh_all` and &`heaviest` on $`birds`.")
    output = notebook.run_cell(1)
    turn = output.locator(".nb-turn")
    group = turn.locator(".nb-group > summary")
    expect(group).to_have_text(re.compile(r"^3 calls: ✓weigh, weigh_all, heaviest→ 40 rows[\d.]+ m?s$"))
    screenshot(turn, f"quiet-turn-{theme}")

    sizes = turn.evaluate(SIZES)
    assert sizes["answer"] > sizes["log"] > sizes["footer"]
    assert sizes["colours"][0] not in sizes["colours"][1:]
    assert group.bounding_box()["height"] < 2 * sizes["answer"], "one line"  # type: ignore[index]  # it is visible
    for name in ("Copy reply", "Rerun", "Edit prompt", "To code", "Explore"):
        button = turn.get_by_role("button", name=name, exact=True)
        expect(button).to_have_text("")
        expect(button).to_have_attribute("title", re.compile(f"^{name}"))
    assert notebook.errors == []


def test_a_line_of_prose_is_no_longer_than_can_be_read(lab: Lab) -> None:
    notebook = ask(lab, "\n" + "Hello, and tell me in one long sentence what you are. " * 3)
    notebook.page.set_viewport_size({"width": 1800, "height": 900})
    output = notebook.run_cell(1)
    width = output.locator(".nb-reply p").first.evaluate(
        "(p) => p.getBoundingClientRect().width / parseFloat(getComputedStyle(p).fontSize)"
    )
    notebook.page.set_viewport_size({"width": 1200, "height": 900})

    assert 40 < width <= 46
    assert output.evaluate("(el) => el.getBoundingClientRect().width > 800")
