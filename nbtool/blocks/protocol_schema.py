"""The schema of a saved turn: the page's extension accepts nothing else.

It is written as JSON Schema (https://json-schema.org/draft/2020-12) and closed: every key is listed, every
text and list has a maximum length, and no type is recursive, so that a valid document has a fixed depth.
`js/src/saved/schema.json` is this schema as the page reads it.
"""

from __future__ import annotations

from typing import Any, get_args

from nbtool import ids
from nbtool.blocks.display_limits import NOTICE_LIMIT
from nbtool.blocks.media import SAVED_LIMIT
from nbtool.blocks.protocol import VERSION, ReaskReason, TextState
from nbtool.events import MAX_DISPLAY_CHARS, CallStatus, EndReason, Gate, TurnStatus

DATA_LIMIT = 300_000
"""Bytes of UTF-8 of a turn as data in a saved notebook, written as JSON without spaces, except the images
and sounds saved with it."""

NAME_LENGTH = 300
"""Characters of a name, an id or a cell of a small table in a saved turn."""

LINE_LENGTH = NOTICE_LIMIT + 64
"""Characters of a notice, a reason or an error, including a truncation marker."""

MAX_ENTRIES = 100
"""Maximum number each of resolved arguments, decisions, repairs, rows or columns of a saved turn."""

MAX_BLOCKS = 2_000
"""Blocks of a saved turn."""

ID_PATTERN = rf"(?:{ids.ID_PATTERN})?"
"""The characters of a turn's id, so that it is valid in a cell; empty if unknown."""

CHAT_PATTERN = r"[A-Za-z0-9_.][A-Za-z0-9_.-]{0,63}"
"""A name of a chat that is valid in a cell without quoting."""

FINAL_STATUSES: tuple[TurnStatus, ...] = tuple(
    status for status in get_args(TurnStatus) if status not in ("running", "waiting")
)
"""The states in which a turn is saved as data."""

COUNT = {"type": "integer", "minimum": 0}
NUMBER = {"type": "number", "minimum": 0}
VERDICTS = ("approved", "denied", "released", "withheld")
LEVELS = ("info", "warning", "error")


def text(length: int) -> dict[str, Any]:
    """Return the schema of a text of at most `length` characters."""
    return {"type": "string", "maxLength": length}


def list_of(item: dict[str, Any], length: int = MAX_ENTRIES) -> dict[str, Any]:
    """Return the schema of a list."""
    return {"type": "array", "items": item, "maxItems": length}


def record_of(value: dict[str, Any]) -> dict[str, Any]:
    """Return the schema of an object whose keys are names."""
    names = {"maxLength": NAME_LENGTH}
    return {"type": "object", "propertyNames": names, "additionalProperties": value, "maxProperties": MAX_ENTRIES}


def object_of(required: dict[str, Any], optional: dict[str, Any] | None = None) -> dict[str, Any]:
    """Return the schema of an object with these keys and no others."""
    properties = required | (optional or {})
    return {"type": "object", "properties": properties, "required": list(required), "additionalProperties": False}


def or_null(schema: dict[str, Any]) -> dict[str, Any]:
    """Make a value optional."""
    return {"anyOf": [{"type": "null"}, schema]}


