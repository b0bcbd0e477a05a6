"""What the journal still has of a call's result whose object was lost with an earlier kernel."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import Any

from nbtool.turn_state import Call

MAX_CHARS = 1_000_000
"""Characters of a recorded text that are read as data; a longer one stays a text."""

TEXT = "its text in the history"

_TABLE = re.compile(r"([A-Za-z_]\w{0,60}), [\d,]+ rows? by [\d,]+ columns?\b")
"""How the text of a table begins, with its type."""

_CONSTANTS = {"True": True, "False": False, "None": None}


@dataclass(frozen=True, slots=True)
class RecordedResult:
    """A value, and what it is in words; `is_text` if it is only a text about an object.

    `type_name` is the type that the object of a text had, where the text says so.
    """

    value: Any
    description: str
    is_text: bool = False
    type_name: str = ""


def recorded_result(call: Call) -> RecordedResult | None:
    """Return what the record of a call in an earlier kernel has of its result; None if it has a part of it only.

    A number, a text, JSON data or one image is the value; of any other object it is the text of its result.
    """
    if call.status != "ok" or call.whole:
        return None
    if call.images:
        is_whole = len(call.images) == 1 and call.images[0].data is not None
        return RecordedResult(call.images[0], "the image") if is_whole else None
    text = _own_text(call)
    described = _TABLE.match(text)
    as_text = RecordedResult(text, TEXT, is_text=True, type_name=described[1] if described else "")
    if len(text) > MAX_CHARS:
        return as_text
    try:
        value = _CONSTANTS[text] if text in _CONSTANTS else json.loads(text)
    except (ValueError, RecursionError):
        return as_text
    if isinstance(value, str):  # the text of a result is written without quotes
        return as_text
    return RecordedResult(value, f"as the history has it, a value of type {type(value).__name__}")


def _own_text(call: Call) -> str:
    """Return the text of a result without its first line if arguments were edited, and that of its reference."""
    first, *others = call.shown.split("\n")
    lines = others if call.edited else [first, *others]
    *before, last = lines or [""]
    return "\n".join(before if before and f"$VAR_REF{{{{{call.dead_reference}}}}}" in last else lines)
