"""What axe-core finds wrong on a page, for people who use a screen reader, a keyboard or high contrast."""

from __future__ import annotations

from pathlib import Path

from playwright.sync_api import Page

AXE = Path(__file__).parents[2] / "js" / "node_modules" / "axe-core" / "axe.min.js"
RULES = "['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa']"


def find_violations(page: Page, selector: str) -> list[str]:
    """Return the rules of WCAG 2.2 AA that an element breaks, each with the first place."""
    page.evaluate(AXE.read_text(encoding="utf-8"))
    found = page.evaluate(f"selector => axe.run(selector, {{ runOnly: {RULES} }})", selector)
    return [f"{one['id']}: {one['nodes'][0]['html'][:300]}" for one in found["violations"]]
