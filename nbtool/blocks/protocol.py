"""The types of a turn's document and of the patches that change it.

They are sent to the page as JSON and stored in saved notebooks: a closed set of keys, versioned by `v`. The page's
types in `js/src/generated.ts` are generated from them; a text in `Annotated` is the type in TypeScript.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal, NotRequired, TypedDict

from nbtool.events import CallStatus, EndReason, Gate, TurnStatus

VERSION: Literal[1] = 1

CallState = Literal["writing", "ready"] | CallStatus
"""A call's status, and the states before: its arguments are being streamed; it is resolved and about to run."""

TextState = Literal["open", "whole", "cut"]
"""Still growing; ended by the provider's terminal signal; broken off."""

Verdict = Literal["approved", "denied", "released", "withheld"]
"""The content of a decision at a gate."""

OmittedChars = dict[str, int]
"""For each truncated text, the number of omitted characters."""


class QuestionData(TypedDict):
    """A question at a gate, and the digest that a decision must contain.

    `notice` is shown before everything else, such as how the tool changed; `effect` describes the changes, such
    as a file's diff, if the tool provides it; `media` are the images of a result, and `table` has its first rows.
    With `is_form`, a server asks for the arguments; with `sign_in`, to open the page at this address.
    `recipient` is who receives a result, if it is not the model. `ask` is the question in words: what is before the
    call, the call, and what is after it; `lines` are its arguments, if it is about a call with some.
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
    table: NotRequired[TablePreview]
    notes: NotRequired[list[str]]
    again: NotRequired[ReaskData]
    can_remember_call: NotRequired[bool]
    is_form: NotRequired[bool]
    sign_in: NotRequired[str]
    recipient: NotRequired[str]
    ask: NotRequired[list[str]]
    lines: NotRequired[list[ArgumentLine]]


class ArgumentLine(TypedDict):
    """One argument of a question in brief.

    `note` is the type and shape of what a reference names, `details` what else is said of it. With `is_complete`
    nothing of the argument is omitted or rephrased.
    """

    name: str
    value: str
    note: str
    details: str
    is_complete: bool


class DifferenceData(TypedDict):
    """One thing that has changed since it was shown."""

    what: str
    before: str
    after: str


class ReaskData(TypedDict):
    """Why approval is requested again; see `RepeatedQuestion`.

    `problem` is the error in arguments that a person entered, `edited` those arguments as JSON; `title` is the reason
    in words.
    """

    reason: ReaskReason
    differences: list[DifferenceData]
    problem: str
    edited: str
    title: str


ReaskReason = Literal["changed", "unwatched", "invalid"]
"""Why approval is requested again."""


class NotCounted(TypedDict):
    """Why a decision was discarded; `problem` is the error in arguments that a person entered."""

    reason: ReaskReason
    problem: str


class DecisionData(TypedDict):
    """A decision at a gate and its source.

    `remember` is what an approval holds for from now on; `again` is why it was discarded and asked for again; `line`
    says all of it.
    """

    gate: Gate
    digest: str
    verdict: Verdict
    by: str
    reason: str
    edited: bool
    remember: NotRequired[Literal["call", "tool"]]
    again: NotRequired[NotCounted]
    line: NotRequired[str]


class ProseBlock(TypedDict):
    """Prose of the model: its reply, its thinking, or its refusal; `seconds` of thinking that took some."""

    id: str
    kind: Literal["text", "thinking"]
    text: str
    refusal: bool
    state: TextState
    more: OmittedChars
    seconds: NotRequired[float]


class TablePreview(TypedDict):
    """The first rows of a referenced object, as texts; only of objects that the person opened for reading.

    `more_rows` and `more_columns` count the omitted ones.
    """

    columns: list[str]
    rows: list[list[str]]
    more_rows: NotRequired[int]
    more_columns: NotRequired[int]


class MediaData(TypedDict):
    """An image, a sound or a file of a tool or an attachment; `key` identifies its bytes, `size` counts them.

    `data` contains them in base64 in a saved notebook. `is_sent` is whether the model got what a tool returned, once
    that is known.
    """

    key: str
    mime: str
    name: str
    size: int
    data: NotRequired[str]
    is_sent: NotRequired[bool]


class DisplayData(TypedDict):
    """What a notebook would show for a result: its media type, and its text; of a chart the JSON of its data."""

    mime: str
    text: str


class ResolvedReferenceShape(TypedDict):
    """The target of a reference; see `nbtool.events.ResolvedReference`."""

    name: str
    text: str
    summary: str


class ResolvedShape(TypedDict):
    """An argument as it will be used; see `nbtool.events.ResolvedArgument`."""

    text: str
    references: list[ResolvedReferenceShape]
    is_reference: bool


class SeenData(TypedDict):
    """What the person sees of a result of which the model has a reference: as the fields of a call."""

    text: NotRequired[str]
    table: NotRequired[TablePreview]
    display: NotRequired[DisplayData]


class CallBlock(TypedDict):
    """One call from its first character to its outcome; `id` is its `call_id`.

    `glances` has the first rows of referenced objects, by their names in `resolved`, and `table` those of a result
    that is a table; `display` is what a notebook would show for another result; `media` are the images and sounds
    of the result, except `media_left_out`; `traceback` shows where the person's own code failed. `arguments` are
    those that run; `asked_arguments` those from the model, if a person edited them. `whole` describes the whole
    result, if the model received a part of its text. A result that `is_described` is one of which it got a description;
    `seen` is what the person sees of it, while the kernel has it. `line` has the arguments on one line, once they are
    complete, and `facts` how the call went.
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
    glances: NotRequired[dict[str, TablePreview]]
    table: NotRequired[TablePreview]
    display: NotRequired[DisplayData]
    media: NotRequired[list[MediaData]]
    media_left_out: NotRequired[int]
    traceback: NotRequired[str]
    asked_arguments: NotRequired[str]
    whole: NotRequired[str]
    is_described: NotRequired[bool]
    seen: NotRequired[SeenData]
    line: NotRequired[str]
    facts: NotRequired[str]


