"""A conversation as data in a saved notebook: what a page draws where no kernel answers the explorer.

The schema is closed and bounded like that of a saved turn (`protocol_schema.py`); `js/src/saved/historySchema.json` is
the schema as the page reads it, and each document is checked as a saved turn.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, get_args

from nbtool.blocks.display_limits import omitted_marker, truncate
from nbtool.blocks.history.protocol import Index, Row, SavedHistory, SavedHistoryTurn, Totals
from nbtool.blocks.protocol import VERSION, Document
from nbtool.blocks.protocol_schema import (
    COUNT,
    ID_PATTERN,
    LINE_LENGTH,
    NAME,
    NUMBER,
    list_of,
    object_of,
    or_null,
    text,
)
from nbtool.blocks.render.document_truncation import fit_document
from nbtool.blocks.render.mimebundle import turn_data
from nbtool.blocks.sanitize import one_line
from nbtool.events import TurnStatus
from nbtool.wire.framing.known_secrets import hide_secrets

HISTORY_MIME = "application/vnd.nbtool.history+json"
"""The media type of a conversation as data."""

HISTORY_LIMIT = 300_000
"""Bytes of UTF-8 of a conversation as data, written as JSON without spaces."""

TURN_LIMIT = 40_000
"""Bytes of one turn in it."""

MAX_ROWS = 300
"""Nodes in it, the latest ones."""

MAX_VERSIONS = 20
"""Versions of a node in it, the latest ones."""

PROMPT_LENGTH = 16_000
"""Bytes of a prompt in it."""


def saved_history(
    index: Index, totals: Totals, documents: Mapping[str, Document], *, title: str, turn: str = ""
) -> SavedHistory:
    """Return a conversation as data within `HISTORY_LIMIT`; `documents` are its turns, by their ids.

    The turn to open and the latest ones are saved in full first.
    """
    rows = _latest(index)
    before = index["rows"][: len(index["rows"]) - len(rows)]
    known = [version["turn_id"] for row in rows for version in row["versions"]]
    data: SavedHistory = {
        "v": VERSION,
        "title": one_line(title, 200),
        "turn": turn,
        "index": {
            "rows": rows,
            "left_out": index["left_out"] + len(before),
            "line_before": sum(row["line"] for row in before),
        },
        "totals": totals,
        "turns": [],
        "turns_left_out": 0,
    }
    if "line_totals" in index:
        data["index"]["line_totals"] = index["line_totals"]
    left = HISTORY_LIMIT - _size({**data, "turns_left_out": MAX_ROWS * MAX_VERSIONS})
    for turn_id in dict.fromkeys([turn, *reversed(known)]):
        if turn_id not in documents:
            continue
        saved = _turn(documents[turn_id])
        if (size := _size(saved) + 1) > left:
            data["turns_left_out"] += 1
        else:
            data["turns"].append(saved)
            left -= size
    return data


def _latest(index: Index) -> list[Row]:
    """Return the latest rows, with the positions of their parents among them."""
    first = max(0, len(index["rows"]) - MAX_ROWS)
    rows: list[Row] = []
    for row in index["rows"][first:]:
        dropped = max(0, len(row["versions"]) - MAX_VERSIONS)
        current, parent = max(0, row["current"] - dropped), max(-1, row["parent"] - first)
        rows.append({**row, "parent": parent, "current": current, "versions": row["versions"][dropped:]})
    return rows


def _turn(document: Document) -> SavedHistoryTurn:
    prompt, omitted = truncate(hide_secrets(document["head"]["prompt"]), PROMPT_LENGTH)
    saved: Document = json.loads(fit_document(turn_data(document), _json, TURN_LIMIT))
    return {"prompt": prompt + omitted_marker(omitted), "document": saved}


def _size(data: object) -> int:
    return len(_json(data).encode())


def _json(data: object) -> str:
    return json.dumps(data, ensure_ascii=False, separators=(",", ":"), allow_nan=False)


_ID = {"type": "string", "pattern": f"^{ID_PATTERN}$"}
_FLAG = {"type": "boolean"}
_COST = {mark: {"const": True} for mark in ("is_cost_estimated", "is_cost_unknown", "lacks_tool_cost")}
_VERSION = object_of(
    {
        "turn_id": _ID, "said": NAME, "status": {"enum": list(get_args(TurnStatus))}, "model": NAME,
        "started": or_null(NUMBER), "seconds": or_null(NUMBER), "rounds": COUNT, "calls": COUNT, "tokens": COUNT,
        "cost": or_null(NUMBER), "tools": list_of(NAME), "replayed": NAME, "made": NAME,
    },
    {"more_tools": COUNT, "failed": COUNT, "denied": COUNT, "waited": NUMBER},
)  # fmt: skip
_ROW = object_of(
    {
        "node_id": _ID, "parent": {"type": "integer", "minimum": -1}, "depth": COUNT, "branches": _FLAG, "line": _FLAG,
        "hidden": _FLAG, "pinned": _FLAG, "current": COUNT, "versions": list_of(_VERSION, MAX_VERSIONS),
    }
)  # fmt: skip
_LINE = object_of(
    {
        "turns": COUNT, "calls": COUNT, "tokens": COUNT, "cost": or_null(NUMBER), "seconds": NUMBER, "waited": NUMBER,
    },
    _COST,
)  # fmt: skip
_SUM = object_of(
    {
        "name": NAME, "count": COUNT, "failed": COUNT, "seconds": NUMBER, "input_tokens": COUNT, "output_tokens": COUNT,
        "cost": or_null(NUMBER),
    },
    _COST,
)  # fmt: skip
HISTORY_SCHEMA: dict[str, Any] = {
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    "title": "A conversation in a saved notebook",
    "dataLimit": HISTORY_LIMIT,
    **object_of(
        {
            "v": {"const": VERSION},
            "title": NAME,
            "turn": _ID,
            "index": object_of(
                {"rows": list_of(_ROW, MAX_ROWS), "left_out": COUNT, "line_before": COUNT}, {"line_totals": _LINE}
            ),
            "totals": object_of(
                {
                    "turns": COUNT,
                    "all": _SUM,
                    "waited": object_of({"model": NUMBER, "person": NUMBER, "tool": NUMBER}),
                    **dict.fromkeys(("tools", "rounds", "models"), list_of(_SUM)),
                }
            ),
            "turns": list_of(
                object_of({"prompt": text(PROMPT_LENGTH + LINE_LENGTH), "document": {"type": "object"}}),
                MAX_ROWS * MAX_VERSIONS,
            ),
            "turns_left_out": COUNT,
        }
    ),
}
"""The schema of a saved conversation; each `document` is checked by the schema of a saved turn."""
