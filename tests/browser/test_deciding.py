"""How a person decides: what a card shows at once, what a remembered approval covers, and how a decision is noticed."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import expect

from tests.browser.lab import Lab
from tests.browser.test_approval_card import THREE, card, chat, press

FIVE = """
@tool(run="auto", result="always")
def five(n: int) -> pd.DataFrame:
    "Five rows."
    return pd.DataFrame({"ticker": list("ABCDE"), "close": [1.5, 2.5, 3.5, 4.5, 5.5]})

@tool
def lowest(df: pd.DataFrame, by: str) -> str:
    "The row with the lowest value of a column."
    return str(df.nsmallest(1, by))
"""
ASK_FIVE = "%%chat -m practice:fast -o answer\nUse &`five` with n=5."
OUTCOME = "print([c.status for c in answer.calls], answer.calls[0].reason, answer.calls[0].decisions[-1].by)"
NOTIFIED = """() => {
    window.notified = [];
    window.Notification = class { constructor(title, options) { window.notified.push([title, options.body]); }
        static permission = "granted"; };
    Object.defineProperty(document, "hidden", { configurable: true, get: () => true });
}"""


def test_a_result_of_a_few_rows_is_released_at_once(lab: Lab) -> None:
    notebook = chat(lab, FIVE, ASK_FIVE, OUTCOME)
    notebook.run_cell(1)
    asked = card(notebook, 2)
    release = asked.get_by_role("button", name="Release", exact=True)

    expect(release).to_be_enabled()
    expect(release).to_be_in_viewport()
    expect(asked.get_by_role("button", name=re.compile("^Show all"))).to_have_count(0)
    for row in ("A,1.5", "E,5.5"):
        expect(asked).to_contain_text(row)
    release.click()
    notebook.wait_ended(2)
    notebook.run_cell(3)
    notebook.wait_output(3, "['ok']")
    assert notebook.errors == []


def test_enter_in_the_reason_withholds_and_with_a_reason_that_button_is_primary(lab: Lab) -> None:
    notebook = chat(lab, FIVE, ASK_FIVE, OUTCOME)
    notebook.run_cell(1)
    asked = card(notebook, 2)
    primary = asked.locator(".nb-primary")
    expect(primary).to_have_text("Release")

    asked.get_by_label("Reason").fill("too much")
    expect(primary).to_have_text("Withhold")
    notebook.page.keyboard.press("Enter")
    notebook.wait_ended(2)
    notebook.run_cell(3)
    notebook.wait_output(3, "['withheld'] too much button")
    assert notebook.errors == []


@pytest.mark.journey
def test_an_approval_that_is_remembered_for_a_tool_settles_the_calls_that_wait_and_covers_later_ones(lab: Lab) -> None:
    later = THREE.replace('"AAA", "BBB" and "CCC"', '"DDD"')
    notebook = chat(lab, THREE, "print(ran)", "%chat approvals", later, "print(ran)")
    asked = card(notebook, 1)
    first = asked.locator(".nb-item").first

    first.get_by_role("button", name="Reason…").click()
    first.get_by_label("Remember the decision").select_option("Approve every call of price, whatever its arguments")
    expect(first.get_by_role("alert")).to_contain_text("Approving these arguments only is safer.")
    press(first, "Approve every call")
    notebook.wait_ended(1)
    notebook.run_cell(2)
    notebook.wait_output(2, "['AAA', 'BBB', 'CCC']")
    listed = notebook.run_cell(3).inner_text()
    notebook.run_cell(4)
    notebook.run_cell(5)

    assert "remembered for this tool: every call of price, whatever its arguments" in listed
    assert "AAA" not in listed, "it is not for one set of arguments"
    notebook.wait_output(5, "['AAA', 'BBB', 'CCC', 'DDD']")
    expect(notebook.output(4)).to_contain_text("approved as remembered")
    assert notebook.errors == []


@pytest.mark.journey
def test_one_of_several_calls_is_denied_with_a_reason(lab: Lab) -> None:
    notebook = chat(lab, THREE, "print([(c.status, c.reason) for c in answer.calls])")
    asked = card(notebook, 1)

    asked.locator(".nb-item").nth(1).get_by_role("button", name="Reason…").click()
    expect(asked.get_by_label("Reason, if you deny")).to_be_focused()
    notebook.page.keyboard.type("not this one")
    notebook.page.keyboard.press("Enter")
    expect(asked.locator(".nb-item")).to_have_count(2)
    press(asked, "Approve all 2")
    notebook.wait_ended(1)

    notebook.run_cell(2)
    notebook.wait_output(2, "[('ok', ''), ('denied', 'not this one'), ('ok', '')]")
    assert notebook.errors == []


def test_a_question_is_written_once_and_several_take_a_line_each(lab: Lab) -> None:
    notebook = chat(lab, THREE, FIVE, "%%chat -m practice:fast -v df\nUse &`lowest` of $`df` by 'close'.")
    asked = card(notebook, 1)
    box = asked.bounding_box()
    assert box
    assert box["height"] < 300
    for label in ("AAA", "BBB", "CCC"):
        assert asked.inner_text().count(f'price(ticker="{label}")') == 1
    for name in ("Approve all 3", "Deny all 3"):
        expect(asked.get_by_role("button", name=name)).to_be_enabled()
        expect(asked.get_by_role("button", name=name)).to_be_in_viewport()
    press(asked, "Deny all 3")
    notebook.wait_ended(1)

    notebook.run_cell(2)
    asked = card(notebook, 3)
    expect(asked.locator(".nb-card-summary")).to_have_text('Run lowest(df=df, by="close")?')
    chip = asked.locator(".nb-chip")
    expect(chip).to_contain_text("DataFrame, 2 rows by 2 columns")
    expect(chip).to_contain_text("ticker (str)")
    expect(chip).not_to_have_attribute("open", "")
    chip.locator("summary").click()
    expect(chip).to_have_attribute("open", "")
    assert "VAR_REF" not in asked.inner_text()
    press(asked, "Deny")
    notebook.wait_ended(3)
    assert notebook.errors == []


@pytest.mark.sampled(1)
@pytest.mark.new_page
@pytest.mark.parametrize("height", [400, 900])
def test_a_question_below_the_edge_comes_into_view_and_is_noticed_elsewhere(lab: Lab, height: int) -> None:
    notebook = chat(lab, "print('\\n' * 60)", THREE)
    notebook.run_cell(1)
    notebook.page.evaluate(NOTIFIED)
    notebook.page.set_viewport_size({"width": 1200, "height": height})
    title = notebook.page.title()

    asked = card(notebook, 2)
    expect(asked.get_by_role("button", name="Approve all 3")).to_be_in_viewport()
    expect(notebook.page).to_have_title(re.compile(r"^\(3\) "))
    notified = notebook.page.evaluate("window.notified")
    press(asked, "Deny all 3")
    notebook.wait_ended(2)
    notebook.page.set_viewport_size({"width": 1200, "height": 900})

    assert {body for _, body in notified} == {"A decision waits in this notebook."}
    assert notified[-1][0].startswith("(3) ")
    expect(notebook.page).to_have_title(title)
    assert notebook.errors == []
