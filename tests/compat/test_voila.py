"""A notebook as an app (Voilà), which runs every cell before a page is there: what the page shows of turns."""

from __future__ import annotations

import re
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect, sync_playwright

from tests.browser.chromium import find_chromium
from tests.browser.conftest import QUIET_CHROMIUM
from tests.browser.lab import screenshot
from tests.compat.processes import SECONDS, environment_of, find_overlay, write_notebook
from tests.compat.test_runs import SETUP

ASKS = "%%chat -m practice:fast -t halve -o second\nUse &`halve` with 42."
CELLS = [SETUP, "%%chat -m practice:fast -t double -o first\nUse &`double` with 21.", ASKS]


@pytest.fixture
def page(tmp_path: Path) -> Iterator[Page]:
    """Give a page of Voilà that has opened the notebook."""
    write_notebook(tmp_path / "app.ipynb", *CELLS)
    command = [
        sys.executable,
        "-m",
        "voila",
        "app.ipynb",
        "--no-browser",
        f"--port={_free_port()}",
        "--Voila.ip=127.0.0.1",
    ]
    overlay = find_overlay("tools")
    environment = environment_of(overlay, NBTOOL_HOME=str(tmp_path), JUPYTER_PATH=str(overlay / "share" / "jupyter"))
    with (
        subprocess.Popen(command, cwd=tmp_path, env=environment, stderr=subprocess.PIPE, text=True) as server,
        sync_playwright() as playwright,
    ):
        try:
            browser = playwright.chromium.launch(executable_path=find_chromium(), args=QUIET_CHROMIUM)
            page = browser.new_page()
            page.goto(_address(server), timeout=SECONDS * 1000)
            yield page
        finally:
            server.terminate()


def _free_port() -> int:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return int(listener.getsockname()[1])


def _address(server: subprocess.Popen[str]) -> str:
    assert server.stderr
    for line in server.stderr:
        if said := re.search(r"http://\S+:(\d+)", line):
            return f"http://127.0.0.1:{said[1]}"
    raise AssertionError("Voilà did not say where it listens.")


@pytest.mark.nightly
@pytest.mark.timeout(SECONDS * 3)
def test_a_page_shows_finished_turns_and_that_a_call_which_asks_was_denied(page: Page) -> None:
    body = page.locator("body")
    expect(body).to_contain_text("denied", timeout=SECONDS * 1000)
    screenshot(page, "voila")

    expect(body).to_contain_text("double(")
    expect(body).to_contain_text("42")
