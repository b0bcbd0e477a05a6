"""Formulas in JupyterLab: set by its own typesetter where that is safe, and as MathML otherwise."""

from __future__ import annotations

from typing import Any

import pytest
from playwright.sync_api import Locator, expect

from nbtool.blocks.render.mimebundle import turn_mimebundle
from tests.browser.bare import document, prose
from tests.browser.lab import Front, Lab, screenshot
from tests.browser.test_saved import CANARY, open_saved, turns, write

REPLY = (
    "The roots are $x = \\frac{-b \\pm \\sqrt{b^2 - 4ac}}{2a}$, and\n\n"
    "$$\\int_0^\\infty e^{-x^2}\\,dx = \\frac{\\sqrt{\\pi}}{2} \\qquad "
    "\\begin{pmatrix} a & b \\\\ c & d \\end{pmatrix}$$\n\nso all is well."
)
MATHJAX_FONTS = "[...document.fonts].filter(({family}) => family.startsWith('MJX'))"
HOSTILE = [
    f"$\\href{{javascript:{CANARY}}}{{x}}$",
    "$\\style{background:url(https://canary.invalid/a.png)}{x}$",
    "$\\require{color}\\color{red}x$",
    "$\\def\\alpha{\\text{forged}} \\alpha$",
    "$\\gdef\\frac#1#2{forged} \\frac12$",
    "$\\newcommand{\\beta}{\\text{forged}} \\beta$",
    "$\\class{nb-card}{x} \\cssId{nb}{y}$",
    "$x \\) <img src=x onerror=alert(1)> \\( y$",
    "$\\text{<img src=https://canary.invalid/a.png>}$",
    "$\\unicode[https://canary.invalid/font]{x41}$",
]


def reply(text: str) -> dict[str, Any]:
    """Give a saved turn that answers with a text."""
    saved: Any = document([prose(text)], status="completed", seconds=1.0, prompt="Solve it.")
    return turn_mimebundle(saved)


def formulas(turn: Locator) -> Locator:
    return turn.locator(".nb-math > mjx-container")


@pytest.mark.parametrize("front", ["lab", "notebook"])
@pytest.mark.parametrize("theme", ["light", "dark"])
def test_formulas_are_set_by_the_typesetter_of_jupyterlab(lab: Lab, front: Front, theme: str) -> None:
    lab.set_theme(theme)  # type: ignore[arg-type]  # pytest's parameters are plain texts
    notebook, trouble = open_saved(lab, write(lab, [reply(REPLY)], name=f"formulas-{front}-{theme}.ipynb"), front)
    turn = turns(notebook.output(0))
    notebook.page.wait_for_function(
        f"() => {MATHJAX_FONTS}.some(({{status}}) => status === 'loaded' || status === 'error')"
    )
    # Notebook 7.6 looks for the fonts at addresses that do not exist: its own formulas are set in others
    are_broken = notebook.page.evaluate(f"() => {MATHJAX_FONTS}.some(({{status}}) => status === 'error')")
    assert front == "notebook" or not are_broken
    formula = turn.locator(".nb-math > math") if are_broken else formulas(turn)
    expect(formula).to_have_count(2)
    expect(formula.first).to_have_attribute("aria-label", "x = \\frac{-b \\pm \\sqrt{b^2 - 4ac}}{2a}")
    expect(turn.locator(".nb-typesetting")).to_have_count(0)
    expect(turn).to_contain_text("so all is well.")
    screenshot(turn, f"formulas-{front}-{theme}")
    assert trouble == []


def test_a_hostile_formula_changes_nothing_and_fetches_nothing(lab: Lab) -> None:
    name = write(lab, [reply("\n\n".join(HOSTILE)), reply("$\\alpha + \\beta + \\frac12$")])
    notebook, trouble = open_saved(lab, name)
    later = turns(notebook.output(1))
    expect(formulas(later)).to_have_count(1)

    turn = turns(notebook.output(0))
    assert turn.locator("a, img, style, script, [href], [src], .nb-card, #nb").count() == 0
    assert notebook.page.evaluate("() => window.canary ?? 0") == 0
    assert "forged" not in later.inner_text()
    assert formulas(later).locator("mjx-mfrac").count() == 1, "its commands mean what they meant"
    assert trouble == []


def test_a_formula_that_cannot_be_set_stays_as_it_was(lab: Lab) -> None:
    texts = ["$\\color{red}{x^2}$", f"$x{'+ x' * 1_000}$", "$\\begin{array}{*{99999999}{c}} a \\end{array}$"]
    notebook, trouble = open_saved(lab, write(lab, [reply("\n\n".join([*texts, "$y^2$"]))]))
    turn = turns(notebook.output(0))
    expect(formulas(turn)).to_have_count(1)
    expect(turn.locator(".nb-math")).to_have_count(len(texts) + 1)
    assert turn.locator(".nb-math math[aria-label^='\\\\color']").count() == 1
    assert trouble == []
