from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Playwright, expect, sync_playwright

from tests.browser.chromium import find_chromium
from tests.browser.conftest import QUIET_CHROMIUM
from tests.vscode.editor import PARTS, THEMES, Editor, Notebook, Theme

HERE = Path(__file__).parent
TEST_SECONDS = 300
EXPECT_SECONDS = 60
"""How long a page may take: generous, for two busy cores."""
FAILED = pytest.StashKey[bool]()
OWN_ERROR = "Widget is not attached."
"""What VS Code's page throws when an output that shows a widget, of any kind, becomes another one."""

OpenNotebook = Callable[..., Notebook]


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if item.path.is_relative_to(HERE):
            for mark in (pytest.mark.browser, pytest.mark.timeout(TEST_SECONDS)):
                item.add_marker(mark)


@pytest.fixture(scope="session")
def editor(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Editor]:
    if not (PARTS / ".installed").exists():
        pytest.fail("There is no VS Code: `make lane LANE=vscode` installs it.", pytrace=False)
    editor = Editor(tmp_path_factory.mktemp("vscode"))
    editor.start()
    yield editor
    editor.stop()


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    path = find_chromium()
    if path is None:
        pytest.fail("There is no Chromium: `make install-chromium` says what to do.", pytrace=False)
    playwright: Playwright
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=QUIET_CHROMIUM)
        yield browser
        browser.close()


@pytest.fixture
def open_notebook(editor: Editor, browser: Browser) -> Iterator[OpenNotebook]:
    """Give what opens a notebook of cells in a window of its own, with a kernel of its own.

    Its page may throw no errors but VS Code's own.
    """
    expect.set_options(timeout=EXPECT_SECONDS * 1000)
    context = browser.new_context(viewport={"width": 1200, "height": 1500})
    opened: list[Notebook] = []

    def open_notebook(
        cells: Sequence[str] | Path, *, theme: Theme = "dark", settings: dict[str, Any] | None = None
    ) -> Notebook:
        editor.set({"workbench.colorTheme": THEMES[theme], **(settings or {})})
        path = cells if isinstance(cells, Path) else editor.write_notebook("notebook.ipynb", cells)
        page = context.new_page()
        page.set_default_timeout(EXPECT_SECONDS * 1000)
        errors: list[str] = []
        page.on("pageerror", lambda error: errors.append(str(error)))
        page.goto(editor.page_url, wait_until="domcontentloaded")
        notebook = Notebook(page, path, editor.read_address, errors)
        opened.append(notebook)
        return notebook

    yield open_notebook
    for notebook in opened:
        if not notebook.page.is_closed():
            notebook.command("stopKernel")
    context.close()
    assert [error for one in opened for error in one.errors if OWN_ERROR not in error] == []
