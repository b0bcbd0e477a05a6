"""The messages from a turn's page to the kernel: a closed set, each validated before use."""

from __future__ import annotations

import json
import keyword
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal, cast, get_args

from nbtool.blocks.protocol import VERSION
from nbtool.tools.approval import Approved, Decision, Denied, Released, Withheld

REASON_LIMIT = 4_000
"""Characters of a reason that are accepted."""

TEXT_LIMIT = 1_000_000
"""Characters of an edited result, or of edited arguments, that are accepted."""

NAME_LIMIT = 100
"""Characters of a name to bind a result to."""

MessageKind = Literal[
    "hello", "approve", "deny", "release", "withhold", "stop", "resync", "ping", "bind", "rich", "act", "media", "took"
]  # fmt: skip

TurnAction = Literal["rerun", "edit", "code", "version"]
TURN_ACTIONS: tuple[TurnAction, ...] = get_args(TurnAction)

VERSION_LIMIT = 10_000
"""The highest version number that a page may request."""

_OPTIONAL: dict[str, tuple[str, ...]] = {
    "hello": (), "stop": (), "resync": (), "ping": (), "rich": (), "took": (),
    "approve": ("remember", "arguments"), "deny": ("reason",), "release": ("text",), "withhold": ("reason",),
}  # fmt: skip
_VERDICTS = {"approve": "approved", "deny": "denied", "release": "released", "withhold": "withheld"}
_ENVELOPE = frozenset(("v", "turn", "nonce", "id", "kind"))
_ID = re.compile(r"[A-Za-z0-9_-]{1,64}")
_KEY = re.compile(r"[0-9a-f]{32}")
_DIGEST = re.compile(r"[A-Za-z0-9:_+/=-]{1,200}")


@dataclass(frozen=True, slots=True)
class BindRequest:
    """A call whose result is to be bound in the notebook; without `name` one is derived from the result's reference.

    `replace` allows overwriting an existing name.
    """

    call_id: str
    name: str = ""
    replace: bool = False


@dataclass(frozen=True, slots=True)
class ActionRequest:
    """A requested action on a whole turn: its result is a cell, or another version is shown.

    `version` counts from 1 and belongs to the action `version` alone.
    """

    action: TurnAction
    version: int = 0


@dataclass(frozen=True, slots=True)
class TurnMessage:
    """One message of the page.

    `verdict` is the content of a decision, `binding` what `bind` requests, `action` what `act` requests, and `key` is
    the image or sound that `media` requests.
    """

    kind: MessageKind
    message_id: str
    digest: str = ""
    verdict: dict[str, Any] | None = None
    binding: BindRequest | None = None
    action: ActionRequest | None = None
    key: str = ""


def parse_message(content: Any, *, turn_id: str, nonce: str) -> TurnMessage | None:
    """Parse a message of the page; None if it is not ours, not for this turn, incomplete, or out of bounds."""
    if not isinstance(content, dict) or content.get("v") != VERSION:
        return None
    kind, message_id = content.get("kind"), content.get("id")
    if content.get("turn") != turn_id or content.get("nonce") != nonce or not isinstance(kind, str):
        return None
    if not isinstance(message_id, str) or not _ID.fullmatch(message_id):
        return None
    if kind in _VERDICTS:
        return _decision(cast("MessageKind", kind), message_id, content)
    if kind == "bind":
        return _binding(message_id, content)
    if kind == "act":
        return _action(message_id, content)
    if kind == "media":
        return _media(message_id, content)
    return (
        TurnMessage(cast("MessageKind", kind), message_id) if kind in _OPTIONAL and set(content) == _ENVELOPE else None
    )


def _decision(kind: MessageKind, message_id: str, content: dict[str, Any]) -> TurnMessage | None:
    optional = _OPTIONAL[kind]
    values = {key: content[key] for key in optional if content.get(key) is not None}
    digest = content.get("digest")
    if not isinstance(digest, str) or not _DIGEST.fullmatch(digest):
        return None
    if set(content) - _ENVELOPE - {"digest", *optional}:
        return None
    if not all(_VALID[key](value) for key, value in values.items()):
        return None
    if isinstance(values.get("arguments"), str):
        values["arguments"] = json.loads(values["arguments"])
    verdict = {
        "verdict": _VERDICTS[kind],
        **{key: values.get(key, "" if key == "reason" else None) for key in optional},
    }
    return TurnMessage(kind, message_id, digest, verdict)


def _binding(message_id: str, content: dict[str, Any]) -> TurnMessage | None:
    call_id, name, replace = content.get("call_id"), content.get("name") or "", content.get("replace") or False
    if set(content) - _ENVELOPE - {"call_id", "name", "replace"} or not isinstance(replace, bool):
        return None
    if not isinstance(call_id, str) or not _ID.fullmatch(call_id):
        return None
    if not isinstance(name, str) or not (name == "" or is_valid_name(name)):
        return None
    return TurnMessage("bind", message_id, binding=BindRequest(call_id, name, replace))


def _action(message_id: str, content: dict[str, Any]) -> TurnMessage | None:
    action, version = content.get("deed"), content.get("version", 0)
    if (
        set(content) - _ENVELOPE - {"deed", "version"}
        or not isinstance(action, str)
        or action not in TURN_ACTIONS
        or type(version) is not int
    ):
        return None
    if (action == "version") != (0 < version <= VERSION_LIMIT):
        return None
    return TurnMessage("act", message_id, action=ActionRequest(action, version))


def _media(message_id: str, content: dict[str, Any]) -> TurnMessage | None:
    key: Any = content.get("key")
    if set(content) != _ENVELOPE | {"key"} or not is_media_key(key):
        return None
    return TurnMessage("media", message_id, key=key)


def is_media_key(value: Any) -> bool:
    """Return whether this is a valid key of an image or a sound."""
    return isinstance(value, str) and _KEY.fullmatch(value) is not None


def is_valid_name(text: str) -> bool:
    """Return whether this is a valid name in the notebook."""
    return len(text) <= NAME_LIMIT and text.isidentifier() and not keyword.iskeyword(text)


def _is_object(value: Any) -> bool:
    """Return whether this is a JSON object, or the text of one: page numbers lose precision for large integers."""
    try:
        text = value if isinstance(value, str) else json.dumps(value, allow_nan=False)
        return len(text) <= TEXT_LIMIT and isinstance(json.loads(text, parse_constant=_refuse), dict)
    except (ValueError, TypeError, RecursionError):
        return False


def _refuse(constant: str) -> Any:
    raise ValueError(f"{constant} is not JSON")


_VALID: dict[str, Callable[[Any], bool]] = {
    "remember": lambda value: value in ("call", "tool"),
    "arguments": _is_object,
    "reason": lambda value: isinstance(value, str) and len(value) <= REASON_LIMIT,
    "text": lambda value: isinstance(value, str) and len(value) <= TEXT_LIMIT,
}


def to_decision(verdict: dict[str, Any]) -> Decision:
    """Build a decision from a page's message."""
    match verdict["verdict"]:
        case "approved":
            return Approved(verdict.get("arguments"), verdict.get("remember") or "")
        case "denied":
            return Denied(verdict.get("reason", ""))
        case "released":
            return Released(verdict.get("text"))
        case _:
            return Withheld(verdict.get("reason", ""))
