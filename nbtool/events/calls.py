"""The events of a tool call, from its request to its outcome."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from nbtool.audience import FREE, NESTED, OWN, PERSON, RUN, TEXT, TRACE, VIEW, unless
from nbtool.call_arguments import parse_arguments
from nbtool.messages import Media

CallStatus = Literal[
    "waiting", "running", "ok", "error", "denied", "withheld", "not_found", "invalid", "timed_out", "cancelled",
    "stopped", "not_run", "unknown",
]  # fmt: skip
Gate = Literal["run", "result"]

BY_ERROR = "error"
"""The `by` of a denial, or of a withheld result, because the approver failed or its answer does not fit.

Its `reason` is sent to the model and has no text of the error; its `fix` is the whole text, for the person.
"""

BY_NOBODY = "nobody"
"""The `by` of a denial, or of a withheld result, because nobody could be asked, or only those who may not decide."""

BY_NO_DECISION = frozenset((BY_NOBODY, BY_ERROR))
"""The `by` of denials, and of withheld results, that are nobody's decision."""

MAX_DISPLAY_CHARS = 100_000
"""Characters of a chart or a text that is shown as a notebook does; a larger one is shown as its text for the model."""

WHOLE_RESULT = "\n[Whole result: $VAR_REF{{{{{name}}}}}]"
"""The line after a complete result that can be passed on by reference; it is no part of the result."""


@dataclass(frozen=True, slots=True)
class ResolvedReference:
    """A resolved reference: its `name` with keys and slice as written, its type and shape, never its values.

    `summary` is `text` without the parts that may be long, such as the columns of a table.
    """

    name: str = field(metadata=TEXT)
    text: str = field(metadata=TEXT)
    summary: str = field(default="", metadata=TEXT)

    def __str__(self) -> str:
        return f"$VAR_REF{{{{{self.name}}}}}: {self.text}"


@dataclass(frozen=True, slots=True)
class ResolvedArgument:
    """An argument as the tool receives it: `text` is its JSON as written, `references` are those in it.

    If `is_reference`, the argument is the object of its only reference.
    """

    text: str = field(metadata=TEXT)
    references: tuple[ResolvedReference, ...] = field(default=(), metadata=NESTED)
    is_reference: bool = field(default=False, metadata=OWN)

    def __str__(self) -> str:
        references = "; ".join(map(str, self.references))
        return references if self.is_reference else f"{self.text} ({references})" if references else self.text


def resolve_arguments(arguments: str, described: Mapping[str, ResolvedArgument]) -> dict[str, ResolvedArgument]:
    """Return each argument as the tool receives it: as `described`, and the others as in the JSON of all."""
    written = parse_arguments(arguments)[0] or {}
    plain = {name: json.dumps(value, ensure_ascii=False) for name, value in written.items() if name not in described}
    texts = {name: described[name] if name in described else ResolvedArgument(plain[name]) for name in written}
    return {**texts, **described}


@dataclass(slots=True)
class CallReady:
    """A call was looked up, its references resolved and its arguments validated.

    `described` are the arguments of which `arguments` does not say what the tool receives: those with references, and
    the defaults that were filled in. `glances` are shown to the user only: the first rows
    (`columns`, `rows`) of the objects opened for reading. `edited` is as in `CallStarted`, for a call whose recorded
    outcome is reused. `qualified_name` is the tool's name for the user, if it differs, such as `server.tool`. `inside`
    is the call whose code made this one, if one did. A `forwarded` one is of another chat, which a tool of this turn
    used: it is shown with the turn, and is none of its calls.
    """

    call_id: str = field(metadata=OWN)
    name: str = field(metadata=TEXT)
    round: int = field(metadata=OWN)
    arguments: str = field(metadata=TEXT)
    described: dict[str, ResolvedArgument] = field(default_factory=dict, metadata=NESTED)
    repaired: tuple[str, ...] = field(default=(), metadata=TEXT)
    glances: dict[str, dict[str, Any]] = field(default_factory=dict, metadata=PERSON)
    edited: str = field(default="", metadata=TEXT)
    qualified_name: str = field(default="", metadata=TEXT)
    inside: str = field(default="", metadata=OWN)
    forwarded: bool = field(default=False, metadata=OWN)
    kind: Literal["call_ready"] = field(default="call_ready", metadata=OWN)

    @property
    def display_name(self) -> str:
        """The tool's name for a person."""
        return self.qualified_name or self.name

    @property
    def resolved(self) -> dict[str, ResolvedArgument]:
        """Each argument as the tool receives it."""
        return resolve_arguments(self.edited or self.arguments, self.described)


