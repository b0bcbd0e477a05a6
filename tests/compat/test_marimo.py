"""marimo, with a page: the live view of a turn that was started in a cell, and a click on its question."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect, sync_playwright

from tests.browser.chromium import find_chromium
from tests.browser.conftest import QUIET_CHROMIUM
from tests.compat.processes import ROOT, SECONDS, environment_of, find_overlay, run_command

NAME = "marimo_chat.py"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Give a copy of the notebook for marimo and its data."""
    shutil.copy(ROOT / "notebooks" / NAME, tmp_path)
    shutil.copytree(ROOT / "notebooks" / "data", tmp_path / "data")
    return tmp_path


@pytest.fixture
def page(folder: Path) -> Iterator[Page]:
    """Give a page of marimo that has opened the notebook."""
    command = [sys.executable, "-m", "marimo", "--yes", "run", NAME, "--headless", "--no-token", "--port", "0"]
    environment = environment_of(find_overlay("marimo"), NBTOOL_MODEL="practice:fast")
    with (
        subprocess.Popen(command, cwd=folder, env=environment, stdout=subprocess.PIPE, text=True) as server,
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
    page.get_by_role("button", name="Send").click(timeout=SECONDS * 1000)
    page.get_by_role("button", name="Approve").first.click(timeout=SECONDS * 1000)

    expect(page.locator(".nb-turn").first).to_contain_text("approved")
    expect(page.locator(".nb-turn").first).to_contain_text("124")
    page.get_by_role("button", name="Use the answer").click()
    expect(page.get_by_text("completed: [124]")).to_be_visible()


@pytest.mark.nightly
def test_the_notebook_runs_to_its_end_as_a_script_and_waits_for_a_prompt_on_a_page(folder: Path) -> None:
    overlay = find_overlay("marimo")

    run_command(NAME, cwd=folder, overlay=overlay)
    run_command("-m", "marimo", "export", "html", NAME, "-o", "page.html", cwd=folder, overlay=overlay)

    html = (folder / "page.html").read_text(encoding="utf-8")
    assert "A chat in marimo" in html
    assert "Send the prompt first." in html
