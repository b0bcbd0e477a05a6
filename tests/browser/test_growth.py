"""Hostile texts of growing size in every kind of block: no task of the page takes long, whatever the text is."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from typing import Any, get_args

import pytest
from playwright.sync_api import BrowserContext, Page

from nbtool.blocks.shapes import Block
from tests.browser.bare import document, open_bare, prose
from tests.faults.growth import COMMON, Family, families

SIZES = (10_000, 30_000, 100_000)

LONGEST_MS = 200
"""Milliseconds that one task of the page may take; the least of `TRIES`, as the machine may do other things."""

TRIES = 3

WORDS = [
    "#", "*", "**", "_", "`", "```", ">", "- ", "1. ", "|", "[a](", ")", "![", "](", "<", "&#", ";", "\\", "$", "$$",
    "~~", "|-|-|\n", "[^1]", "[^1]: ", "http://", "|a", "|-", "\n\n", "\t", "    ", "===\n", "---\n", "\\[", "\\(",
    "{", "}", '"', "'", "/*", "//", "<!--", "def ", "=", "^", "$x$ ", "```python\n", "*a_", "$\\frac{",
]  # fmt: skip

RUN = """async (shown) => {
  const long = [];
  const watch = new PerformanceObserver((list) => long.push(...list.getEntries().map((one) => one.duration)));
  watch.observe({ type: "longtask" });
  const view = window.start(shown);
  for (const fold of view.el.querySelectorAll("details")) fold.open = true;
  let size = -1;
  for (let quiet = 0; quiet < 3;) {
    await window.frame();
    const now = view.el.querySelectorAll("*").length + (view.el.querySelector("[aria-busy=true]") ? 1e9 : 0);
    quiet = now === size ? quiet + 1 : 0;
    size = now;
  }
  view.el.getBoundingClientRect();
  await window.frame();
  long.push(...watch.takeRecords().map((one) => one.duration));
  watch.disconnect();
  view.close();
  await window.frame();
  return Math.max(0, ...long);
}"""


def call(**texts: Any) -> dict[str, Any]:
    """Give a call's block."""
    block = {
        "id": "c", "kind": "call", "call_id": "c", "name": "f", "round": 1, "arguments": "{}", "resolved": {},
        "repaired": [], "state": "error", "question": None, "decisions": [], "progress": "", "fraction": None,
        "result": "", "reason": "", "reference": "", "started": None, "seconds": None, "more": {},
    }  # fmt: skip
    return {**block, **texts}


def table(cells: str) -> Callable[[int], str]:
    """Give a head of many columns over as many short rows."""
    return lambda size: cells * (size // 8) + "\n" + "|-" * (size // 8) + "|\n" + "|\n" * (size // 4)


OWN = [
    Family("a table of many columns", table("|a")),
    Family("a table of a hundred columns", lambda size: "|a" * 99 + "|\n" + "|-" * 99 + "|\n" + "|\n" * (size // 2)),
    Family("a stack of combining marks", lambda size: "a" + "\u0301" * size),
    Family("formulas", lambda size: "$x^2$ " * (size // 6)),
    Family("code", lambda size: "```python\n" + "def f(\n" * (size // 7) + "```"),
]

KINDS: dict[str, dict[str, Callable[[str], dict[str, Any]]]] = {
    "ProseBlock": {
        "text": prose,
        "thinking": lambda text: {**prose(text), "kind": "thinking"},
    },
    "CallBlock": {
        "arguments": lambda text: call(arguments=text),
        "result": lambda text: call(result=text),
        "progress": lambda text: call(progress=text),
        "traceback": lambda text: call(traceback=text),
    },
    "NoticeBlock": {
        "notice": lambda text: {"id": "n", "kind": "notice", "text": text, "level": "info"},
    },
}
"""How a hostile text comes into each kind of block."""

FIELDS = [field for fields in KINDS.values() for field in fields]


def test_every_kind_of_block_has_its_hostile_texts() -> None:
    assert {kind.__name__ for kind in get_args(Block)} == set(KINDS)


def longest(page: Page, field: str, family: Family, size: int) -> float:
    """Give the longest task that a text takes."""
    make = next(fields[field] for fields in KINDS.values() if field in fields)
    shown = document([make(family.text(size))], status="completed", seconds=1.0)
    times: list[float] = []
    for _ in range(TRIES):
        times.append(page.evaluate(RUN, shown))
        if times[-1] <= LONGEST_MS:
            break
    return min(times)


def chosen(field: str, pairs: int, most: int) -> Iterator[Family]:
    """Give a block's hostile texts: those of its own, and a sample of the others."""
    yield from OWN
    every = list(families([*WORDS, *COMMON], field, pairs))
    yield from random.Random(field).sample(every, min(most, len(every)))


def check(profile: BrowserContext, field: str, sizes: tuple[int, ...], pairs: int, most: int) -> int:
    """Show a block's hostile texts; gives how many there were."""
    page, _ = open_bare(profile)
    found, count = [], 0
    for family in chosen(field, pairs, most):
        for size in sizes:
            count += 1
            took = longest(page, field, family, size)
            if took > LONGEST_MS:
                found.append(f"{family.name}: {took:.0f} ms at {size:,} characters")
                break
    page.close()
    assert found == []
    return count


@pytest.mark.timeout(180)
@pytest.mark.parametrize("field", FIELDS)
def test_no_hostile_text_keeps_the_page_busy(
    profile: BrowserContext, field: str, record_property: Callable[[str, object], None]
) -> None:
    record_property("injected", check(profile, field, SIZES[:1], 0, 2))


@pytest.mark.nightly
@pytest.mark.timeout(1_800)
@pytest.mark.parametrize("field", FIELDS)
def test_no_hostile_text_of_any_size_keeps_the_page_busy(
    profile: BrowserContext, field: str, record_property: Callable[[str, object], None]
) -> None:
    record_property("injected", check(profile, field, SIZES, 60, 60))
