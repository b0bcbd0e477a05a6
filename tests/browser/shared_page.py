"""One page of JupyterLab for many tests, as a person has it open all day: loading it takes longer than most of them."""

from __future__ import annotations

from itertools import count

from playwright.sync_api import BrowserContext, Page
from playwright.sync_api import Error as PageError

from tests.browser.server import Server

MOST_USES = 30
"""How many tests use one page: what JupyterLab itself leaks must not add up."""

LOAD_SECONDS = 60
NUMBERS = count(1)
VIEWPORT = {"width": 1200, "height": 900}

SET_THEME = """async (theme) => {
    const { commands } = window.jupyterapp;
    if (document.body.dataset.jpThemeName !== theme) await commands.execute("apputils:change-theme", { theme });
}"""
HAS_THEME = "(theme) => document.body.dataset.jpThemeName === theme"

CLEAR = """async () => {
    for (const widget of [...window.jupyterapp.shell.widgets("main")]) widget.dispose();
    await new Promise((done) => setTimeout(done, 0));
    return document.querySelectorAll(".jp-Notebook, .jp-Dialog").length;
}"""
"""Close everything without a question; what is still there afterwards cannot be closed."""


class SharedPage:
    """A page of JupyterLab that one notebook at a time is opened on; it is loaded on first use."""

    def __init__(self, context: BrowserContext, server: Server) -> None:
        self._context = context
        self._server = server
        self._page: Page | None = None
        self._number = 0
        self._uses = 0
        self.is_in_use = False

    def acquire(self, theme: str) -> Page:
        """Return the page, with no notebook on it and in a theme."""
        page = self._page if self._page and not self._page.is_closed() else self._load()
        page.bring_to_front()
        page.evaluate(SET_THEME, theme)
        page.wait_for_function(HAS_THEME, arg=theme)
        self._uses += 1
        self.is_in_use = True
        return page

    def is_page(self, page: Page) -> bool:
        """Whether a page is this one."""
        return page is self._page

    def release(self, *, can_be_kept: bool) -> None:
        """Close the notebook; close the page too if it was loaded anew, cannot be cleared or was used long enough."""
        page, self.is_in_use = self._page, False
        if page is None:
            return
        if not (can_be_kept and self._uses < MOST_USES and self._is_cleared(page)):
            self._page = None
            page.close()

    def _is_cleared(self, page: Page) -> bool:
        if page.is_closed():
            return False
        try:
            if page.evaluate("() => window.sharedPage") != self._number or page.evaluate(CLEAR):
                return False
            page.set_viewport_size(VIEWPORT)  # type: ignore[arg-type]  # a dict of its two numbers
        except PageError:
            return False
        return True

    def _load(self) -> Page:
        self._page, self._number, self._uses = self._context.new_page(), next(NUMBERS), 0
        self._page.goto(f"{self._server.url}/lab?reset&token={self._server.token}")
        self._page.wait_for_function("() => window.jupyterapp", timeout=LOAD_SECONDS * 1000)
        self._page.evaluate("async (number) => { await jupyterapp.restored; sharedPage = number; }", self._number)
        return self._page
