"""Hostile texts, and the ways in which they come to be shown by each script of the page."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from nbtool.blocks.map_protocol import MapData
from nbtool.blocks.render.mimebundle import turn_mimebundle
from tests.browser.bare import document, prose
from tests.fuzzing.growth import Family

Shown = tuple[str, Any]
"""The function of the page that shows something, and what it is called with."""

WORDS = [
    "#", "*", "**", "_", "`", "```", ">", "- ", "1. ", "|", "[a](", ")", "![", "](", "<", "&#", ";", "\\", "$", "$$",
    "~~", "|-|-|\n", "[^1]", "[^1]: ", "http://", "|a", "|-", "\n\n", "\t", "    ", "===\n", "---\n", "\\[", "\\(",
    "{", "}", '"', "'", "/*", "//", "<!--", "def ", "=", "^", "$x$ ", "```python\n", "*a_", "$\\frac{",
]  # fmt: skip


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
    Family("lines without a letter", lambda size: "\U0001f989" + "\n" * size),
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


def changed(text: str) -> dict[str, Any]:
    """Give why a call is asked about again: its arguments were put in by a person and do not fit, and it changed."""
    half = len(text) // 2
    return {
        "reason": "invalid", "problem": text[:4_000], "edited": "",
        "differences": [{"what": "f", "before": text[:half], "after": text[half:]}],
    }  # fmt: skip


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
        "question that changed": asked(again=changed),
        "question with notes": asked(notes=lambda text: [text[:4_000], text]),
    },
    "NoticeBlock": {
        "notice": lambda text: {"id": "n", "kind": "notice", "text": text, "level": "info"},
    },
}
"""How a hostile text comes into each kind of block."""


Make = Callable[[str], dict[str, Any]]


def in_turn(make: Make, function: str = "start") -> Callable[[str], Shown]:
    """Show a block in the view of a turn."""

    def shown(text: str) -> Shown:
        block = make(text)
        status = "waiting" if block.get("question") else "completed"
        return function, document([block], status=status, seconds=None if block.get("question") else 1.0)

    return shown


def in_saved(make: Make) -> Callable[[str], Shown]:
    """Show a block as a notebook keeps it, once it is read without a kernel."""
    return lambda text: ("saved", turn_mimebundle(document([make(text)], status="completed", seconds=1.0)))


def in_conversation(make: Make) -> Callable[[str], Shown]:
    """Show a block in a conversation of one turn."""

    def shown(text: str) -> Shown:
        turn = {"prompt": "said", "document": document([make(text)], status="completed", seconds=1.0), "cells": {}}
        return "converse", {"left_out": 0, "turns": [turn]}

    return shown


def prompted(text: str) -> Shown:
    """Show a conversation in which the prompt is the text."""
    turn = {"prompt": text, "document": document([prose("a")], status="completed", seconds=1.0), "cells": {}}
    return "converse", {"left_out": 0, "turns": [turn]}


def in_map(text: str) -> Shown:
    """Show a map whose failures have the text, and everything else that is said of it."""
    data: MapData = {
        "status": "running",
        "done": 1,
        "total": 2,
        "label": text,
        "facts": [{"kind": "cost", "text": text}],
        "failures": [{"text": text, "count": 1}],
        "other_failures": 1,
        "reason": text,
        "fix": text,
    }
    return "map", dict(data)


def version(turn: str, said: str = "said", **more: Any) -> dict[str, Any]:
    """Give a turn as a row of the explorer tells it."""
    known = {"turn_id": turn, "said": said, "status": "completed", "model": "m", "started": 1.0, "seconds": 1.0}
    rest = {"rounds": 1, "calls": 0, "tokens": 1, "cost": None, "tools": [], "replayed": "", "made": ""}
    return {**known, **rest, **more}


def row(at: int, *versions: dict[str, Any], **more: Any) -> dict[str, Any]:
    """Give a place of the explorer's tree."""
    known = {"node_id": f"n{at}", "parent": at - 1, "depth": 0, "branches": False, "line": True, "hidden": False}
    return {**known, "pinned": False, "current": 0, "versions": list(versions), **more}


def detail(turn: str, block: dict[str, Any] | None, prompt: str = "said") -> dict[str, Any]:
    """Give a turn of one block, step by step."""
    head = document([], prompt=prompt, status="completed", seconds=1.0)["head"]
    patches = [{"op": "head", "set": head}, *([{"op": "open", "block": block}] if block else [])]
    return {"turn_id": turn, "made": "", "steps": [{"label": "it ended", "at": 1.0, "patches": patches}], "spans": []}


