"""marimo, with a page: the live view of a turn that was started in a cell, and a click on its question."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect, sync_playwright

from tests.browser.chromium import find_chromium
from tests.browser.conftest import QUIET_CHROMIUM

ROOT = Path(__file__).parents[2]
OVERLAY = ROOT / "build" / "places" / "marimo"
SECONDS = 60

APP = """
import marimo

app = marimo.App()


@app.cell
def _():
    import marimo as mo
    from nbtool import Chat, tool
    from nbtool.view.standalone import by_click, turn_widget

    received = []

    @tool
    def double(n: int) -> int:
        "Twice a number."
        received.append(n)
        return 2 * n

    chat = Chat("practice:fast", tools=[double])
    turn = chat.start("Use `double` with 21.", approver=by_click)
    turn_widget(turn, chat.approvals)
    return mo, received, turn


@app.cell
def _(mo):
    look = mo.ui.run_button(label="Look")
    look
    return (look,)


@app.cell
def _(look, mo, received, turn):
    mo.md(f"GOT {turn.status} {received} {turn.calls[0].decisions[0].by}") if look.value else None
    return
"""


@pytest.fixture
def page(tmp_path: Path) -> Iterator[Page]:
    """Give a page of marimo that has opened the notebook."""
    if not OVERLAY.is_dir():
        pytest.fail("There is no marimo: `make compat-env` installs it.", pytrace=False)
    (tmp_path / "app.py").write_text(APP, encoding="utf-8")
    path = os.pathsep.join([str(OVERLAY), str(ROOT), os.environ.get("PYTHONPATH", "")])
    command = [sys.executable, "-m", "marimo", "--yes", "run", "app.py", "--headless", "--no-token", "--port", "0"]
    with (
        subprocess.Popen(
            command, cwd=tmp_path, env={**os.environ, "PYTHONPATH": path}, stdout=subprocess.PIPE, text=True
        ) as server,
        sync_playwright() as playwright,
    ):
        try:
            browser = playwright.chromium.launch(executable_path=find_chromium(), args=QUIET_CHROMIUM)
            page = browser.new_page()
            page.goto(_address(server))
            yield page
        finally:
            server.terminate()


def _address(server: subprocess.Popen[str]) -> str:
    assert server.stdout
    for line in server.stdout:
        if said := re.search(r"http://\S+:(\d+)", line):
            return f"http://127.0.0.1:{said[1]}"
    raise AssertionError("marimo did not say where it listens.")


@pytest.mark.nightly
@pytest.mark.timeout(SECONDS * 2)
def test_a_turn_that_a_cell_started_is_live_and_a_click_on_its_question_is_handled_between_cells(page: Page) -> None:
    page.get_by_role("button", name="Approve").first.click(timeout=SECONDS * 1000)

    expect(page.locator(".nb-turn").first).to_contain_text("approved")
    page.get_by_role("button", name="Look").click()
    expect(page.get_by_text("GOT completed [21] button")).to_be_visible()
