"""The card of a question shows everything that an approval executes: what hides in arguments, and what was edited.

Calls with hostile arguments are asked about by the real gate, shown by the real view, approved by its buttons and run.
What ran is then looked for in what a person could see, argument by argument.
"""

from __future__ import annotations

import json
import random
import re
import threading
from collections.abc import Callable
from typing import Any

import pytest
from playwright.sync_api import Page

from nbtool import Chat, tool
from nbtool.blocks.fold.turn_events import Transcript
from nbtool.chat.chat import wait_for_turn
from nbtool.events import CallAsked
from nbtool.magics.cell.approver import CellApprover
from nbtool.testing import ScriptedWire, call
from nbtool.view.page_messages import parse_message, to_decision

CARDS, ON_A_CARD = 50, 10
HIDDEN = (
    "\u200b\u200e\u202e\u2066\u2069\u00ad\u034f\u115f\u3164\ufeff\u180e\u2060\U000e0041\ufe0f\u00a0\u2003\u3000\u2028"
    "\u2029\x00\x08\x1b\x7f\x85\u2800\r"
)
PIECES = (
    "pay", "раypal.com", "аdmin", "Ａdmin", "漢字", "🙂", "e\u0301", "</code>", "<b>", "&amp;", '"', "\\", "\\u{202e}",  # noqa: RUF001 - letters that look like others
    "`", "…", "(nothing)", " ", "  ", "\t", "\n", "\n\n", "# no", "[x](y)", '", "to": "me', "$ARG{{text}}", "null",
)  # fmt: skip
TOKENS = re.compile(r'"(?:[^"\\]|\\.)*"|[{}\[\],:]|[^\s{}\[\],:"]+')
COUNTS = (r"^([\d,]+) hidden", r"and ([\d,]+) characters? more")
NUMBERS = (0, -1, 2**53 + 1, 10**30, 1.5, 1e-7, 1e22, 0.1 + 0.2, True, None)
SHOW = """async (document_) => {
  window.view = window.start(document_);
  window.view.tell({ kind: "ack", id: "x" });
  await window.frame();
  window.items = [...window.view.el.querySelectorAll(".nb-item")];
  window.press = (el, name) =>
    [...el.querySelectorAll("button")].find((one) => one.textContent.startsWith(name))?.click();
}"""
OPEN = """async () => {
  for (const item of window.items) {
    window.press(item, "Reason…"); // of several calls each is a line at first, and opened on demand
    await window.frame();
    window.press(item, "Show all");
    await window.frame();
    for (const fold of item.querySelectorAll("details")) fold.open = true;
  }
}"""
RENDERED = "() => !window.view.el.querySelector('[aria-busy=true]')"
READ = """() => {
  // of a long text the browser lays out only the boxes near the viewport, and `innerText` reads no others
  const textOf = window.textOf = (value) => value.querySelector(".nb-lines") ? value.textContent : value.innerText;
  // without a list of arguments the sentence says them in full
  return window.items.map((item) => !item.querySelector(".nb-argument")
    ? { sentence: item.querySelector(".nb-card-summary").innerText }
    : Object.fromEntries([...item.querySelectorAll(".nb-argument")].map((row) => {
    const value = row.querySelector("dd").firstElementChild;
    const signs = [...value.querySelectorAll(".nb-change-sign")];
    const told = signs.map((sign) => [sign, sign.nextElementSibling].map(textOf));
    return [row.querySelector("dt").innerText, value.matches(".nb-changes") ? told : textOf(value)];
  })));
}"""
EDIT = """async ([at, name, text]) => {
  const item = window.items[at];
  window.press(item, "Edit");
  await window.frame();
  const field = item.querySelector(`textarea[id$="-${name}"]`);
  Object.getOwnPropertyDescriptor(HTMLTextAreaElement.prototype, "value").set.call(field, text);
  field.dispatchEvent(new Event("input", { bubbles: true }));
  await window.frame();
  while (item.querySelector(".nb-fields [aria-busy=true]")) await window.frame();
  const fields = [...item.querySelectorAll(".nb-field")].map((one) => [one.querySelector(".nb-name").innerText,
    [one.querySelector("textarea").value, one.querySelector(".nb-hidden-char")?.parentElement.innerText ?? ""]]);
  const changed = [...item.querySelectorAll(".nb-diff .nb-added, .nb-diff .nb-unchanged")];
  return [Object.fromEntries(fields), changed.map((line) => window.textOf(line.lastElementChild)).join("\\n")];
}"""
ARMED = '() => window.items.every((item) => !item.querySelector(".nb-primary").disabled)'
AGREE = """() => {
  for (const item of window.items) item.querySelector(".nb-primary").click();
  return window.view.said.filter(({ kind }) => kind === "approve");
}"""