NAME, LINE, PROSE = text(NAME_LENGTH), text(LINE_LENGTH), text(DATA_LIMIT)
MEDIA = object_of(
    {"key": {"type": "string", "pattern": "^[0-9a-f]{0,32}$"}, "mime": NAME, "name": NAME, "size": COUNT},
    {
        "data": {"type": "string", "maxLength": SAVED_LIMIT, "pattern": "^[A-Za-z0-9+/]*={0,2}$"},
        "is_sent": {"type": "boolean"},
    },
)
USAGE = object_of(
    {
        **dict.fromkeys(("input_tokens", "output_tokens", "cached_tokens", "thinking_tokens"), COUNT),
        "cost": or_null(NUMBER),
    },
    {mark: {"const": True} for mark in ("is_cost_estimated", "is_cost_unknown", "lacks_tool_cost")},
)
HEAD = object_of(
    {
        "turn_id": {"type": "string", "pattern": f"^{ID_PATTERN}$"},
        "model": NAME,
        "prompt": {"const": ""},
        "status": {"enum": list(FINAL_STATUSES)},
        "round": COUNT,
        "calls": COUNT,
        "activity": {"const": ""},
        "usage": USAGE,
        "started": or_null(NUMBER),
        "seconds": or_null(NUMBER),
        "error": LINE,
    },
    {
        "why": NAME,
        "chat": {"type": "string", "pattern": f"^{CHAT_PATTERN}$"},
        "replayed": NAME,
        "version": COUNT,
        "versions": COUNT,
        "turns": list_of({"type": "string", "pattern": f"^{ID_PATTERN}$"}),
        "attached": list_of(MEDIA),
        "end_reason": {"enum": [reason for reason in get_args(EndReason) if reason]},
        "cut": {"const": True},
        "waited": NUMBER,
        "undo": {"const": True},
        "fixes": COUNT,
        **dict.fromkeys(("footer", "details", "spent", "end"), LINE),
    },
)
DECISION = object_of(
    {
        "gate": {"enum": list(get_args(Gate))},
        "digest": {"const": ""},
        "verdict": {"enum": list(VERDICTS)},
        "by": NAME,
        "reason": LINE,
        "edited": {"type": "boolean"},
    },
    {
        "remember": {"enum": ["call", "tool"]},
        "line": text(2 * LINE_LENGTH),
        "again": object_of({"reason": {"enum": list(get_args(ReaskReason))}, "problem": LINE}),
    },
)
TABLE = object_of(
    {"columns": list_of(NAME), "rows": list_of(list_of(NAME))}, {"more_rows": COUNT, "more_columns": COUNT}
)
DISPLAY = object_of({"mime": NAME, "text": text(MAX_DISPLAY_CHARS)})
OMITTED = object_of(
    {}, dict.fromkeys(("text", "arguments", "progress", "result", "traceback", "asked_arguments"), COUNT)
)
PROSE_BLOCK = object_of(
    {
        "id": NAME,
        "kind": {"enum": ["text", "thinking"]},
        "text": PROSE,
        "refusal": {"type": "boolean"},
        "state": {"enum": list(get_args(TextState))},
        "more": OMITTED,
    },
    {"seconds": NUMBER},
)
RESOLVED = object_of(
    {
        "text": LINE,
        "references": list_of(object_of({"name": LINE, "text": LINE, "summary": LINE})),
        "is_reference": {"type": "boolean"},
    }
)
"""The target of an argument."""
CALL_BLOCK = object_of(
    {
        "id": NAME,
        "kind": {"const": "call"},
        "call_id": NAME,
        "name": NAME,
        "round": COUNT,
        "arguments": PROSE,
        "resolved": record_of(RESOLVED),
        "repaired": list_of(LINE),
        "state": {"enum": ["writing", "ready", *get_args(CallStatus)]},
        "question": {"type": "null"},
        "decisions": list_of(DECISION),
        "progress": PROSE,
        "fraction": or_null({"type": "number", "minimum": 0, "maximum": 1}),
        "result": PROSE,
        "reason": LINE,
        "reference": NAME,
        "started": or_null(NUMBER),
        "seconds": or_null(NUMBER),
        "more": OMITTED,
    },
    {
        "traceback": PROSE,
        "glances": record_of(TABLE),
        "table": TABLE,
        "display": DISPLAY,
        "media": list_of(MEDIA),
        "media_left_out": COUNT,
        "asked_arguments": PROSE,
        "whole": LINE,
        "is_described": {"const": True},
        "line": NAME,
        "facts": LINE,
    },
)
NOTICE_BLOCK = object_of(
    {"id": NAME, "kind": {"const": "notice"}, "text": LINE, "level": {"enum": list(LEVELS)}},
    {"aside": {"const": True}, "added": {"const": True}},
)

SCHEMA: dict[str, Any] = {
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    "title": "A turn in a saved notebook",
    "dataLimit": DATA_LIMIT,
    "mediaLimit": SAVED_LIMIT,
    **object_of(
        {
            "v": {"const": VERSION},
            "head": HEAD,
            "blocks": list_of({"anyOf": [PROSE_BLOCK, CALL_BLOCK, NOTICE_BLOCK]}, MAX_BLOCKS),
        }
    ),
}
"""The schema of a saved turn; `dataLimit` limits the whole of it, and `mediaLimit` its images and sounds."""
