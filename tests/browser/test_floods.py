"""Tools that give more than anybody reads: the page in which it happens stays usable."""

from __future__ import annotations

import json

import pytest
from playwright.sync_api import expect

from nbtool.blocks.render.mimebundle import TURN_MIME
from tests.browser.lab import Lab
from tests.browser.test_chat import chat

pytestmark = pytest.mark.new_page

FLOOD = """
import os
from PIL import Image

@tool(run="auto")
def noise() -> bytes:
    "Bytes that mean nothing."
    return os.urandom(118_000)

@tool(run="auto")
def pages() -> str:
    "A hundred megabytes of text."
    return "0123456 89012345678901234567890123456789012345678\\n" * 2_000_000

@tool(run="auto")
def picture() -> Image.Image:
    "An image that a notebook has room for."
    return Image.frombytes("RGB", (200, 100), os.urandom(60_000))
"""
ASK = "%%chat -m practice:fast -o answer\nUse &`noise`, &`pages` and &`picture`."
WATCH = """() => {
  window.longest = 0;
  let last = performance.now();
  const look = (now) => {
    window.longest = Math.max(window.longest, now - last);
    last = now;
    requestAnimationFrame(look);
  };
  requestAnimationFrame(look);
}"""
USABLE_MS = 1_000
"""Milliseconds without a frame that a person may notice and does not mind; two busy cores share them."""


@pytest.mark.nightly
@pytest.mark.timeout(180)
def test_a_page_stays_usable_while_tools_flood_it(lab: Lab) -> None:
    notebook = chat(
        lab, "python3", FLOOD, ASK, "print([len(c.result) for c in answer.calls if hasattr(c.result, '__len__')])"
    )
    notebook.run_cell(1)
    notebook.page.evaluate(WATCH)

    notebook.run_cell(2, seconds=90)
    notebook.output(2).locator(".nb-media-item").scroll_into_view_if_needed()
    expect(notebook.output(2).locator(".nb-media img")).to_be_visible()
    for name in ("noise", "pages"):
        call = notebook.output(2).locator(".nb-call").filter(has_text=name)
        call.locator("summary").first.click()
        expect(call.locator(".nb-fold-body")).to_contain_text("Result")
    longest = notebook.page.evaluate("window.longest")
    notebook.run_cell(3)
    notebook.wait_output(3, "[118000, 100000000]")
    data = next(one.data for one in notebook.save().cells[2].outputs if TURN_MIME in one.get("data", {}))

    assert longest < USABLE_MS
    assert len(json.dumps(data)) < 200_000
    assert "data:image/png;base64," in data["text/html"]
    assert notebook.errors == []
