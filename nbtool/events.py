"""What happens: the deltas of a reply, and the events of a turn.

A turn is one stream of events. Between `RequestStarted` and `ReplyFinished` stand the deltas of that reply,
the very objects that the wire made: nothing is built twice per token. Every event is a plain value that the
journal can write as JSON (see `event_json`); whoever folds events (the view, the export) needs nothing else.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any, Literal, get_args

from nbtool.messages import Media, Message, Usage

StopReason = Literal["end", "tools", "length", "refused", "filtered", "action", "calls", "paused", "error", "unknown"]
"""Why a reply stopped, in one vocabulary; the provider's own word stands beside it.

After `action` the provider waits for something that only a client could do (an approval, a click in a browser). `calls`
is nbtool's own: the reply asked for more calls, or wrote longer arguments, than one reply may, and was not read any
further.
"""

EndReason = Literal[
    "", "length", "refused", "filtered", "broken_off", "thinking_only", "provider_action", "empty", "rounds", "calls",
    "tokens", "cost", "seconds", "repetition", "interrupted",
]  # fmt: skip
"""Why a turn ended without a finished answer of the model; empty where it has one, or where an error says it.

The first four are stops of the last reply; `broken_off` is one in error, or for a reason that is not known.
`thinking_only` and `provider_action` (an approval or a computer action that the provider asks the client for) name what
it held in place of an answer. After `interrupted` its kernel ended before it did; the others are limits of the turn.
"""

NoticeTopic = EndReason | Literal["no_stop_reason", "imported"]
"""What a notice is about, for programs: its text is for people. `imported`: the turn was read from a file."""

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
    """Prose came in; `is_new` where a further text of the same reply begins, a paragraph of its own."""

    text: str
    is_new: bool = False
    kind: Literal["text_delta"] = "text_delta"


@dataclass(slots=True)
class ThinkingDelta:
    """Thinking came in; `is_new` where a further thought of the same reply begins."""

    text: str
    is_new: bool = False
    kind: Literal["thinking_delta"] = "thinking_delta"


@dataclass(slots=True)
class RefusalDelta:
    """A piece of a refusal came in."""

    text: str
    kind: Literal["refusal_delta"] = "refusal_delta"


@dataclass(slots=True)
class MediaDelta:
    """An image, a sound or a file of the reply came in, whole."""

    media: Media
    kind: Literal["media_delta"] = "media_delta"


@dataclass(slots=True)
class CallDelta:
    """A fragment of a call came in.

    `key` tells the calls of one reply apart. The first non-empty `id` and `name` hold; `arguments` is
    appended, or, when `final`, replaces what came before if it is not empty. `call_id` is filled in by the
    reply builder, so that listeners know the call by our id from its first fragment on.
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
    """A call is being written as text and held back until it is whole (`size` characters so far)."""

    size: int
    kind: Literal["call_held"] = "call_held"


@dataclass(slots=True)
class UsageDelta:
    """What the request costs so far; each one replaces the one before."""

    usage: Usage
    kind: Literal["usage_delta"] = "usage_delta"


@dataclass(slots=True)
class ReplyEnd:
    """The provider's terminal signal: only this completes a reply.

    `finish_reason` is the provider's own word, `explanation` what it says about it (why it
    refused, or what it filtered), `native` its own form of the message (see `messages.Native`).
    """

    stop_reason: StopReason
    finish_reason: str = ""
    native: Any = None
    explanation: str = ""
    kind: Literal["reply_end"] = "reply_end"


@dataclass(slots=True)
class Retrying:
    """Nothing had been shown yet, and the request is made again after `seconds`."""

    attempt: int
    seconds: float
    reason: str
    kind: Literal["retrying"] = "retrying"


Delta = (
    TextDelta | ThinkingDelta | RefusalDelta | MediaDelta | CallDelta | CallPending | UsageDelta | ReplyEnd | Retrying
)  # fmt: skip
DELTAS = frozenset(get_args(Delta))
"""The types of all deltas; `type(event) in DELTAS` is asked once per token."""


# --- events: what happens in a turn ---------------------------------------------------------------------------


@dataclass(slots=True)
class TurnStarted:
    """A turn began. `prompt` is what the person said; `started` is seconds since the epoch.

    `node_id` is the place in the conversation that the turn is a version of, `parent_id` the place before it, and
    `child_id`, where it was put between two, the place that follows it from now on. `replayed` is the date (ISO 8601)
    of the recording that it is told from; empty where a model is asked. `told_from` is the version whose first
    `told_rounds` rounds this one tells before anything else. `tools` and `exposed` are the names of the chat's tools
    and of the notebook's objects that references can point to; None where they were not written down.
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
    kind: Literal["turn_started"] = "turn_started"


@dataclass(slots=True)
class TreeChanged:
    """The person changed the conversation tree; written before it is done, under the chat and no turn.

    `node_id` is the place that it is about (empty: the very beginning), `turn_id` the version where it is about one.
    """

    op: TreeOp
    node_id: str
    turn_id: str = ""
    kind: Literal["tree_changed"] = "tree_changed"


@dataclass(slots=True)
class RequestStarted:
    """A request is about to leave; rounds count from 1. `final` marks the one that asks for a last word.

    Where it is `given`, nothing leaves: the reply of this round is one that was given before.
    """

    round: int
    host: str = ""
    final: bool = False
    given: bool = False
    kind: Literal["request_started"] = "request_started"


@dataclass(slots=True)
class ReplyFinished:
    """A reply ended; `complete` only where the provider's terminal signal was seen."""

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
    """What a reference stands for: its `name` with keys and slice as written, its type and shape, never its values.

    `summary` is the `text` without what may be long, the columns of a table.
    """

    name: str
    text: str
    summary: str = ""

    def __str__(self) -> str:
        return f"$VAR_REF{{{{{self.name}}}}}: {self.text}"


