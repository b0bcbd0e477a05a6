"""The messages from the page of an explorer to the kernel: a closed set, each validated before use."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import Annotated, Any, Literal

from pydantic import Field, TypeAdapter

from nbtool.view.actions import ActionId, actions_at
from nbtool.view.message_envelope import CLOSED, is_for_widget, validate_content
from nbtool.view.protocol import ExplorerRequest

MessageKind = Literal["hello", "open", "search", "totals", "cell", "name", "rich", "formulas", "media"]

CELL_ACTIONS = actions_at("explorer", "call", "toolbar", "past")
"""The actions that the page of an explorer may request."""


@dataclass(frozen=True, slots=True)
class CellRequest:
    """A requested cell: its action, the turn, the first round, and the call."""

    action: ActionId
    turn_id: str = ""
    round: int = 0
    call_id: str = ""


@dataclass(frozen=True, slots=True)
class ExplorerMessage:
    """One message of the page; `turn_id` belongs to `open`, `name` and `media`, `text` to `search` and `name`.

    `cell` belongs to `cell`, and `key` is the image or sound that `media` requests.
    """

    kind: MessageKind
    message_id: str
    turn_id: str = ""
    text: str = ""
    cell: CellRequest | None = None
    key: str = ""


def parse_message(content: Any, *, nonce: str) -> ExplorerMessage | None:
    """Parse a message of the page; None if it is not ours, incomplete, or out of bounds."""
    if not is_for_widget(content, nonce):
        return None
    message = validate_content(_validator(), content)
    if message is None:
        return None
    message_id: str = content["id"]
    if message["kind"] == "cell":
        if message["action"] not in CELL_ACTIONS:
            return None
        cell = CellRequest(message["action"], message.get("turn", ""), message.get("round", 0), message.get("call", ""))
        return ExplorerMessage("cell", message_id, cell=cell)
    fields = {name: str(message.get(name, "")) for name in ("turn", "text", "name", "key")}
    text = fields["text"] or fields["name"]
    return ExplorerMessage(message["kind"], message_id, fields["turn"], text, key=fields["key"])


@cache
def _validator() -> TypeAdapter[ExplorerRequest]:
    return TypeAdapter(Annotated[ExplorerRequest, Field(discriminator="kind")], config=CLOSED)
