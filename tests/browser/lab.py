"""What a person does in JupyterLab, as deeds: every deed ends when its effect can be seen."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Literal

import nbformat
import pytest
from playwright.sync_api import BrowserContext, Error, Locator, Page, expect

from tests.browser.server import ROOT, Server
from tests.browser.shared_page import SharedPage

SHOTS = ROOT / "build" / "shots"
PAGE_SECONDS = 60
"""Seconds for a page to open and its kernel to answer: generous, for two busy cores."""

CELL_SECONDS = 30
PANEL = "window.jupyterapp.shell.currentWidget"
KERNEL = f"{PANEL}?.sessionContext?.session?.kernel"

NUMBERED = re.compile(r"^\[\d+\]:$")
"""The prompt of a cell that has ended."""

SPLASH_ERROR = re.compile(r".*'removeChild' on 'Node'.*\n\s+at \S+/static/(?:lab|notebook)/\S+_core\.\S+\s*")
"""The stack of an error of JupyterLab's own: its splash screen is removed twice if it is shown again while it fades.

One frame, a timer: `splash` in https://github.com/jupyterlab/jupyterlab/blob/main/packages/apputils-extension/src/index.ts
"""

older_kernel_nightly = pytest.mark.parametrize(
    "kernel", ["python3", pytest.param("ipykernel6", marks=pytest.mark.nightly)], indirect=True
)
"""For a test whose way to the kernel another test of the normal lane takes with both kernels."""

notebook_7_nightly = pytest.mark.parametrize("front", ["lab", pytest.param("notebook", marks=pytest.mark.nightly)])
"""For a test whose way to the cells another test of the normal lane takes in both front ends."""

Front = Literal["lab", "notebook"]
Theme = Literal["light", "dark"]
PICTURED_THEMES = ["light", pytest.param("dark", marks=pytest.mark.nightly)]
"""The themes of a test that asserts nothing of colors: the dark one only adds pictures."""

OPEN = """async (path) => {
    const widget = await window.jupyterapp.commands.execute("docmanager:open", { path, factory: "Notebook" });
    await widget.context.ready;
    window.jupyterapp.shell.activateById(widget.id);
}"""
"""Open a notebook as a double click on its name does."""


@dataclass
class Notebook:
    """One notebook, open on a page of JupyterLab or Notebook 7."""

    page: Page
    server: Server
    name: str
    front: Front = "lab"
    errors: list[str] = field(default_factory=list)
    is_on_shared_page: bool = False

    def open(self) -> Notebook:
        """Open the page and wait until the kernel is ready."""
        self._load()
        self.wait_status("idle")
        return self

    def open_without_kernel(self) -> Notebook:
        """Open a notebook whose kernel is not installed here, and choose to have none."""
        self._load()
        self.page.locator(".jp-Dialog .jp-mod-reject").click()
        self.page.locator(".jp-Dialog").wait_for(state="detached")
        return self

    def reload(self) -> None:
        """Press the browser's button, and wait until the kernel is connected again, busy or idle."""
        self.page.reload()
        self.page.locator(".jp-Notebook .jp-Cell").first.wait_for(timeout=PAGE_SECONDS * 1000)
        is_connected = f"() => {PANEL}?.sessionContext.session?.kernel?.connectionStatus === 'connected'"
        self.page.wait_for_function(is_connected, timeout=PAGE_SECONDS * 1000)

    def _load(self) -> None:
        self.page.on("pageerror", self.add_error)
        if self.is_on_shared_page:
            self.page.evaluate(OPEN, self.name)
            self.page.wait_for_function(f"name => {PANEL}?.context?.path === name", arg=self.name)
        else:
            self._go_to()
        self.page.locator(".jp-Notebook .jp-Cell").first.wait_for(timeout=PAGE_SECONDS * 1000)

    def add_error(self, error: Error) -> None:
        """Note an error of the page that nothing caught, unless it is known to be JupyterLab's own."""
        if not SPLASH_ERROR.fullmatch(error.stack or ""):
            self.errors.append(error.stack or str(error))

    def _go_to(self) -> None:
        path = f"lab/tree/{self.name}?reset&" if self.front == "lab" else f"notebooks/{self.name}?"
        self.page.goto(f"{self.server.url}/{path}token={self.server.token}")

    # --- cells ------------------------------------------------------------------------------------------------

    def cell(self, index: int) -> Locator:
        """Give a cell; they count from 0."""
        return self.page.locator(".jp-Notebook .jp-Cell").nth(index)

    def output(self, index: int) -> Locator:
        """Give all that stands under a cell."""
        return self.cell(index).locator(".jp-Cell-outputWrapper")

    def cell_count(self) -> int:
        """Count the cells."""
        return int(self.page.evaluate(f"() => {PANEL}.content.widgets.length"))

    def start_cell(self, index: int) -> None:
        """Run a cell by its keys, and return when the page has sent it."""
        # a page that was reloaded draws cell after cell
        is_drawn = f"at => Boolean({PANEL}?.content?.widgets[at]?.model)"
        self.page.wait_for_function(is_drawn, arg=index, timeout=CELL_SECONDS * 1000)
        self.page.evaluate(
            f"""at => {{
                window.isSent = false;
                {PANEL}.content.widgets[at].model.stateChanged.connect(() => {{ window.isSent = true; }});
            }}""",
            index,
        )
        # JupyterLab scrolls to a cell that is cut off when it is pressed, and takes what is below the pointer then
        self.page.evaluate(f"at => {PANEL}.content.widgets[at].node.scrollIntoView({{ block: 'nearest' }})", index)
        self.cell(index).locator(".jp-InputPrompt").click()
        self.page.keyboard.press("Control+Enter")
        self.page.wait_for_function("() => window.isSent", timeout=CELL_SECONDS * 1000)

    def run_cell(self, index: int, *, seconds: float = CELL_SECONDS) -> Locator:
        """Run a cell to its end and give its output."""
        self.start_cell(index)
        self.wait_ended(index, seconds=seconds)
        return self.output(index)

    def start_all(self) -> None:
        """Run every cell, and return at once."""
        self.page.evaluate(
            """() => {
                window.ranAll = false;
                window.jupyterapp.commands.execute('notebook:run-all-cells').finally(() => { window.ranAll = true; });
            }"""
        )

    def wait_all(self, *, seconds: float = 4 * CELL_SECONDS) -> None:
        """Wait until every cell has ended."""
        self.page.wait_for_function("() => window.ranAll", timeout=seconds * 1000)

    def wait_ended(self, index: int, *, seconds: float = CELL_SECONDS) -> None:
        """Wait until a cell that was started has got its number."""
        expect(self.cell(index).locator(".jp-InputPrompt")).to_have_text(NUMBERED, timeout=seconds * 1000)

    def wait_output(self, index: int, text: str, *, seconds: float = CELL_SECONDS) -> Locator:
        """Wait until a text stands under a cell."""
        expect(self.output(index)).to_contain_text(text, timeout=seconds * 1000)
        return self.output(index)

    def is_running(self, index: int) -> bool:
        """Whether a cell was sent and has not ended."""
        return self.cell(index).locator(".jp-InputPrompt").inner_text().strip() == "[*]:"

    def source(self, index: int) -> str:
        """Give what a cell says."""
        script = f"at => {PANEL}.content.widgets[at].model.sharedModel.getSource()"
        return str(self.page.evaluate(script, index))

    def write_cell(self, index: int, source: str) -> None:
        """Replace what a cell says."""
        self.page.evaluate(
            f"([at, text]) => {PANEL}.content.widgets[at].model.sharedModel.setSource(text)", [index, source]
        )

    # --- the kernel -------------------------------------------------------------------------------------------

    def status(self) -> str:
        """Give the kernel's status as the page knows it: idle, busy, restarting, …; '' without a kernel."""
        return str(self.page.evaluate(f"() => {KERNEL}?.status ?? ''"))

    def wait_status(self, status: str, *, seconds: float = PAGE_SECONDS) -> None:
        """Wait for a status of the kernel."""
        self.page.wait_for_function(f"wanted => {KERNEL}?.status === wanted", arg=status, timeout=seconds * 1000)

    def interrupt(self) -> None:
        """Press the button that interrupts the kernel."""
        self._press("interrupt")

    def restart(self) -> None:
        """Press the button that restarts the kernel, and wait for the new one."""
        self.page.evaluate(
            f"""() => {{
                const seen = (done, status) => status === "restarting" && done();
                window.restarted = new Promise(done => {KERNEL}.statusChanged.connect((_, now) => seen(done, now)));
            }}"""
        )
        self._press("restart")
        self.page.evaluate("() => window.restarted")
        self.wait_status("idle")

    # --- the file ---------------------------------------------------------------------------------------------

    def save(self) -> nbformat.NotebookNode:
        """Save, and give the notebook as it lies on the disk."""
        self.page.evaluate(f"() => {PANEL}.context.save()")
        return self.server.read_notebook(self.name)

    def close(self) -> None:
        """Close the page; the kernel lives on."""
        self.page.close(run_before_unload=False)

    def _press(self, item: str) -> None:
        self.page.locator(f".jp-NotebookPanel-toolbar [data-jp-item-name='{item}'] jp-button").click()