Tell = Callable[[str, object], None]


@pytest.mark.nightly
@pytest.mark.timeout(600)
def test_everything_that_is_executed_was_shown(bare: Page, record_property: Tell) -> None:
    chance = random.Random(500)
    record_property("injected", CARDS * ON_A_CARD)

    for card in range(CARDS):
        asked = [arguments(chance, f"case {number}") for number in range(ON_A_CARD)]
        if not card:
            asked[1]["text"] = "pay me " * 150_000 + "\u202e"
        ran, shown, edits = approve_calls(bare, asked, chance)
        for number, one in enumerate(asked):
            key = one["key"]
            if number in edits:
                name, fields, changed = edits[number]
                assert ran[key] == one or holds(changed, ran[key][name]), (name, changed, ran[key][name])
                for each in one:
                    assert is_in_field(fields[each], ran[key][each]), (each, name, fields[each], ran[key][each])
            else:
                assert ran[key] == one
                assert is_shown(shown[number], one), (shown[number], one)
        bare.evaluate("() => window.view.close()")


def approve_calls(page: Page, asked: list[dict[str, Any]], chance: random.Random) -> tuple[Any, ...]:
    """Approve calls with these arguments, each third one edited; gives what ran, and what was on the card."""
    ran: dict[str, dict[str, Any]] = {}

    @tool
    def act(key: str, text: str = "", data: Any = None, old: str = "", new: str = "") -> str:
        "Act."
        ran[key] = {"key": key, "text": text, "data": data, "old": old, "new": new}
        return "done"

    chat = Chat(wire=ScriptedWire([[call("act", **one) for one in asked], "Done."]), tools=[act])
    turn = chat.compose("Act.")
    turn.approver = CellApprover(turn, chat.approvals, mode="park", can_park=True)
    waits = threading.Semaphore(0)
    turn.add_listener(lambda event: waits.release() if isinstance(event, CallAsked) else None)
    wait_for_turn(turn)
    assert all(waits.acquire(timeout=240) for _ in asked)
    transcript = Transcript()
    for event in turn.log:
        transcript.feed(event)
    page.evaluate(SHOW, transcript.document())
    page.evaluate(OPEN)
    page.wait_for_function(RENDERED)
    shown = page.evaluate(READ)
    edits = {}
    for number in range(0, len(asked), 3):
        name = chance.choice(["text", "data"])
        value = hostile(chance) if name == "text" else nested(chance, 2)
        text = value.replace("\r", "") if name == "text" else json.dumps(value, ensure_ascii=False)
        edits[number] = (name, *page.evaluate(EDIT, [number, name, text]))
    page.wait_for_function(ARMED)
    page.wait_for_function(RENDERED)
    for said in page.evaluate(AGREE):
        received = parse_message(said, turn_id=said["turn"], nonce=said["nonce"])
        assert received
        chat.approvals.decide(received.digest, to_decision(received.verdict or {}), by="button")
    assert turn.done.result(240).status == "completed"
    return ran, shown, edits


def arguments(chance: random.Random, key: str) -> dict[str, Any]:
    """Make the arguments of a call; in some of them two texts that differ in a few of their lines."""
    lines = [hostile(chance) for _ in range(chance.randint(1, 30))]
    before, after = list(lines), list(lines)
    after[chance.randrange(len(lines))] = hostile(chance)
    pair = {"old": "\n".join(before), "new": "\n".join(after)} if chance.random() < 0.3 else {"old": "", "new": ""}
    return {"key": key, "text": hostile(chance), "data": nested(chance, 3), **pair}


