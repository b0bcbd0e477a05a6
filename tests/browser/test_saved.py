"""Saved turns in real pages: drawn by the extension without a kernel, trusted or not, and static without it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import nbformat
import pytest
from playwright.sync_api import Locator, Page, expect

from nbtool.blocks.render.mimebundle import TURN_MIME, turn_mimebundle
from tests.browser.bare import document, prose
from tests.browser.lab import PANEL, Front, Lab, Notebook, screenshot

RECORDED = Path(__file__).parents[2] / "js" / "tests" / "recorded"
NO_KERNEL = "not-installed"
SETUP = """
%load_ext nbtool
from nbtool import tool

@tool(run="auto")
def tickers() -> str:
    "Which tickers there are."
    return "ACME and GLOB"
"""
ASK = "%%chat -m practice:fast -o answer\nUse &`tickers`."
CANARY = "window.canary = (window.canary ?? 0) + 1"
PAYLOADS = [
    f"<img src=x onerror='{CANARY}'>",
    f"<script>{CANARY}</script>",
    f"[x](javascript:{CANARY}) ![y](https://canary.invalid/a.png)",
    f'"><svg onload="{CANARY}"><iframe srcdoc="<script>parent.{CANARY}</script>">',
    f"<style>@import 'https://canary.invalid/a.css'</style>\n\n$$\\href{{javascript:{CANARY}}}{{x}}$$",
]


def recorded_document(name: str = "finished") -> Any:
    """Give a turn's document, as a transcript made it."""
    return json.loads((RECORDED / f"{name}.json").read_text(encoding="utf-8"))["document"]


def long(name: str = "finished") -> Any:
    """Give a turn that is long enough to be searched: it thought aloud for long."""
    document = recorded_document(name)
    for block in document["blocks"]:
        if block["kind"] == "thinking":
            block["text"] += "\n" + "Hm. " * 3_000
    return document


def fill_schema(value: Any, payload: str) -> Any:
    """Put a payload into every text that the schema leaves free."""
    if isinstance(value, list):
        return [fill_schema(one, payload) for one in value]
    if not isinstance(value, dict):
        return value
    free = {"model", "error", "text", "name", "arguments", "progress", "result", "reason", "shown", "by", "reference"}
    return {
        key: payload
        if key in free
        else {payload: resolved(payload), "__proto__": payload}  # as it is, and as older versions saved it
        if key == "resolved"
        else fill_schema(one, payload)
        for key, one in value.items()
    }


def with_displays(data: Any) -> list[Any]:
    """Return a turn with what a notebook would show for the results of its calls: some run or fetch something."""
    vega = "application/vnd.vegalite.v5+json"
    spec = {"$schema": "https://vega.github.io/schema/vega-lite/v5.json", "mark": "bar"}
    fetched = {**spec, "data": {"url": "https://canary.example/a.csv"}}
    picture = {**spec, "mark": {"type": "image", "url": "https://canary.example/a.png"}, "data": {"values": [{}]}}
    displays = [
        *({"mime": "text/html", "text": payload} for payload in PAYLOADS),
        *({"mime": vega, "text": json.dumps(one)} for one in (fetched, picture)),
        {"mime": "image/svg+xml", "text": "<svg onload='window.canary = 1'/>"},
        {"mime": "application/vnd.plotly.v1+json", "text": '{"data": [{"type": "scattermap"}]}'},
    ]
    blocks = data["blocks"]
    return [
        {**data, "blocks": [{**one, "display": shown} if one["kind"] == "call" else one for one in blocks]}
        for shown in displays
    ]


def resolved(payload: str) -> dict[str, Any]:
    """Return what an argument stands for, of a payload alone."""
    references = [{"name": payload, "text": payload, "summary": payload}]
    return {"text": payload, "references": references, "is_reference": True}


def forged_documents(data: Any) -> list[Any]:
    """Give documents that are not of the schema, each with something that a careless page would act on."""
    block = data["blocks"][0]
    node = {"type": "script", "props": {"children": CANARY}, "ref": None, "key": None, "constructor": None}
    asked = {"gate": "run", "digest": "d", "tool": "pay", "shown": "{}", "description": "", "schema": {}}
    call = next(one for one in data["blocks"] if one["kind"] == "call")
    deep: Any = CANARY
    for _ in range(100):
        deep = [deep]
    return [
        {**data, "blocks": [{**block, "text": node}]},
        {
            **data,
            "blocks": [{**call, "state": "waiting", "question": {**asked, "can_remember": True, "sensitive": False}}],
        },
        {**data, "v": 2},
        {**data, "head": {**data["head"], "turn_id": "t\n!touch forged"}},
        {**data, "blocks": [{**call, "resolved": {"a": deep}}]},
        {**data, "blocks": [{**block, "text": "x" * 400_000}]},
    ]


