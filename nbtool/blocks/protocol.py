"""The shapes of a turn's document and of the patches that change it.

They cross to the page as JSON and lie in saved notebooks: a closed set of keys, versioned by `v`. `protocol.ts` of
the page mirrors this module.
"""

from __future__ import annotations

from typing import Any, Literal, NotRequired, TypedDict

from nbtool.events import CallStatus, EndReason, Gate, TurnStatus

VERSION: Literal[1] = 1

CallState = Literal["writing", "ready"] | CallStatus
"""A call's status, and what comes before: its arguments are being written; it is looked up and about to run."""

TextState = Literal["open", "whole", "cut"]
"""Still growing; ended by the provider's own word; broken off."""

OmittedChars = dict[str, int]
"""For each text that was too long to show: how many characters were left out."""


class QuestionData(TypedDict):
    """What a person is asked at a gate, and the digest that a decision must carry back.

    `notice` is what the person has to know first, such as how the tool changed; `effect` tells what would change, such
    as a file's diff, where the tool can tell; `media` are the images of a result.
    """

    gate: Gate
    digest: str
    tool: str
    shown: str
    description: str
    schema: dict[str, Any]
    can_remember: bool
    sensitive: bool
    notice: NotRequired[str]
    effect: NotRequired[str]
    media: NotRequired[list[MediaData]]
    notes: NotRequired[list[str]]
    again: NotRequired[ReaskData]
    can_remember_call: NotRequired[bool]


class DifferenceData(TypedDict):
    """One thing that is not what it was when it was shown."""

    what: str
    before: str
    after: str


class ReaskData(TypedDict):
    """Why a call is asked about once more; see `RepeatedQuestion`."""

    reason: Literal["changed", "unwatched", "invalid"]
    differences: list[DifferenceData]
    problem: str
    edited: str


ReaskReason = Literal["changed", "unwatched", "invalid"]
"""Why a call is asked about again."""


class NotCounted(TypedDict):
    """Why a decision did not count; `problem` is what was wrong with the arguments that a person put in."""

    reason: ReaskReason
    problem: str


class DecisionData(TypedDict):
    """What was decided at a gate, and by whom; `again` says why it did not count and the call was asked about again."""

    gate: Gate
    digest: str
    verdict: Literal["approved", "denied", "released", "withheld"]
    by: str
    reason: str
    edited: bool
    again: NotRequired[NotCounted]


class ProseBlock(TypedDict):
    """Prose of the model: its reply, its thinking, or its refusal."""

    id: str
    kind: Literal["text", "thinking"]
    text: str
    refusal: bool
    state: TextState
    more: OmittedChars


class TablePreview(TypedDict):
    """The first rows of something that a reference stood for, as texts; only of what the person opened for reading.

    `more_rows` and `more_columns` count those that are not shown.
    """

    columns: list[str]
    rows: list[list[str]]
    more_rows: NotRequired[int]
    more_columns: NotRequired[int]


class MediaData(TypedDict):
    """An image, a sound or a file of a tool or an attachment; `key` names its bytes, `size` counts them.

    `data` holds them in base64, in what a notebook keeps.
    """

    key: str
    mime: str
    name: str
    size: int
    data: NotRequired[str]


class ResolvedReferenceShape(TypedDict):
    """What a reference stands for; see `nbtool.events.ResolvedReference`."""

    name: str
    text: str
    summary: str


class ResolvedShape(TypedDict):
    """An argument as it will run; see `nbtool.events.ResolvedArgument`."""

    text: str
    references: list[ResolvedReferenceShape]
    is_reference: bool


class CallBlock(TypedDict):
    """One call from its first character to its outcome; `id` is its `call_id`.

    `shown` is what the model read, where the person sees more; `glances` holds the first rows of what the references
    stood for, by their names in `resolved`; `media` are the images and sounds of the result, but for `media_left_out`;
    `traceback` says where the person's own code failed. `arguments` are those that run; `asked_arguments` those that
    the model asked for, where a person put others in their place.
    """

    id: str
    kind: Literal["call"]
    call_id: str
    name: str
    round: int
    arguments: str
    resolved: dict[str, ResolvedShape]
    repaired: list[str]
    state: CallState
    question: QuestionData | None
    decisions: list[DecisionData]
    progress: str
    fraction: float | None
    result: str
    reason: str
    reference: str
    started: float | None
    seconds: float | None
    more: OmittedChars
    shown: NotRequired[str]
    glances: NotRequired[dict[str, TablePreview]]
    media: NotRequired[list[MediaData]]
    media_left_out: NotRequired[int]
    traceback: NotRequired[str]
    asked_arguments: NotRequired[str]


class NoticeBlock(TypedDict):
    """Something the person should know."""

    id: str
    kind: Literal["notice"]
    text: str
    level: Literal["info", "warning", "error"]


Block = ProseBlock | CallBlock | NoticeBlock


class UsageData(TypedDict):
    """Tokens of a turn so far; `cost` in US dollars where it is known."""

    input_tokens: int
    output_tokens: int
    cached_tokens: int
    thinking_tokens: int
    cost: float | None


class Head(TypedDict):
    """What is said of the turn as a whole; `activity` is one line of what happens now, or empty.

    Where it is known: `why` this model, the name of the `chat` unless it is the main one, the date of the recording
    that the turn is `replayed` from, which of how many `versions` of its place it is and which `turns` these are, what
    was `attached` to its prompt, the `end_reason` of a turn without a finished answer (see `EndReason`), whether it is
    `cut` here, and `acts`: what the page may offer to do with it (see `view.turn_messages.ActionRequest`).
    """

    turn_id: str
    model: str
    prompt: str
    status: TurnStatus
    round: int
    calls: int
    activity: str
    usage: UsageData
    started: float | None
    seconds: float | None
    error: str
    why: NotRequired[str]
    chat: NotRequired[str]
    replayed: NotRequired[str]
    version: NotRequired[int]
    versions: NotRequired[int]
    turns: NotRequired[list[str]]
    attached: NotRequired[list[MediaData]]
    end_reason: NotRequired[EndReason]
    acts: NotRequired[list[str]]
    cut: NotRequired[bool]


class Document(TypedDict):
    """A turn as it stands."""

    v: Literal[1]
    head: Head
    blocks: list[Block]


class OpenPatch(TypedDict):
    """A block appears, after all others."""

    op: Literal["open"]
    block: Block


class ExtendPatch(TypedDict):
    """A text of a block grows at its end."""

    op: Literal["extend"]
    id: str
    field: Literal["text", "arguments", "progress"]
    text: str


class UpdatePatch(TypedDict):
    """Some keys of a block get new values."""

    op: Literal["update"]
    id: str
    set: dict[str, Any]


class HeadPatch(TypedDict):
    """Some keys of the head get new values."""

    op: Literal["head"]
    set: dict[str, Any]


Patch = OpenPatch | ExtendPatch | UpdatePatch | HeadPatch
