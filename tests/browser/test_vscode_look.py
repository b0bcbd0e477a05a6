"""Every text of a turn is readable in the themes of VS Code, live and saved; `tests/vscode` runs VS Code itself."""

from __future__ import annotations

import pytest
from playwright.sync_api import BrowserContext

from nbtool.blocks.render.static_html import to_html
from tests.browser.bare import open_bare
from tests.browser.contrast import find_faint_texts
from tests.browser.states import show, states
from tests.browser.vscode_look import Theme, wear, wrap_as_widget

THEMES = [
    "dark",
    pytest.param("light", marks=pytest.mark.nightly),
    pytest.param("high-contrast", marks=pytest.mark.nightly),
    pytest.param("high-contrast-light", marks=pytest.mark.nightly),
]


@pytest.mark.timeout(300)
@pytest.mark.parametrize("theme", THEMES)
def test_every_text_of_a_live_turn_is_readable_in_a_theme_of_vs_code(profile: BrowserContext, theme: Theme) -> None:
    page, _ = open_bare(profile)
    wear(page, theme)
    wrap_as_widget(page)
    faint: dict[str, list[str]] = {}

    for name, state in states().items():
        show(page, state)
        faint |= {name: found} if (found := find_faint_texts(page, "main")) else {}

    page.close()
    assert faint == {}


@pytest.mark.parametrize("theme", THEMES)
def test_every_text_of_a_saved_turn_is_readable_in_a_theme_of_vs_code(profile: BrowserContext, theme: Theme) -> None:
    page, _ = open_bare(profile)
    wear(page, theme)
    turns = "".join(to_html(state.document) for state in states().values())
    page.evaluate("(html) => { document.querySelector('main').innerHTML = html; }", turns)
    page.evaluate("() => { for (const one of document.querySelectorAll('details')) one.open = true; }")

    found = find_faint_texts(page, "main")

    page.close()
    assert found == []
