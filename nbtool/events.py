"""The deltas of a reply, and the events of a turn.

A turn is one stream of events. Between `RequestStarted` and `ReplyFinished` are the deltas of that reply, the same
objects that the wire created, so that nothing is built twice per token. Every event is a plain value that the journal
can write as JSON (see `event_json`); views and exports are built from events alone.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any, Literal, get_args

from nbtool.messages import Media, Message, Usage

StopReason = Literal["end", "tools", "length", "refused", "filtered", "action", "calls", "paused", "error", "unknown"]
"""Why a reply stopped, normalized across providers; `finish_reason` holds the provider's value.

After `action` the provider waits for a client-side action (an approval, a click in a browser). `calls` is nbtool's own:
the reply exceeded the limit of calls or of argument size, and was not read any further.
"""

EndReason = Literal[
    "", "length", "refused", "filtered", "broken_off", "thinking_only", "provider_action", "empty", "rounds", "calls",
    "tokens", "cost", "seconds", "repetition", "interrupted",
]  # fmt: skip
"""Why a turn ended without a finished answer of the model; empty if it has one, or if an error explains it.

The first four are stops of the last reply; `broken_off` is a stop in error, or for an unknown reason. `thinking_only`
and `provider_action` (an approval or a computer action that the provider requests from the client) are what the reply
held instead of an answer. `interrupted`: the kernel ended before the turn did; the others are limits of the turn.
"""

NoticeTopic = EndReason | Literal["no_stop_reason", "imported"]
"""The machine-readable topic of a notice. `imported`: the turn was read from a file."""

CallStatus = Literal[
    "waiting", "running", "ok", "error", "denied", "withheld", "not_found", "invalid", "timed_out", "cancelled",
    "not_run", "unknown",
]  # fmt: skip
TurnStatus = Literal["running", "waiting", "completed", "cancelled", "error", "timeout", "parked"]
Gate = Literal["run", "result"]
TreeOp = Literal["hide", "show", "pin", "unpin", "delete", "restore", "switch", "branch"]
Phase = Literal["arguments", "tool", "request", "stream", "final_reply", "hook"]


# --- deltas: fragments of one reply, as a wire decodes them ---------------------------------------------------


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
class CallDelta:
    """A fragment of a tool call.

    `key` identifies the call within the reply. The first non-empty `id` and `name` are used. `arguments` is appended;
    when `final` and not empty, it replaces the previous fragments. The reply builder sets `call_id`, so that listeners
    have nbtool's id from the first fragment on.
    """

    key: str
    id: str = ""
    name: str = ""
    arguments: str = ""
    final: bool = False
    repaired: tuple[str, ...] = ()
    call_id: str = ""
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
    `native` its own form of the message (see `messages.Native`).
    """

    stop_reason: StopReason
    finish_reason: str = ""
    native: Any = None
    explanation: str = ""
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
    | StreamNotice
)  # fmt: skip
DELTAS = frozenset(get_args(Delta))
"""The types of all deltas, for the check `type(event) in DELTAS`, which runs once per token."""


# --- events: what happens in a turn ---------------------------------------------------------------------------


@dataclass(slots=True)
class TurnStarted:
    """A turn started. `prompt` is the user's message; `started` is seconds since the epoch.

    `node_id` is the node of the conversation tree that the turn is a version of, `parent_id` its parent, and
    `child_id`, if it was inserted between two nodes, its new child. `replayed` is the date (ISO 8601) of the recording
    that it is replayed from; empty if a model is called. `told_from` is the version whose first `told_rounds` rounds
    are carried over. `tools` and `exposed` are the names of the chat's tools and of the notebook's objects that
    references can point to; None if they were not recorded. `qualified_names` has the names for the user of those
    tools whose names for the model differ.
    """

    turn_id: str
    model: str
    prompt: Message
    started: float
    cell_id: str = ""
    node_id: str = ""
    parent_id: str = ""
    child_id: str = ""
    replayed: str = ""
    told_from: str = ""
    told_rounds: int = 0
    tools: tuple[str, ...] | None = None
    exposed: tuple[str, ...] | None = None
    qualified_names: dict[str, str] = field(default_factory=dict)
    kind: Literal["turn_started"] = "turn_started"


