"""The events of a turn as a whole: its requests and replies, its messages and notices, its end."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from nbtool.audience import FREE, NESTED, OWN, RUN, TEXT, unless
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

NoticeTopic = (
    EndReason
    | Literal["no_stop_reason", "imported", "malformed_call", "wrong_answer", "evicted", "aside", "unsent", "request"]
)
"""The machine-readable topic of a notice.

`unsent`: what the person added, and the model did not get. `imported`: the turn was read from a file.
`malformed_call`: a text that looks like a call was hidden.
`aside`: it is about the cell and the notebook, not about the answer.
`request`: it is about what is sent, and to whom, so it is not of a turn that is replayed.
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
    tools whose names for the model differ. `is_rerun`: the turn was run again as it is, for another version. A
    `guarded` turn runs inside a call whose result may still be withheld.
    """

    turn_id: str = field(metadata=RUN)
    model: str = field(metadata=TEXT)
    prompt: Message = field(metadata=NESTED)
    started: float = field(metadata=RUN)
    cell_id: str = field(default="", metadata=RUN)
    node_id: str = field(default="", metadata=RUN)
    parent_id: str = field(default="", metadata=RUN)
    child_id: str = field(default="", metadata=RUN)
    replayed: str = field(default="", metadata=RUN)
    told_from: str = field(default="", metadata=RUN)
    told_rounds: int = field(default=0, metadata=OWN)
    tools: tuple[str, ...] | None = field(default=None, metadata=TEXT)
    exposed: tuple[str, ...] | None = field(default=None, metadata=TEXT)
    qualified_names: dict[str, str] = field(default_factory=dict, metadata=FREE)
    is_rerun: bool = field(default=False, metadata=OWN)
    guarded: bool = field(default=False, metadata=OWN)
    kind: Literal["turn_started"] = field(default="turn_started", metadata=OWN)


@dataclass(slots=True)
class TreeChanged:
    """The user changed the conversation tree; written before the change is applied, for the chat and no turn.

    `node_id` is the affected node (empty: the root), `turn_id` the affected version, if it concerns one.
    """

    op: TreeOp = field(metadata=OWN)
    node_id: str = field(metadata=RUN)
    turn_id: str = field(default="", metadata=RUN)
    kind: Literal["tree_changed"] = field(default="tree_changed", metadata=OWN)


@dataclass(slots=True)
class RequestStarted:
    """A request is about to be sent; rounds count from 1. `final` marks the request for a final reply without calls.

    If `given`, nothing is sent: the round reuses an earlier reply.
    """

    round: int = field(metadata=OWN)
    host: str = field(default="", metadata=RUN)
    final: bool = field(default=False, metadata=OWN)
    given: bool = field(default=False, metadata=OWN)
    kind: Literal["request_started"] = field(default="request_started", metadata=OWN)


@dataclass(slots=True)
class ReplyFinished:
    """A reply ended; `complete` only if the provider's terminal signal was received."""

    round: int = field(metadata=OWN)
    message: Message = field(metadata=NESTED)
    stop_reason: StopReason = field(metadata=OWN)
    usage: Usage = field(metadata=NESTED)
    complete: bool = field(metadata=OWN)
    seconds: float = field(default=0.0, metadata=RUN)
    finish_reason: str = field(default="", metadata=TEXT)
    explanation: str = field(default="", metadata=TEXT)
    kind: Literal["reply_finished"] = field(default="reply_finished", metadata=OWN)


@dataclass(slots=True)
class MessageAppended:
    """A message was appended to the turn's chain; None stands for the reply that has just finished, as it is."""

    message: Message | None = field(default=None, metadata=NESTED)
    kind: Literal["message_appended"] = field(default="message_appended", metadata=OWN)


@dataclass(slots=True)
class TurnParked:
    """The turn waits for an approval, and its cell ends; written before the cell ends.

    `digest` is the question that is denied if it has no decision by `expires`, in seconds since the epoch.
    """

    digest: str = field(metadata=RUN)
    expires: float = field(metadata=RUN)
    kind: Literal["turn_parked"] = field(default="turn_parked", metadata=OWN)


@dataclass(slots=True)
class Notice:
    """A message for the user; `topic` is its machine-readable subject."""

    text: str = field(metadata=unless(TEXT, "topic", "wrong_answer", "told"))
    level: Literal["info", "warning", "error"] = field(default="info", metadata=OWN)
    topic: NoticeTopic = field(default="", metadata=OWN)
    kind: Literal["notice"] = field(default="notice", metadata=OWN)


@dataclass(slots=True)
class ErrorRaised:
    """An error in one phase of the turn; `text` is one redacted line."""

    phase: Phase = field(metadata=OWN)
    text: str = field(metadata=TEXT)
    error: str = field(default="", metadata=TEXT)
    kind: Literal["error_raised"] = field(default="error_raised", metadata=OWN)


@dataclass(slots=True)
class TurnEnded:
    """The last event of a turn. `usage` is the sum over its requests, `seconds` its duration.

    `text` is the answer if it is another one than that of the last reply with text, such as one that was joined. The
    seconds in which the turn waited for a page that would show a question do not count. `waited` are the seconds of it
    in which the turn only waited for a person's decision. `end_reason` says why it ended without a finished answer.
    `error_phase` is the phase of the turn in which its only error was raised; empty if it has several or none.
    """

    status: TurnStatus = field(metadata=OWN)
    text: str = field(metadata=TEXT)
    usage: Usage = field(metadata=NESTED)
    rounds: int = field(metadata=OWN)
    calls: int = field(metadata=OWN)
    seconds: float = field(metadata=RUN)
    error: str = field(default="", metadata=TEXT)
    end_reason: EndReason = field(default="", metadata=OWN)
    error_phase: Literal["", Phase] = field(default="", metadata=OWN)
    waited: float = field(default=0.0, metadata=RUN)
    kind: Literal["turn_ended"] = field(default="turn_ended", metadata=OWN)
