"""One whole turn with an edit, a denial and a release: by the keyboard alone, and as a screen reader gets it."""

from __future__ import annotations

import pytest
from playwright.sync_api import Locator, expect

from tests.browser.lab import Lab, Notebook
from tests.browser.test_approval_card import chat

pytestmark = pytest.mark.new_page

ASK = '%%chat -m practice:fast -o answer\nUse &`order` for "AAA" with n=3, &`price` for "BBB", and &`owner` for "CCC".'
OUTCOME = "print([(c.name, c.status, c.reason) for c in answer.calls], ran, answer.status)"
MOST_TABS = 40
"""Presses of Tab after which what is looked for cannot be reached."""

FOCUSED = """() => {
    const { activeElement: el } = document;
    return el.getAttribute("aria-label") || el.labels?.[0]?.textContent || el.textContent;
}"""
LISTEN = """() => {
    window.announced = [];
    const live = "[role=status], [role=alert], [role=log], [aria-live=polite], [aria-live=assertive]";
    const note = (node) => {
        const region = (node instanceof Element ? node : node.parentElement)?.closest(live);
        const text = region?.matches(".nb-turn *, body > *") && region.textContent.trim();
        if (text && window.announced.at(-1) !== text) window.announced.push(text);
    };
    new MutationObserver((records) => {
        for (const { target, addedNodes } of records) {
            note(target);
            const added = [...addedNodes].filter((node) => node instanceof Element);
            for (const node of added) [node, ...node.querySelectorAll(live)].forEach(note);
        }
    }).observe(document.body, { childList: true, subtree: true, characterData: true });
}"""


def tab_to(notebook: Notebook, label: str, *, back: bool = False) -> None:
    """Press Tab until what has this label has the focus."""
    seen = []
    for _ in range(MOST_TABS):
        notebook.page.keyboard.press("Shift+Tab" if back else "Tab")
        seen.append(notebook.page.evaluate(FOCUSED).strip()[:60])
        if seen[-1] == label:
            return
    raise AssertionError(f"Tab never reaches {label!r}: {seen}")


def start_by_keys(lab: Lab) -> tuple[Notebook, Locator]:
    """Run the cell of the turn by keys, and wait for its first two questions."""
    notebook = chat(lab, ASK, OUTCOME)
    notebook.page.evaluate(LISTEN)
    notebook.cell(1).locator(".jp-InputPrompt").click()  # the pointer's last word: the cell is the active one
    notebook.page.keyboard.press("Control+Enter")
    asked = notebook.output(1).get_by_role("group", name="Approval")
    expect(asked.locator(".nb-item")).to_have_count(2, timeout=30_000)
    expect(asked.get_by_role("button", name="Deny all 2")).to_be_enabled()
    return notebook, asked


def decide_by_keys(notebook: Notebook, asked: Locator) -> None:
    """Edit and approve the first call, deny the second one with a reason, and release the result of the third."""
    press, write = notebook.page.keyboard.press, notebook.page.keyboard.type
    expect(notebook.output(1).get_by_role("button", name="Stop")).to_be_visible()
    tab_to(notebook, "Deny all 2")
    tab_to(notebook, "Edit…")
    press("Enter")
    expect(asked.get_by_role("textbox", name="ticker text")).to_be_focused()
    tab_to(notebook, "n integer")
    press("Control+a")
    write("7")
    expect(asked.locator(".nb-item").first).to_contain_text("as you edited it?")
    press("Control+Enter")
    expect(asked).not_to_contain_text("calls wait for you")
    expect(asked.get_by_role("button", name="Deny")).to_be_enabled()
    tab_to(notebook, "Reason, if you deny")
    write("not now")
    press("Enter")
    expect(asked.get_by_role("button", name="Release")).to_be_enabled()
    tab_to(notebook, "Release")
    press("Enter")
    notebook.wait_ended(1)


@pytest.mark.journey
def test_the_keyboard_alone_completes_a_turn_with_an_edit_a_denial_and_a_release(lab: Lab) -> None:
    notebook, asked = start_by_keys(lab)
    decide_by_keys(notebook, asked)

    notebook.run_cell(2)
    notebook.wait_output(2, "('order', 'ok', ''), ('price', 'denied', 'not now'), ('owner', 'ok', '')")
    notebook.wait_output(2, "[7] completed")
    assert notebook.errors == []


