"""The events of a tool call, from its request to its outcome."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal

from nbtool.messages import Media

CallStatus = Literal[
    "waiting", "running", "ok", "error", "denied", "withheld", "not_found", "invalid", "timed_out", "cancelled",
    "stopped", "not_run", "unknown",
]  # fmt: skip
Gate = Literal["run", "result"]


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
    """One change since the question was shown; either text may be empty.

    If `is_content`, the texts are values of the notebook: shown to the user only, and not written to the journal.
    """

    what: str
    before: str = ""
    after: str = ""
    is_content: bool = False

    def without_content(self) -> Difference:
        """Return the change without values of the notebook."""
        return Difference(self.what) if self.is_content else self


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

    def without_content(self) -> RepeatedQuestion:
        """Return the reason without values of the notebook."""
        differences = tuple(difference.without_content() for difference in self.differences)
        return RepeatedQuestion(self.reason, differences, self.problem, self.edited)


@dataclass(slots=True)
class CallAsked:
    """An approval question was queued: may this call run, or may this result be sent to the model?

    `digest` identifies the content of the question; a decision carries it back. `shown` is what the user sees at the
    gate: the canonical arguments, or the text of the result. A `sensitive` question cannot be decided in bulk.
    `notice` is shown first, such as how the tool changed; `effect` describes what would change, such as a file's diff;
    `media` are the images of a result that the model would receive. `resolved` and `glances` are as in `CallReady`,
    but newer. `notes` are further lines for the user. `again` says why the question is repeated. An approval of these
    arguments may be remembered only if `can_remember_call`. `qualified_name` is as in `CallReady`. If it `is_form`, a
    server asks for the arguments, and an approval sends them. `recipient` is who receives the result, if it is not the
    model.
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
    is_form: bool = False
    recipient: str = ""
    kind: Literal["call_asked"] = "call_asked"

    @property
    def display_name(self) -> str:
        """The tool's name for a person."""
        return self.qualified_name or self.tool


@dataclass(slots=True)
class CallDecided:
    """The first decision for a question; `by` is its source (button, input, policy, script …).

    `remember` is what the approval holds for from now on beside this call, if it can be remembered: these arguments, or
    the tool.
    """

    call_id: str
    gate: Gate
    digest: str
    verdict: Literal["approved", "denied", "released", "withheld"]
    by: str
    reason: str = ""
    edited: bool = False
    remember: Literal["", "call", "tool"] = ""
    kind: Literal["call_decided"] = "call_decided"


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
    were too large or too many, `media_unsaved` those that the journal does not have. `qualified_name` is as in
    `CallReady`. `whole` describes the whole result if `shown` has
    a part of its text. `table` has the first rows of a result that is a table, as `glances` of `CallReady`: shown to
    the user only, and not written to the journal or to a recording.
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
    media_unsaved: int = 0
    traceback: str = ""
    qualified_name: str = ""
    whole: str = ""
    table: dict[str, Any] = field(default_factory=dict)
    kind: Literal["call_finished"] = "call_finished"

    @property
    def display_name(self) -> str:
        """The tool's name for a person."""
        return self.qualified_name or self.name
