"""Messages and their parts.

Plain values: frozen, comparable, and loaded from JSON (`nbtool.event_json`) without running any code.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from nbtool.argument_check import check_arguments
from nbtool.audience import FREE, NATIVE, NESTED, OWN, RUN, TEXT
from nbtool.call_arguments import parse_arguments
from nbtool.ids import new_id
from nbtool.mime import describe_media, media_bundle
from nbtool.usage import Usage as Usage

if TYPE_CHECKING:
    pass

Role = Literal["system", "user", "assistant", "tool"]

COMMENTARY = "commentary"
"""The phase of what a model says between its calls (OpenAI); each phase goes back as it came."""

ADDITION = "addition"
"""The phase of what the person adds to a turn while it runs."""


@check_arguments
@dataclass(frozen=True, slots=True)
class Text:
    """Prose; `phase` is what its provider calls a part of a reply: `commentary` during the work, or `final_answer`.

    In a message of the user it is `addition` for what the person adds to a turn while it runs.
    """

    text: str = field(metadata=TEXT)
    kind: Literal["text"] = field(default="text", metadata=OWN)
    phase: str = field(default="", metadata=TEXT)


@check_arguments
@dataclass(frozen=True, slots=True)
class DateText(Text):
    """The date, which nbtool adds to a prompt; not to the system text, whose change would invalidate prompt caches."""


@check_arguments
@dataclass(frozen=True, slots=True)
class ObjectList(Text):
    """The exposed objects that nbtool adds to a prompt, as far as the messages before it do not list them.

    `objects` are names with descriptions, and `hidden` the names that were listed before and are no longer exposed.
    """

    objects: tuple[tuple[str, str], ...] = field(default=(), metadata=FREE)
    hidden: tuple[str, ...] = field(default=(), metadata=TEXT)


@check_arguments
@dataclass(frozen=True, slots=True)
class Thinking:
    """The model's reasoning; shown collapsed, never executed."""

    text: str = field(metadata=TEXT)
    kind: Literal["thinking"] = field(default="thinking", metadata=OWN)


@check_arguments
@dataclass(frozen=True, slots=True)
class Refusal:
    """The model's refusal to answer."""

    text: str = field(metadata=TEXT)
    kind: Literal["refusal"] = field(default="refusal", metadata=OWN)


@check_arguments
@dataclass(frozen=True, slots=True)
class Media:
    """An image, a sound or a file: either its bytes or its URL.

    `mime` is an IANA media type; exactly one of `data` and `url` is set.
    """

    mime: str = field(metadata=TEXT)
    data: bytes | None = field(default=None, repr=False, metadata=FREE)
    url: str | None = field(default=None, metadata=TEXT)
    name: str = field(default="", metadata=TEXT)
    kind: Literal["media"] = field(default="media", metadata=OWN)

    # What pydantic documents for plain dataclasses: bytes are base64 in JSON, with the alphabet of RFC 4648 section 5.
    __pydantic_config__: ClassVar[dict[str, str]] = {"ser_json_bytes": "base64", "val_json_bytes": "base64"}

    def __str__(self) -> str:
        return describe_media(self.mime, self.data, self.url, self.name)

    def _repr_llm_(self) -> str:
        return str(self)

    def _repr_mimebundle_(self, **_: Any) -> dict[str, str]:
        return media_bundle(self.mime, self.data, self.url, self.name)


@check_arguments
@dataclass(frozen=True)
class ToolCall:
    """One tool call requested by the model.

    `id` is the provider's, used on its wire; `call_id` is nbtool's and unique. `arguments` is the text that the model
    sent; `args` is the parsed object, or None with `error` if it is not a JSON object. Only a `runnable` call may run:
    its reply and its arguments are complete. `repaired` names each repair of the JSON (only for calls written as text;
    native arguments are strict JSON). One that `is_malformed` was written as text, but not as a call that can be read:
    it never runs, and `arguments` is the text that the model wrote.
    """

    name: str = field(metadata=TEXT)
    arguments: str = field(metadata=TEXT)
    id: str = field(default="", metadata=OWN)
    call_id: str = field(default="", metadata=OWN)
    error: str | None = field(default=None, metadata=TEXT)
    runnable: bool = field(default=False, metadata=OWN)
    repaired: tuple[str, ...] = field(default=(), metadata=TEXT)
    is_malformed: bool = field(default=False, metadata=OWN)
    kind: Literal["call"] = field(default="call", metadata=OWN)

    @cached_property
    def args(self) -> Mapping[str, Any] | None:
        """The object that `arguments` is; None if there is an `error`."""
        return None if self.error else parse_arguments(self.arguments)[0]

    def copy(self) -> ToolCall:
        """Return a copy of the call with arguments of its own."""
        return replace(self)

    def parsed_as(self, args: Mapping[str, Any] | None) -> ToolCall:
        """Return the call itself; `args` are its arguments, which need not be parsed again."""
        if not self.error:
            vars(self)["args"] = args
        return self