def test_after_shift_enter_arrow_up_and_tab_lead_to_the_question_and_escape_leads_back_to_the_cell(lab: Lab) -> None:
    notebook = chat(lab, '%%chat -m practice:fast -o answer\nUse &`price` for "BBB".', OUTCOME)
    press = notebook.page.keyboard.press
    notebook.cell(1).locator(".jp-InputPrompt").click()
    press("Shift+Enter")
    asked = notebook.output(1).get_by_role("group", name="Approval")
    expect(asked.get_by_role("button", name="Approve")).to_be_enabled(timeout=30_000)

    press("ArrowUp")
    tab_to(notebook, "Stop")
    tab_to(notebook, "Approve")
    press("Control+Enter")
    notebook.wait_ended(1)
    notebook.page.wait_for_function("() => document.activeElement.matches('.nb-turn')")
    press("Escape")
    press("ArrowDown")
    press("Shift+Enter")
    notebook.wait_output(2, "('price', 'ok', '')")
    assert notebook.errors == []


def test_below_the_last_cell_escape_comes_first_as_shift_enter_adds_a_cell_and_puts_the_cursor_into_it(
    lab: Lab,
) -> None:
    notebook = chat(lab, '%%chat -m practice:fast\nUse &`price` for "BBB".')
    press = notebook.page.keyboard.press
    notebook.cell(1).locator(".jp-InputPrompt").click()
    press("Shift+Enter")
    asked = notebook.output(1).get_by_role("group", name="Approval")
    expect(asked.get_by_role("button", name="Deny")).to_be_enabled(timeout=30_000)

    press("Escape")
    press("ArrowUp")
    tab_to(notebook, "Deny")
    press("Enter")
    notebook.wait_ended(1)
    expect(notebook.output(1)).to_contain_text("The user did not approve this call.")
    assert notebook.errors == []


ANNOUNCED = [
    "Waiting for the model",
    "Approval required for 2 calls: order, price.",
    "Waiting for your decision",
    "Approval required for 1 call: price.",
    'order(ticker="AAA", n=7): The call was approved with your edit. price(ticker="BBB"): The call was denied: not now',
    "Result approval required for 1 call: owner.",
    'owner(ticker="CCC"): The result was released.',
    "gave no result: The user did not approve this call. Reason: not now The turn is complete.",
]
"""What a screen reader announces, in this order; how often it says that the model is waited for depends on its pace."""

CARD = """
- group "Approval":
  - paragraph: 2 calls wait for you
  - button "Approve all 2"
  - button "Deny all 2"
  - group "Run order":
    - paragraph:
      - text: Run
      - code: order(ticker="AAA", n=3)
      - text: "?"
    - button "Approve"
    - button "Deny"
    - button "Edit…"
    - button "Reason…"
    - status
  - group "Run price":
    - paragraph:
      - text: Run
      - code: price(ticker="BBB")
      - text: "?"
    - button "Approve"
    - button "Deny"
    - button "Edit…"
    - button "Reason…"
    - status
"""
ENDED = """
- region "Chat turn":
  - group:
    - text: "3 calls:"
    - code: order, price, owner
    - text: /→ owner. .* 1 denied · 1 approved by you · 1 edited by you · .*/
  - region "Table":
    - table:
      - rowgroup:
        - row "call result"
      - rowgroup:
        - row "order, with the arguments that you changed, ordered 7"
        - row /owner/
  - paragraph:
    - code: price("BBB")
    - text: "gave no result: The user did not approve this call. Reason: not now"
  - text: /practice:fast .* · [\\d,]+ tokens · .* s \\(\\+ .* s waiting for you\\)/
  - button "Copy reply"
  - button "Rerun"
  - button "Edit prompt"
  - button "To code"
  - button "Explore"
"""


def test_a_screen_reader_gets_the_whole_turn(lab: Lab) -> None:
    notebook, asked = start_by_keys(lab)
    expect(asked).to_match_aria_snapshot(CARD)
    decide_by_keys(notebook, asked)
    expect(notebook.output(1).locator(".nb-saved")).to_be_visible()
    expect(notebook.output(1).locator(".nb-turn")).to_match_aria_snapshot(ENDED)

    announced = notebook.page.evaluate("window.announced")
    at = -1
    for text in ANNOUNCED:
        later = [number for number, one in enumerate(announced) if number > at and text in one]
        assert later, (text, announced)
        at = later[0]
    assert notebook.errors == []