@dataclass(frozen=True, slots=True)
class ResolvedArgument:
    """An argument as it will run: `text` is its JSON as written, `references` are those in it.

    One that `is_reference` is the object of its only reference, and nothing else.
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

    `resolved` describes each argument as it will run. `glances` are for the person alone: the first rows (`columns`,
    `rows`) of what was opened for reading. `edited` is as in `CallStarted`, for a call that is told of and does not
    run.
    """

    call_id: str
    name: str
    round: int
    arguments: str
    resolved: dict[str, ResolvedArgument] = field(default_factory=dict)
    repaired: tuple[str, ...] = ()
    glances: dict[str, dict[str, Any]] = field(default_factory=dict)
    edited: str = ""
    kind: Literal["call_ready"] = "call_ready"


@dataclass(frozen=True, slots=True)
class Difference:
    """One thing that is not what it was when it was shown; either text may be empty."""

    what: str
    before: str = ""
    after: str = ""


@dataclass(frozen=True, slots=True)
class RepeatedQuestion:
    """Why a call is asked about once more.

    `changed`: something is different, as `differences` say. `unwatched`: it could have changed unnoticed, so it is
    asked about right before it runs. `invalid`: the person's own arguments (`edited`, as JSON) do not fit, and
    `problem` says why.
    """

    reason: Literal["changed", "unwatched", "invalid"]
    differences: tuple[Difference, ...] = ()
    problem: str = ""
    edited: str = ""


@dataclass(slots=True)
class CallAsked:
    """A question was laid on the desk: may this call run, or may this result reach the model?

    `digest` names exactly what is asked about; a decision carries it back. `shown` is what the person sees
    at the gate: the canonical arguments, or the text of the result. A `sensitive` one is decided by itself.
    `notice` is what the person has to know first, such as how the tool changed; `effect` tells what would change, such
    as a file's diff; `media` are the images of a result that a model would see. `resolved` and `glances` are as in
    `CallReady`, and newer. `notes` are lines that the person should know. `again` says why the call is asked about once
    more. An approval of these very arguments may be remembered only where `can_remember_call`.
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
    kind: Literal["call_asked"] = "call_asked"


@dataclass(slots=True)
class CallDecided:
    """The first decision for a question; `by` says whose it was (button, input, policy, script …)."""

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
    """The turn waits for a person, and no cell waits with it any more; written before the cell ends.

    `digest` is the question that is refused when nobody has answered by `expires`, in seconds since the epoch.
    """

    digest: str
    expires: float
    kind: Literal["turn_parked"] = "turn_parked"


@dataclass(slots=True)
class CallStarted:
    """A call is about to run; written before it does. `thread` says where it runs.

    `edited` is the JSON of the arguments that a person put in place of the model's; empty where nobody did. `resolved`
    describes the arguments that run, where they are not those of `CallReady`. The result of a `guarded` call may yet be
    withheld, and with it what the call prints.
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
    """A running call says how far it is, or prints."""

    call_id: str
    text: str
    fraction: float | None = None
    kind: Literal["call_progress"] = "call_progress"


@dataclass(slots=True)
class CallFinished:
    """A call got its one outcome. `shown` is the text that the model reads, `preview` what the person sees if not that.

    `traceback` says where the person's own code failed; no model is told it.
    `media` are images and sounds of the result, for the person's eyes and ears alone: no journal and no recording
    keeps them. `media_left_out` counts those that were too large or too many.
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
    kind: Literal["call_finished"] = "call_finished"


@dataclass(slots=True)
class MessageAppended:
    """A message joined the turn's chain."""

    message: Message
    kind: Literal["message_appended"] = "message_appended"


@dataclass(slots=True)
class Notice:
    """Something the person should know; `topic` says what it is about where a program acts on it."""

    text: str
    level: Literal["info", "warning", "error"] = "info"
    topic: NoticeTopic = ""
    kind: Literal["notice"] = "notice"


@dataclass(slots=True)
class ErrorRaised:
    """Something failed, and in which phase; `text` is one line, redacted."""

    phase: Phase
    text: str
    error: str = ""
    kind: Literal["error_raised"] = "error_raised"


@dataclass(slots=True)
class TurnEnded:
    """The last event of a turn. `usage` is the sum over its requests, `seconds` its whole length.

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
"""The one awaited door: returns when the event is journalled, and only then may the emitter act."""