@dataclass(frozen=True, slots=True)
class Difference:
    """One change since the question was shown; either text may be empty.

    If `is_content`, the texts are values of the notebook: shown to the user only, and not written to the journal.
    """

    what: str = field(metadata=TEXT)
    before: str = field(default="", metadata=unless(TEXT, "is_content", True))
    after: str = field(default="", metadata=unless(TEXT, "is_content", True))
    is_content: bool = field(default=False, metadata=OWN)


@dataclass(frozen=True, slots=True)
class RepeatedQuestion:
    """Why the approval question for a call is repeated.

    `changed`: the call or its objects changed, see `differences`. `unwatched`: changes cannot be detected, so the
    question is repeated right before the call runs. `invalid`: the user's arguments (`edited`, as JSON) do not match
    the schema, see `problem`.
    """

    reason: Literal["changed", "unwatched", "invalid"] = field(metadata=OWN)
    differences: tuple[Difference, ...] = field(default=(), metadata=NESTED)
    problem: str = field(default="", metadata=TEXT)
    edited: str = field(default="", metadata=TEXT)


@dataclass(frozen=True, slots=True)
class CallAsked:
    """An approval question was queued: may this call run, or may this result be sent to the model?

    `digest` identifies the content of the question; a decision carries it back. `shown` is what the user sees at the
    gate: the canonical arguments, or the text of the result. A `sensitive` question cannot be decided in bulk.
    `notice` is shown first, such as how the tool changed; `effect` describes what would change, such as a file's diff;
    `media` are the images of a result that the model would receive. `described` and `glances` are as in `CallReady`,
    but newer. `notes` are further lines for the user. `again` says why the question is repeated. An approval of these
    arguments may be remembered only if `can_remember_call`. `qualified_name` is as in `CallReady`. If it `is_form`, a
    server asks for the arguments, and an approval sends them. `recipient` is who receives the result, if it is not the
    model.
    """

    call_id: str = field(metadata=OWN)
    gate: Gate = field(metadata=OWN)
    digest: str = field(metadata=RUN)
    tool: str = field(metadata=TEXT)
    shown: str = field(metadata=unless(TEXT, "gate", "result"))
    description: str = field(default="", metadata=TEXT)
    schema: dict[str, Any] = field(default_factory=dict, metadata=FREE)
    can_remember: bool = field(default=True, metadata=OWN)
    sensitive: bool = field(default=False, metadata=OWN)
    effect: str = field(default="", metadata=PERSON)
    media: tuple[Media, ...] = field(default=(), metadata=PERSON)
    notice: str = field(default="", metadata=TEXT)
    described: dict[str, ResolvedArgument] = field(default_factory=dict, metadata=NESTED)
    glances: dict[str, dict[str, Any]] = field(default_factory=dict, metadata=PERSON)
    notes: tuple[str, ...] = field(default=(), metadata=TEXT)
    again: RepeatedQuestion | None = field(default=None, metadata=NESTED)
    can_remember_call: bool = field(default=True, metadata=OWN)
    qualified_name: str = field(default="", metadata=TEXT)
    is_form: bool = field(default=False, metadata=OWN)
    recipient: str = field(default="", metadata=TEXT)
    kind: Literal["call_asked"] = field(default="call_asked", metadata=OWN)

    @property
    def display_name(self) -> str:
        """The tool's name for a person."""
        return self.qualified_name or self.tool

    @property
    def resolved(self) -> dict[str, ResolvedArgument]:
        """Each argument as the tool would receive it; of a question about a result only the described ones."""
        return resolve_arguments(self.shown if self.gate == "run" else "", self.described)


@dataclass(slots=True)
class CallDecided:
    """The first decision for a question; `by` is its source (button, input, policy, script …).

    `remember` is what the approval holds for from now on beside this call, if it can be remembered: these arguments, or
    the tool.
    """

    call_id: str = field(metadata=OWN)
    gate: Gate = field(metadata=OWN)
    digest: str = field(metadata=RUN)
    verdict: Literal["approved", "denied", "released", "withheld"] = field(metadata=OWN)
    by: str = field(metadata=TEXT)
    reason: str = field(default="", metadata=TEXT)
    edited: bool = field(default=False, metadata=OWN)
    remember: Literal["", "call", "tool"] = field(default="", metadata=OWN)
    kind: Literal["call_decided"] = field(default="call_decided", metadata=OWN)


