"""Situations of people who work in VS Code: widgets in its themes, outputs that change quickly, lines of input."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from playwright.sync_api import BrowserContext, Page, sync_playwright

from tests.browser.bare import document, open_bare, prose
from tests.browser.chromium import find_chromium
from tests.browser.conftest import QUIET_CHROMIUM
from tests.browser.contrast import find_faint_texts
from tests.browser.states import State, show, states
from tests.browser.vscode_look import Theme, wear, wrap_as_widget
from tests.compat.page import open_page
from tests.magics.cell.test_approver import SECONDS, USE, InputFrontEnd, front_end
from tests.magics.views.test_page_link import DOUBLE, HELLO, IN_EDITOR, slow_page

__all__ = ["front_end"]  # a fixture

CODE = document([prose("Set `theme` to `dark`, as `settings.json` says.")], status="completed")
HIGH_CONTRAST: list[Theme] = ["high-contrast", "high-contrast-light"]
BACKGROUND = "() => getComputedStyle(document.querySelector('main')).backgroundColor"


@pytest.fixture(scope="module")
def profile() -> Iterator[BrowserContext]:
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=find_chromium(), args=QUIET_CHROMIUM)
        yield browser.new_context()
        browser.close()


@pytest.fixture
def page(profile: BrowserContext) -> Iterator[Page]:
    page, _ = open_bare(profile)
    wrap_as_widget(page)
    yield page
    page.close()


@pytest.mark.sampled(0)
def test_a_widget_has_the_ground_of_the_theme(page: Page) -> None:
    """microsoft/vscode-jupyter#7161, microsoft/vscode-jupyter#9403, microsoft/vscode-jupyter#10609, matplotlib/ipympl#487: a widget is a white box in a dark editor. Right: the editor is seen behind it. Before: wrong."""  # noqa: E501 - the form of a report
    wear(page, "dark")
    show(page, State(CODE))

    assert page.evaluate(BACKGROUND) == "rgba(0, 0, 0, 0)"


@pytest.mark.sampled(0)
@pytest.mark.parametrize("theme", HIGH_CONTRAST)
def test_inline_code_is_readable_in_high_contrast(page: Page, theme: Theme) -> None:
    """anthropics/claude-code#94242, cline/cline#2715, primer/github-vscode-theme#380, asciidoctor/asciidoctor-vscode#1191: inline code has the color of the theme on a background of the page, and cannot be read in high contrast. Right: both belong together, 4.5:1. Before: wrong."""  # noqa: E501 - the form of a report
    wear(page, theme)
    show(page, State(CODE))

    assert find_faint_texts(page, ".nb-reply") == []


@pytest.mark.sampled(0)
def test_the_names_of_keys_are_readable_in_high_contrast(page: Page) -> None:
    """cline/cline#3884: a shortcut in the middle of a sentence is black on black in dark high contrast. Right: the keys on a card can be read. Before: wrong."""  # noqa: E501 - the form of a report
    wear(page, "high-contrast")
    show(page, states()["focused"])

    assert find_faint_texts(page, ".nb-keys") == []


@pytest.mark.sampled(0)
def test_a_table_in_a_widget_is_readable_in_a_dark_theme(page: Page) -> None:
    """microsoft/vscode-jupyter#526: a data frame in a widget cannot be read in a dark theme. Right: its cells can be read. Before: wrong."""  # noqa: E501 - the form of a report
    wear(page, "dark")
    show(page, states()["table"])

    assert find_faint_texts(page, "main") == []


@pytest.mark.sampled(0)
def test_a_progress_bar_that_ends_at_once_is_seen_before_it_is_replaced() -> None:
    """microsoft/vscode-jupyter#9397: of progress bars that end quickly some are not seen until one scrolls, and a blank space is left. Right: the output of a map becomes another one once it was drawn. Before: wrong."""  # noqa: E501 - the form of a report
    with open_page() as page:
        page.run(DOUBLE)
        page.run(HELLO)
        slow = slow_page(page)
        slow.run('Chat(model="practice:fast").map("Say {item}.", ["one", "two"])', cell_id=IN_EDITOR)

        assert "update_display_data" not in slow.before
        slow.wait_shown("text/html")


