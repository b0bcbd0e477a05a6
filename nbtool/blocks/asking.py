"""What a person is asked at a gate, in one sentence; the card of the page says the same (`asking.ts`)."""

from __future__ import annotations

import json
import re
from typing import Any

from nbtool.blocks.plain import one_line
from nbtool.blocks.shapes import Asked, CallBlock

SAID = 60
"""Characters of an argument that the sentence holds."""

NAMED = 6
"""Arguments that the sentence names."""

_REFERENCE = re.compile(r"\$VAR_REF\{\{(.*?)\}\}: (.*)", re.DOTALL)


def sentence(block: CallBlock) -> str:
    """Say what will happen if the question of a call is answered with yes; empty where it has none."""
    question = block["question"]
    if question is None:
        return ""
    tool = one_line(question["tool"], 80)
    if question["gate"] == "result":
        return f"The model will read the result of {tool} ({_count(len(question['shown']), 'character')})."
    values = _arguments(question)
    if values is None:
        return f"{tool} asks: {one_line(question['shown'], 300)}"
    said = [_said(name, value, block["resolved"].get(name, "…")) for name, value in values.items()]
    more = f" and {_count(len(said) - NAMED, 'argument')} more" if len(said) > NAMED else ""
    return f"{tool} will run{' with ' if said else ' without arguments'}{', '.join(said[:NAMED])}{more}."


def _said(name: str, value: Any, written: str) -> str:
    lines = len(value.rstrip().split("\n")) if isinstance(value, str) else 1
    if lines > 1:
        return f"{one_line(name, SAID)} = {_count(lines, 'line')}"
    if found := _REFERENCE.fullmatch(written):
        what = re.sub(r": .*", "", found[2], flags=re.DOTALL)
        return f"{one_line(name, SAID)} = {one_line(found[1], SAID)} ({one_line(what, SAID)})"
    return f"{one_line(name, SAID)} = {one_line(written, SAID)}"


def _arguments(question: Asked) -> dict[str, Any] | None:
    try:
        values = json.loads(question["shown"] or "{}")
    except (ValueError, RecursionError):
        return None
    return values if isinstance(values, dict) else None


def _count(number: int, noun: str) -> str:
    return f"{number:,} {noun}{'' if number == 1 else 's'}"