def hostile(chance: random.Random) -> str:
    """Make a text in which something may hide; few are long."""
    count = chance.choice([1, 2, 3, 5, 8, 8, 13, chance.randint(20, 1_000)])
    return "".join(chance.choice(chance.choice([PIECES, HIDDEN])) for _ in range(count))


def nested(chance: random.Random, depth: int) -> Any:
    """Make a JSON value."""
    kind = chance.choice(["text", "number", "list", "object"]) if depth else "text"
    if kind == "text":
        return hostile(chance)
    if kind == "number":
        return chance.choice(NUMBERS)
    inner = [nested(chance, depth - 1) for _ in range(chance.randint(0, 3))]
    return inner if kind == "list" else {hostile(chance): one for one in inner}


def is_shown(shown: dict[str, Any], executed: dict[str, Any]) -> bool:
    """Whether all arguments stand on the card, each as it was executed and as nothing else."""
    if sentence := shown.get("sentence"):
        arguments = ", ".join(f"{name}={json.dumps(value, ensure_ascii=False)}" for name, value in executed.items())
        return TOKENS.findall(spelled(sentence)) == TOKENS.findall(spelled(f"Run act({arguments})?"))
    for name, value in executed.items():
        if name in shown:
            if not (says if isinstance(value, str) else writes)(shown[name], value):
                return False
        elif name not in ("old", "new"):
            return False
    edit = shown.get("edit", [])
    sides = {"old": ("−", " "), "new": ("+", " ")}  # noqa: RUF001 - the sign that is shown
    actual = {side: "\n".join(text for sign, text in edit if sign in signs) for side, signs in sides.items()}
    return all(name in shown or spelled(actual[name]) == without_line_break(spelled(executed[name])) for name in sides)


def says(shown: str, text: str) -> bool:
    """Whether what stands there is this text, with or without quotes."""
    return without_line_break(spelled(shown)) in (
        without_line_break(spelled(text)),
        without_line_break(spelled(f'"{text}"')),
    )


def writes(shown: str, value: Any) -> bool:
    """Whether what stands there is this value as JSON, in whatever order its names are."""
    forms = [json.dumps(value, ensure_ascii=False, sort_keys=is_sorted) for is_sorted in (False, True)]
    return TOKENS.findall(spelled(shown)) in [TOKENS.findall(spelled(form)) for form in forms]


def holds(shown: str, value: Any) -> bool:
    """Whether a text or other value stands among what was changed."""
    return without_line_break(spelled(value)) in spelled(shown) if isinstance(value, str) else writes(shown, value)


def is_in_field(field: tuple[str, str], value: Any) -> bool:
    """Whether a field has this value, and lists the first of its hidden characters, and counts those that are left."""
    typed, note = field
    is_text = isinstance(value, str) and typed == re.sub("\r\n?", "\n", value)
    hidden = [spelled(one) for one in (value if is_text else typed) if one in HIDDEN]
    escapes = re.findall(r"\\u\{[0-9a-f]+\}", note)
    listed = [one for one in escapes if one in {spelled(char) for char in HIDDEN}]
    total, omitted = (int((re.search(rule, note) or ["", "0"])[1].replace(",", "")) for rule in COUNTS)
    is_complete = total == len(escapes) + omitted and total >= len(hidden) and (omitted > 0 or listed == hidden)
    return (is_text or writes(typed, value)) and listed == hidden[: len(listed)] and is_complete


def spelled(text: str) -> str:
    """Write every character that is not plain ASCII as its escape: a raw one that cannot be seen equals none."""
    return "".join(one if " " <= one <= "~" or one in "\n\t" else f"\\u{{{ord(one):04x}}}" for one in text)


def without_line_break(text: str) -> str:
    """Leave out the line break at the end: it has no shape."""
    return text.removesuffix("\n")