def test_an_output_that_is_updated_in_its_own_cell_keeps_the_update() -> None:
    """microsoft/vscode-jupyter#1710: what `display` shows and `update` changes in the same cell stays what it was at first. Right: the turn, not its view. Before: right."""  # noqa: E501 - the form of a report
    with open_page() as page:
        page.run(DOUBLE)
        page.run(HELLO, cell_id=IN_EDITOR)

        assert "text/html" in next(reversed(page.shown.values()))


def run_in_editor(front_end: InputFrontEnd, cell: str) -> tuple[list[str], dict[str, str]]:
    """Run a cell of VS Code, and answer yes; return all texts of outputs that change, and the last of each."""
    shown: dict[str, str] = {}
    texts: list[str] = []

    def hear(message: dict[str, Any]) -> None:
        content = message["content"]
        if "display_id" in content.get("transient", {}):
            text = shown[content["transient"]["display_id"]] = content["data"].get("text/plain", "")
            texts.append(text)

    front_end.client.session.metadata = {"cellId": IN_EDITOR}
    hooks: dict[str, Any] = {"output_hook": hear, "stdin_hook": lambda _: front_end.client.input("yes")}
    front_end.client.execute_interactive(cell, allow_stdin=True, timeout=SECONDS, **hooks)
    return texts, shown


@pytest.mark.sampled(0)
def test_a_server_without_modules_of_widgets_has_the_setting_named(front_end: InputFrontEnd) -> None:
    """microsoft/vscode-jupyter#14762, microsoft/vscode-jupyter#14761, microsoft/vscode-jupyter#10510, microsoft/vscode-jupyter#15406, manzt/anywidget#394: a server gives VS Code no modules of widgets, and an error names none of the ways out. Right: the cell asks in another way, and names the setting. Before: wrong."""  # noqa: E501 - the form of a report
    front_end.run("from nbtool.magics.cell import approver; approver.PAGE_READY_SECONDS = 0.5")
    texts, shown = run_in_editor(front_end, USE.format(flags=""))

    assert [text for text in texts if "jupyter.widgetScriptSources" in text]
    assert [text for text in shown.values() if "jupyter.widgetScriptSources" in text] == []
    assert front_end.run("print(received)") == "[21]\n"


def test_a_line_of_input_says_where_it_is(front_end: InputFrontEnd) -> None:
    """microsoft/vscode-jupyter#17500, microsoft/vscode-jupyter#16254: a cell that asks for a line seems to hang: the box at the top of the window is not noticed. Right: the cell says where it is, while it asks. Before: wrong."""  # noqa: E501 - the form of a report
    texts, shown = run_in_editor(front_end, USE.format(flags=" --approve input"))

    assert "The line of input is at the top of the window." in texts
    assert [text for text in shown.values() if "top of the window" in text] == []


@pytest.mark.sampled(0)
def test_a_line_of_input_can_be_interrupted(front_end: InputFrontEnd) -> None:
    """ipython/ipykernel#400, jupyterlab/jupyterlab#6196: an interrupt is noticed only once a line was typed. Right: it ends the turn at once. Before: right."""  # noqa: E501 - the form of a report
    front_end.run(USE.format(flags=" --approve input"), answer=front_end.manager.interrupt_kernel)

    assert front_end.run("print(received)") == "[]\n"


@pytest.mark.sampled(0)
@pytest.mark.parametrize("way", ["comm", "control"])
def test_a_click_reaches_a_cell_of_vs_code_that_runs(way: Any) -> None:
    """microsoft/vscode-jupyter#17360, Kirill888/jupyter-ui-poll#56: no event of a widget reaches a cell that waits for it. Right: a click ends the wait. Before: right."""  # noqa: E501 - the form of a report
    with open_page(ways=(way,)) as page:
        page.run(DOUBLE)
        page.run("%%chat -m practice:fast -o answer\nUse &`double` with 21.", click="approve", cell_id=IN_EDITOR)

        assert page.during == 1
        assert page.run("print(answer.calls[0].decisions[0].by)") == "button\n"
