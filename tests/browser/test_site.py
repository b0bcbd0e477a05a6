"""The documentation site: on a phone and on a desktop, light and dark, without a request to another host."""

from __future__ import annotations

import re
import threading
from collections.abc import Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest
from playwright.sync_api import BrowserContext, Page, expect

from tests.browser.lab import screenshot
from tests.browser.server import ROOT

SITE = ROOT / "build" / "site"
PAGES = sorted(
    str(page.relative_to(SITE)) for page in SITE.rglob("*.html") if "demo" not in page.parts[len(SITE.parts) :]
)
PHONE = {"width": 390, "height": 844}
DESKTOP = {"width": 1280, "height": 900}
SCHEMES: tuple[Any, ...] = ("light", "dark")
SHOWN = (
    "index.html",
    "README.html",
    "notebooks/01_first_chat.html",
    "notebooks/04_approvals.html",
    "reference/nbtool.html",
    "docs/compatibility.html",
)
"""Pages of which pictures are left in build/shots, to be looked at."""

DEMO_SECONDS = 120

pytestmark = pytest.mark.nightly  # `make site` runs the notebooks and builds the demo


class QuietHandler(SimpleHTTPRequestHandler):
    """Serves the files of the site."""

    def log_message(self, *_: object) -> None:
        """Say nothing."""


@pytest.fixture(scope="module")
def site() -> Iterator[str]:
    """Serve the site."""
    if not PAGES:
        pytest.fail("The site is not built: `make site` builds it.", pytrace=False)
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(QuietHandler, directory=SITE))
    server.daemon_threads = True
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_address[1]}"
    server.shutdown()
    server.server_close()


@pytest.fixture
def page(profile: BrowserContext, site: str) -> Iterator[Page]:
    """Give a page that may talk to the site alone, and has no errors in the end."""
    page = profile.new_page()
    requested: list[str] = []
    errors: list[str] = []
    page.on("request", lambda request: requested.append(request.url))
    page.on("pageerror", lambda error: errors.append(str(error)))
    yield page
    page.close()
    assert [url for url in requested if not url.startswith((site, "data:", "blob:"))] == []
    assert errors == []


@pytest.mark.parametrize("size", [PHONE, DESKTOP], ids=["phone", "desktop"])
def test_no_page_is_wider_than_the_screen(page: Page, site: str, size: Any) -> None:
    page.set_viewport_size(size)
    too_wide = {}
    for name in PAGES:
        page.goto(f"{site}/{name}")
        width = page.evaluate("document.documentElement.scrollWidth")
        if width > size["width"]:
            too_wide[name] = width
    assert too_wide == {}


@pytest.mark.parametrize("scheme", SCHEMES)
@pytest.mark.parametrize("size", [PHONE, DESKTOP], ids=["phone", "desktop"])
def test_pages_follow_the_colour_scheme_of_the_system(page: Page, site: str, size: Any, scheme: Any) -> None:
    page.set_viewport_size(size)
    page.emulate_media(color_scheme=scheme)
    for name in SHOWN:
        page.goto(f"{site}/{name}")
        red, green, blue = map(
            int, re.findall(r"\d+", page.evaluate("getComputedStyle(document.body).backgroundColor"))[:3]
        )
        assert (red + green + blue < 3 * 128) == (scheme == "dark"), name
        screenshot(page, f"site-{size['width']}-{scheme}-{name.replace('/', '-').removesuffix('.html')}")


def test_the_search_finds_a_guide_and_a_name_of_the_reference(page: Page, site: str) -> None:
    for word, target in (("withheld", "docs/approvals.html"), ("Budget", "reference/nbtool.plugins.budget.html")):
        page.goto(f"{site}/index.html")
        page.get_by_role("searchbox").or_(page.get_by_placeholder("Search")).first.fill(word)
        page.keyboard.press("Enter")
        expect(page.locator(f"#search-results a[href*='{target}']").first).to_be_visible()


def test_a_guide_shows_what_its_cells_printed_and_the_turns(page: Page, site: str) -> None:
    page.goto(f"{site}/notebooks/01_first_chat.html")

    expect(page.locator(".tex2jax_ignore").first).to_be_visible()


def test_the_demo_loads_on_the_first_page_when_it_is_opened_and_not_before(page: Page, site: str) -> None:
    loaded: list[str] = []
    page.on("request", lambda request: loaded.append(request.url))
    page.goto(f"{site}/index.html")
    assert not [url for url in loaded if "/demo/" in url]

    page.get_by_text("Open the demo in this page").click()
    demo = page.frame_locator(".demo iframe")
    expect(demo.locator(".jp-Notebook .jp-Cell").first).to_be_visible(timeout=DEMO_SECONDS * 1000)
    screenshot(page, "site-demo")
