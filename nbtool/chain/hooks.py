"""The contexts that the hooks of a plugin receive; see `nbtool.chain.plugin`."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from nbtool.chain.additions import Additions
from nbtool.chain.cancel_signal import CancelSignal
from nbtool.chain.limits import Limits
from nbtool.chain.usage_meter import Meter
from nbtool.errors import NbtoolError
from nbtool.events import CallDecided, Delta, Emit, EndReason, Event
from nbtool.messages import Message, ToolCall
from nbtool.wire.base import Prompt, ToolSpec
from nbtool.wire.reply import Reply

Cleanup = Callable[[], Awaitable[None] | None]


class ApprovalService(Protocol):
    """Asks a person, as for a tool call; tool calling provides it."""

    async def request_approval(
        self, call_id: str, name: str, text: str, *, description: str, approver: Any = None
    ) -> CallDecided:
        """Ask for an approval that is not remembered; `approver` decides instead of the turn's own."""


@dataclass(slots=True)
class TurnContext:
    """One turn.

    `history` are the messages before the turn, `prompt` is the user's message, `chain` are the messages that the turn
    has added so far. `state` stores data of plugins, under their own keys, for the length of the turn. `host`, `model`,
    `provider` (empty if it has no name), `dialect` and `abilities` describe the endpoint. `text` is the turn's text if
    a plugin builds it from more than the last reply; `additions` are what the person adds while it runs.
    """

    turn_id: str
    prompt: Message
    history: tuple[Message, ...]
    limits: Limits
    emit: Emit
    cancel: CancelSignal
    meter: Meter
    chain: list[Message] = field(default_factory=list)
    state: dict[str, Any] = field(default_factory=dict)
    approvals: ApprovalService | None = None
    notice_topics: set[EndReason] = field(default_factory=set)
    status: str = "running"
    host: str = ""
    model: str = ""
    provider: str = ""
    dialect: str = ""
    abilities: frozenset[str] = frozenset()
    text: str = ""
    additions: Additions = field(default_factory=Additions)

    @property
    def messages(self) -> list[Message]:
        """The messages of the next request: history, prompt and chain."""
        return [*self.history, self.prompt, *self.chain]


@dataclass(slots=True)
class RequestContext:
    """A request that is about to be sent; everything in it may be changed.

    `is_final` marks the request for a final reply: its tools are offered, so that the prefix stays cached, but must not
    be called. Without `has_tools`, tools added to it are dropped.
    """

    turn: TurnContext
    round: int
    messages: list[Message]
    system: str = ""
    tools: list[ToolSpec] = field(default_factory=list)
    options: dict[str, Any] = field(default_factory=dict)
    tool_choice: str = "auto"
    stream: bool = True
    is_final: bool = False
    has_tools: bool = True

    def set_messages(self, messages: Iterable[Message]) -> None:
        """Send these messages instead of the turn's own; the chain is not changed."""
        self.messages = list(messages)

    def add_tools(self, tools: Iterable[ToolSpec]) -> None:
        """Offer more tools; a name that is already offered is rejected."""
        names = {tool.name for tool in self.tools}
        for tool in tools:
            if tool.name in names:
                raise NbtoolError(f"Two tools are named {tool.name!r}.", fix="Rename one of them.")
            names.add(tool.name)
            self.tools.append(tool)

    def prompt(self) -> Prompt:
        """Return the request as a `Prompt`."""
        prompt = Prompt(
            messages=tuple(self.messages),
            system=self.system,
            tools=tuple(self.tools) if self.has_tools else (),
            tool_choice=self.tool_choice,
            options=self.options,
            stream=self.stream,
        )
        return prompt.without_calls() if self.is_final and self.has_tools else prompt


@dataclass(slots=True)
class StreamContext:
    """A delta of the reply; set `delta` to another one, or to None to drop it."""

    turn: TurnContext
    round: int
    delta: Delta | None
    before: list[Delta] = field(default_factory=list)

    def put_before(self, delta: Delta) -> None:
        """Emit another delta before this one, such as text that was buffered."""
        self.before.append(delta)


@dataclass(slots=True)
class DeferredMessage:
    """A message to append after all plugins were called."""

    message: Message
    priority: int
    plugin: int
    sequence: int


@dataclass(slots=True)
class ReplyContext:
    """A reply that has ended, for one plugin.

    `is_final` marks the final reply of the turn: a call in it does not run. `can_request` says whether another request
    may follow; if it is False, requesting one has no effect.
    """

    turn: TurnContext
    round: int
    reply: Reply
    plugin: int
    _append: Callable[[Message], Awaitable[None]]
    _deferred: list[DeferredMessage]
    wants_request: bool = False
    is_open: bool = True
    is_final: bool = False
    can_request: bool = True

    async def append(
        self, *messages: Message, request: bool = False, deferred: bool = False, priority: int = 0
    ) -> None:
        """Append messages, immediately or, if `deferred`, after all plugins were called.

        Deferred messages are appended by priority, highest first, then in the order of the plugins. `request` asks for
        another request to the model.

        Raises:
            NbtoolError: the round is over.
        """
        if not self.is_open:
            raise NbtoolError("A plugin appended a message after its round was over.", fix="Await before returning.")
        for message in messages:
            if deferred:
                self._deferred.append(DeferredMessage(message, priority, self.plugin, len(self._deferred)))
            else:
                await self._append(message)
        self.wants_request = self.wants_request or request

    async def append_and_request(self, *messages: Message) -> None:
        """Append messages immediately and ask for another request."""
        await self.append(*messages, request=True)

    def request_again(self) -> None:
        """Ask for another request without appending anything."""
        self.wants_request = True


@dataclass(slots=True)
class AppendContext:
    """A message that is about to be appended; set `message` to another one to change it."""

    turn: TurnContext
    message: Message
    is_prevented: bool = False

    def prevent_default(self) -> None:
        """Do not append the message; the plugin handles it itself."""
        self.is_prevented = True


@dataclass(slots=True)
class CallsContext:
    """The calls of one round, before any of them runs."""

    turn: TurnContext
    round: int
    calls: Sequence[ToolCall]


@dataclass(slots=True)
class CallContext:
    """One call; `record` is its outcome, None before it ran."""

    turn: TurnContext
    round: int
    call: ToolCall
    record: Any = None


@dataclass(frozen=True, slots=True)
class EventContext:
    """An event of a turn, already written to the journal; read only."""

    turn_id: str
    event: Event


@dataclass(slots=True)
class JournalContext:
    """A text of an event that is about to be written to the journal; a hook may change `text`."""

    turn_id: str
    text: str
