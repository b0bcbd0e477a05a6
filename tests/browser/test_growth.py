"""Hostile texts of growing size in every kind of block: no task of the page takes long, whatever the text is."""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Iterator
from typing import Any, get_args

import pytest
from playwright.sync_api import BrowserContext, Page

from nbtool.blocks.protocol import Block
from tests.browser.bare import document, open_bare, prose
from tests.browser.tasks import Tasks, Work
from tests.faults.growth import COMMON, GROWTH, Family, families

SIZES = (10_000, 30_000, 100_000)

LONGEST_MS = 200
"""Milliseconds that one task of the page may take, in its thread's own time; the least of `TRIES`."""

FLOOR_MS = 150
"""Milliseconds of work in all below which growth is not looked at: most of it is the page's own, whatever it shows."""

TRIES = 3

WORDS = [
    "#", "*", "**", "_", "`", "```", ">", "- ", "1. ", "|", "[a](", ")", "![", "](", "<", "&#", ";", "\\", "$", "$$",
    "~~", "|-|-|\n", "[^1]", "[^1]: ", "http://", "|a", "|-", "\n\n", "\t", "    ", "===\n", "---\n", "\\[", "\\(",
    "{", "}", '"', "'", "/*", "//", "<!--", "def ", "=", "^", "$x$ ", "```python\n", "*a_", "$\\frac{",
]  # fmt: skip

RUN = """async ([way, shown]) => {
  const view = await window[way](shown);
  let size = -1;
  for (let quiet = 0; quiet < 3;) {
    await window.frame();
    for (const fold of view.el.querySelectorAll("details:not([open])")) fold.open = true;
    for (const button of view.el.querySelectorAll("button")) if (/^Show all/.test(button.textContent)) button.click();
    const now = view.el.querySelectorAll("*").length + (view.el.querySelector("[aria-busy=true]") ? 1e9 : 0);
    quiet = now === size ? quiet + 1 : 0;
    size = now;
  }
  view.el.getBoundingClientRect();
  await window.frame();
  view.close();
  await window.frame();
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

JSON = [
    Family("a list of numbers", lambda size: "[" + "1," * (size // 2) + "1]"),
    Family("a list of lists", lambda size: "[" + "[1]," * (size // 4) + "1]"),
    Family("lists in lists", lambda size: "[" * (size // 2) + "]" * (size // 2)),
    Family("objects in objects", lambda size: '{"a":' * (size // 6) + "1" + "}" * (size // 6)),
    Family("an object of many names", lambda size: json.dumps({f"{n:06}": n for n in range(size // 18)})),
    Family("a long name", lambda size: json.dumps({"a" * size: 1})),
    Family(
        "a long string of many scripts", lambda size: json.dumps({"a": "\u0430a" * (size // 2)}, ensure_ascii=False)
    ),
    Family("many lines in a string", lambda size: json.dumps({"code": "a\n" * (size // 3)})),
    Family("many strings", lambda size: json.dumps(["\u202e"] * (size // 6), ensure_ascii=False)),
]


def asked(gate: str = "run", **parts: Any) -> Callable[[str], dict[str, Any]]:
    """Give what makes a call that waits for a person; of its parts, those that are functions take the text."""

    def block(text: str) -> dict[str, Any]:
        filled = {name: part(text) if callable(part) else part for name, part in parts.items()}
        question = {
            "gate": gate, "digest": "d", "tool": "f", "shown": "{}", "description": "", "schema": {},
            "can_remember": True, "sensitive": False, **filled,
        }  # fmt: skip
        return call(arguments=question["shown"], state="waiting", question=question, resolved={}, started=1.0)

    return block


def edit(text: str) -> str:
    """Give the arguments of an edit: a text, and another of the same lines."""
    return json.dumps({"old_string": text, "new_string": text[len(text) // 2 :] + text[: len(text) // 2]})


def diff(text: str) -> str:
    """Give a diff of many lines, with words before it."""
    return "Changes f:\n--- f\n+++ f\n" + "\n".join("-+ "[n % 3] + line for n, line in enumerate(text.split("\n")))


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
        "question": asked(shown=lambda text: json.dumps({"code": text})),
        "question of any arguments": asked(shown=lambda text: text),
        "question of an edit": asked(shown=edit),
        "question with a diff": asked(notice=diff),
        "question of a result": asked("result", shown=lambda text: text),
    },
    "NoticeBlock": {
        "notice": lambda text: {"id": "n", "kind": "notice", "text": text, "level": "info"},
    },
}
"""How a hostile text comes into each kind of block."""


def in_turn(make: Callable[[str], dict[str, Any]]) -> Callable[[str], tuple[str, Any]]:
    """Show a block in the view of a turn."""

    def shown(text: str) -> tuple[str, Any]:
        block = make(text)
        status = "waiting" if block.get("question") else "completed"
        return "start", document([block], status=status, seconds=None if block.get("question") else 1.0)

    return shown


def explored(make: Callable[[str], dict[str, Any]] | None) -> Callable[[str], tuple[str, Any]]:
    """Show a block in the explorer's replay; with none, the text is the prompt of many turns."""

    def shown(text: str) -> tuple[str, Any]:
        said = text if make is None else "said"
        one = {
            "turn_id": "t", "said": said[:4_000], "status": "completed", "model": "m", "started": 1.0, "seconds": 1.0,
            "rounds": 1, "calls": 0, "tokens": 1, "cost": None, "tools": [], "replayed": "", "made": "",
        }  # fmt: skip
        row = {
            "node_id": "n", "parent": -1, "depth": 0, "branches": False, "line": True, "hidden": False, "pinned": False,
            "current": 0, "versions": [one],
        }  # fmt: skip
        head = document([], prompt=said, status="completed", seconds=1.0)["head"]
        patches = [{"op": "head", "set": head}, *([{"op": "open", "block": make(text)}] if make else [])]
        steps = [{"label": "it ended", "at": 1.0, "patches": patches}]
        detail = {"turn_id": "t", "made": "", "steps": steps, "spans": []}
        return "explore", {"index": {"rows": [row], "left_out": 0}, "details": {"t": detail}, "totals": None}

    return shown


