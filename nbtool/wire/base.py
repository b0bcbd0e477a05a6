"""What a wire is: a dialect spoken in both directions, without I/O.

`encode` turns a prompt into a request, a decoder turns bytes into deltas. Both are pure, so every recorded
stream can be cut at every byte in a test. One module, `http`, owns the socket and makes an endpoint of a wire.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol

from nbtool.events import Delta
from nbtool.messages import Message


@dataclass(frozen=True, slots=True)
class ToolSpec:
    """A tool as the model is told of it; `parameters` is a JSON schema of type object."""

    name: str
    description: str
    parameters: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Prompt:
    """One request in our own words.

    `options` are request options in the dialect's own names (temperature, reasoning_effort …); they are laid
    over everything else, deeply, and a None in them removes a field.
    """

    messages: tuple[Message, ...]
    system: str = ""
    tools: tuple[ToolSpec, ...] = ()
    tool_choice: Literal["auto", "none", "required"] | str = "auto"
    options: Mapping[str, Any] = field(default_factory=dict)
    stream: bool = True


@dataclass(frozen=True, slots=True)
class Target:
    """Whom a prompt is for, as far as its encoding depends on it: the host, the model, and its abilities."""

    host: str
    model: str
    abilities: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Upload:
    """A file that goes along with a request, in a field of a form."""

    field_name: str
    filename: str
    mime: str
    data: bytes = field(repr=False)


@dataclass(frozen=True, slots=True)
class Request:
    """What will leave: a path below the provider's base address and a JSON body.

    With `uploads` it leaves as a form (`multipart/form-data`), whose other fields are those of the body.
    """

    path: str
    body: dict[str, Any]
    stream: bool
    headers: Mapping[str, str] = field(default_factory=dict)
    uploads: tuple[Upload, ...] = ()


class Decoder(Protocol):
    """One reply being read. It is fed bytes, cut anywhere, and can be copied with `copy.deepcopy`."""

    def feed(self, data: bytes) -> list[Delta]:
        """Take the next bytes.

        Raises:
            nbtool.errors.WireError: the provider reports an error, or the bytes are not of the dialect.
        """

    def close(self) -> list[Delta]:
        """Take note that no more bytes will come; a `ReplyEnd` appears only where one was earned.

        An error that follows deltas, here or in `feed`, is raised by the next call, so that none of them is lost.
        """

    @property
    def is_done(self) -> bool:
        """Whether nothing more is to be expected, so that the socket may be closed."""


class Wire(Protocol):
    """A dialect. Wires are stateless and shared."""

    name: str

    def encode(self, prompt: Prompt, target: Target) -> Request:
        """Write a prompt as a request."""

    def decoder(self, *, stream: bool = True) -> Decoder:
        """Give a fresh decoder for one reply, streamed or whole."""


class Endpoint(Protocol):
    """Something that answers prompts: a model behind a wire, or a double in a test."""

    @property
    def host(self) -> str:
        """Where it answers; a native form holds for this host alone."""

    @property
    def model(self) -> str:
        """Which model it is."""

    @property
    def dialect(self) -> str:
        """The name of the wire it is spoken to over."""

    def stream(self, prompt: Prompt) -> AsyncGenerator[Delta, None]:
        """Send a prompt and give the deltas of the reply as they come.

        Ends without a `ReplyEnd` where the reply broke off quietly; closing the iterator closes the socket.

        Raises:
            nbtool.errors.WireError: see its subclasses.
        """