@dataclass
class Lab:
    """One browser profile, looking at one server; notebooks are opened on the shared page, if there is one."""

    context: BrowserContext
    server: Server
    shared: SharedPage | None = None
    theme: Theme = "light"
    _on_shared_page: list[Notebook] = field(default_factory=list)

    def open_notebook(self, name: str, *, front: Front = "lab") -> Notebook:
        """Open a notebook of the server's folder: on a new page if the shared one is in use, or not to be used."""
        if self.shared is None or self.shared.is_in_use or front != "lab":
            return Notebook(self.context.new_page(), self.server, name, front).open()
        page = self.shared.acquire(f"JupyterLab {self.theme.title()}")
        self._on_shared_page.append(Notebook(page, self.server, name, is_on_shared_page=True))
        return self._on_shared_page[-1].open()

    def use_new_pages(self) -> None:
        """Open notebooks on pages of their own from now on, which are loaded for them."""
        self.close_notebooks(can_keep_page=True)
        self.shared = None

    def close_notebooks(self, *, can_keep_page: bool) -> None:
        """Close what is open on the shared page."""
        for notebook in self._on_shared_page:
            notebook.page.remove_listener("pageerror", notebook.add_error)
        self._on_shared_page.clear()
        if self.shared:
            self.shared.release(can_be_kept=can_keep_page)

    def open_cells(self, *cells: str, kernel: str, name: str = "scratch.ipynb", front: Front = "lab") -> Notebook:
        """Write a notebook of these cells and open it."""
        self.server.write_notebook(name, list(cells), kernel=kernel)
        return self.open_notebook(name, front=front)

    def set_theme(self, theme: Theme) -> None:
        """Choose the theme of the notebooks that are opened from now on."""
        self.theme = theme
        self.server.set("apputils-extension/themes", theme=f"JupyterLab {theme.title()}")

    def set_comms_over_subshells(self, value: Literal["perCommTarget", "perComm", "disabled"]) -> None:
        """Choose how the pages opened from now on send a widget's messages: the default, or switched off."""
        self.use_new_pages()
        self.server.set("apputils-extension/kernels-settings", commsOverSubshells=value)


@contextmanager
def lab_of(server: Server, context: BrowserContext) -> Iterator[Lab]:
    """Start a server of a test's own; in the end no page is open and it is gone."""
    server.start()
    yield Lab(context, server)
    for page in context.pages:
        page.close()
    server.shut_down_kernels()
    server.stop()


def screenshot(what: Page | Locator, name: str) -> None:
    """Leave a picture in build/shots."""
    SHOTS.mkdir(parents=True, exist_ok=True)
    what.screenshot(path=SHOTS / f"{name}.png")
