"""The states in which a turn is seen: documents for a bare page, and what is done there before one looks."""

from __future__ import annotations

import math
import struct
from base64 import b64encode
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from io import BytesIO
from typing import Any

from PIL import Image, ImageDraw
from playwright.sync_api import Page

from nbtool.blocks.argument_targets import resolved_shapes
from tests.browser.bare import document, prose
from tests.resolved import plain, reference

REPLY = (
    "## Which species is heaviest\n\nOf the 333 penguins with a known mass, **Gentoo** are the heaviest by far. The "
    "mean of a group is $\\bar x = \\frac{1}{n}\\sum_{i=1}^n x_i$; a price such as $5 stays what it is[^1].\n\n"
    "| species | island | mean mass |\n|---|---|--:|\n| Gentoo | Biscoe | 5,092 g |\n| Chinstrap | Dream | 3,733 g |\n"
    "| Adelie | Torgersen | 3,706 g |\n\n"
    "1. rows without a mass were left out, as in [the docs](https://pandas.pydata.org/docs/);\n"
    "2. then grouped:\n   - [x] by species\n   - [ ] by sex\n\n"
    '```python\nmeans = penguins.groupby("species")["body_mass_g"].mean()\n'
    "means.nlargest(1)  # Gentoo, 5092.4\n```\n\n"
    "> Sexes differ more than islands do.\n\n[^1]: As in a reply about money.\n"
)
HALF = "Grouping by species, and leaving out the rows without a mass:\n\n```python\nmeans = penguins.groupby("
HEBREW = (
    "## \u05e9\u05dc\u05d5\u05dd\n\n\u05d4\u05d8\u05d1\u05dc\u05d4 `df` \u05de\u05db\u05d9\u05dc\u05d4 344 "
    "\u05e9\u05d5\u05e8\u05d5\u05ea:\n\n- \u05e4\u05d9\u05e0\u05d2\u05d5\u05d5\u05d9\u05df\n- Gentoo\n"
)
DIFF = (
    '--- settings.toml\n+++ settings.toml\n@@ -2,3 +2,3 @@\n [chart]\n-theme = "light"\n+theme = "dark"\n width = 640\n'
)
SCHEMA = {"properties": {"n": {"type": "integer", "maximum": 100}, "ticker": {"type": "string"}}, "required": ["n"]}
FRAME = resolved_shapes(
    {
        "df": reference("penguins", "DataFrame, 344 rows by 7 columns", "species (str), island (str)"),
        "by": plain('"species"'),
    }
)
PREVIEW = {
    "columns": ["species", "island", "body_mass_g"],
    "rows": [["Adelie", "Torgersen", "3750"], ["Gentoo", "Biscoe", "4500"]],
}
ACTS = ["rerun", "edit", "code", "version", "explore"]
WHY = {"why": "NBTOOL_MODEL", "model": "openai:gpt-5-mini"}


@dataclass(frozen=True, slots=True)
class State:
    """A turn as it is shown, and what is done with it before one looks."""

    document: Mapping[str, Any]
    do: Callable[[Page], object] = lambda _: None


def states() -> dict[str, State]:
    """Give every state by its name."""
    return _running_states() | _waiting_states() | _finished_states()


def show(page: Page, state: State) -> None:
    """Show a state on a bare page; the one that was shown goes away."""
    page.evaluate("(document) => { window.view?.close(); window.view = window.start(document); }", state.document)
    page.evaluate("() => window.view.tell({ kind: 'ack', id: 'x' })")
    page.wait_for_timeout(600)  # a card is armed after half a second
    state.do(page)
    page.mouse.move(0, 0)
    page.wait_for_function("() => [...document.images].every((one) => one.complete)")


def call(number: int, name: str, arguments: str, **values: Any) -> dict[str, Any]:
    """Give a call; a finished one unless said otherwise."""
    known = {"id": f"c{number}", "kind": "call", "call_id": f"c{number}", "name": name, "round": 1}
    rest = {"arguments": arguments, "resolved": {}, "repaired": [], "state": "ok", "question": None}
    end = {"decisions": [], "progress": "", "fraction": None, "result": "", "reason": "", "reference": ""}
    return {**known, **rest, **end, "started": 1.0, "seconds": 0.4, "more": {}, **values}


