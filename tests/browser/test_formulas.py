"""Formulas in JupyterLab: set by its own typesetter where that is safe, and as MathML otherwise."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Literal

import pytest
from playwright.sync_api import BrowserContext, Locator, expect

from nbtool.blocks.render.mimebundle import turn_mimebundle
from tests.browser.bare import document, prose
from tests.browser.lab import PICTURED_THEMES, Lab, Notebook, lab_of, screenshot
from tests.browser.server import Server
from tests.browser.test_saved import CANARY, listen, open_saved, turns, write

ROOTS = "x = \\frac{-b \\pm \\sqrt{b^2 - 4ac}}{2a}"
REPLY = (
    f"The roots are ${ROOTS}$, and\n\n"
    "$$\\int_0^\\infty e^{-x^2}\\,dx = \\frac{\\sqrt{\\pi}}{2} \\qquad "
    "\\begin{pmatrix} a & b \\\\ c & d \\end{pmatrix}$$\n\nso all is well."
)
LOADED_FONTS = "() => [...document.fonts].some(({ family, status }) => family.startsWith('MJX') && status === 'loaded')"
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


@pytest.fixture(scope="module")
def jupyterlab(tmp_path_factory: pytest.TempPathFactory, profile: BrowserContext) -> Iterator[Lab]:
    """Give a server for JupyterLab alone, and `notebook_7` another one.

    JupyterLab and Notebook 7 have fonts of the same file names, and jupyter_server refuses such a file to the one that
    asks second: its `FileFindHandler` remembers the first file of a name, and finds that it is not the other's. The
    server of the other tests serves both.
    """
    with lab_of(Server(tmp_path_factory.mktemp("jupyterlab")), profile) as lab:
        yield lab


@pytest.fixture(scope="module")
def notebook_7(tmp_path_factory: pytest.TempPathFactory, profile: BrowserContext) -> Iterator[Lab]:
    with lab_of(Server(tmp_path_factory.mktemp("notebook")), profile) as lab:
        yield lab


@pytest.fixture(autouse=True)
def close_pages(profile: BrowserContext) -> Iterator[None]:
    yield
    for page in profile.pages:
        page.close()


def expect_typeset(notebook: Notebook, name: str) -> None:
    turn = turns(notebook.output(0))
    formula = formulas(turn)
    expect(formula).to_have_count(2)
    expect(formula.first).to_have_attribute("aria-label", ROOTS)
    expect(turn.locator(".nb-typesetting")).to_have_count(0)
    expect(turn).to_contain_text("so all is well.")
    assert notebook.page.evaluate(LOADED_FONTS)
    screenshot(turn, name)


@pytest.mark.journey
@pytest.mark.parametrize("theme", PICTURED_THEMES)
def test_formulas_are_set_by_the_typesetter_of_jupyterlab(jupyterlab: Lab, theme: Literal["light", "dark"]) -> None:
    jupyterlab.set_theme(theme)
    notebook, trouble = open_saved(jupyterlab, write(jupyterlab, [reply(REPLY)], name=f"formulas-{theme}.ipynb"))
    expect_typeset(notebook, f"formulas-lab-{theme}")
    assert trouble == []


@pytest.mark.nightly
@pytest.mark.parametrize("theme", PICTURED_THEMES)
def test_formulas_are_set_by_the_typesetter_of_notebook_7(notebook_7: Lab, theme: Literal["light", "dark"]) -> None:
    notebook_7.set_theme(theme)
    name = write(notebook_7, [reply(REPLY)], name=f"formulas-{theme}.ipynb")
    notebook, trouble = open_saved(notebook_7, name, "notebook")
    expect_typeset(notebook, f"formulas-notebook-{theme}")
    notebook.close()
    assert trouble == []


@pytest.mark.nightly
def test_formulas_stay_mathml_where_the_typesetter_gets_no_fonts(jupyterlab: Lab) -> None:
    notebook, trouble = listen(jupyterlab, write(jupyterlab, [reply(REPLY)]))
    refused: list[str] = []
    notebook.page.on("response", lambda response: refused.append(response.url) if response.status == 403 else None)
    notebook.page.route("**/*.woff", lambda route: route.fulfill(status=403))
    notebook.open_without_kernel()
    turn = turns(notebook.output(0))
    notebook.page.wait_for_function(LOADED_FONTS.replace("'loaded'", "'error'"))
    expect(turn.locator(".nb-typesetting")).to_have_count(0)
    expect(turn.locator(".nb-math > math")).to_have_count(2)
    expect(turn.locator(".nb-math > math").first).to_have_attribute("aria-label", ROOTS)
    assert refused
    assert trouble == []


def test_a_hostile_formula_changes_nothing_and_fetches_nothing(jupyterlab: Lab) -> None:
    name = write(jupyterlab, [reply("\n\n".join(HOSTILE)), reply("$\\alpha + \\beta + \\frac12$")])
    notebook, trouble = open_saved(jupyterlab, name)
    later = turns(notebook.output(1))
    expect(formulas(later)).to_have_count(1)

    turn = turns(notebook.output(0))
    assert turn.locator("a, img, style, script, [href], [src], .nb-card, #nb").count() == 0
    assert notebook.page.evaluate("() => window.canary ?? 0") == 0
    assert "forged" not in later.inner_text()
    assert formulas(later).locator("mjx-mfrac").count() == 1, "its commands mean what they meant"
    assert trouble == []


@pytest.mark.nightly
def test_a_formula_that_cannot_be_set_stays_as_it_was(jupyterlab: Lab) -> None:
    texts = ["$\\color{red}{x^2}$", f"$x{'+ x' * 1_000}$", "$\\begin{array}{*{99999999}{c}} a \\end{array}$"]
    notebook, trouble = open_saved(jupyterlab, write(jupyterlab, [reply("\n\n".join([*texts, "$y^2$"]))]))
    turn = turns(notebook.output(0))
    expect(formulas(turn)).to_have_count(1)
    expect(turn.locator(".nb-math")).to_have_count(len(texts) + 1)
    assert turn.locator(".nb-math math[aria-label^='\\\\color']").count() == 1
    assert trouble == []
