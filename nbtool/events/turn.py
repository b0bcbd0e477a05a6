"""The events of a turn as a whole: its requests and replies, its messages and notices, its end."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from nbtool.events.deltas import StopReason
from nbtool.messages import Message, Usage

EndReason = Literal[
    "", "length", "refused", "filtered", "broken_off", "thinking_only", "provider_action", "empty", "too_many_calls",
    "rounds", "calls", "tokens", "cost", "seconds", "repetition", "interrupted",
]  # fmt: skip
"""Why a turn ended without a finished answer of the model; empty if it has one, or if an error explains it.

The first four are stops of the last reply; `broken_off` is a stop in error, or for an unknown reason. `thinking_only`
and `provider_action` (an approval or a computer action that the provider requests from the client) are what the reply
held instead of an answer; `too_many_calls`: it was not read to its end, and none of them ran. `interrupted`: the
kernel ended before the turn did; the others are limits of the turn.
"""

NoticeTopic = EndReason | Literal["no_stop_reason", "imported", "malformed_call", "wrong_answer", "evicted"]
"""The machine-readable topic of a notice.

`imported`: the turn was read from a file. `malformed_call`: a text that looks like a call was hidden.
"""

TurnStatus = Literal["running", "waiting", "completed", "cancelled", "error", "timeout", "parked"]
TreeOp = Literal["hide", "show", "pin", "unpin", "delete", "restore", "switch", "branch"]
Phase = Literal["arguments", "tool", "request", "stream", "final_reply", "hook"]


@dataclass(slots=True)
class TurnStarted:
    """A turn started. `prompt` is the user's message; `started` is seconds since the epoch.

    `node_id` is the node of the conversation tree that the turn is a version of, `parent_id` its parent, and
    `child_id`, if it was inserted between two nodes, its new child. `replayed` is the date (ISO 8601) of the recording
    that it is replayed from; empty if a model is called. `told_from` is the version whose first `told_rounds` rounds
    are carried over. `tools` and `exposed` are the names of the chat's tools and of the notebook's objects that
    references can point to; None if they were not recorded. `qualified_names` has the names for the user of those
    tools whose names for the model differ. `is_rerun`: the turn was run again as it is, for another version.
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
    is_rerun: bool = False
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
    """A request is about to be sent; rounds count from 1. `final` marks the request for a final reply without calls.

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


@dataclass(slots=True)
class MessageAppended:
    """A message was appended to the turn's chain."""

    message: Message
    kind: Literal["message_appended"] = "message_appended"


@dataclass(slots=True)
class TurnParked:
    """The turn waits for an approval, and its cell ends; written before the cell ends.

    `digest` is the question that is denied if it has no decision by `expires`, in seconds since the epoch.
    """

    digest: str
    expires: float
    kind: Literal["turn_parked"] = "turn_parked"


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

    `waited` are the seconds of it in which the turn only waited for a person's decision.
    `end_reason` says why it ended without a finished answer. `error_phase` is the phase of the turn in which its
    only error was raised; empty if it has several or none.
    """

    status: TurnStatus
    text: str
    usage: Usage
    rounds: int
    calls: int
    seconds: float
    error: str = ""
    end_reason: EndReason = ""
    error_phase: Literal["", Phase] = ""
    waited: float = 0.0
    kind: Literal["turn_ended"] = "turn_ended"