@check_arguments
@dataclass(frozen=True, slots=True)
class ToolResult:
    """The result of a call; `id` and `call_id` are those of the call."""

    name: str = field(metadata=TEXT)
    text: str = field(metadata=TEXT)
    id: str = field(default="", metadata=OWN)
    call_id: str = field(default="", metadata=OWN)
    is_error: bool = field(default=False, metadata=OWN)
    media: tuple[Media, ...] = field(default=(), metadata=NESTED)
    kind: Literal["result"] = field(default="result", metadata=OWN)


@check_arguments
@dataclass(frozen=True, slots=True)
class Link:
    """The address and the title of a page or a file."""

    url: str = field(metadata=TEXT)
    title: str = field(default="", metadata=TEXT)


@check_arguments
@dataclass(frozen=True, slots=True)
class ProviderCall:
    """A tool that the provider ran: a search, code, a page that was read. It is no call of the notebook.

    `text` is what the model asked for (a query, the code), `output` what came of it, and `links` the pages found.
    With `was_stopped` it is what an agent tried to change by itself, and was stopped for.
    """

    tool: str = field(metadata=TEXT)
    text: str = field(default="", metadata=TEXT)
    output: str = field(default="", metadata=TEXT)
    links: tuple[Link, ...] = field(default=(), metadata=NESTED)
    was_stopped: bool = field(default=False, metadata=OWN)
    kind: Literal["provider_call"] = field(default="provider_call", metadata=OWN)


@check_arguments
@dataclass(frozen=True, slots=True)
class Citation:
    """A source of the reply; `text` is the passage that is cited, if the provider names it."""

    link: Link = field(metadata=NESTED)
    text: str = field(default="", metadata=TEXT)
    kind: Literal["citation"] = field(default="citation", metadata=OWN)


Part = Text | Thinking | Refusal | Media | ToolCall | ToolResult | ProviderCall | Citation


@check_arguments
@dataclass(frozen=True, slots=True)
class Native:
    """A message exactly as its provider sent it, to be sent back unchanged.

    It carries what `parts` cannot: signatures, encrypted reasoning, items of server-side tools. It is valid only for
    the same wire, host and model; for any other the message is encoded from its parts. `prefix` is the digest of the
    request that it answers, on wires where a part of it holds only after the same request.
    """

    wire: str = field(metadata=OWN)
    host: str = field(metadata=RUN)
    model: str = field(metadata=TEXT)
    payload: Any = field(metadata=FREE)
    prefix: str = field(default="", metadata=RUN)


@check_arguments
@dataclass(frozen=True, slots=True, weakref_slot=True)
class Message:
    """One message of a conversation."""

    role: Role = field(metadata=OWN)
    parts: tuple[Part, ...] = field(default=(), metadata=NESTED)
    native: Native | None = field(default=None, metadata=NATIVE)
    message_id: str = field(default_factory=lambda: new_id("m"), compare=False, metadata=RUN)

    @property
    def text(self) -> str:
        """All text of the message, joined without a separator; without the date that nbtool adds to a prompt."""
        return "".join(part.text for part in self.parts if isinstance(part, Text) and not isinstance(part, DateText))

    @property
    def answer(self) -> str:
        """The text without what the model said during its work; all of it if there is nothing else."""
        texts = [part for part in self.parts if isinstance(part, Text) and not isinstance(part, DateText)]
        answer = "".join(part.text for part in texts if part.phase != COMMENTARY)
        if not answer.strip():
            return self.text
        return answer.removeprefix("\n\n") if texts[0].phase == COMMENTARY else answer

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

    @property
    def added(self) -> tuple[str, ...]:
        """What the person has added to a turn by the message while it ran, in order."""
        texts = self.parts if self.role == "user" else ()
        return tuple(part.text for part in texts if isinstance(part, Text) and part.phase == ADDITION)

    def with_parts(self, parts: Iterable[Part]) -> Message:
        """Return the message with other parts and without its native form, which would no longer match."""
        return replace(self, parts=tuple(parts), native=None)


@check_arguments
def user(*parts: str | Part) -> Message:
    """Return a user message from texts and parts."""
    return Message("user", tuple(Text(part) if isinstance(part, str) else part for part in parts))


@check_arguments
def assistant(*parts: str | Part) -> Message:
    """Return an assistant message from texts and parts."""
    return Message("assistant", tuple(Text(part) if isinstance(part, str) else part for part in parts))


@check_arguments
def results(*parts: ToolResult) -> Message:
    """Return the message with the results of the calls of one round."""
    return Message("tool", parts)
