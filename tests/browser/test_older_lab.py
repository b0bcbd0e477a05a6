"""The JupyterLab that many hubs still serve, 4.4, over the newest kernel."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest
from playwright.sync_api import BrowserContext

from tests.browser.lab import Lab, lab_of
from tests.browser.server import ROOT, Server
from tests.browser.test_chat import ASK, CHECK, card, chat

FOREIGN = "module-federation.io/guide/troubleshooting"
"""Stands in the errors of Notebook 7's own extension for JupyterLab, which is built for a newer one."""

TIMES = 20
"""How often it is clicked."""

OLDER = ROOT / "build" / "places" / "lab44"


@pytest.fixture
def older(profile: BrowserContext, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lab]:
    if not OLDER.is_dir():
        pytest.fail("There is no JupyterLab 4.4: `make lane LANE=compat` installs it.", pytrace=False)
    with lab_of(Server(tmp_path_factory.mktemp("lab44"), overlay=OLDER), profile) as lab:
        yield lab


@pytest.mark.nightly
@pytest.mark.timeout(300)
def test_an_approval_is_clicked_while_its_cell_is_running_in_an_older_lab(
    older: Lab, kernel: str, record_property: Callable[[str, object], None]
) -> None:
    record_property("injected", TIMES)
    notebook = chat(older, kernel, ASK, CHECK)
    script = notebook.page.locator("script[src*='/static/lab/main.']").get_attribute("src") or ""

    for _ in range(TIMES):
        notebook.start_cell(1)
        waiting = card(notebook, 1)
        assert notebook.is_running(1)
        waiting.get_by_role("button", name="Approve").click()
        notebook.wait_ended(1)
    notebook.run_cell(2)

    assert (OLDER / "share" / "jupyter" / "lab" / "static" / script.rpartition("/")[2].partition("?")[0]).is_file()
    notebook.wait_output(2, "same object: True | completed | ['ok', 'ok']")
    assert [error for error in notebook.errors if FOREIGN not in error] == []
