"""Mermaid diagrams of a reply: drawn by JupyterLab's own Mermaid as images, where that does no harm."""

from __future__ import annotations

from typing import Literal

import pytest
from playwright.sync_api import Locator, expect

from tests.browser.axe import find_violations
from tests.browser.lab import PICTURED_THEMES, Front, Lab, Notebook, screenshot
from tests.browser.test_formulas import reply
from tests.browser.test_saved import CANARY, open_saved, turns, write

FENCE = "```mermaid\n{}\n```"
FLOW = """flowchart LR
  A[Read the frame] --> B{Any gaps?}
  B -->|yes| C[Fill them]
  B -->|no| D((Plot))
  C --> D
  style D fill:#f9f,stroke:#333"""
PLAIN = [
    FLOW,
    "sequenceDiagram\n  Notebook->>+Model: prompt\n  Model-->>-Notebook: reply",
    'pie title Birds\n  "Wren" : 3\n  "Owl" : 1',
    "gantt\n  dateFormat YYYY-MM-DD\n  excludes weekends\n  section Data\n  Read :done, a1, 2026-01-05, 5d\n"
    "  Clean :a2, after a1, 1w\n  section Talk\n  Show :milestone, after a2, 0d",
]
HOSTILE = [
    f'graph LR\nA["<img src=https://canary.invalid/a.png onerror={CANARY}>"] --> B',
    f'graph LR\nA-->B\nclick A "javascript:{CANARY}"',
    f'%%{{init: {{"securityLevel": "loose"}}}}%%\ngraph LR\nA["<script>{CANARY}</script>"]',
    '%%{init: {"themeCSS": "@import url(https://canary.invalid/a.css)"}}%%\ngraph LR\nA-->B',
    'graph LR\nA@{ img: "https://canary.invalid/a.png", label: "x" }',
    "graph LR\nA-->B\nstyle A fill:url(https://canary.invalid/a.png)",
    "graph LR\n" + "A & B & C & D & E & F --> G & H & I & J & K & L\n" * 60,
    "graph LR\n" + "\n".join(f"N{n} --> N{n + 1}" for n in range(3_000)),
    "gantt\n  tickInterval 1millisecond\n  a :a1, 0001-01-01, 9999d",
    "gantt\n  excludes monday, tuesday, wednesday, thursday, friday, saturday, sunday\n  a :2026-01-05, 3d",
    "graph LR\nthis is {{{{ no diagram",
]


def loaded_scripts(notebook: Notebook) -> set[str]:
    """Return the addresses of the scripts that the page has loaded; Mermaid is several of them."""
    script = "() => performance.getEntriesByType('resource').map(({ name }) => name)"
    return {name.partition("?")[0] for name in notebook.page.evaluate(script) if ".js" in name}


def images(turn: Locator) -> Locator:
    return turn.locator(".nb-diagram > img")


def blocks(texts: list[str]) -> str:
    return "\n\n".join(FENCE.format(text) for text in texts)


@pytest.mark.parametrize("front", ["lab", "notebook"])
@pytest.mark.parametrize("theme", PICTURED_THEMES)
def test_diagrams_become_images_by_the_mermaid_of_jupyterlab(
    lab: Lab, front: Front, theme: Literal["light", "dark"]
) -> None:
    lab.set_theme(theme)
    text = f"This is how it goes:\n\n{blocks(PLAIN)}\n\nSo all is well."
    notebook, trouble = open_saved(lab, write(lab, [reply(text)], name=f"diagrams-{front}-{theme}.ipynb"), front)
    turn = turns(notebook.output(0))
    for at in range(len(PLAIN)):
        turn.locator(".nb-diagram").nth(at).scroll_into_view_if_needed()
        image = images(turn).nth(at)
        expect(image).to_be_visible()
        image.evaluate("image => image.decode()")
        assert image.evaluate("image => image.naturalWidth > 50 && image.clientHeight < 700")
    assert images(turn).first.get_attribute("src").startswith("data:image/svg+xml,")  # type: ignore[union-attr]  # it has one
    assert turn.locator("svg, foreignObject, script, iframe").count() == 0
    screenshot(turn, f"diagrams-{front}-{theme}")

    source = turn.locator(".nb-diagram details").first
    source.locator("summary").click()
    expect(source.locator("code")).to_have_text(FLOW)
    source.locator("code").hover()
    expect(source.get_by_role("button", name="Copy")).to_be_visible()
    assert find_violations(notebook.page, ".nb-saved") == []
    assert trouble == []


def test_a_hostile_diagram_stays_its_source_and_does_no_harm(lab: Lab) -> None:
    notebook, trouble = open_saved(lab, write(lab, [reply(blocks(HOSTILE))]))
    turn = turns(notebook.output(0))
    expect(turn.locator(".nb-diagram")).to_have_count(len(HOSTILE))
    for at in range(len(HOSTILE)):
        turn.locator(".nb-diagram").nth(at).scroll_into_view_if_needed()
        expect(turn.locator(".nb-diagram").nth(at)).to_contain_text("Not drawn as a diagram: ")

    assert images(turn).count() == 0
    assert turn.locator("a, svg, script, style, [href], [src]").count() == 0
    assert notebook.page.evaluate("() => window.canary ?? 0") == 0
    assert notebook.page.locator("[id^=jp-mermaid], [id^=djp-mermaid]").count() == 0
    assert trouble == []


def test_nothing_of_mermaid_is_loaded_where_no_reply_has_a_diagram(lab: Lab) -> None:
    notebook, trouble = open_saved(lab, write(lab, [reply("No diagram."), reply(blocks([FLOW]))], name="later.ipynb"))
    expect(images(turns(notebook.output(1)))).to_have_count(1)
    with_diagram = loaded_scripts(notebook)
    notebook.close()

    notebook, more = open_saved(lab, write(lab, [reply("No diagram.\n\n```text\nx\n```")], name="none.ipynb"))
    expect(turns(notebook.output(0))).to_contain_text("No diagram.")
    without = loaded_scripts(notebook)

    assert not [name for name in without if "ermaid" in name]
    assert len(with_diagram - without) > 1
    assert trouble == more == []
