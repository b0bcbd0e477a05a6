"""What the journal still has of a call's result whose object was lost with an earlier kernel."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import Any

from nbtool.mime import IMAGES, sniff
from nbtool.tools.calls.record import CallRecord
from nbtool.tools.calls.result import EDITED_NOTICE

MAX_CHARS = 1_000_000
"""Characters of a recorded text that are read as data; a longer one stays a text."""

_WHOLE = re.compile(r"\n\[Whole result: \$VAR_REF\{\{[^}\n]{1,200}\}\}\]\Z")
_IN_PART = re.compile(r"\n\[Shown in part; the whole \([^\n]{0,2000}\): \$VAR_REF\{\{[^}\n]{1,200}\}\}\]\Z")
_CONSTANTS = {"True": True, "False": False, "None": None}


@dataclass(frozen=True, slots=True)
class RecordedResult:
    """A value, and what it is in words; `is_text` if it is only what the model saw of an object."""

    value: Any
    description: str
    is_text: bool = False


def recorded_result(call: CallRecord) -> RecordedResult | None:
    """Return what the record of a call in an earlier kernel has of its result; None if it has a part of it only.

    A number, a text, JSON data or one image is the value; of any other object it is the text that the model saw.
    """
    if call.status != "ok" or call.whole or _IN_PART.search(call.shown):
        return None
    if call.images:
        data = call.images[0].data
        return RecordedResult(call.images[0], "the image") if len(call.images) == 1 and _is_image(data) else None
    text = _WHOLE.sub("", call.shown.removeprefix(EDITED_NOTICE).removeprefix("\n"))
    try:
        value = _CONSTANTS[text] if text in _CONSTANTS else json.loads(text[: MAX_CHARS + 1])
    except (ValueError, RecursionError):
        return RecordedResult(text, "the text that the model saw", is_text=True)
    if isinstance(value, str):  # the text of a result is written without quotes
        return RecordedResult(text, "the text that the model saw", is_text=True)
    return RecordedResult(value, f"as the model saw it, a value of type {type(value).__name__}")


def _is_image(data: bytes | None) -> bool:
    return data is not None and sniff(data) in IMAGES