@dataclass(slots=True)
class TreeChanged:
    """The user changed the conversation tree; written before the change is applied, for the chat and no turn.

    `node_id` is the affected node (empty: the root), `turn_id` the affected version, if it concerns one.
    """

    op: TreeOp
    node_id: str
    turn_id: str = ""
    kind: Literal["tree_changed"] = "tree_changed"


@dataclass(slots=True)
class RequestStarted:
    """A request is about to be sent; rounds count from 1. `final` marks the request for a final reply without tools.

    If `given`, nothing is sent: the round reuses an earlier reply.
    """

    round: int
    host: str = ""
    final: bool = False
    given: bool = False
    kind: Literal["request_started"] = "request_started"


@dataclass(slots=True)
class ReplyFinished:
    """A reply ended; `complete` only if the provider's terminal signal was received."""

    round: int
    message: Message
    stop_reason: StopReason
    usage: Usage
    complete: bool
    seconds: float = 0.0
    finish_reason: str = ""
    explanation: str = ""
    kind: Literal["reply_finished"] = "reply_finished"


@dataclass(frozen=True, slots=True)
class ResolvedReference:
    """A resolved reference: its `name` with keys and slice as written, its type and shape, never its values.

    `summary` is `text` without the parts that may be long, such as the columns of a table.
    """

    name: str
    text: str
    summary: str = ""

    def __str__(self) -> str:
        return f"$VAR_REF{{{{{self.name}}}}}: {self.text}"


@dataclass(frozen=True, slots=True)
class ResolvedArgument:
    """An argument as the tool receives it: `text` is its JSON as written, `references` are those in it.

    If `is_reference`, the argument is the object of its only reference.
    """

    text: str
    references: tuple[ResolvedReference, ...] = ()
    is_reference: bool = False

    def __str__(self) -> str:
        references = "; ".join(map(str, self.references))
        return references if self.is_reference else f"{self.text} ({references})" if references else self.text


@dataclass(slots=True)
class CallReady:
    """A call was looked up, its references resolved and its arguments validated.

    `resolved` describes each argument as the tool receives it. `glances` are shown to the user only: the first rows
    (`columns`, `rows`) of the objects opened for reading. `edited` is as in `CallStarted`, for a call whose recorded
    outcome is reused. `qualified_name` is the tool's name for the user, if it differs, such as `server.tool`.
    """

    call_id: str
    name: str
    round: int
    arguments: str
    resolved: dict[str, ResolvedArgument] = field(default_factory=dict)
    repaired: tuple[str, ...] = ()
    glances: dict[str, dict[str, Any]] = field(default_factory=dict)
    edited: str = ""
    qualified_name: str = ""
    kind: Literal["call_ready"] = "call_ready"

    @property
    def display_name(self) -> str:
        """The tool's name for a person."""
        return self.qualified_name or self.name


@dataclass(frozen=True, slots=True)
class Difference:
    """One change since the question was shown; either text may be empty."""

    what: str
    before: str = ""
    after: str = ""


@dataclass(frozen=True, slots=True)
class RepeatedQuestion:
    """Why the approval question for a call is repeated.

    `changed`: the call or its objects changed, see `differences`. `unwatched`: changes cannot be detected, so the
    question is repeated right before the call runs. `invalid`: the user's arguments (`edited`, as JSON) do not match
    the schema, see `problem`.
    """

    reason: Literal["changed", "unwatched", "invalid"]
    differences: tuple[Difference, ...] = ()
    problem: str = ""
    edited: str = ""


@dataclass(slots=True)
class CallAsked:
    """An approval question was queued: may this call run, or may this result be sent to the model?

    `digest` identifies the content of the question; a decision carries it back. `shown` is what the user sees at the
    gate: the canonical arguments, or the text of the result. A `sensitive` question cannot be decided in bulk.
    `notice` is shown first, such as how the tool changed; `effect` describes what would change, such as a file's diff;
    `media` are the images of a result that the model would receive. `resolved` and `glances` are as in `CallReady`,
    but newer. `notes` are further lines for the user. `again` says why the question is repeated. An approval of these
    arguments may be remembered only if `can_remember_call`. `qualified_name` is as in `CallReady`.
    """

    call_id: str
    gate: Gate
    digest: str
    tool: str
    shown: str
    description: str = ""
    schema: dict[str, Any] = field(default_factory=dict)
    can_remember: bool = True
    sensitive: bool = False
    effect: str = ""
    media: tuple[Media, ...] = ()
    notice: str = ""
    resolved: dict[str, ResolvedArgument] = field(default_factory=dict)
    glances: dict[str, dict[str, Any]] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    again: RepeatedQuestion | None = None
    can_remember_call: bool = True
    qualified_name: str = ""
    kind: Literal["call_asked"] = "call_asked"

    @property
    def display_name(self) -> str:
        """The tool's name for a person."""
        return self.qualified_name or self.tool


