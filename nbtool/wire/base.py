"""The wire interface: encode requests and decode responses of one dialect, without I/O.

`encode` turns a prompt into a request, a decoder turns bytes into deltas. Both are pure, so that tests can split a
recorded stream at every byte. `transport.http_endpoint` does the I/O and makes an endpoint of a wire.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import AsyncGenerator, Mapping
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Any, Literal, Protocol, runtime_checkable

from nbtool.errors import WireError
from nbtool.events import Delta
from nbtool.messages import Message

REPORTS_COST = "reports_cost"
"""The ability of a provider whose replies report their cost in US dollars."""

CHARGES_NOTHING = "charges_nothing"
"""The ability of an endpoint whose requests cost nothing: of a provider that is free, at its own address."""


@dataclass(frozen=True, slots=True, weakref_slot=True)
class ToolSpec:
    """A tool definition for the model; `parameters` is a JSON schema of type object.

    One that `is_deferred` is not shown to the model before it searched for it, where the provider searches.
    """

    name: str
    description: str
    parameters: Mapping[str, Any]
    is_deferred: bool = False


@dataclass(frozen=True, slots=True)
class Prompt:
    """One request, independent of the dialect.

    `options` are request options in the dialect's names (temperature, reasoning_effort …); they are merged deeply over
    the defaults of the request, and None removes one. What an encoder writes from the other fields is no option.
    `is_final` requests a reply without calls, although `tools` are offered: leaving them out would change the prefix of
    the request, so that nothing of it would be read from a prompt cache.
    """

    messages: tuple[Message, ...]
    system: str = ""
    tools: tuple[ToolSpec, ...] = ()
    tool_choice: Literal["auto", "none", "required"] | str = "auto"
    options: Mapping[str, Any] = field(default_factory=dict)
    stream: bool = True
    is_final: bool = False

    def without_calls(self) -> Prompt:
        """Return the request for a reply without calls."""
        return replace(self, tool_choice="none", is_final=True)


@dataclass(frozen=True, slots=True)
class Target:
    """The host, model and abilities on which the encoding of a prompt depends."""

    host: str
    model: str
    abilities: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Upload:
    """A file to upload with a request, in a form field."""

    field_name: str
    filename: str
    mime: str
    data: bytes = field(repr=False)


@dataclass(frozen=True, slots=True)
class Request:
    """A request to send: a path relative to the provider's base URL, its query and a JSON body.

    With `uploads` it is sent as `multipart/form-data`, with the fields of the body as the other form fields.
    `prefix` is its digest, for the reply (see `messages.Native`).
    """

    path: str
    body: dict[str, Any]
    stream: bool
    headers: Mapping[str, str] = field(default_factory=dict)
    uploads: tuple[Upload, ...] = ()
    prefix: str = ""
    query: Mapping[str, str] = field(default_factory=dict)


class Decoder(ABC):
    """Decodes one reply from bytes, split anywhere; it can be copied with `copy.deepcopy`.

    `pending` is the status of a reply that the provider generates in the background, which is not supported.
    `continuation` are the fields of the request that continues the reply, after `close`; empty if it needs none.
    """

    pending: str = ""
    continuation: Mapping[str, Any] = MappingProxyType({})

    @property
    @abstractmethod
    def is_done(self) -> bool:
        """Whether the reply is complete, so that the socket may be closed."""

    @abstractmethod
    def feed(self, data: bytes, deltas: list[Delta]) -> None:
        """Feed the next bytes, and append the deltas that they complete.

        Raises:
            nbtool.errors.WireError: the provider reports an error, or the bytes are not of the dialect; what came
                before it was appended.
        """

    @abstractmethod
    def close(self, deltas: list[Delta]) -> None:
        """Signal the end of the bytes; a `ReplyEnd` is appended only after the terminal signal.

        Raises:
            nbtool.errors.WireError: as in `feed`.
        """

    def resume(self) -> None:
        """Expect the bytes of the next response, to a request with the `continuation`."""
        raise NotImplementedError


class Wire(Protocol):
    """A dialect. Wires are stateless and shared."""

    name: str

    def encode(self, prompt: Prompt, target: Target) -> Request:
        """Return the request for a prompt."""

    def decoder(self, *, stream: bool = True) -> Decoder:
        """Return a new decoder for one reply, streamed or not."""


@runtime_checkable
class Retries(Protocol):
    """Decides whether an endpoint sends a request again that failed before any delta of its reply."""

    @property
    def max_delay(self) -> float:
        """The longest delay in seconds; with a longer one the request is not sent again."""

    def delay_after(self, error: WireError, attempt: int) -> float | None:
        """Return the seconds before retry `attempt` (from 1) of a request; None if it is not sent again."""

    async def wait(self, seconds: float) -> None:
        """Wait before a request is sent again; also, with 0, where it was changed after a refusal."""


@runtime_checkable
class LimitObserver(Protocol):
    """Retries that read which limits a provider reports in the headers of its answers."""

    def note_headers(self, host: str, model: str, headers: Mapping[str, str]) -> None:
        """Read the headers of an answer of a model of a host, also of a refusal."""


class Endpoint(Protocol):
    """A model behind a wire, or a test double of one."""

    @property
    def host(self) -> str:
        """The host; a native message is valid for this host only."""

    @property
    def model(self) -> str:
        """The name of the model."""

    @property
    def dialect(self) -> str:
        """The name of the wire."""

    def stream(self, prompt: Prompt) -> AsyncGenerator[Delta, None]:
        """Send a prompt and yield the deltas of the reply as they arrive.

        Ends without a `ReplyEnd` if the reply is truncated; closing the iterator closes the socket.

        Raises:
            nbtool.errors.WireError: see its subclasses.
        """
