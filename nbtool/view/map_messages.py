"""The messages between the page of a map and the kernel: a closed set, each validated before use."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import Annotated, Any, Literal, final

from pydantic import Field, TypeAdapter
from typing_extensions import TypedDict  # pydantic requires this one before Python 3.12

from nbtool.blocks.map_protocol import MapData
from nbtool.view.message_envelope import CLOSED, is_for_widget, validate_content
from nbtool.view.protocol import Greeting


@final
class MapRequest(TypedDict):
    """A request of the page: as those of a turn; `stop` stops the map."""

    kind: Literal["gone", "stop", "ping", "took"]


class MapStateMessage(TypedDict):
    """The whole map as it is now."""

    v: Literal[1]
    kind: Literal["map"]
    map: MapData


@dataclass(frozen=True, slots=True)
class MapMessage:
    """One message of the page."""

    kind: Literal["present", "hello", "gone", "stop", "ping", "took"]
    message_id: str
    notebook: str = ""
    session: str = ""


def parse_message(content: Any, *, nonce: str) -> MapMessage | None:
    """Parse a message of the page; None if it is not ours, or invalid."""
    if not is_for_widget(content, nonce):
        return None
    request = validate_content(_validator(), content)
    if request is None:
        return None
    if request["kind"] == "present" or request["kind"] == "hello":
        return MapMessage(request["kind"], content["id"], request.get("notebook") or "", request.get("session") or "")
    return MapMessage(request["kind"], content["id"])


@cache
def _validator() -> TypeAdapter[MapRequest | Greeting]:
    return TypeAdapter(Annotated[MapRequest | Greeting, Field(discriminator="kind")], config=CLOSED)
