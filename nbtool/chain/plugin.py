"""The plugin interface: every hook, with its signature.

A plugin is any object with some of these methods. nbtool's own are in `nbtool/plugins`. In a turn they are called so:

    on_turn_start
      on_before_request, on_stream_data, on_after_request       every round
        on_before_calls, on_call_start, on_call_end             the calls of a round
    on_turn_end
    clean-ups                                                   last in, first out, one at a time, always

Every hook has a time limit in seconds: `hook_seconds` of its plugin, else `HOOK_SECONDS`; None is no limit, for a hook
that waits for a person. A sync hook runs in a worker thread, so that one that blocks delays nothing else;
`on_stream_data` and the hooks of a plugin with `runs_on_loop` are called on nbtool's own loop, and must be fast.
"""

from __future__ import annotations

from collections.abc import Awaitable
from typing import Protocol, get_args

from nbtool.chain.hooks import (
    AppendContext,
    CallContext,
    CallsContext,
    Cleanup,
    EventContext,
    JournalContext,
    ReplyContext,
    RequestContext,
    StreamContext,
    TurnContext,
)

Done = Awaitable[None] | None
"""What a hook returns that may be sync or async."""


class OnTurnStart(Protocol):
    def on_turn_start(self, turn: TurnContext, /) -> Awaitable[Cleanup | None] | Cleanup | None:
        """Prepare a turn, in order, before anything is sent; may return a clean-up; an error ends the turn."""


class OnBeforeRequest(Protocol):
    def on_before_request(self, request: RequestContext, /) -> Done:
        """Change what is sent, in order, every round."""


class OnStreamData(Protocol):
    def on_stream_data(self, stream: StreamContext, /) -> Done:
        """Change or drop a delta, in order."""


class OnAfterRequest(Protocol):
    def on_after_request(self, reply: ReplyContext, /) -> Done:
        """Append messages and ask for another request, all plugins together."""


class OnMessageAppend(Protocol):
    def on_message_append(self, append: AppendContext, /) -> Done:
        """Change or prevent a message before the engine or a plugin appends it, in order; not the user's message."""


class OnTurnEnd(Protocol):
    def on_turn_end(self, turn: TurnContext, /) -> Done:
        """See a completed or cancelled turn, in order; an error makes the turn an error."""


class OnBeforeCalls(Protocol):
    def on_before_calls(self, calls: CallsContext, /) -> Done:
        """See the calls of a round once before any of them runs, in order."""


class OnCallStart(Protocol):
    def on_call_start(self, call: CallContext, /) -> Done:
        """See a call before it runs, in order."""


class OnCallEnd(Protocol):
    def on_call_end(self, call: CallContext, /) -> Done:
        """See a call after it ran, in order, whatever its outcome."""


class OnEvent(Protocol):
    def on_event(self, event: EventContext, /) -> None:
        """See every event once it is in the journal, deltas too; a plugin that raises receives no more events."""


class OnJournal(Protocol):
    def on_journal(self, journal: JournalContext, /) -> None:
        """Remove from a text what the journal must not store; if it raises, the text is not written."""


AwaitedHook = (
    OnTurnStart | OnBeforeRequest | OnStreamData | OnAfterRequest | OnMessageAppend | OnTurnEnd | OnBeforeCalls
    | OnCallStart | OnCallEnd
)  # fmt: skip
PlainHook = OnEvent | OnJournal
Plugin = AwaitedHook | PlainHook


def _names(union: object) -> tuple[str, ...]:
    return tuple(name for hook in get_args(union) for name in vars(hook) if name.startswith("on_"))


HOOKS = _names(AwaitedHook)
"""The hooks that the turn awaits; each may be sync or async."""

PLAIN_HOOKS = _names(PlainHook)
"""The hooks that must be sync functions."""

OTHER_METHODS = ("mask_text", "may_start", "delay_after")
"""What an object without a hook can be a plugin by: it masks texts, guards the starts of calls, or delays retries."""