def with_unknown_fields(data: Any) -> Any:
    """Give a turn with fields that are none of the schema's, some of them of meaning to a library of pages."""
    markup = {"dangerouslySetInnerHTML": {"__html": PAYLOADS[0]}, "__proto__": {"canary": 1}, "constructor": CANARY}
    head = {**data["head"], "acts": ["rerun", PAYLOADS[0]], **markup}
    return {**data, **markup, "head": head, "blocks": [{**block, **markup} for block in data["blocks"]]}


def write(lab: Lab, bundles: list[dict[str, Any]], *, name: str = "saved.ipynb", kernel: str = NO_KERNEL) -> str:
    """Write a notebook whose cells were run by somebody else: one bundle each."""
    new = nbformat.v4
    outputs = [new.new_output("display_data", data=bundle) for bundle in bundles]
    cells = [new.new_code_cell("%%chat\nHello", outputs=[one], execution_count=1) for one in outputs]
    lab.server.put(name, new.new_notebook(cells=cells), kernel=kernel)
    return name


def open_saved(lab: Lab, name: str, front: Front = "lab") -> tuple[Notebook, list[str]]:
    """Open a notebook without a kernel; gives it, and a list of what must not happen on its page.

    That is a request to elsewhere, a dialog, or an error of nbtool's script; Notebook 7 has one of its own here.
    """
    notebook, trouble = listen(lab, name, front)
    return notebook.open_without_kernel(), trouble


@pytest.mark.parametrize("kernel", [NO_KERNEL, "python3"])
def test_a_widget_of_another_front_end_whose_model_is_gone_leaves_what_was_saved_beside_it(
    lab: Lab, kernel: str
) -> None:
    view = {"application/vnd.jupyter.widget-view+json": {"version_major": 2, "version_minor": 0, "model_id": "ab" * 16}}
    done = turn_mimebundle(document([prose("The saved *answer*.")], status="completed", seconds=1.0))
    form = {mime: done[mime] for mime in ("text/html", "text/plain")}
    name = write(lab, [view | form, view | done], name="gone.ipynb", kernel=kernel)

    notebook = open_saved(lab, name)[0] if kernel == NO_KERNEL else lab.open_notebook(name)

    for cell in (0, 1):
        notebook.wait_output(cell, "The saved answer.")
        expect(notebook.output(cell)).not_to_contain_text("model not found")


def loads_history(page: Page) -> bool:
    """Whether a page has loaded what draws saved conversations."""
    names = page.evaluate("() => performance.getEntriesByType('resource').map(({ name }) => name)")
    assert any("/nbtool-chat/static/remoteEntry." in name for name in names)
    return any("/nbtool-chat/static/history." in name for name in names)


def listen(lab: Lab, name: str, front: Front = "lab") -> tuple[Notebook, list[str]]:
    """Give a notebook that is not open yet, and a list of what must not happen on its page; see `open_saved`."""
    notebook = Notebook(lab.context.new_page(), lab.server, name, front)
    trouble: list[str] = []
    notebook.page.on("request", lambda request: None if is_own(request.url, lab) else trouble.append(request.url))
    notebook.page.on("dialog", lambda dialog: trouble.append(dialog.message))
    notebook.page.on("pageerror", lambda error: trouble.append(error.stack) if "nbtool" in error.stack else None)
    return notebook, trouble


def is_own(url: str, lab: Lab) -> bool:
    return url.startswith((lab.server.url, "blob:", "data:"))


def turns(page: Page | Locator) -> Locator:
    return page.locator(".nb-saved")


