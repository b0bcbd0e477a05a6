"""The deltas of a reply: its fragments, as a wire decodes them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, get_args

from nbtool.messages import Citation, Media, ProviderCall, Usage

StopReason = Literal["end", "tools", "length", "refused", "filtered", "action", "calls", "paused", "error", "unknown"]
"""Why a reply stopped, normalized across providers; `finish_reason` holds the provider's value.

After `action` the provider waits for a client-side action (an approval, a click in a browser). `calls` is nbtool's own:
the reply exceeded the limit of calls or of argument size, and was not read any further.
"""


@dataclass(slots=True)
class TextDelta:
    """A fragment of text; `is_new` starts a separate text of the same reply, shown as its own paragraph."""

    text: str
    is_new: bool = False
    kind: Literal["text_delta"] = "text_delta"


@dataclass(slots=True)
class ThinkingDelta:
    """A fragment of thinking; `is_new` starts a separate thinking block of the same reply."""

    text: str
    is_new: bool = False
    kind: Literal["thinking_delta"] = "thinking_delta"


@dataclass(slots=True)
class RefusalDelta:
    """A fragment of a refusal."""

    text: str
    kind: Literal["refusal_delta"] = "refusal_delta"


@dataclass(slots=True)
class MediaDelta:
    """A complete image, sound or file of the reply."""

    media: Media
    kind: Literal["media_delta"] = "media_delta"


@dataclass(slots=True)
class ProviderDelta:
    """A tool that the provider ran, or a source of the reply; complete."""

    part: ProviderCall | Citation
    kind: Literal["provider_delta"] = "provider_delta"


@dataclass(slots=True)
class CallDelta:
    """A fragment of a tool call.

    `key` identifies the call within the reply. The first non-empty `id` and `name` are used. `arguments` is appended;
    when `final` and not empty, it replaces the previous fragments. The reply builder sets `call_id`, so that listeners
    have nbtool's id from the first fragment on. With an `error` the call was written as text and cannot be read as one.
    """

    key: str
    id: str = ""
    name: str = ""
    arguments: str = ""
    final: bool = False
    repaired: tuple[str, ...] = ()
    call_id: str = ""
    error: str = ""
    kind: Literal["call_delta"] = "call_delta"


@dataclass(slots=True)
class CallPending:
    """A call written as text is buffered until it is complete (`size` characters so far)."""

    size: int
    kind: Literal["call_held"] = "call_held"


@dataclass(slots=True)
class UsageDelta:
    """The usage of the request so far; replaces the previous one."""

    usage: Usage
    kind: Literal["usage_delta"] = "usage_delta"


@dataclass(slots=True)
class ReplyEnd:
    """The provider's terminal signal: only this completes a reply.

    `finish_reason` is the provider's value, `explanation` its explanation (why it refused, or what it filtered),
    `native` its own form of the message, and `prefix` the digest of its request (see `messages.Native`).
    """

    stop_reason: StopReason
    finish_reason: str = ""
    native: Any = None
    explanation: str = ""
    prefix: str = ""
    kind: Literal["reply_end"] = "reply_end"


@dataclass(slots=True)
class Retrying:
    """The request is retried after `seconds`; no delta was emitted yet."""

    attempt: int
    seconds: float
    reason: str
    kind: Literal["retrying"] = "retrying"


@dataclass(slots=True)
class StreamNotice:
    """A message of the connection for the user; the engine emits it as a `Notice` of the turn."""

    text: str
    level: Literal["info", "warning"] = "info"
    kind: Literal["stream_notice"] = "stream_notice"


Delta = (
    TextDelta | ThinkingDelta | RefusalDelta | MediaDelta | CallDelta | CallPending | UsageDelta | ReplyEnd | Retrying
    | StreamNotice | ProviderDelta
)  # fmt: skip
DELTAS = frozenset(get_args(Delta))
"""The types of all deltas, for the check `type(event) in DELTAS`, which runs once per token."""