WAYS: dict[str, Callable[[str], tuple[str, Any]]] = {
    **{name: in_turn(make) for makes in KINDS.values() for name, make in makes.items()},
    **{
        f"explorer, {name}": explored(make)
        for makes in KINDS.values()
        for name, make in makes.items()
        if not name.startswith("question")
    },
    "explorer, prompt": explored(None),
}
"""The ways in which a hostile text comes to be shown."""


def test_every_kind_of_block_has_its_hostile_texts() -> None:
    assert {kind.__name__ for kind in get_args(Block)} == set(KINDS)


def problem(page: Page, tasks: Tasks, way: str, family: Family, sizes: tuple[int, ...]) -> str:
    """Say what is wrong with the work that a text is to the page; empty where nothing is."""
    least: list[Work] = []
    for size in sizes:
        shown = WAYS[way](family.text(size))
        works: list[Work] = []
        for _ in range(TRIES):
            works.append(tasks.measure(lambda shown=shown: page.evaluate(RUN, shown)))  # type: ignore[misc]  # bound now
            if not _is_too_much(least, works[-1], size / sizes[0]):
                break
        least.append(min(works))
        if _is_too_much(least[:-1], least[-1], size / sizes[0]):
            told = ", ".join(f"{longest:.0f} of {total:.0f} ms" for longest, total in least)
            return f"{family.name}: {told}, at {size:,} characters"
    return ""


def _is_too_much(before: list[Work], work: Work, longer: float) -> bool:
    if work.longest > LONGEST_MS:
        return True
    return bool(before) and work.total > FLOOR_MS and work.total > before[0].total * GROWTH * longer


def chosen(way: str, pairs: int, most: int) -> Iterator[Family]:
    """Give hostile texts: those of their own, and a sample of the others."""
    yield from OWN
    yield from JSON
    every = list(families([*WORDS, *COMMON], way, pairs))
    yield from random.Random(way).sample(every, min(most, len(every)))


def check(profile: BrowserContext, way: str, sizes: tuple[int, ...], pairs: int, most: int) -> int:
    """Show hostile texts in a way; gives how many there were."""
    page, _ = open_bare(profile)
    tasks = Tasks(profile, page)
    every = list(chosen(way, pairs, most))
    found = [told for family in every if (told := problem(page, tasks, way, family, sizes))]
    page.close()
    assert found == []
    return len(every) * len(sizes)


@pytest.mark.timeout(180)
@pytest.mark.parametrize("way", WAYS)
def test_no_hostile_text_keeps_the_page_busy(
    profile: BrowserContext, way: str, record_property: Callable[[str, object], None]
) -> None:
    record_property("injected", check(profile, way, SIZES[:1], 0, 2))


@pytest.mark.nightly
@pytest.mark.timeout(1_800)
@pytest.mark.parametrize("way", WAYS)
def test_no_hostile_text_of_any_size_keeps_the_page_busy(
    profile: BrowserContext, way: str, record_property: Callable[[str, object], None]
) -> None:
    record_property("injected", check(profile, way, SIZES, 60, 40))