@pytest.mark.journey
@pytest.mark.sampled(1)
@pytest.mark.promise("reads-alone")
@pytest.mark.parametrize("front", ["lab", "notebook"])
@pytest.mark.parametrize("trusted", [True, False], ids=["trusted", "untrusted"])
def test_a_saved_turn_opens_and_is_searched_without_a_kernel(lab: Lab, front: Front, trusted: bool) -> None:
    name = write(
        lab, [turn_mimebundle(long()), turn_mimebundle(recorded_document("error"))], name=f"{front}-{trusted}.ipynb"
    )
    if trusted:
        lab.server.trust(name)

    notebook, trouble = open_saved(lab, name, front)
    turn = turns(notebook.output(0))
    expect(turn.get_by_role("heading", name="Cheapest ticker")).to_be_visible()
    call = turn.locator("details.nb-call").first
    call.locator("summary").click()
    expect(call).to_contain_text("DataFrame, 250 rows")
    turn.get_by_role("searchbox").fill("17.05")
    expect(turn.get_by_role("status").first).to_have_text("1 of 2")
    expect(turn.locator("details.nb-call").nth(1)).to_have_attribute("open", "")
    turn.get_by_role("searchbox").press("Enter")
    expect(turn.get_by_role("status").first).to_have_text("2 of 2")

    assert notebook.page.evaluate("() => [...CSS.highlights.get('nb-search-match')].map(String)") == ["17.05"] * 3
    expect(turn.get_by_role("button", name="Copy reply", exact=True)).to_have_count(1)
    expect(turn.get_by_role("button", name="Rerun")).to_have_count(0)
    expect(notebook.output(1)).to_contain_text("denied")
    assert not loads_history(notebook.page)
    assert trouble == []


@pytest.mark.journey
@pytest.mark.sampled(1)
@pytest.mark.parametrize("front", ["lab", "notebook"])
def test_nothing_forged_into_a_notebook_is_executed_or_fetched(lab: Lab, front: Front) -> None:
    data = turn_mimebundle(recorded_document())[TURN_MIME]
    much = {"id": "much", "kind": "thinking", "text": "canary " * 2_000, "refusal": False, "state": "whole", "more": {}}
    forms = [*(fill_schema(data, one) for one in PAYLOADS), with_unknown_fields(data), *with_displays(data)]
    hostile = [{TURN_MIME: {**one, "blocks": [*one["blocks"], much]}, "text/html": "twin"} for one in forms]
    refused = [
        {TURN_MIME: one, "text/html": f"<em>twin</em>{PAYLOADS[0]}", "text/plain": "plain"}
        for one in forged_documents(data)
    ]
    notebook, trouble = open_saved(lab, write(lab, [*hostile, *refused], name=f"forged-{front}.ipynb"), front)

    expect(turns(notebook.page)).to_have_count(len(hostile))
    expect(notebook.page.locator(".jp-OutputArea em", has_text="twin")).to_have_count(len(refused))
    for at in range(len(hostile)):
        for fold in turns(notebook.output(at)).locator("details").all():
            fold.evaluate("fold => { fold.open = true; }")
        expect(turns(notebook.output(at)).locator(".nb-fold-body section").first).to_be_visible()
        notebook.output(at).get_by_role("searchbox").fill("canary")
    inside = notebook.page.locator(".nb-saved :is(script, iframe, img, svg, object, embed, style, link)")

    expect(inside).to_have_count(0)
    assert notebook.page.evaluate("() => [window.canary, ({}).canary]") == [None, None]
    assert trouble == []


BUTTONS = ("Rerun", "Edit prompt", "To code", "Explore", "Previous version", "Next version")
FORGED_HEADS: list[dict[str, Any]] = [
    {"turns": ["t\n!touch forged", "t2"], "version": 1, "versions": 2},
    {"chat": "main\n!touch forged"},
    {"chat": "a b; !touch forged"},
]
"""Payloads of buttons that are none of the schema's."""


def test_forged_turns_of_a_live_notebook_run_and_fetch_nothing_whatever_is_clicked(lab: Lab) -> None:
    data = turn_mimebundle(recorded_document())[TURN_MIME]
    versions = {**data["head"], "turns": ["turn_1", "turn_2", "turn_3"], "version": 2, "versions": 3}
    versioned = {**data, "head": versions}
    accepted = [*(fill_schema(versioned, one) for one in PAYLOADS), with_unknown_fields(versioned)]
    refused = [{**data, "head": {**data["head"], **forged}} for forged in FORGED_HEADS]
    bundles = [{TURN_MIME: one, "text/html": "twin"} for one in [*accepted, *refused]]
    name = write(lab, bundles, name="forged-live.ipynb", kernel="python3")
    notebook, trouble = listen(lab, name)
    notebook.open()
    page = notebook.page
    expect(turns(page)).to_have_count(len(accepted))
    expect(page.locator(".jp-OutputArea", has_text="twin")).to_have_count(len(refused))
    count = len(bundles)

    for turn in turns(page).all():
        for label in BUTTONS:
            turn.get_by_role("button", name=label).click(modifiers=["Alt"])  # as a cell below
        for add in turn.get_by_role("button", name="Add to notebook").all():
            add.click()
        for fold in turn.locator("details").all():
            fold.evaluate("fold => { fold.open = true; }")
    expect(turns(page).locator(".nb-fold-body section").first).to_be_visible()

    cells = notebook.save().cells
    sources = [cell.source for cell in cells if cell.execution_count is None]
    assert len(sources) >= len(BUTTONS) * len(accepted)
    assert len(sources) == len(cells) - count
    lines = {line.split(" ")[0] for source in sources for line in source.split("\n")}
    assert lines == {"%%chat", "%chat", "%load_ext", "Hello"}
    assert not [source for source in sources if "forged" in source or "canary" in source]
    expect(page.locator(".nb-saved :is(script, iframe, img, svg, object, embed, style, link)")).to_have_count(0)
    assert page.evaluate("() => [window.canary, ({}).canary]") == [None, None]
    assert trouble == []


