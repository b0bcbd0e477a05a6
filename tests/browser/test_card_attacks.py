"""What a reply does to the card of a question: nothing lies over its buttons, and no stray key decides."""

from __future__ import annotations

import random
from collections.abc import Callable
from itertools import product
from typing import Any

import pytest
from playwright.sync_api import Page

KEYS = (
    "Enter",
    "Space",
    "y",
    "a",
    "Y",
    "1",
    "Escape",
    "ArrowDown",
    "Control+Enter",
    "Control+a",
    "Alt+a",
    "Shift+Enter",
)
FORMS = (
    '<div style="{css}">x</div>', '<p style="{css}">Approve</p>', "<style>* {{ {css} }}</style>",
    '<button style="{css}">Approve</button>', '<iframe style="{css}" src="about:blank"></iframe>',
    '<svg style="{css}"><rect width="100%" height="100%"/></svg>', '[x](# "{css}")',
    "![x](data:image/png;base64,{css})",
    '<dialog open style="{css}">x</dialog>', "```html\n<div style='{css}'>\n```",
)  # fmt: skip
STYLES = (
    "position:fixed;inset:0;z-index:2147483647", "position:absolute;top:-500px;height:9999px;width:9999px",
    "margin-top:-800px;height:2000px", "transform:scale(100);transform-origin:top", "position:sticky;bottom:0",
    "float:left;width:100vw;height:100vh;margin-bottom:-100vh", "outline:9999px solid red", "pointer-events:none",
    "display:none", "opacity:0",
)  # fmt: skip

CARD = """async (texts) => {
  const call = { id: "c1", kind: "call", call_id: "c1", name: "pay", round: 1, arguments: "{}",
    resolved: { a: { text: "1", references: [], is_reference: false } },
    repaired: [], state: "waiting", decisions: [], question: { gate: "run", digest: "d", tool: "pay", shown: '{"a": 1}',
    description: "Pay.", schema: {}, can_remember: true, sensitive: false }, progress: "", fraction: null, result: "",
    shown: "", reason: "", reference: "", started: 1, seconds: 1, more: {}, glances: {} };
  const view = window.start();
  window.view = view;
  view.tell({ kind: "ack", id: "x" });
  texts.forEach((text, at) => view.patches({ op: "open", block:
    { id: `p${at}`, kind: "text", text, refusal: false, state: "whole", more: {} } }));
  view.patches({ op: "open", block: call });
  await window.frame();
}"""
HIT = """() => {
  const card = window.view.el.querySelector('[role=group][aria-label=Approval], .nb-item');
  const found = [...card.querySelectorAll("button")].filter((one) => one.offsetParent);
  return found.map((button) => {
    button.scrollIntoView({ block: "center" });
    const box = button.getBoundingClientRect();
    const hit = document.elementFromPoint(box.x + box.width / 2, box.y + box.height / 2);
    return [button.textContent, button.contains(hit), box.width > 10 && box.height > 10];
  });
}"""
WORDS = ["approve", "deny", "withhold", "release"]
DECIDED = f"() => window.view.said.filter((one) => {WORDS}.includes(one.kind)).length"

Tell = Callable[[str, object], None]


@pytest.mark.nightly
@pytest.mark.timeout(300)
def test_nothing_of_a_reply_lies_over_the_buttons_of_a_question(bare: Page, record_property: Tell) -> None:
    overlays = [form.format(css=css) for form, css in product(FORMS, STYLES)]
    record_property("injected", len(overlays))

    for overlay in overlays:
        bare.evaluate(CARD, ["Before.", overlay, overlay])
        buttons: list[Any] = bare.evaluate(HIT)
        assert {name for name, _, _ in buttons} >= {"Approve", "Deny"}, overlay
        assert all(is_hit and is_seen for _, is_hit, is_seen in buttons), (overlay, buttons)
        bare.evaluate("() => window.view.close()")
    assert len(overlays) == 100


@pytest.mark.nightly
@pytest.mark.timeout(300)
def test_a_storm_of_keys_that_was_intended_for_something_else_decides_nothing(
    bare: Page, record_property: Tell
) -> None:
    chance = random.Random(14)
    record_property("injected", 1_000)

    bare.evaluate(CARD, ["Reading."])
    for _ in range(1_000):
        bare.keyboard.press(chance.choice(KEYS))

    assert bare.evaluate(HIT)
    assert bare.evaluate(DECIDED) == 0