def explore(rows: list[dict[str, Any]], details: dict[str, Any] | None = None, **more: Any) -> Shown:
    """Show the explorer."""
    shown = details or {"t": detail("t", None)}
    return "explore", {"index": {"rows": rows, "left_out": 0}, "details": shown, "totals": None, **more}


def in_replay(make: Make) -> Callable[[str], Shown]:
    """Show a block in the explorer's replay."""
    return lambda text: explore([row(0, version("t"))], {"t": detail("t", make(text))})


def in_compare(make: Make) -> Callable[[str], Shown]:
    """Compare two versions of a turn: one has the text, and the other its two halves in the other order."""

    def shown(text: str) -> Shown:
        other = text[len(text) // 2 :] + text[: len(text) // 2]
        details = {"t": detail("t", make(text), text[:4_000]), "u": detail("u", make(other), other[:4_000])}
        steps = [{"click": "[data-view=compare]"}, {"click": ".nb-x-action"}]
        return explore([row(0, version("t"), version("u"))], details, steps=steps)

    return shown


def in_totals(text: str) -> Shown:
    """Show what tools, rounds and models took, each of a hostile name."""
    used = {"count": 1, "failed": 0, "seconds": 1.0, "input_tokens": 1, "output_tokens": 1, "cost": None}
    sums = [{"name": text[at : at + 100], **used} for at in range(0, len(text), 100)]
    totals = {
        "turns": 1, "all": {"name": text[:100], **used}, "waited": {"model": 1.0, "person": 0.0, "tool": 0.0},
        "tools": sums, "rounds": sums, "models": sums,
    }  # fmt: skip
    return explore([row(0, version("t"))], totals=totals, steps=[{"click": "[data-view=totals]"}])


def in_list(text: str) -> Shown:
    """List many turns, each with a piece of the text for its prompt, and search them for one of the pieces."""
    pieces = [text[at : at + 200] for at in range(0, len(text), 200)]
    rows = [row(at, version(f"t{at}", piece, tools=[piece[:40]])) for at, piece in enumerate(pieces)]
    rows[0]["versions"] = [version("t", pieces[0])]
    found = [
        {"turn_id": one["versions"][0]["turn_id"], "snippet": piece} for one, piece in zip(rows, pieces, strict=True)
    ]
    return explore(rows, found=found, steps=[{"fill": "[type=search]", "value": "".join(pieces[0].split()[:1])[:100]}])


def each(show: Callable[[Make], Callable[[str], Shown]], *, asking: bool = False) -> dict[str, Callable[[str], Shown]]:
    """Show each kind of block in a way; those that wait for a person only where somebody can be asked."""
    makes = {name: make for kind in KINDS.values() for name, make in kind.items()}
    return {name: show(make) for name, make in makes.items() if asking or not name.startswith("question")}


def plain(make: Make) -> Callable[[str], Shown]:
    """Show a block while the second module is not there."""
    return in_turn(make, "plain")


def edited(make: Make) -> Callable[[str], Shown]:
    """Show a question that is opened and edited."""
    return in_turn(make, "edit")


EDITED = ("question", "question of any arguments", "question of an edit", "question of a result")
"""Questions that are edited: arguments field by field, a result as one text."""

SCRIPTS: dict[str, dict[str, Callable[[str], Shown]]] = {
    "widget": {
        **each(in_turn, asking=True),
        **{f"edited {name}": edited(KINDS["CallBlock"][name]) for name in EDITED},
        **{f"plain {name}": show for name, show in each(plain, asking=True).items()},
    },
    "conversation": {
        "conversation, prompt": prompted,
        **{f"conversation, {k}": v for k, v in each(in_conversation).items()},
    },
    "map": {"map": in_map},
    "extension": {f"saved, {name}": show for name, show in each(in_saved).items()},
    "explorer": {
        "explorer, list": in_list,
        "explorer, prompt": lambda text: explore([row(0, version("t"))], {"t": detail("t", None, text)}),
        "explorer, totals": in_totals,
        **{f"explorer, turn, {name}": show for name, show in each(in_replay).items()},
        **{f"explorer, compare, {name}": show for name, show in each(in_compare).items()},
    },
}
"""How a hostile text comes to be shown by each script of the page; the second module draws in all of them."""

WAYS = {name: show for ways in SCRIPTS.values() for name, show in ways.items()}