@pytest.mark.journey
def test_with_a_living_kernel_its_buttons_with_alt_put_a_cell_below_and_run_nothing(lab: Lab) -> None:
    notebook = lab.open_cells(SETUP, ASK, "print('the last cell')", kernel="python3")
    notebook.run_cell(0)
    notebook.run_cell(1)
    turn = turns(notebook.output(1))
    expect(turn.locator("details.nb-call summary")).to_contain_text("tickers")

    cells = notebook.save().cells
    (data,) = (output.data for output in cells[1].outputs if output.output_type == "display_data")
    turn_id = data[TURN_MIME]["head"]["turn_id"]
    notebook.page.set_viewport_size({"width": 1200, "height": 300})
    turn.get_by_role("button", name="Rerun").click(modifiers=["Alt"])
    expect(turn.get_by_role("status")).to_contain_text("Added as a new cell below")
    rerun = notebook.source(2)
    expect(notebook.cell(2)).to_be_in_viewport(ratio=0.9)
    notebook.page.set_viewport_size({"width": 1200, "height": 900})
    turn.get_by_role("button", name="To code").click()
    expect(turn.get_by_role("status")).to_contain_text("1 call")
    code = notebook.source(2)
    turn.get_by_role("button", name="Edit prompt").click(modifiers=["Alt"])
    edit = notebook.source(2)
    notebook.page.evaluate(f"() => {PANEL}.sessionContext.shutdown()")

    expect(turn.get_by_role("button", name="Rerun")).to_have_count(0)
    assert set(data) == {TURN_MIME, "text/html", "text/plain"}
    assert rerun == f"%%chat --rerun {turn_id[:13]}"
    assert "tickers()" in code
    assert "%chat" not in code
    assert edit == f"%%chat --edit {turn_id[:13]}\nUse &`tickers`."
    assert notebook.source(5) == "print('the last cell')"
    assert [cell.execution_count for cell in notebook.save().cells[2:]] == [None] * 4


@pytest.mark.promise("reads-alone")
def test_without_the_extension_the_static_twin_is_shown(lab: Lab) -> None:
    lab.server.disable("nbtool-chat")
    notebook, trouble = open_saved(lab, write(lab, [turn_mimebundle(recorded_document())], name="disabled.ipynb"))

    call = notebook.output(0).locator("details").nth(1)
    call.locator("summary").click()

    expect(call.locator("pre").first).to_be_visible()
    expect(turns(notebook.page)).to_have_count(0)
    assert trouble == []


@pytest.mark.shots
@pytest.mark.parametrize("theme", ["light", "dark"])
def test_a_saved_turn_shows_its_images_and_plays_its_sounds(lab: Lab, theme: str) -> None:
    lab.set_theme(theme)  # type: ignore[arg-type]  # one of its two words
    name = write(
        lab, [turn_mimebundle(long()), turn_mimebundle(recorded_document("waiting") | {"head": parked_head()})]
    )
    notebook, trouble = open_saved(lab, name)
    turn = turns(notebook.output(0))
    turn.get_by_role("searchbox").fill("17.05")
    expect(turn.locator("details.nb-call").nth(1)).to_contain_text("Result")

    screenshot(notebook.page, f"saved-{theme}")
    notebook.page.evaluate((RECORDED.parents[1] / "node_modules/axe-core/axe.min.js").read_text(encoding="utf-8"))
    found = notebook.page.evaluate("axe.run('.nb-saved', { runOnly: ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa'] })")

    assert [one["id"] for one in found["violations"] if one["impact"] in ("serious", "critical")] == []
    assert trouble == []


def parked_head() -> Any:
    return {**recorded_document("waiting")["head"], "status": "parked"}
