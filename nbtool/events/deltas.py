"""The deltas of a reply: its fragments, as a wire decodes them."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal, get_args

from nbtool.audience import NATIVE, NESTED, OWN, RUN, TEXT
from nbtool.messages import Citation, Media, ProviderCall, Usage

StopReason = Literal["end", "tools", "length", "refused", "filtered", "action", "calls", "paused", "error", "unknown"]
"""Why a reply stopped, normalized across providers; `finish_reason` holds the provider's value.

After `action` the provider waits for a client-side action (an approval, a click in a browser). `calls` is nbtool's own:
the reply exceeded the limit of calls or of argument size, and was not read any further.
"""


@dataclass(slots=True)
class TextDelta:
    """A fragment of text; `is_new` starts a separate text of the same reply, shown as its own paragraph.

    `phase` is that of the text which it starts (see `messages.Text`). One without text gives its phase to the text
    before it: some servers say it at the end.
    """

    text: str = field(metadata=TEXT)
    is_new: bool = field(default=False, metadata=OWN)
    kind: Literal["text_delta"] = field(default="text_delta", metadata=OWN)
    phase: str = field(default="", metadata=TEXT)

    def is_separate(self, phase: str) -> bool:
        """Whether it starts a part of its own after a text of this phase."""
        return bool(self.text) and (self.is_new or bool(self.phase)) and self.phase != phase


@dataclass(slots=True)
class ThinkingDelta:
    """A fragment of thinking; `is_new` starts a separate thinking block of the same reply."""

    text: str = field(metadata=TEXT)
    is_new: bool = field(default=False, metadata=OWN)
    kind: Literal["thinking_delta"] = field(default="thinking_delta", metadata=OWN)


@dataclass(slots=True)
class RefusalDelta:
    """A fragment of a refusal."""

    text: str = field(metadata=TEXT)
    kind: Literal["refusal_delta"] = field(default="refusal_delta", metadata=OWN)


@dataclass(slots=True)
class MediaDelta:
    """A complete image, sound or file of the reply."""

    media: Media = field(metadata=NESTED)
    kind: Literal["media_delta"] = field(default="media_delta", metadata=OWN)


@dataclass(slots=True)
class ProviderDelta:
    """A tool that the provider ran, or a source of the reply; complete."""

    part: ProviderCall | Citation = field(metadata=NESTED)
    kind: Literal["provider_delta"] = field(default="provider_delta", metadata=OWN)


@dataclass(slots=True)
class CallDelta:
    """A fragment of a tool call.

    `key` identifies the call within the reply. The first non-empty `id` and the last `name` are used; a `name` is whole
    as far as it is known, also of one that arrives in pieces. `arguments` is appended; when `final` and not empty, it
    replaces the previous fragments. The reply builder sets `call_id`, so that listeners have nbtool's id from the first
    fragment on. With an `error` the call was written as text and cannot be read as one.
    """

    key: str = field(metadata=OWN)
    id: str = field(default="", metadata=OWN)
    name: str = field(default="", metadata=TEXT)
    arguments: str = field(default="", metadata=TEXT)
    final: bool = field(default=False, metadata=OWN)
    repaired: tuple[str, ...] = field(default=(), metadata=TEXT)
    call_id: str = field(default="", metadata=OWN)
    error: str = field(default="", metadata=TEXT)
    kind: Literal["call_delta"] = field(default="call_delta", metadata=OWN)


@dataclass(slots=True)
class CallPending:
    """A call written as text is buffered until it is complete (`size` characters so far)."""

    size: int = field(metadata=OWN)
    kind: Literal["call_pending"] = field(default="call_pending", metadata=OWN)


@dataclass(slots=True)
class UsageDelta:
    """The usage of the request so far; replaces the previous one."""

    usage: Usage = field(metadata=NESTED)
    kind: Literal["usage_delta"] = field(default="usage_delta", metadata=OWN)


@dataclass(slots=True)
class ReplyEnd:
    """The provider's terminal signal: only this completes a reply.

    `finish_reason` is the provider's value, `explanation` its explanation (why it refused, or what it filtered),
    `native` its own form of the message, and `prefix` the digest of its request (see `messages.Native`).
    """

    stop_reason: StopReason = field(metadata=OWN)
    finish_reason: str = field(default="", metadata=TEXT)
    native: Any = field(default=None, metadata=NATIVE)
    explanation: str = field(default="", metadata=TEXT)
    prefix: str = field(default="", metadata=RUN)
    kind: Literal["reply_end"] = field(default="reply_end", metadata=OWN)


@dataclass(slots=True)
class Retrying:
    """The request is retried after `seconds`; no delta was emitted yet."""

    attempt: int = field(metadata=OWN)
    seconds: float = field(metadata=RUN)
    reason: str = field(metadata=TEXT)
    kind: Literal["retrying"] = field(default="retrying", metadata=OWN)


@dataclass(slots=True)
class StreamNotice:
    """A message of the connection for the user; the engine emits it as a `Notice` of the turn."""

    text: str = field(metadata=TEXT)
    level: Literal["info", "warning"] = field(default="info", metadata=OWN)
    kind: Literal["stream_notice"] = field(default="stream_notice", metadata=OWN)


Delta = (
    TextDelta | ThinkingDelta | RefusalDelta | MediaDelta | CallDelta | CallPending | UsageDelta | ReplyEnd | Retrying
    | StreamNotice | ProviderDelta
)  # fmt: skip
DELTAS = frozenset(get_args(Delta))
"""The types of all deltas, for the check `type(event) in DELTAS`, which runs once per token."""
