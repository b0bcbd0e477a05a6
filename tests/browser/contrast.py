"""The contrast of every text of a page, by the formula of WCAG 2, with what is behind it."""

from __future__ import annotations

from pathlib import Path

from playwright.sync_api import Frame, Page

SCRIPT = Path(__file__).with_name("contrast.js")
LEAST = 4.5
"""What WCAG 2.2 AA asks for, for text of any size."""


def find_faint_texts(page: Page | Frame, selector: str) -> list[str]:
    """Return the texts of elements that have too little contrast, each with its ratio and its colors."""
    found = page.evaluate(SCRIPT.read_text(encoding="utf-8"), selector)
    assert found, f"There is no text in {selector}."
    return [
        f"{one['ratio']:.2f} {one['color']} on {one['ground']} <{one['at']}> {one['text']}"
        for one in found
        if one["ratio"] < LEAST
    ]