def waiting_call(number: int, tool: str, shown: str, resolved: Mapping[str, str], **values: Any) -> dict[str, Any]:
    """Give a call that waits at a gate."""
    question = {"gate": "run", "digest": f"d{number}", "tool": tool, "shown": shown, "description": "", "schema": {}}
    known = {**question, "can_remember": True, "sensitive": False, **values}
    arguments = shown if known["gate"] == "run" else '{"ticker": "ACME"}'
    shapes = resolved_shapes({name: plain(text) for name, text in resolved.items()})
    return call(number, tool, arguments, resolved=shapes, state="waiting", question=known, seconds=None)


def decision_data(verdict: str, reason: str = "") -> list[dict[str, Any]]:
    """Give the one decision of a call."""
    return [{"gate": "run", "digest": "d", "verdict": verdict, "by": "button", "reason": reason, "edited": False}]


def media(data: bytes, mime: str, name: str) -> dict[str, Any]:
    """Tell of an image or a sound, with its bytes."""
    key = sha256(data).hexdigest()[:32]
    return {"key": key, "mime": mime, "name": name, "size": len(data), "data": b64encode(data).decode()}


def plot() -> bytes:
    """Draw a small chart, as PNG."""
    image = Image.new("RGB", (420, 200), "white")
    pen = ImageDraw.Draw(image)
    for at, (height, colour) in enumerate(((150, "#4c78a8"), (110, "#f58518"), (108, "#54a24b"))):
        pen.rectangle((60 + at * 110, 175 - height, 130 + at * 110, 175), fill=colour)
    pen.line((40, 175, 400, 175), fill="#444", width=2)
    image.save(file := BytesIO(), format="PNG")
    return file.getvalue()


def tone() -> bytes:
    """Give a tenth of a second of a tone, as WAV."""
    samples = b"".join(struct.pack("<h", int(9_000 * math.sin(at / 4))) for at in range(800))
    form = struct.pack("<8sIHHIIHH", b"WAVEfmt ", 16, 1, 1, 8_000, 16_000, 2, 16)
    rest = form + struct.pack("<4sI", b"data", len(samples)) + samples
    return struct.pack("<4sI", b"RIFF", len(rest)) + rest


def _finished_call() -> dict[str, Any]:
    result = '{"Gentoo": 5092.4, "Chinstrap": 3733.1, "Adelie": 3706.2}'
    seen = {"glances": {"df": PREVIEW}, "resolved": FRAME, "reference": "mean_mass_1"}
    arguments = '{"df": "$VAR_REF{{penguins}}", "by": "species"}'
    return call(1, "mean_mass", arguments, result=result, decisions=decision_data("approved"), **seen)


def _table_call() -> dict[str, Any]:
    table = {
        "columns": ["species", "island", "body_mass_g", "flipper_length_mm"],
        "rows": [["Gentoo", "Biscoe", "5092.4", "217.2"], ["Chinstrap", "Dream", "3733.1", "nan"]],
        "more_rows": 40,
        "more_columns": 3,
    }
    result = "DataFrame, 42 rows by 7 columns\n  species island"
    return call(50, "means", '{"df": "$VAR_REF{{penguins}}"}', result=result, resolved=FRAME, table=table)


def _failed_call() -> dict[str, Any]:
    traceback = (
        "Traceback (most recent call last):\n  Cell In[3], line 4, in price\n    return masses[key]\nKeyError: 'x'"
    )
    return call(51, "price", '{"ticker": "x"}', state="error", result="KeyError: 'x'", traceback=traceback)


def _thinking_block() -> dict[str, Any]:
    return {**prose("The frame has masses; some are missing.", "t"), "kind": "thinking"}


def _running_states() -> dict[str, State]:
    way = {"progress": "year 17\nyear 18\n", "fraction": 0.45, "seconds": None}
    running = document([_finished_call(), call(2, "simulate", '{"years": 40}', state="running", **way)], **WHY, calls=2)
    return {
        "writing": State(document([_thinking_block(), prose(HALF, "2", "open")], **WHY)),
        "running": State(running),
        "gone": State(running, lambda page: page.get_by_role("alert").wait_for(timeout=8_000)),
    }


