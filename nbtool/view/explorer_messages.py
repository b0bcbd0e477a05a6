"""The messages from the page of an explorer to the kernel: a closed set, each validated before use."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any, Literal, cast, get_args

from nbtool.blocks.protocol import VERSION
from nbtool.view.turn_messages import is_media_key

QUERY_LIMIT = 200
"""Characters of a search that are accepted."""

MAX_ROUND = 10_000
"""The highest round number that is accepted."""

MessageKind = Literal["hello", "open", "search", "totals", "cell", "rich", "media"]

CellAction = Literal["rerun", "edit", "execute", "resume", "switch", "branch", "show", "code", "bind", "go_on"]
"""What a cell can do: rerun a turn, edit its prompt, run its tools again, resume it, switch to it, branch from it,
show it, write its calls as code, bind a call's result, or continue a past chat."""

CELL_ACTIONS: tuple[CellAction, ...] = get_args(CellAction)

_ENVELOPE = frozenset(("v", "nonce", "id", "kind"))
_ID = re.compile(r"[A-Za-z0-9_-]{1,64}")
_EXTRA_FIELDS: dict[str, frozenset[str]] = {
    "hello": frozenset(),
    "totals": frozenset(),
    "rich": frozenset(),
    "open": frozenset(("turn",)),
    "search": frozenset(("text",)),
    "cell": frozenset(("deed", "turn", "round", "call")),
    "media": frozenset(("turn", "key")),
}


@dataclass(frozen=True, slots=True)
class CellRequest:
    """A requested cell: its action, the turn, the first round, and the call."""

    action: CellAction
    turn_id: str = ""
    round: int = 0
    call_id: str = ""


@dataclass(frozen=True, slots=True)
class ExplorerMessage:
    """One message of the page; `turn_id` belongs to `open` and `media`, `text` to `search`, `cell` to `cell`.

    `key` is the image or sound that `media` requests.
    """

    kind: MessageKind
    message_id: str
    turn_id: str = ""
    text: str = ""
    cell: CellRequest | None = None
    key: str = ""


def parse_message(content: Any, *, nonce: str) -> ExplorerMessage | None:
    """Parse a message of the page; None if it is not ours, incomplete, or out of bounds."""
    if not isinstance(content, dict) or content.get("v") != VERSION or content.get("nonce") != nonce:
        return None
    kind, message_id = content.get("kind"), content.get("id")
    if not isinstance(kind, str) or kind not in _EXTRA_FIELDS or set(content) - _ENVELOPE - _EXTRA_FIELDS[kind]:
        return None
    if not isinstance(message_id, str) or not _ID.fullmatch(message_id):
        return None
    turn_id, text = content.get("turn", ""), content.get("text", "")
    if not _is_id(turn_id) or not isinstance(text, str) or len(text) > QUERY_LIMIT:
        return None
    if kind == "cell":
        cell = _cell(content, turn_id)
        return ExplorerMessage("cell", message_id, cell=cell) if cell else None
    key = content.get("key", "")
    if (kind == "media" and not is_media_key(key)) or (kind in ("open", "media") and not turn_id):
        return None
    return ExplorerMessage(cast("MessageKind", kind), message_id, turn_id, text, key=key)


def _cell(content: dict[str, Any], turn_id: str) -> CellRequest | None:
    action, number, call_id = content.get("deed"), content.get("round", 0), content.get("call", "")
    if action not in CELL_ACTIONS or type(number) is not int or not 0 <= number <= MAX_ROUND or not _is_id(call_id):
        return None
    return CellRequest(action, turn_id, number, call_id)


def _is_id(value: Any) -> bool:
    return isinstance(value, str) and (value == "" or _ID.fullmatch(value) is not None)