@dataclass(slots=True)
class CallDecided:
    """The first decision for a question; `by` is its source (button, input, policy, script …)."""

    call_id: str
    gate: Gate
    digest: str
    verdict: Literal["approved", "denied", "released", "withheld"]
    by: str
    reason: str = ""
    edited: bool = False
    kind: Literal["call_decided"] = "call_decided"


@dataclass(slots=True)
class TurnParked:
    """The turn waits for an approval, and its cell ends; written before the cell ends.

    `digest` is the question that is denied if it has no decision by `expires`, in seconds since the epoch.
    """

    digest: str
    expires: float
    kind: Literal["turn_parked"] = "turn_parked"


@dataclass(slots=True)
class CallStarted:
    """A call is about to run; written before it does. `thread` says where it runs.

    `edited` is the JSON of the arguments if a user changed the model's, else empty. `resolved` describes the arguments
    if they differ from those of `CallReady`. The result of a `guarded` call may still be withheld, and with it the
    output of the call.
    """

    call_id: str
    started: float
    thread: str = ""
    edited: str = ""
    guarded: bool = False
    resolved: dict[str, ResolvedArgument] = field(default_factory=dict)
    kind: Literal["call_started"] = "call_started"


@dataclass(slots=True)
class CallProgress:
    """Progress or printed output of a running call."""

    call_id: str
    text: str
    fraction: float | None = None
    kind: Literal["call_progress"] = "call_progress"


@dataclass(slots=True)
class CallFinished:
    """The outcome of a call. `shown` is the text sent to the model, `preview` what the user sees if it differs.

    `traceback` says where the user's code failed; it is not sent to the model. `media` are images and sounds of the
    result, shown to the user only, not written to the journal or to a recording. `media_left_out` counts those that
    were too large or too many. `qualified_name` is as in `CallReady`.
    """

    call_id: str
    name: str
    round: int
    status: CallStatus
    shown: str
    preview: str = ""
    reason: str = ""
    reference: str = ""
    seconds: float = 0.0
    media: tuple[Media, ...] = ()
    media_left_out: int = 0
    traceback: str = ""
    qualified_name: str = ""
    kind: Literal["call_finished"] = "call_finished"

    @property
    def display_name(self) -> str:
        """The tool's name for a person."""
        return self.qualified_name or self.name


@dataclass(slots=True)
class MessageAppended:
    """A message was appended to the turn's chain."""

    message: Message
    kind: Literal["message_appended"] = "message_appended"


@dataclass(slots=True)
class Notice:
    """A message for the user; `topic` is its machine-readable subject."""

    text: str
    level: Literal["info", "warning", "error"] = "info"
    topic: NoticeTopic = ""
    kind: Literal["notice"] = "notice"


@dataclass(slots=True)
class ErrorRaised:
    """An error in one phase of the turn; `text` is one redacted line."""

    phase: Phase
    text: str
    error: str = ""
    kind: Literal["error_raised"] = "error_raised"


@dataclass(slots=True)
class TurnEnded:
    """The last event of a turn. `usage` is the sum over its requests, `seconds` its duration.

    `end_reason` says why it ended without a finished answer.
    """

    status: TurnStatus
    text: str
    usage: Usage
    rounds: int
    calls: int
    seconds: float
    error: str = ""
    end_reason: EndReason = ""
    kind: Literal["turn_ended"] = "turn_ended"


Event = (
    Delta | TurnStarted | TreeChanged | RequestStarted | ReplyFinished | CallReady | CallAsked | CallDecided
    | TurnParked | CallStarted | CallProgress | CallFinished | MessageAppended | Notice | ErrorRaised | TurnEnded
)  # fmt: skip

Emit = Callable[[Event], Awaitable[None]]
"""Emits an event; returns once the event is in the journal, and only then may the emitter act."""
