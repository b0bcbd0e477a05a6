"""Forged outputs in notebooks that are not trusted, in real JupyterLab: drawn or refused, without script or request."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable
from typing import Any

import nbformat
import pytest
from playwright.sync_api import ConsoleMessage, Locator, expect

from tests.browser.forgery import HOST, OWN_PATH, forged_bundles
from tests.browser.lab import Lab, Notebook

NO_KERNEL = "not-installed"
SEEDS = range(20)
IN_ONE_NOTEBOOK = 20
UNREADABLE = "What is saved here cannot be read."
LISTEN = "window.canaries = []; window.canary = (number) => { window.canaries.push(number); };"
OUTCOME = f"""el => {{
  if (el.querySelector(".nb-saved, .nb-explorer, .nb-conversation")) return "drawn";
  const isTwin = [...el.querySelectorAll("em")].some((one) => one.textContent === "twin");
  return isTwin || el.textContent.includes({json.dumps(UNREADABLE)}) ? "refused" : "";
}}"""
MARKUP = (
    ":is(.nb-saved, .nb-explorer, .nb-conversation) :is(script, iframe, object, embed, style, link, base, form, meta)"
)

PRESS = """el => {
  for (const one of el.querySelectorAll("button:not(:disabled), [role=tab], [role=treeitem]")) one.click();
}"""

Record = Callable[[str, object], None]


class ForgedPage:
    """A page with a forged notebook, and what happened on it that must not: scripts, requests, errors, dialogs."""

    def __init__(self, lab: Lab, name: str) -> None:
        self.notebook = Notebook(lab.context.new_page(), lab.server, name)
        self.trouble: list[str] = []
        page = self.notebook.page
        self._own = (lab.server.url, "blob:", "data:")
        page.add_init_script(LISTEN)
        page.on("request", lambda request: self._take_request(request.url))
        page.on("dialog", lambda dialog: self.trouble.append(dialog.message))
        page.on(
            "pageerror", lambda error: self.trouble.append(str(error.stack)) if "nbtool" in str(error.stack) else None
        )
        page.on("console", self._take)

    def _take_request(self, url: str) -> None:
        if not url.startswith(self._own) or OWN_PATH in url:
            self.trouble.append(url)

    def _take(self, message: ConsoleMessage) -> None:
        if message.type == "error" and "nbtool" in message.text:
            self.trouble.append(message.text)

    def scripts(self) -> list[int]:
        """Return the numbers of the scripts that ran."""
        return list(self.notebook.page.evaluate("() => window.canaries"))


def write(lab: Lab, name: str, bundles: list[dict[str, Any]], kernel: str = NO_KERNEL) -> None:
    """Write a notebook of somebody else, which nobody trusts here: one output for each cell."""
    new = nbformat.v4
    cells = [
        new.new_code_cell("%%chat\nHello", outputs=[new.new_output("display_data", data=one)], execution_count=1)
        for one in bundles
    ]
    lab.server.put(name, new.new_notebook(cells=cells), kernel=kernel)


def outcome(output: Locator) -> str:
    """Wait until an output is drawn by nbtool, or visibly refused; return which."""
    output.scroll_into_view_if_needed()
    handle = output.element_handle()
    found = output.page.wait_for_function(OUTCOME, arg=handle)
    return str(found.json_value())


def use(output: Locator) -> None:
    """Open and press what a reader would: folds, tabs, the search, and whatever has a button."""
    output.evaluate("el => { for (const fold of el.querySelectorAll('details')) fold.open = true; }")
    for field in output.get_by_role("searchbox").all():
        field.fill("canary")
        field.press("Enter")
        field.fill("")
    output.evaluate(PRESS)
    output.evaluate("el => { for (const fold of el.querySelectorAll('details')) fold.open = true; }")
    output.page.evaluate("() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))")


def check(forged: ForgedPage, count: int) -> Counter[str]:
    """Look at every output of a notebook and use it; return how many were drawn, and how many refused."""
    page = forged.notebook.page
    outputs = page.locator(".jp-OutputArea-output")  # what is pressed may insert cells between them
    expect(outputs).to_have_count(count)
    outcomes: Counter[str] = Counter()
    for at in range(count):
        outcomes[outcome(outputs.nth(at))] += 1
        use(outputs.nth(at))
    expect(page.locator(MARKUP)).to_have_count(0)
    assert forged.trouble == []
    assert forged.scripts() == []
    assert page.evaluate("() => [({}).canary, ({}).x, [].acts]") == [None, None, None]
    return outcomes


@pytest.mark.nightly
@pytest.mark.timeout(600)
@pytest.mark.promise("forged-history")
@pytest.mark.parametrize("seed", SEEDS)
def test_forged_outputs_are_shown_or_refused_without_a_script_or_a_request(
    lab: Lab, seed: int, record_property: Record
) -> None:
    name = f"forged-{seed}.ipynb"
    write(lab, name, forged_bundles(seed, IN_ONE_NOTEBOOK))
    forged = ForgedPage(lab, name)
    forged.notebook.open_without_kernel()

    outcomes = check(forged, IN_ONE_NOTEBOOK)

    record_property("injected", IN_ONE_NOTEBOOK)
    record_property("drawn", outcomes["drawn"])
    record_property("refused", outcomes["refused"])
    assert outcomes.total() == IN_ONE_NOTEBOOK
    assert outcomes["drawn"]


@pytest.mark.nightly
@pytest.mark.timeout(600)
@pytest.mark.promise("forged-history")
@pytest.mark.parametrize("seed", range(100, 104))
def test_with_a_kernel_whatever_is_pressed_only_adds_cells_that_have_not_run(
    lab: Lab, seed: int, record_property: Record
) -> None:
    name = f"forged-live-{seed}.ipynb"
    write(lab, name, forged_bundles(seed, IN_ONE_NOTEBOOK), kernel="python3")
    forged = ForgedPage(lab, name)
    forged.notebook.open()
    outputs = forged.notebook.page.locator(".jp-OutputArea-output")
    expect(outputs).to_have_count(IN_ONE_NOTEBOOK)

    outcomes = Counter(outcome(outputs.nth(at)) for at in range(IN_ONE_NOTEBOOK))
    for at in range(IN_ONE_NOTEBOOK):
        use(outputs.nth(at))
    cells = [cell for cell in forged.notebook.save().cells if not cell.outputs]

    record_property("injected", IN_ONE_NOTEBOOK)
    assert outcomes["drawn"]
    assert cells
    assert [cell for cell in cells if cell.execution_count is not None] == []
    lines = {line.split(" ")[0] for cell in cells for line in cell.source.split("\n")}
    assert {line for line in lines if line.startswith(("%", "!"))} <= {"%%chat", "%chat", "%load_ext"}
    assert forged.trouble == []
    assert forged.scripts() == []


def test_the_page_of_a_forged_notebook_notices_scripts_and_requests(lab: Lab) -> None:
    write(lab, "control.ipynb", forged_bundles(0, 1))
    forged = ForgedPage(lab, "control.ipynb")
    forged.notebook.open_without_kernel()
    outcome(forged.notebook.output(0))

    forged.notebook.page.evaluate(f"() => fetch('https://{HOST}/x').catch(() => 0)")
    forged.notebook.output(0).evaluate("el => { el.innerHTML = `<img src=x onerror='canary(7)'>`; }")
    forged.notebook.page.wait_for_function("() => window.canaries.length")

    assert forged.trouble == [f"https://{HOST}/x"]
    assert forged.scripts() == [7]