@dataclass(slots=True)
class CallStarted:
    """A call is about to run; written before it does. `thread` says where it runs.

    `edited` is the JSON of the arguments if a user changed the model's, else empty. `described` are those of
    `CallReady` that changed; of edited arguments it is all. The result of a `guarded` call may still be withheld, and
    with it the output of the call, and what calls inside it take and return. It `announces` the calls after it that ask
    nothing and only wait for their turn: an `announced` start is on the disk since then, and waits for nothing.
    """

    call_id: str = field(metadata=OWN)
    started: float = field(metadata=RUN)
    thread: str = field(default="", metadata=RUN)
    edited: str = field(default="", metadata=TEXT)
    guarded: bool = field(default=False, metadata=OWN)
    described: dict[str, ResolvedArgument] = field(default_factory=dict, metadata=NESTED)
    announces: tuple[str, ...] = field(default=(), metadata=OWN)
    announced: bool = field(default=False, metadata=OWN)
    kind: Literal["call_started"] = field(default="call_started", metadata=OWN)


@dataclass(slots=True)
class CallProgress:
    """Progress or printed output of a running call.

    The text of a `guarded` call is for the person only: its result, or that of a call around it, may still be withheld.
    """

    call_id: str = field(metadata=OWN)
    text: str = field(metadata=unless(TEXT, "guarded", True))
    fraction: float | None = field(default=None, metadata=OWN)
    guarded: bool = field(default=False, metadata=OWN)
    kind: Literal["call_progress"] = field(default="call_progress", metadata=OWN)


@dataclass(slots=True)
class CallFinished:
    """The outcome of a call. `shown` is the text sent to the model.

    `traceback` says where the user's code failed; it is not sent to the model. `media` are images and sounds of the
    result, for the view: not written to the journal or to a recording here (images that the model got are in its
    message). `media_left_out` counts those that were too large or too many, `media_unsaved` those that the journal
    does not have. `qualified_name` is as in `CallReady`. `whole` describes the whole result if `shown` has a part
    of its text. `table` has the first rows of a result that is a table, as `glances` of `CallReady`: shown to the
    user only, and not written to the journal or to a recording, and neither is `display`, the `mime` type and
    `text` of what a notebook would show for the result. If it `is_described`, the model got a description in place
    of the result; `seen` is what the user sees of one that is passed by reference: its `text`, and its `table` or
    `display`, if it has one. `forwarded` and `inside` are as in `CallReady`; `arguments` are those of a call inside
    another one that was never ready: no other event has them.
    """

    call_id: str = field(metadata=OWN)
    name: str = field(metadata=TEXT)
    round: int = field(metadata=OWN)
    status: CallStatus = field(metadata=OWN)
    shown: str = field(metadata=TEXT)
    reason: str = field(default="", metadata=TEXT)
    reference: str = field(default="", metadata=TEXT)
    seconds: float = field(default=0.0, metadata=RUN)
    media: tuple[Media, ...] = field(default=(), metadata=VIEW)
    media_left_out: int = field(default=0, metadata=OWN)
    media_unsaved: int = field(default=0, metadata=RUN)
    traceback: str = field(default="", metadata=TRACE)
    qualified_name: str = field(default="", metadata=TEXT)
    whole: str = field(default="", metadata=TEXT)
    table: dict[str, Any] = field(default_factory=dict, metadata=VIEW)
    display: dict[str, str] = field(default_factory=dict, metadata=VIEW)
    seen: dict[str, Any] = field(default_factory=dict, metadata=PERSON)
    is_described: bool = field(default=False, metadata=OWN)
    forwarded: bool = field(default=False, metadata=OWN)
    inside: str = field(default="", metadata=OWN)
    arguments: str = field(default="", metadata=TEXT)
    kind: Literal["call_finished"] = field(default="call_finished", metadata=OWN)

    @property
    def display_name(self) -> str:
        """The tool's name for a person."""
        return self.qualified_name or self.name
