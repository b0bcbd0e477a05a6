"""The messages from a turn's page to the kernel: a closed set, each validated before use."""

from __future__ import annotations

import keyword
from dataclasses import dataclass
from functools import cache
from typing import Annotated, Any, Literal

from pydantic import Field, TypeAdapter

from nbtool.tools.approval import BY_BUTTON, ApprovalQueue, Approved, Decision, Denied, Released, Withheld
from nbtool.view.actions import ActionId, actions_at
from nbtool.view.message_envelope import CLOSED, TURN_ENVELOPE, is_for_widget, validate_content
from nbtool.view.protocol import PageDecision, PageMessage

NAME_LIMIT = 100
"""Characters of a name to bind a result to."""

MessageKind = Literal[
    "present", "hello", "gone", "approve", "deny", "release", "withhold", "stop", "stop_call", "resync", "ping", "bind",
    "rich", "formulas", "act", "media", "took", "add",
]  # fmt: skip

TURN_ACTIONS = actions_at("live")
"""The actions that the page of a turn of this kernel may request."""


@dataclass(frozen=True, slots=True)
class BindRequest:
    """A call whose result is to be bound in the notebook; without `name` one is derived from the result's reference.

    `replace` allows overwriting an existing name.
    """

    call_id: str
    name: str = ""
    replace: bool = False


@dataclass(frozen=True, slots=True)
class TurnMessage:
    """One message of the page.

    `verdict` is the content of a decision, `binding` what `bind` requests, `action` what `act` requests,
    `call_id` is the call that `stop_call` stops, `text` what is added to the turn, and `key` the image or sound that
    `media` requests. `notebook` and
    `session` are what a greeting says of its page.
    """

    kind: MessageKind
    message_id: str
    digest: str = ""
    verdict: dict[str, Any] | None = None
    call_id: str = ""
    binding: BindRequest | None = None
    action: ActionId | None = None
    key: str = ""
    text: str = ""
    notebook: str = ""
    session: str = ""


def parse_message(content: Any, *, turn_id: str, nonce: str) -> TurnMessage | None:
    """Parse a message of the page; None if it is not ours, not for this turn, incomplete, or out of bounds."""
    if not is_for_widget(content, nonce) or content.get("turn") != turn_id:
        return None
    message = validate_content(_validator(), content, TURN_ENVELOPE)
    return _to_turn_message(message, content["id"]) if message else None


def _to_turn_message(message: PageMessage, message_id: str) -> TurnMessage | None:
    """Return a valid message as a value; None if its name is out of bounds, or its action is none of a turn."""
    kind = message["kind"]
    if message["kind"] == "present" or message["kind"] == "hello":
        return TurnMessage(
            kind, message_id, notebook=message.get("notebook") or "", session=message.get("session") or ""
        )
    if message["kind"] == "act":
        action = message["action"]
        return TurnMessage("act", message_id, action=action) if action in TURN_ACTIONS else None
    if message["kind"] == "bind":
        name = message.get("name") or ""
        binding = BindRequest(message["call_id"], name, message.get("replace") or False)
        return TurnMessage("bind", message_id, binding=binding) if not name or is_valid_name(name) else None
    if message["kind"] == "stop_call":
        return TurnMessage("stop_call", message_id, call_id=message["call_id"])
    if message["kind"] == "add":
        return TurnMessage("add", message_id, text=message["text"])
    if message["kind"] == "media":
        return TurnMessage("media", message_id, key=message["key"])
    if "digest" in message:
        return TurnMessage(kind, message_id, message["digest"], _verdict(message))
    return TurnMessage(kind, message_id)


def _verdict(message: PageDecision) -> dict[str, Any]:
    if message["kind"] == "approve":
        remember, arguments = message.get("remember"), message.get("arguments")
        return {"verdict": "approved", "remember": remember, "arguments": arguments}
    if message["kind"] == "release":
        return {"verdict": "released", "text": message.get("text")}
    word = "denied" if message["kind"] == "deny" else "withheld"
    return {"verdict": word, "reason": message.get("reason") or ""}


@cache
def _validator() -> TypeAdapter[PageMessage]:
    return TypeAdapter(Annotated[PageMessage, Field(discriminator="kind")], config=CLOSED)


def is_valid_name(text: str) -> bool:
    """Return whether this is a valid name in the notebook."""
    return len(text) <= NAME_LIMIT and text.isidentifier() and not keyword.iskeyword(text)


def decide_by_click(approvals: ApprovalQueue, digest: str, verdict: dict[str, Any]) -> None:
    """Decide a question as a page's message says; raises as `ApprovalQueue.decide`."""
    approvals.decide(digest, to_decision(verdict), by=BY_BUTTON)


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
