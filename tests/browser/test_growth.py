"""Hostile texts of growing size in all that the page draws: no task of the page takes long, whatever the text is."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from typing import get_args

import pytest
from playwright.sync_api import BrowserContext, Page

from nbtool.blocks.protocol import Block
from tests.browser.bare import MODULES, open_bare
from tests.browser.hostile import JSON, KINDS, OWN, SCRIPTS, WAYS, WORDS, Shown, explore, row, version
from tests.browser.tasks import Tasks, Work
from tests.fuzzing.growth import COMMON, GROWTH, Family, families

SIZES = (10_000, 30_000, 100_000)

LONGER_SIZES = (30_000, 300_000)
"""Sizes for texts whose growth shows late."""

LONGEST_MS = 200
"""Milliseconds that one task of the page may take, in its thread's own time; the least of `TRIES`."""

FLOOR_MS = 150
"""Milliseconds of work in all below which growth is not looked at: most of it is the page's own, whatever it shows."""

ROOM = 3
"""How many times linear growth is let pass where the machine has other work; quadratic growth would be ten times it."""

TRIES, MANY_TRIES = 3, 9
"""How often a work is measured that is too much: of several the least, so that load on the machine fails no test."""

CLEAR_EXCESS = 1.5
"""An excess over the bounds that is not measured more than `TRIES` times: load does not explain it."""

NIGHTLY = 10
"""Families of hostile texts that are shown in each way, at every size."""

QUICK = 2

RUN = """async ([way, shown]) => {
  const view = await window[way](shown);
  const busy = new Set();
  let changes = 0;
  const visit = (el) => {
    if (el.matches("details:not([open])")) el.open = true;
    else if (el.matches("button") && /^Show all/.test(el.textContent)) setTimeout(() => el.click());
    else if (el.matches("[aria-busy=true]")) busy.add(el);
  };
  const visitAll = (node) => {
    if (!(node instanceof Element)) return;
    visit(node);
    for (const el of node.querySelectorAll("details, button, [aria-busy]")) visit(el);
  };
  // Only what was added is looked at: searching the whole view at every frame would take quadratic time itself.
  const observer = new MutationObserver((records) => {
    changes += records.length;
    for (const record of records) {
      if (record.type === "attributes") visit(record.target);
      for (const node of record.addedNodes) visitAll(node);
    }
  });
  observer.observe(view.el, { childList: true, subtree: true, attributeFilter: ["aria-busy"] });
  visitAll(view.el);
  const isBusy = (el) => el.isConnected && el.getAttribute("aria-busy") === "true";
  let last = -1;
  for (let quiet = 0; quiet < 3;) {
    await window.frame();
    for (const el of busy) if (!isBusy(el)) busy.delete(el);
    quiet = changes === last && !busy.size ? quiet + 1 : 0;
    last = changes;
  }
  observer.disconnect();
  view.el.getBoundingClientRect();
  await window.frame();
  const isShown = view.el.textContent.includes("shown");
  view.close();
  await window.frame();
  return isShown;
}"""


@pytest.fixture(scope="module")
def quiet(profile: BrowserContext) -> Iterator[Page]:
    """Give a page that shows one text after another."""
    page, _ = open_bare(profile)
    yield page
    page.close()


@pytest.mark.journey
def test_every_kind_of_block_has_its_hostile_texts() -> None:
    assert {kind.__name__ for kind in get_args(Block)} == set(KINDS)


@pytest.mark.journey
def test_every_script_of_the_page_has_its_hostile_texts() -> None:
    others = {"rich", "formulas", "probe"}  # the first two are loaded by a view, and `probe` shows one text, its own
    assert set(MODULES) - others | {"extension"} == set(SCRIPTS)


def test_every_view_of_the_explorer_has_its_hostile_texts(bare: Page) -> None:
    views = bare.evaluate(
        """async ([way, shown]) => {
          const view = await window[way](shown);
          await window.frame();
          return [...view.el.querySelectorAll("[role=tab]")].map((tab) => tab.dataset.view);
        }""",
        explore([row(0, version("t"))]),
    )

    assert set(views) == {name.split(", ")[1] for name in SCRIPTS["explorer"]} - {"list", "prompt"}


@pytest.mark.parametrize("way", WAYS)
def test_each_way_shows_its_text(quiet: Page, way: str) -> None:
    shown = "shown" if not way.endswith("of any arguments") else '{"shown": 1}'

    assert quiet.evaluate(RUN, WAYS[way](f"{shown}\n" * 9))


