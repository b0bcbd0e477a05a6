"""What is said: messages and the parts they are made of.

Values only: frozen, comparable, and readable back from JSON (`load_messages`) without running anything.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from copy import deepcopy
from dataclasses import dataclass, field, replace
from functools import cache
from typing import TYPE_CHECKING, Any, ClassVar, Literal
from uuid import uuid4

from nbtool.mime import describe_media, media_bundle

if TYPE_CHECKING:
    from pydantic import TypeAdapter

Role = Literal["system", "user", "assistant", "tool"]


@dataclass(frozen=True, slots=True)
class Text:
    """Prose."""

    text: str
    kind: Literal["text"] = "text"


@dataclass(frozen=True, slots=True)
class Thinking:
    """What the model thought aloud; shown folded, never executed."""

    text: str
    kind: Literal["thinking"] = "thinking"


@dataclass(frozen=True, slots=True)
class Refusal:
    """The model's own word that it will not answer."""

    text: str
    kind: Literal["refusal"] = "refusal"


@dataclass(frozen=True, slots=True)
class Media:
    """An image, a sound or a file: either its bytes or where they are.

    `mime` is an IANA media type; exactly one of `data` and `url` is set.
    """

    mime: str
    data: bytes | None = field(default=None, repr=False)
    url: str | None = None
    name: str = ""
    kind: Literal["media"] = "media"

    # What pydantic documents for plain dataclasses: bytes are base64 in JSON, with the alphabet of RFC 4648 section 5.
    __pydantic_config__: ClassVar[dict[str, str]] = {"ser_json_bytes": "base64", "val_json_bytes": "base64"}

    def __str__(self) -> str:
        return describe_media(self.mime, self.data, self.url, self.name)

    def _repr_llm_(self) -> str:
        return str(self)

    def _repr_mimebundle_(self, **_: Any) -> dict[str, str]:
        return media_bundle(self.mime, self.data, self.url, self.name)


@dataclass(frozen=True, slots=True)
class ToolCall:
    """One call that the model asks for.

    `id` is the provider's and lives on its wire; `call_id` is ours and unique. `arguments` is the text the
    model sent; `args` is what it says, or None with `error` when it is not a JSON object. Only a `runnable`
    call may run: its reply was complete and its arguments whole. `repaired` names each mend that was needed
    (calls written as text only; native arguments are strict JSON).
    """

    name: str
    arguments: str
    id: str = ""
    call_id: str = ""
    args: Mapping[str, Any] | None = None
    error: str | None = None
    runnable: bool = False
    repaired: tuple[str, ...] = ()
    kind: Literal["call"] = "call"

    def copy(self) -> ToolCall:
        """Give the call with arguments of its own: whoever changes them changes nothing else."""
        return self if self.args is None else replace(self, args=deepcopy(dict(self.args)))


@dataclass(frozen=True, slots=True)
class ToolResult:
    """The one answer that a call gets; `id` and `call_id` are those of the call."""

    name: str
    text: str
    id: str = ""
    call_id: str = ""
    is_error: bool = False
    media: tuple[Media, ...] = ()
    kind: Literal["result"] = "result"


Part = Text | Thinking | Refusal | Media | ToolCall | ToolResult


@dataclass(frozen=True, slots=True)
class Native:
    """A message in the very form its provider sent it, to be sent back unchanged.

    It carries what our parts cannot: signatures, encrypted reasoning, items of server-side tools. It holds
    only for the same wire, host and model; for any other the message is built anew from its parts.
    """

    wire: str
    host: str
    model: str
    payload: Any


@dataclass(frozen=True, slots=True, weakref_slot=True)
class Message:
    """One message of a conversation."""

    role: Role
    parts: tuple[Part, ...] = ()
    native: Native | None = None
    message_id: str = field(default_factory=lambda: new_id("m"), compare=False)

    @property
    def text(self) -> str:
        """All prose of the message, joined without a separator."""
        return "".join(part.text for part in self.parts if isinstance(part, Text))

    @property
    def thinking(self) -> str:
        """All thinking of the message, joined without a separator."""
        return "".join(part.text for part in self.parts if isinstance(part, Thinking))

    @property
    def calls(self) -> tuple[ToolCall, ...]:
        """The calls that the message asks for, in order."""
        return tuple(part for part in self.parts if isinstance(part, ToolCall))

    @property
    def results(self) -> tuple[ToolResult, ...]:
        """The results that the message carries, in order."""
        return tuple(part for part in self.parts if isinstance(part, ToolResult))

    def with_parts(self, parts: Iterable[Part]) -> Message:
        """Give the same message with other parts; its native form no longer holds and is dropped."""
        return replace(self, parts=tuple(parts), native=None)


def user(*parts: str | Part) -> Message:
    """Make a user message of texts and parts."""
    return Message("user", tuple(Text(part) if isinstance(part, str) else part for part in parts))


def assistant(*parts: str | Part) -> Message:
    """Make an assistant message of texts and parts."""
    return Message("assistant", tuple(Text(part) if isinstance(part, str) else part for part in parts))


def results(*parts: ToolResult) -> Message:
    """Make the message that answers the calls of one round."""
    return Message("tool", parts)


@dataclass(frozen=True, slots=True)
class Usage:
    """What a request cost, in tokens; `cost` in US dollars where the provider says it.

    `cached_tokens` are part of `input_tokens`, `thinking_tokens` part of `output_tokens`.
    """

    input_tokens: int = 0
    output_tokens: int = 0
    cached_tokens: int = 0
    thinking_tokens: int = 0
    cost: float | None = None

    @property
    def total_tokens(self) -> int:
        """Input and output together."""
        return self.input_tokens + self.output_tokens

    def __add__(self, other: Usage) -> Usage:
        costs = [cost for cost in (self.cost, other.cost) if cost is not None]
        return Usage(
            self.input_tokens + other.input_tokens,
            self.output_tokens + other.output_tokens,
            self.cached_tokens + other.cached_tokens,
            self.thinking_tokens + other.thinking_tokens,
            sum(costs) if costs else None,
        )


def new_id(prefix: str) -> str:
    """Mint an id: short, unique, safe in every place an id can stand (letters, digits, `_`)."""
    return f"{prefix}_{uuid4().hex[:20]}"


def dump_messages(messages: Iterable[Message]) -> bytes:
    """Write messages as JSON; bytes inside become base64."""
    return _adapter().dump_json(list(messages))


def load_messages(data: bytes | str) -> list[Message]:
    """Read messages back from JSON against a closed schema.

    Raises:
        pydantic.ValidationError: the data is not what `dump_messages` writes.
    """
    return _adapter().validate_json(data)


@cache
def _adapter() -> TypeAdapter[list[Message]]:
    from pydantic import TypeAdapter  # noqa: PLC0415 - only where history is written or read

    return TypeAdapter(list[Message])


def clean_text(text: str) -> str:
    """Replace lone surrogates by U+FFFD, so that text can always be encoded, stored and sent."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return text
