"""Signing in to a server of tools: a line with a link to its page below a cell, a card in a turn, in a real page."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from playwright.sync_api import Locator, expect

from tests.browser.lab import Lab, Notebook, screenshot
from tests.tools.mcp.login_server import ProtectedServer, protected_server

SETUP = """
%load_ext nbtool
from nbtool.tools.mcp import mcp_servers
"""
CONNECT = """
try:
    servers = mcp_servers({{"mcpServers": {{"lab": {{"url": "{url}", "auth": "oauth"}}}}}})
    print("tools:", *servers.tools())
except Exception as error:
    print("failed:", error)
"""
ASK = "%%chat -m practice:fast -t servers -o answer\nUse `lab_double` with n=4."


@pytest.fixture
def protected() -> Iterator[ProtectedServer]:
    with protected_server() as server:
        yield server


def open_question(lab: Lab, protected: ProtectedServer) -> Notebook:
    """Connect in a cell of code, and wait for the line below it."""
    notebook = lab.open_cells(SETUP, CONNECT.format(url=protected.url), ASK, kernel="python3", name="sign-in.ipynb")
    notebook.run_cell(0)
    notebook.start_cell(1)
    expect(link(notebook)).to_be_visible(timeout=30_000)
    return notebook


def button(notebook: Notebook, name: str, index: int) -> Locator:
    return notebook.output(index).get_by_role("button", name=name, exact=True)


def sign_in_pages(notebook: Notebook, protected: ProtectedServer) -> list[str]:
    """Return the addresses of the tabs at the page or on the way back from it."""
    hosts = (protected.authorization.url, "http://127.0.0.1")
    own = notebook.page.url
    return [one.url for one in notebook.page.context.pages if one.url != own and one.url.startswith(hosts)]


def link(notebook: Notebook) -> Locator:
    return notebook.output(1).get_by_role("link", name="/authorize?")


@pytest.mark.journey
@pytest.mark.promise("logins")
def test_a_click_below_the_cell_opens_the_page_and_the_cell_gets_its_tools(
    lab: Lab, protected: ProtectedServer
) -> None:
    notebook = open_question(lab, protected)
    host = protected.authorization.url.removeprefix("http://")
    expect(link(notebook)).to_contain_text(f"http://{host}/authorize?")
    expect(link(notebook).locator("strong")).to_have_text(host)
    saved = str(notebook.save().cells[1].outputs)
    assert "/authorize?" in saved
    assert protected.authorization.codes == {}
    assert sign_in_pages(notebook, protected) == []
    screenshot(notebook.output(1), "sign-in")

    with notebook.page.context.expect_page() as opened:
        link(notebook).click()
    notebook.wait_output(1, "tools: lab_double")
    expect(link(notebook)).to_have_count(0)
    assert "/authorize?" not in str(notebook.save().cells[1].outputs)

    expect(opened.value.locator("body")).to_contain_text("You can close this page")
    assert opened.value.evaluate("window.opener") is None
    opened.value.close()
    assert notebook.errors == []

    protected.authorization.tokens.clear()
    protected.authorization.refresh_tokens.clear()
    notebook.start_cell(2)
    expect(button(notebook, "Approve", 2)).to_be_enabled(timeout=30_000)
    button(notebook, "Approve", 2).click()
    expect(button(notebook, "Open sign-in page", 2)).to_be_enabled(timeout=30_000)
    screenshot(notebook.output(2), "sign-in-turn")
    with notebook.page.context.expect_page() as again:
        button(notebook, "Open sign-in page", 2).click()
    notebook.wait_ended(2)

    again.value.close()
    assert protected.seen[-1] in protected.authorization.tokens
    expect(notebook.output(2)).to_contain_text("8")


@pytest.mark.promise("logins")
def test_to_stop_the_cell_opens_and_fetches_nothing(lab: Lab, protected: ProtectedServer) -> None:
    notebook = open_question(lab, protected)
    notebook.interrupt()
    notebook.wait_ended(1)

    expect(notebook.output(1)).to_contain_text("KeyboardInterrupt")
    expect(link(notebook)).to_have_count(0)
    assert sign_in_pages(notebook, protected) == []
    assert protected.authorization.codes == {}
    assert protected.authorization.received == []
