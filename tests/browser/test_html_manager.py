"""Turns in pages without a kernel that draw widgets: exported notebooks, and what ipywidgets.embed writes.

`@jupyter-widgets/html-manager` draws them there; it comes from a content delivery network, here from build/.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import nbformat
import pytest
from ipywidgets.embed import embed_minimal_html  # type: ignore[import-untyped]  # it ships no types
from nbconvert import HTMLExporter
from playwright.sync_api import BrowserContext, Page, Route, expect

from nbtool.blocks.render.mimebundle import unfinished_mimebundle
from nbtool.events import CallAsked, CallDelta, Event, RequestStarted, TextDelta, TurnStarted
from nbtool.messages import user
from nbtool.threads.loop import run_sync
from nbtool.view.turn_widget import TurnWidget
from tests.browser.lab import ROOT, screenshot

INSTALLED = ROOT / "build" / "places" / "html-manager" / "node_modules"
ANYWIDGET = ROOT / ".venv" / "share" / "jupyter" / "nbextensions" / "anywidget" / "index.js"
WIDGET = "application/vnd.jupyter.widget-view+json"
STREAM: list[Event] = [TurnStarted("turn_1", "m", user("Hi"), 1.0), RequestStarted(1), TextDelta("Once upon a time.")]
QUESTION: list[Event] = [
    *STREAM,
    CallDelta("0", '{"amount": 21}', name="pay", call_id="c1"),
    CallAsked("c1", "run", "d1", "pay", '{"amount": 21}'),
]

pytestmark = pytest.mark.nightly


@pytest.fixture
def page(profile: BrowserContext) -> Iterator[tuple[Page, list[str]]]:
    """Give a page whose scripts come from the folders of this machine, and the errors of the page."""
    if not INSTALLED.is_dir():
        pytest.fail("The html-manager is not installed: `make lane LANE=compat` installs it.", pytrace=False)
    page, errors = profile.new_page(), list[str]()
    page.on("pageerror", lambda error: errors.append(str(error)))
    page.route("**/*", _answer)
    yield page, errors
    page.close()


def _answer(route: Route) -> None:
    """Answer what a page requests of a content delivery network from what is installed."""
    path = route.request.url
    for name, file in {
        "require": INSTALLED / "requirejs" / "require.js",
        "html-manager": INSTALLED / "@jupyter-widgets" / "html-manager" / "dist" / "embed-amd.js",
        "anywidget": ANYWIDGET,
    }.items():
        if name in path and path.startswith("http"):
            headers = {"access-control-allow-origin": "*", "content-type": "text/javascript"}
            route.fulfill(path=file, headers=headers)
            return
    route.continue_() if path.startswith(("file:", "data:", "blob:")) else route.abort()


def running_widget(events: list[Event]) -> TurnWidget:
    """Give the widget of a turn that has come so far, on nbtool's loop."""
    widget = TurnWidget("turn_1", decide=lambda *_: None, stop=lambda: None, post=lambda call: call())

    async def feed() -> None:
        for event in events:
            widget.feed(event)

    run_sync(feed())
    return widget


@pytest.mark.parametrize("events", [STREAM, QUESTION], ids=["streaming", "question"])
@pytest.mark.promise("seen-question")
def test_a_turn_that_is_embedded_while_it_runs_shows_what_there_was(
    page: tuple[Page, list[str]], tmp_path: Path, events: list[Event]
) -> None:
    shown, errors = page
    file = tmp_path / "embedded.html"
    embed_minimal_html(str(file), views=[running_widget(events)], title="A turn", drop_defaults=False)
    snippet = file.read_text(encoding="utf-8")
    file.write_text(re.sub(r' integrity="[^"]*"', "", snippet), encoding="utf-8")  # it is of another require.js

    shown.goto(file.as_uri())

    turn = shown.locator(".nb-turn")
    expect(turn).to_contain_text("Once upon a time.")
    if events is QUESTION:
        expect(turn).to_contain_text("Approval needed: Run pay(")
    expect(turn).to_contain_text("This turn had not ended")
    expect(turn.get_by_role("button", name=re.compile("Stop|Approve"))).to_have_count(0)
    screenshot(shown, f"html-manager-{len(events)}")
    assert errors == []


@pytest.mark.promise("seen-question")
def test_an_exported_notebook_with_the_state_of_its_widgets_has_the_text_so_far(
    page: tuple[Page, list[str]], tmp_path: Path
) -> None:
    shown, errors = page
    file = tmp_path / "exported.html"
    widget = running_widget(QUESTION)
    file.write_text(exported(widget, {"text/html", "text/plain"}), encoding="utf-8")

    shown.goto(file.as_uri())

    expect(shown.locator("body")).to_contain_text("Once upon a time.")
    expect(shown.locator("body")).to_contain_text("This turn had not ended when the notebook was saved.")
    screenshot(shown, "html-manager-exported")
    assert errors == []


def exported(widget: TurnWidget, media_types: set[str]) -> str:
    """Export a notebook that was saved with these forms of a running turn, and with the state of its widgets."""
    forms: dict[str, Any] = {
        **unfinished_mimebundle(widget.document, {}, "turn_1"),
        WIDGET: {"version_major": 2, "version_minor": 0, "model_id": widget.model_id},
    }
    output = nbformat.v4.new_output("display_data", data={key: forms[key] for key in forms if key in media_types})
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell("%%chat\nHi", outputs=[output])])
    state = type(widget).get_manager_state(widgets=[widget])
    notebook.metadata.widgets = {"application/vnd.jupyter.widget-state+json": state}
    body, _ = HTMLExporter().from_notebook_node(notebook)
    return str(body)
