"""The types of the explorer's data, which are sent to the page as JSON; its own types are generated from them."""

from __future__ import annotations

from typing import Literal, NotRequired, TypedDict

from nbtool.blocks.protocol import Document, Patch
from nbtool.events import TurnStatus

Party = Literal["model", "person", "tool"]
"""Who the turn waits for."""


class Version(TypedDict):
    """One turn in a row: its prompt, status, and usage.

    `seconds` contain the `waited` ones, in which the turn only waited for the person. `failed` counts the calls that
    raised or could not run, `denied` those that were denied or their result withheld. `tools` are the distinct names
    of the called tools, and `more_tools` counts the omitted ones. `cost` is in US dollars, `started` seconds since the
    epoch; unknown values are None. `replayed` is the date of the recording that it
    was replayed from, `made` its origin, another version; both may be empty.
    """

    turn_id: str
    said: str
    status: TurnStatus
    model: str
    started: float | None
    seconds: float | None
    waited: NotRequired[float]
    rounds: int
    calls: int
    failed: NotRequired[int]
    denied: NotRequired[int]
    tokens: int
    cost: float | None
    tools: list[str]
    more_tools: NotRequired[int]
    replayed: str
    made: str


class Row(TypedDict):
    """One node of the tree.

    `depth` is the indentation of the node; `branches` is whether a side branch starts here, `line`
    whether the node is on the active line. `parent` is the row of the parent, -1 for none; `current` the index of
    the active version, from 0.
    """

    node_id: str
    parent: int
    depth: int
    branches: bool
    line: bool
    hidden: bool
    pinned: bool
    current: int
    versions: list[Version]


class LineTotals(TypedDict):
    """The sum of the turns of the active line, as their footers have it.

    `seconds` contain the `waited` ones. The marks of the cost are as in `UsageData`.
    """

    turns: int
    calls: int
    tokens: int
    cost: float | None
    seconds: float
    waited: float
    is_cost_estimated: NotRequired[bool]
    is_cost_unknown: NotRequired[bool]
    lacks_tool_cost: NotRequired[bool]


class Index(TypedDict):
    """The tree, parents before children; `left_out` counts the omitted nodes.

    `line_before` counts those of the active line that are omitted before the first row; `line_totals` sums all of it.
    """

    rows: list[Row]
    left_out: int
    line_before: NotRequired[int]
    line_totals: NotRequired[LineTotals]


class Span(TypedDict):
    """A time span of a turn in which it waited for somebody; in seconds after the turn started.

    `state` is how it ended: a call's status, a verdict, or a reply's stop reason; empty while it is open.
    """

    who: Party
    label: str
    round: int
    call_id: str
    start: float
    end: float
    state: str


class Step(TypedDict):
    """One event, and its changes to the turn's document; `at` is in seconds after the turn started."""

    label: str
    at: float | None
    patches: list[Patch]


class Detail(TypedDict):
    """One turn: its steps, starting from an empty document, and its timeline."""

    turn_id: str
    made: str
    steps: list[Step]
    spans: list[Span]


class TotalRow(TypedDict):
    """The sum of one item: `name` is a tool, a round or a model; `failed` counts calls that did not succeed.

    The marks of the cost are as in `UsageData`.
    """

    name: str
    count: int
    failed: int
    seconds: float
    input_tokens: int
    output_tokens: int
    cost: float | None
    is_cost_estimated: NotRequired[bool]
    is_cost_unknown: NotRequired[bool]
    lacks_tool_cost: NotRequired[bool]


class Totals(TypedDict):
    """The usage of a conversation, including inactive versions; `waited` is in seconds."""

    turns: int
    all: TotalRow
    waited: dict[Party, float]
    tools: list[TotalRow]
    rounds: list[TotalRow]
    models: list[TotalRow]


class SearchHit(TypedDict):
    """A turn that matches a search, and the text around the first match that is not in the prompt, with its origin."""

    turn_id: str
    snippet: str


class SavedHistoryTurn(TypedDict):
    """A turn that is saved in full."""

    prompt: str
    document: Document


class SavedHistory(TypedDict):
    """A conversation as data; `turn` is opened first, `turns_left_out` counts those that are not saved in full."""

    v: Literal[1]
    title: str
    turn: str
    index: Index
    totals: Totals
    turns: list[SavedHistoryTurn]
    turns_left_out: int