class NoticeBlock(TypedDict):
    """A notice for the person; an `aside` is about the cell, and stands quietly below the answer.

    One that is `added` is what the person added to the turn while it ran.
    """

    id: str
    kind: Literal["notice"]
    text: str
    level: Literal["info", "warning", "error"]
    aside: NotRequired[bool]
    added: NotRequired[bool]


Block = ProseBlock | CallBlock | NoticeBlock


class UsageData(TypedDict):
    """Tokens of a turn so far; `cost` in US dollars if known, computed from the tokens if `is_cost_estimated`.

    `is_cost_unknown`: the turn is charged, but at an unknown price. `lacks_tool_cost`: the computed cost lacks what the
    provider charges for the tools that it ran.
    """

    input_tokens: int
    output_tokens: int
    cached_tokens: int
    thinking_tokens: int
    cost: float | None
    is_cost_estimated: NotRequired[bool]
    is_cost_unknown: NotRequired[bool]
    lacks_tool_cost: NotRequired[bool]


class Head(TypedDict):
    """The state of the turn as a whole; `activity` is one line about current work, or empty.

    If known: `why` this model, the name of the `chat` unless it is the main one, the date of the recording that the
    turn is `replayed` from, which of its `versions` this is and which `turns` these are, what was `attached` to its
    prompt, the `end_reason` of a turn without a final answer (see `EndReason`), whether it is `cut` here, how many
    of its seconds it only `waited` for the person, whether its changes to the notebook can be undone, `answer_by`,
    in seconds since the epoch: when what waits is denied, `fixes`, the number of the failed cell that it is about,
    `acts`: the actions that the page may offer (see `view.actions`), whether the person can add texts to the running
    turn (`adds`), and the first line of a cell that sends the next prompt (`prompt_line`).

    `footer`, `details`, `spent` and `end` say in words which model answered and what it took, its rounds and calls, its
    tokens and cost, and why the turn is not completed.
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
    waited: NotRequired[float]
    undo: NotRequired[bool]
    answer_by: NotRequired[float]
    fixes: NotRequired[int]
    footer: NotRequired[str]
    details: NotRequired[str]
    spent: NotRequired[str]
    end: NotRequired[str]
    adds: NotRequired[bool]
    prompt_line: NotRequired[str]


class Document(TypedDict):
    """The document of a turn."""

    v: Literal[1]
    head: Head
    blocks: list[Block]


class OpenPatch(TypedDict):
    """Append a block."""

    op: Literal["open"]
    block: Block


class ExtendPatch(TypedDict):
    """Append to a text of a block."""

    op: Literal["extend"]
    id: str
    field: Literal["text", "arguments", "progress"]
    text: str


class UpdatePatch(TypedDict):
    """Set keys of a block."""

    op: Literal["update"]
    id: str
    set: dict[str, Any]


class HeadPatch(TypedDict):
    """Set keys of the head."""

    op: Literal["head"]
    set: Annotated[dict[str, Any], "Partial<Head>"]


Patch = OpenPatch | ExtendPatch | UpdatePatch | HeadPatch
