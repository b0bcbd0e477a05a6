"""Messages and their parts.

Plain values: frozen, comparable, and loaded from JSON (`load_messages`) without running any code.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from copy import deepcopy
from dataclasses import dataclass, field, replace
from functools import cache
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from nbtool.ids import new_id
from nbtool.mime import describe_media, media_bundle
from nbtool.usage import Usage as Usage

if TYPE_CHECKING:
    from pydantic import TypeAdapter

Role = Literal["system", "user", "assistant", "tool"]


@dataclass(frozen=True, slots=True)
class Text:
    """Prose."""

    text: str
    kind: Literal["text"] = "text"


@dataclass(frozen=True, slots=True)
class DateText(Text):
    """The date, which nbtool adds to a prompt; not to the system text, whose change would invalidate prompt caches."""


@dataclass(frozen=True, slots=True)
class ObjectList(Text):
    """The exposed objects that nbtool adds to a prompt, as far as the messages before it do not list them.

    `objects` are names with descriptions, and `hidden` the names that were listed before and are no longer exposed.
    """

    objects: tuple[tuple[str, str], ...] = ()
    hidden: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Thinking:
    """The model's reasoning; shown collapsed, never executed."""

    text: str
    kind: Literal["thinking"] = "thinking"


@dataclass(frozen=True, slots=True)
class Refusal:
    """The model's refusal to answer."""

    text: str
    kind: Literal["refusal"] = "refusal"


@dataclass(frozen=True, slots=True)
class Media:
    """An image, a sound or a file: either its bytes or its URL.

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
    """One tool call requested by the model.

    `id` is the provider's, used on its wire; `call_id` is nbtool's and unique. `arguments` is the text that the model
    sent; `args` is the parsed object, or None with `error` if it is not a JSON object. Only a `runnable` call may run:
    its reply and its arguments are complete. `repaired` names each repair of the JSON (only for calls written as text;
    native arguments are strict JSON). One that `is_malformed` was written as text, but not as a call that can be read:
    it never runs, and `arguments` is the text that the model wrote.
    """

    name: str
    arguments: str
    id: str = ""
    call_id: str = ""
    args: Mapping[str, Any] | None = None
    error: str | None = None
    runnable: bool = False
    repaired: tuple[str, ...] = ()
    is_malformed: bool = False
    kind: Literal["call"] = "call"

    def copy(self) -> ToolCall:
        """Return a copy of the call with a deep copy of its arguments."""
        return self if self.args is None else replace(self, args=deepcopy(dict(self.args)))


@dataclass(frozen=True, slots=True)
class ToolResult:
    """The result of a call; `id` and `call_id` are those of the call."""

    name: str
    text: str
    id: str = ""
    call_id: str = ""
    is_error: bool = False
    media: tuple[Media, ...] = ()
    kind: Literal["result"] = "result"


@dataclass(frozen=True, slots=True)
class Link:
    """The address and the title of a page or a file."""

    url: str
    title: str = ""


@dataclass(frozen=True, slots=True)
class ProviderCall:
    """A tool that the provider ran: a search, code, a page that was read. It is no call of the notebook.

    `text` is what the model asked for (a query, the code), `output` what came of it, and `links` the pages found.
    """

    tool: str
    text: str = ""
    output: str = ""
    links: tuple[Link, ...] = ()
    kind: Literal["provider_call"] = "provider_call"


@dataclass(frozen=True, slots=True)
class Citation:
    """A source of the reply; `text` is the passage that is cited, if the provider names it."""

    link: Link
    text: str = ""
    kind: Literal["citation"] = "citation"


Part = Text | Thinking | Refusal | Media | ToolCall | ToolResult | ProviderCall | Citation


@dataclass(frozen=True, slots=True)
class Native:
    """A message exactly as its provider sent it, to be sent back unchanged.

    It carries what `parts` cannot: signatures, encrypted reasoning, items of server-side tools. It is valid only for
    the same wire, host and model; for any other the message is encoded from its parts. `prefix` is the digest of the
    request that it answers, on wires where a part of it holds only after the same request.
    """

    wire: str
    host: str
    model: str
    payload: Any
    prefix: str = ""


@dataclass(frozen=True, slots=True, weakref_slot=True)
class Message:
    """One message of a conversation."""

    role: Role
    parts: tuple[Part, ...] = ()
    native: Native | None = None
    message_id: str = field(default_factory=lambda: new_id("m"), compare=False)

    @property
    def text(self) -> str:
        """All text of the message, joined without a separator; without the date that nbtool adds to a prompt."""
        return "".join(part.text for part in self.parts if isinstance(part, Text) and not isinstance(part, DateText))

    @property
    def thinking(self) -> str:
        """All thinking of the message, joined without a separator."""
        return "".join(part.text for part in self.parts if isinstance(part, Thinking))

    @property
    def calls(self) -> tuple[ToolCall, ...]:
        """The tool calls in the message, in order."""
        return tuple(part for part in self.parts if isinstance(part, ToolCall))

    @property
    def citations(self) -> tuple[Citation, ...]:
        """The sources of the message, in order."""
        return tuple(part for part in self.parts if isinstance(part, Citation))

    @property
    def results(self) -> tuple[ToolResult, ...]:
        """The tool results in the message, in order."""
        return tuple(part for part in self.parts if isinstance(part, ToolResult))

    def with_parts(self, parts: Iterable[Part]) -> Message:
        """Return the message with other parts and without its native form, which would no longer match."""
        return replace(self, parts=tuple(parts), native=None)


def user(*parts: str | Part) -> Message:
    """Return a user message from texts and parts."""
    return Message("user", tuple(Text(part) if isinstance(part, str) else part for part in parts))


def assistant(*parts: str | Part) -> Message:
    """Return an assistant message from texts and parts."""
    return Message("assistant", tuple(Text(part) if isinstance(part, str) else part for part in parts))


def results(*parts: ToolResult) -> Message:
    """Return the message with the results of the calls of one round."""
    return Message("tool", parts)


def dump_messages(messages: Iterable[Message]) -> bytes:
    """Return messages as JSON, with bytes as base64."""
    return _adapter().dump_json(list(messages))


def load_messages(data: bytes | str) -> list[Message]:
    """Read messages from JSON, validated against a closed schema.

    Raises:
        pydantic.ValidationError: the data is not what `dump_messages` writes.
    """
    return _adapter().validate_json(data)


@cache
def _adapter() -> TypeAdapter[list[Message]]:
    from pydantic import TypeAdapter  # noqa: PLC0415 - only where history is written or read

    return TypeAdapter(list[Message])