def _waiting_states() -> dict[str, State]:
    edit = '{"path": "settings.toml", "old": "light", "new": "dark"}'
    names = {"path": '"settings.toml"', "old": '"light"', "new": '"dark"'}
    shares = {"n": "3", "ticker": '"\u0410CME"'}
    mails = "owner: jane@example.com, backup: jane@example.com"
    edits = waiting_call(4, "edit_file", edit, names, description="Change a file.", effect=DIFF)
    order = waiting_call(5, "order", '{"n": 3, "ticker": "\u0410CME"}', shares, schema=SCHEMA)
    owner = waiting_call(6, "owner", mails, {}, gate="result", description="Who owns a ticker.")
    frame = "DataFrame, 42 rows by 7 columns: species (str), island (str)\n  species island\n0  Gentoo Biscoe"
    table = {**PREVIEW, "more_rows": 40, "more_columns": 4}
    tabular = waiting_call(8, "penguins", frame, {}, gate="result", description="The penguins.", table=table)
    seen = [media(plot(), "image/png", "masses")]
    rendered = waiting_call(
        7, "chart", "Three bars: 5092, 3733, 3706.", {}, gate="result", description="Draw bars.", media=seen
    )
    three = [
        waiting_call(
            at, "price", f'{{"ticker": "{name}"}}', {"ticker": f'"{name}"'}, description="Latest close of a ticker."
        )
        for at, name in enumerate(("AAA", "BBB", "CCC"), 40)
    ]
    head = {**WHY, "status": "waiting"}
    return {
        "waiting": State(document([_finished_call(), edits], **head)),
        "several": State(document(three, **head)),
        "focused": State(document([edits], **head), _focus),
        "editing": State(document([order], **head), _edit),
        "releasing": State(document([owner], **head)),
        "releasing-table": State(document([tabular], **head)),
        "seeing": State(document([rendered], **head)),
    }


def _finished_states() -> dict[str, State]:
    rendered = [
        {**media(plot(), "image/png", "masses"), "is_sent": True},
        {**media(tone(), "audio/wav", "a tone"), "is_sent": False},
    ]
    seen = call(3, "chart", '{"kind": "bar"}', media=rendered)
    sketch = [media(plot(), "image/png", "sketch.png")]
    many = [call(at, "price", f'{{"ticker": "T{at}"}}', result=str(at)) for at in range(10, 22)]
    denied = call(30, "order", '{"n": 90}', state="denied", decisions=decision_data("denied", "too many"))
    failed = call(31, "price", '{"ticker": "NONE"}', state="error", result="KeyError: 'NONE'")
    cut = prose("The masses of the three species differ, and ", "2", "cut")
    key = "401 Unauthorized: the key of openai is not accepted. Check OPENAI_API_KEY."
    return {
        "finished": _finished_state(
            [_thinking_block(), _finished_call(), prose(REPLY)],
            calls=1,
            round=2,
            version=2,
            versions=3,
            seconds=18.4,
            waited=12.0,
        ),
        "opened": _finished_state([_finished_call(), prose("Gentoo.")], _open, calls=1, round=2),
        "table": _finished_state([_table_call(), _failed_call()], _open_all, calls=2),
        "media": _finished_state([seen, prose("The bars are the means.")], calls=1, attached=sketch),
        "folded": _finished_state(
            [*many, denied, failed, prose("Twelve prices; one is not known.")], calls=14, round=3
        ),
        "failed": _finished_state([_finished_call()], status="error", error=key),
        "stopped": _finished_state([cut], status="cancelled", replayed="2026-05-04"),
        "right-to-left": _finished_state([prose(HEBREW)]),
        "written": _finished_state([prose("Gentoo.")], _write),
    }


def _finished_state(
    blocks: Sequence[dict[str, Any]], do: Callable[[Page], object] = lambda _: None, **head: Any
) -> State:
    usage = {"input_tokens": 1_840, "output_tokens": 412, "cached_tokens": 0, "thinking_tokens": 0, "cost": 0.0021}
    known = {"status": "completed", "seconds": 6.4, "usage": usage, "acts": ACTS}
    return State(document(blocks, **WHY, **known | head), do)


def _press(page: Page, name: str) -> None:
    page.get_by_role("button", name=name, exact=True).first.click()


def _focus(page: Page) -> None:
    page.get_by_role("button", name="Deny", exact=True).focus()


def _open(page: Page) -> None:
    page.locator(".nb-call > summary").first.click()


def _open_all(page: Page) -> None:
    for summary in page.locator(".nb-call > summary").all():
        summary.click()


def _edit(page: Page) -> None:
    _press(page, "Edit")
    page.get_by_role("textbox", name="n integer").fill("500")


def _write(page: Page) -> None:
    _press(page, "Edit prompt")
    page.evaluate("""() => window.view.tell({ kind: "cell", id: "1", ok: true,
        text: "%%chat --edit turn_1\\nWhich species is the heaviest?" })""")
