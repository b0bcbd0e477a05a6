"""The plugin contract: what may be seen and changed in a turn, when, and in which order.

A plugin is any object with some of these methods, plain or async, each taking one context:

    on_turn_start      TurnContext     in order; may return a clean-up; an error ends the turn
      on_before_request  RequestContext  in order, every round; may change what is sent
      on_stream_data     StreamContext   in order, every delta; may change or drop it
      on_after_request   ReplyContext    all together; may append messages and ask for another request
        on_before_calls    CallsContext    in order, once for the calls of a round
        on_call_start      CallContext     in order, before each call
        on_call_end        CallContext     in order, after each call, whatever became of it
    on_turn_end        TurnContext     in order, for completed and cancelled turns
    clean-ups                          last in, first out, one at a time, always

`on_message_append` (AppendContext) is called for every message that the engine or a plugin appends, in order, before
it is appended; not for the person's own message. `on_event` (EventContext, a plain function) hears every event of the
turn once it is in the journal, deltas too; one that raises is dropped, and the turn goes on. `on_journal`
(JournalContext, a plain function) may take out of each text what the journal is not to keep.

Every hook has a bound in seconds: `hook_seconds` of its plugin, `HOOK_SECONDS` where it has none; None is no bound,
for a hook that waits for a person. A plain hook runs in a worker thread, so that one which blocks holds nobody else;
`on_stream_data` and the hooks of a plugin that `runs_on_loop` are called on nbtool's own loop, and must be quick.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from nbtool.chain.limits import CancelSignal, Limits, Meter
from nbtool.errors import NbtoolError
from nbtool.events import Delta, Emit, EndReason, Event
from nbtool.messages import Message, ToolCall
from nbtool.wire.base import Prompt, ToolSpec
from nbtool.wire.reply import Reply

Cleanup = Callable[[], Awaitable[None] | None]


@dataclass(slots=True)
class TurnContext:
    """One turn, as its plugins see it.

    `history` is what was said before, `prompt` what the person says now, `chain` what the turn has added so far.
    `state` is room for plugins, under their own keys; it is gone with the turn. `host`, `model`, `dialect` and
    `abilities` say who is asked. `text` is the turn's text where a plugin makes it of more than the last reply.
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
    notice_topics: set[EndReason] = field(default_factory=set)
    status: str = "running"
    host: str = ""
    model: str = ""
    dialect: str = ""
    abilities: frozenset[str] = frozenset()
    text: str = ""

    @property
    def messages(self) -> list[Message]:
        """Everything the next request would tell: history, prompt and chain."""
        return [*self.history, self.prompt, *self.chain]


@dataclass(slots=True)
class RequestContext:
    """A request that is about to leave; everything in it may be changed.

    `is_final` marks the one that asks for a last word without tools: tools added to it are dropped.
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

    def set_messages(self, messages: Iterable[Message]) -> None:
        """Send these messages in place of the turn's own; the chain itself is not changed."""
        self.messages = list(messages)

    def add_tools(self, tools: Iterable[ToolSpec]) -> None:
        """Offer more tools; one of a name that is already offered is refused."""
        for tool in tools:
            if any(names.name == tool.name for names in self.tools):
                raise NbtoolError(f"Two tools are called {tool.name!r}.", fix="Rename one of them.")
            self.tools.append(tool)

    def prompt(self) -> Prompt:
        """Give the request as a value."""
        return Prompt(
            messages=tuple(self.messages),
            system=self.system,
            tools=() if self.is_final else tuple(self.tools),
            tool_choice=self.tool_choice,
            options=self.options,
            stream=self.stream,
        )


@dataclass(slots=True)
class StreamContext:
    """A delta of the reply; set `delta` to another one, or to None to drop it."""

    turn: TurnContext
    round: int
    delta: Delta | None
    before: list[Delta] = field(default_factory=list)

    def put_before(self, delta: Delta) -> None:
        """Let another delta come before this one: what was held back until now."""
        self.before.append(delta)


@dataclass(slots=True)
class DeferredMessage:
    """A message that waits to be appended after all plugins have been heard."""

    message: Message
    priority: int
    plugin: int
    sequence: int


@dataclass(slots=True)
class ReplyContext:
    """A reply that has ended, for one plugin to act upon.

    `is_final` marks the last word of the turn: a call in it does not run. `can_request` says whether another request
    may follow; where it is False, asking for one has no effect.
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
        """Append messages, at once or, `deferred`, when every plugin has been heard.

        Deferred messages are appended by priority, the highest first, then in the plugins' order. `request`
        asks for another request to the model.

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
        """Append messages at once and ask for another request."""
        await self.append(*messages, request=True)

    def request_again(self) -> None:
        """Ask for another request without appending anything."""
        self.wants_request = True


@dataclass(slots=True)
class AppendContext:
    """A message on its way into the chain; set `message` to another one to change it."""

    turn: TurnContext
    message: Message
    is_prevented: bool = False

    def prevent_default(self) -> None:
        """Do not append it; the plugin takes care of it itself."""
        self.is_prevented = True


@dataclass(slots=True)
class CallsContext:
    """The calls of one round, before any of them runs."""

    turn: TurnContext
    round: int
    calls: Sequence[ToolCall]


@dataclass(slots=True)
class CallContext:
    """One call; `record` is what became of it, None before it ran."""

    turn: TurnContext
    round: int
    call: ToolCall
    record: Any = None


@dataclass(frozen=True, slots=True)
class EventContext:
    """An event of a turn, in the journal already; there is nothing to change about it."""

    turn_id: str
    event: Event


@dataclass(slots=True)
class JournalContext:
    """A text of an event on its way into the journal; what a hook leaves in `text` is kept."""

    turn_id: str
    text: str
