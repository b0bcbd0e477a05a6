"""What the page may say to the kernel: a closed set of messages, each checked before anything believes it."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal, cast

from nbtool.blocks.shapes import VERSION

REASON_LIMIT = 4_000
"""Characters of a reason that a person types."""

TEXT_LIMIT = 1_000_000
"""Characters of a result, or of arguments, that a person has edited."""

Kind = Literal["hello", "approve", "deny", "release", "withhold", "stop", "resync", "ping"]

_OPTIONAL: dict[str, tuple[str, ...]] = {
    "hello": (), "stop": (), "resync": (), "ping": (),
    "approve": ("remember", "arguments"), "deny": ("reason",), "release": ("text",), "withhold": ("reason",),
}  # fmt: skip
_VERDICTS = {"approve": "approved", "deny": "denied", "release": "released", "withhold": "withheld"}
_ENVELOPE = frozenset(("v", "turn", "nonce", "id", "kind"))
_ID = re.compile(r"[A-Za-z0-9_-]{1,64}")
_DIGEST = re.compile(r"[A-Za-z0-9:_+/=-]{1,200}")


@dataclass(frozen=True, slots=True)
class Heard:
    """One message of the page; `verdict` is what a decision says, for whoever decides."""

    kind: Kind
    message_id: str
    digest: str = ""
    verdict: dict[str, Any] | None = None


def read(content: Any, *, turn_id: str, nonce: str) -> Heard | None:
    """Read a message of the page; None when it is not one of ours, for this turn, whole and within its bounds."""
    if not isinstance(content, dict) or content.get("v") != VERSION:
        return None
    kind, message_id = content.get("kind"), content.get("id")
    if content.get("turn") != turn_id or content.get("nonce") != nonce or not isinstance(kind, str):
        return None
    if not isinstance(message_id, str) or not _ID.fullmatch(message_id):
        return None
    if kind in _VERDICTS:
        return _decision(cast("Kind", kind), message_id, content)
    return Heard(cast("Kind", kind), message_id) if kind in _OPTIONAL and set(content) == _ENVELOPE else None


def _decision(kind: Kind, message_id: str, content: dict[str, Any]) -> Heard | None:
    optional = _OPTIONAL[kind]
    said = {key: content[key] for key in optional if content.get(key) is not None}
    digest = content.get("digest")
    if not isinstance(digest, str) or not _DIGEST.fullmatch(digest):
        return None
    if set(content) - _ENVELOPE - {"digest", *optional}:
        return None
    if not all(_VALID[key](value) for key, value in said.items()):
        return None
    if isinstance(said.get("arguments"), str):
        said["arguments"] = json.loads(said["arguments"])
    verdict = {"verdict": _VERDICTS[kind], **{key: said.get(key, "" if key == "reason" else None) for key in optional}}
    return Heard(kind, message_id, digest, verdict)


def _is_object(value: Any) -> bool:
    """Whether this is a JSON object, or the text of one: a page's own numbers are too coarse for large integers."""
    try:
        text = value if isinstance(value, str) else json.dumps(value, allow_nan=False)
        return len(text) <= TEXT_LIMIT and isinstance(json.loads(text, parse_constant=_refuse), dict)
    except (ValueError, TypeError, RecursionError):
        return False


def _refuse(word: str) -> Any:
    raise ValueError(f"{word} is not JSON")


_VALID: dict[str, Callable[[Any], bool]] = {
    "remember": lambda value: value in ("call", "tool"),
    "arguments": _is_object,
    "reason": lambda value: isinstance(value, str) and len(value) <= REASON_LIMIT,
    "text": lambda value: isinstance(value, str) and len(value) <= TEXT_LIMIT,
}