@pytest.mark.parametrize(
    ("way", "name"),
    [
        ("result", "lines without a letter"),
        ("plain text", "lines without a letter"),
        ("plain result", "lines without a letter"),
        ("explorer, turn, arguments", "lines without a letter"),
        ("conversation, prompt", "a long string of many scripts"),
    ],
)
def test_texts_that_browsers_are_slow_at_take_linear_time(quiet: Page, way: str, name: str) -> None:
    tasks = Tasks(quiet.context, quiet)
    [family] = [one for one in [*OWN, *JSON] if one.name == name]

    assert problem(quiet, tasks, way, family, LONGER_SIZES, Figures(), ROOM) == ""
    tasks.close()


class Figures:
    """What was measured in all: how many texts, and the worst of their times and growths."""

    def __init__(self) -> None:
        self.texts = 0
        self.longest = 0.0
        self.growth = 0.0

    def add(self, least: list[Work], longer: float) -> None:
        self.texts += 1
        self.longest = max(self.longest, *(one.longest for one in least))
        if least[-1].total > FLOOR_MS:
            self.growth = max(self.growth, least[-1].total / least[0].total / longer)


def problem(
    page: Page, tasks: Tasks, way: str, family: Family, sizes: tuple[int, ...], figures: Figures, room: float = GROWTH
) -> str:
    """Say what is wrong with the work that a text is to the page; empty where nothing is.

    Args:
        room: How many times linear growth is let pass.
    """
    least: list[Work] = []
    for size in sizes:
        texts = [WAYS[way](family.text(one)) for one in (sizes[0], size)]
        least.append(_measure(page, tasks, texts[1]))
        for tried in range(1, MANY_TRIES):
            excess = _excess(least, room * size / sizes[0])
            if excess <= 1 or (tried >= TRIES and excess > CLEAR_EXCESS):
                break
            for at, text in {-1: texts[1], 0: texts[0]}.items():
                least[at] = Work(*map(min, least[at], _measure(page, tasks, text)))
        if _excess(least, room * size / sizes[0]) > 1:
            actual = ", ".join(f"{longest:.0f} of {total:.0f} ms" for longest, total in least)
            return f"{family.name}: {actual}, at {size:,} characters"
    figures.add(least, sizes[-1] / sizes[0])
    return ""


def _measure(page: Page, tasks: Tasks, shown: Shown) -> Work:
    return tasks.measure(lambda: page.evaluate(RUN, shown))


def _excess(least: list[Work], growth: float) -> float:
    """Return how many times more than allowed the last work is."""
    longest = least[-1].longest / LONGEST_MS
    if len(least) == 1 or least[-1].total <= FLOOR_MS:
        return longest
    return max(longest, least[-1].total / (least[0].total * growth))


def choose_pairs(way: str, count: int) -> Iterator[Family]:
    """Give hostile texts, chosen by the way: from those of their own and from the others, as many of each."""
    chance = random.Random(way)
    own = [*OWN, *JSON]
    yield from chance.sample(own, min(count // 2, len(own)))
    yield from chance.sample(list(families([*WORDS, *COMMON], way, 60)), count - count // 2)


def check(page: Page, way: str, sizes: tuple[int, ...], count: int, record: Callable[[str, object], None]) -> None:
    """Show hostile texts in a way, and record the figures."""
    tasks = Tasks(page.context, page)
    figures = Figures()
    found = [actual for one in choose_pairs(way, count) if (actual := problem(page, tasks, way, one, sizes, figures))]
    tasks.close()
    record("injected", count * len(sizes))
    record("longest_ms", round(figures.longest))
    record("growth", round(figures.growth, 2))
    assert found == []


@pytest.mark.timeout(180)
@pytest.mark.parametrize("script", SCRIPTS)
def test_no_hostile_text_keeps_the_page_busy(
    quiet: Page, script: str, record_property: Callable[[str, object], None]
) -> None:
    for way in SCRIPTS[script]:
        check(quiet, way, SIZES[:1], QUICK, record_property)


@pytest.mark.nightly
@pytest.mark.timeout(1_800)
@pytest.mark.parametrize("way", WAYS)
def test_no_hostile_text_of_any_size_keeps_the_page_busy(
    quiet: Page, way: str, record_property: Callable[[str, object], None]
) -> None:
    check(quiet, way, SIZES, NIGHTLY, record_property)
