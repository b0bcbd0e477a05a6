"""The live demo: a JupyterLite site of static files, in which the browser itself runs Python."""

from __future__ import annotations

import json
import re
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer

import pytest
from playwright.sync_api import BrowserContext, Locator, Page, expect

from tests.browser.lab import NUMBERED, screenshot
from tests.browser.server import ROOT

SITE = ROOT / "build" / "lite"

LOAD, TOOLS, ASK, READ, AGAIN, STATUS = 1, 3, 5, 7, 9, 11
START_SECONDS = 120
"""Seconds from opening to the first question, on a machine that does other work; alone it takes a third."""

CELL_SECONDS = 60
MOST_QUESTIONS = 40
"""Questions of the kernel about the notebook's folder until the first answer; each waits for the page. It was 96."""

KEY = "sk-canary-of-the-provider"
ASK_PROVIDER = f"""from nbtool import Chat
reply = Chat("m", base_url="{{url}}/v1", api_key="{KEY}").send("Hello").text
print("REPLY", reply)"""
EVENTS = (
    {"choices": [{"index": 0, "delta": {"content": "Hel"}}]},
    {"choices": [{"index": 0, "delta": {"content": "lo"}}]},
    {"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]},
)


class SiteHandler(SimpleHTTPRequestHandler):
    """Serves the files of the site, and, as a provider, a stream."""

    protocol_version = "HTTP/1.1"
    requests_of_models: tuple[tuple[str, str], ...] = ()

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        type(self).requests_of_models += ((self.path, self.headers.get("Authorization", "")),)
        assert json.loads(body)["stream"]
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Connection", "close")
        self.end_headers()
        for event in EVENTS:
            self.wfile.write(f"data: {json.dumps(event)}\n\n".encode())
        self.wfile.write(b"data: [DONE]\n\n")
        self.close_connection = True

    def log_message(self, *_: object) -> None:
        """Say nothing."""


@pytest.fixture(scope="module")
def site() -> Iterator[str]:
    """Serve the site."""
    if not (SITE / "lab" / "index.html").is_file():
        pytest.fail("The site is not built: `make lane LANE=lite` builds it.", pytrace=False)
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(SiteHandler, directory=SITE))
    server.daemon_threads = True
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_address[1]}"
    server.shutdown()
    server.server_close()


@dataclass
class LiteNotebook:
    """The notebook of the site, on a page."""

    page: Page
    site: str
    hosts: set[str] = field(default_factory=set)
    errors: list[str] = field(default_factory=list)
    requested: list[str] = field(default_factory=list)

    def open(self) -> None:
        """Open it; its kernel starts meanwhile."""
        self.page.on("request", lambda request: self.hosts.add(_origin(request.url)))
        self.page.on("request", lambda request: self.requested.append(request.url))
        self.page.on("pageerror", lambda error: self.errors.append(str(error)))
        self.page.goto(f"{self.site}/lab/index.html?path=first_chat.ipynb")
        self.cell(LOAD).wait_for(timeout=CELL_SECONDS * 1000)

    def cell(self, index: int) -> Locator:
        return self.page.locator(".jp-Notebook .jp-Cell").nth(index)

    def output(self, index: int) -> Locator:
        return self.cell(index).locator(".jp-Cell-outputWrapper")

    def run(self, *cells: int) -> None:
        """Run cells by their keys, and return at once."""
        for index in cells:
            self.cell(index).locator(".jp-InputPrompt").click()
            self.page.keyboard.press("Control+Enter")

    def write(self, index: int, source: str) -> None:
        """Replace what a cell says."""
        self.cell(index).locator(".cm-content").click()
        self.page.keyboard.press("Control+A")
        self.page.keyboard.insert_text(source)

    def wait_ended(self, index: int, *, seconds: float = CELL_SECONDS) -> None:
        expect(self.cell(index).locator(".jp-InputPrompt")).to_have_text(NUMBERED, timeout=seconds * 1000)


@pytest.fixture
def notebook(profile: BrowserContext, site: str) -> Iterator[LiteNotebook]:
    page = profile.new_page()
    yield LiteNotebook(page, site)
    page.close()


@pytest.mark.nightly  # the site takes 100 s to build
def test_the_notebook_goes_from_opening_to_a_click_an_answer_and_on(
    notebook: LiteNotebook, site: str, record_testsuite_property: Callable[[str, object], None]
) -> None:
    start = time.monotonic()
    notebook.open()
    notebook.run(LOAD, TOOLS, ASK)
    approve = notebook.cell(ASK).get_by_role("button", name="Approve")
    expect(approve).to_be_enabled(timeout=START_SECONDS * 1000)
    record_testsuite_property("seconds to the first question", round(time.monotonic() - start, 1))
    screenshot(notebook.page, "lite-question")
    expect(notebook.cell(ASK).locator(".jp-InputPrompt")).to_have_text("[*]:")
    approve.click()
    notebook.wait_ended(ASK)
    expect(notebook.output(ASK)).to_contain_text("6300")
    record_testsuite_property("seconds to the first answer", round(time.monotonic() - start, 1))
    questions = [url for url in notebook.requested if url.endswith("/api/drive")]
    record_testsuite_property("questions about the folder", len(questions))
    assert 0 < len(questions) <= MOST_QUESTIONS
    screenshot(notebook.page, "lite-answer")

    notebook.run(READ, AGAIN, STATUS)
    notebook.wait_ended(STATUS)
    expect(notebook.output(READ)).to_contain_text("ok heaviest")
    expect(notebook.output(AGAIN)).to_contain_text('count("Chinstrap") gives 2')
    expect(notebook.output(STATUS)).to_contain_text("2 on the active line")

    notebook.write(ASK, "%%chat --approve park\nWhich 2 of $`penguins` are the &`heaviest`?")
    notebook.run(ASK)
    notebook.wait_ended(ASK)
    notebook.cell(ASK).get_by_role("button", name="Approve").click(timeout=CELL_SECONDS * 1000)
    expect(notebook.output(ASK)).to_contain_text("6050", timeout=CELL_SECONDS * 1000)

    notebook.write(READ, ASK_PROVIDER.format(url=site))
    notebook.run(READ)
    notebook.wait_ended(READ)
    expect(notebook.output(READ)).to_contain_text("REPLY Hello")
    assert SiteHandler.requests_of_models == (("/v1/chat/completions", f"Bearer {KEY}"),)
    assert notebook.errors == []
    assert notebook.hosts <= {site, "data:", "blob:"}


def _origin(url: str) -> str:
    """Return scheme and host of an address, the scheme alone where there is no host."""
    found = re.match(r"https?://[^/]*|\w+:", url)
    return found[0] if found else url
