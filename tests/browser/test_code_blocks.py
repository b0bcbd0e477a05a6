"""Code blocks of an answer: a button inserts one as a cell, which comes into view and has not run."""

from __future__ import annotations

from typing import Literal

import pytest
from playwright.sync_api import Page, expect

from tests.browser.bare import document, prose
from tests.browser.lab import PICTURED_THEMES, Front, Lab, screenshot
from tests.browser.test_formulas import reply
from tests.browser.test_saved import turns, write

SETUP = '''
%load_ext nbtool
from nbtool import Chat
from nbtool.testing import ScriptedWire
wire = ScriptedWire(["""Try this:

```python
ran = True
print("<b>hello</b>")
```

and then look at it."""]).__enter__()
coder = Chat(wire=wire)
'''
ASK = "%%chat -c coder\nHow?"
CHECK = "print('ran' in dir())"
HOSTILE = "Run:\n\n```\nimport os\nos.environ['forged'] = '1'\n```\n\n" + "More text.\n\n" * 40


@pytest.mark.journey
@pytest.mark.parametrize("theme", PICTURED_THEMES)
def test_a_code_block_becomes_a_cell_below_that_has_not_run(lab: Lab, theme: Literal["light", "dark"]) -> None:
    lab.set_theme(theme)
    notebook = lab.open_cells(SETUP, ASK, CHECK, kernel="python3", name=f"blocks-{theme}.ipynb")
    notebook.run_cell(0)
    turn = notebook.run_cell(1)
    block = turn.locator(".nb-block", has_text="hello")

    block.hover()
    insert = block.get_by_role("button", name="Insert as cell")
    expect(insert).to_have_attribute("title", "Insert as cell: a new cell below, which has not run")
    screenshot(turn, f"code-block-{theme}")
    insert.click()

    expect(turn.get_by_role("status")).to_contain_text("Added as a new cell below. Review, then run it.")
    expect(notebook.cell(2)).to_be_in_viewport()
    assert notebook.source(2) == 'ran = True\nprint("<b>hello</b>")'
    assert notebook.cell(2).locator(".jp-InputPrompt").inner_text().strip() == "[ ]:"
    expect(notebook.run_cell(3)).to_contain_text("False")
    expect(notebook.run_cell(2)).to_contain_text("<b>hello</b>")
    assert notebook.errors == []


@pytest.mark.parametrize("front", ["lab", "notebook"])
def test_a_hostile_block_of_a_saved_turn_comes_into_view_and_does_not_run(lab: Lab, front: Front) -> None:
    name = write(lab, [reply(HOSTILE)], name=f"hostile-block-{front}.ipynb", kernel="python3")
    notebook = lab.open_notebook(name, front=front)
    turn = turns(notebook.output(0))

    turn.get_by_role("button", name="Insert as cell").focus()
    notebook.page.keyboard.press("Enter")

    expect(turn.get_by_role("status")).to_contain_text("Added as a new cell below.")
    expect(notebook.cell(1)).to_be_in_viewport(ratio=0.9)
    assert notebook.source(1) == "import os\nos.environ['forged'] = '1'"
    assert notebook.save().cells[1].execution_count is None


FENCES = "```sql\n" + "select " * 60 + "\n```\n\n```python\n" + "x = 1  # long " * 30 + "\n```"
OVERLAPS = """() => [...document.querySelectorAll(".nb-block")].filter((block) => {
  const text = block.querySelector("pre").getBoundingClientRect();
  const buttons = block.querySelector(".nb-block-actions").getBoundingClientRect();
  return buttons.width === 0 || (text.right > buttons.left && text.bottom > buttons.top);
}).length"""


@pytest.mark.parametrize("width", [260, 1000])
def test_no_code_is_below_the_buttons_of_its_block(bare: Page, width: int) -> None:
    bare.set_viewport_size({"width": width, "height": 700})
    result = {
        "id": "c1", "kind": "call", "call_id": "c1", "name": "read", "round": 1, "arguments": "{}", "resolved": {},
        "repaired": [], "state": "ok", "question": None, "decisions": [], "progress": "", "fraction": None,
        "result": "a long line of words " * 30, "reason": "", "reference": "", "started": 1, "seconds": 1, "more": {},
    }  # fmt: skip

    bare.evaluate("(document) => window.start(document)", document([prose(FENCES), result], status="completed"))
    bare.locator("summary", has_text="read").click()
    expect(bare.locator(".nb-block")).to_have_count(3)

    assert bare.evaluate(OVERLAPS) == 0
