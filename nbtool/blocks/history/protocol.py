"""The shapes of what an explorer shows. They cross to the page as JSON; `history.ts` of the page mirrors them."""

from __future__ import annotations

from typing import Literal, TypedDict

from nbtool.blocks.protocol import Patch
from nbtool.events import TurnStatus

Party = Literal["model", "person", "tool"]
"""Whom the turn waits for."""


class Version(TypedDict):
    """One turn in a row: what was said, how it ended, what it took.

    `tools` are the names of what it called, each once. `cost` is in US dollars, `started` seconds since the epoch; what
    is not known is None. `replayed` is the date of the recording that it was told from, `made` how it was made from
    another version; both may be empty.
    """

    turn_id: str
    said: str
    status: TurnStatus
    model: str
    started: float | None
    seconds: float | None
    rounds: int
    calls: int
    tokens: int
    cost: float | None
    tools: list[str]
    replayed: str
    made: str


class Row(TypedDict):
    """One place of the tree.

    `depth` counts the branchings that the place is aside of; `branches` says that a side branch begins here, `line`
    that the place is on the active line. `parent` is the row of the place before it, -1 for none; `current` the version
    that counts, from 0.
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


class Index(TypedDict):
    """The tree, parents before children; `left_out` counts the places that are too many to show."""

    rows: list[Row]
    left_out: int


class Span(TypedDict):
    """A stretch of a turn in which it waited for somebody; in seconds after the turn began.

    `state` is a word for how it ended: a call's status, a verdict, or a reply's stop reason; empty while it lasts.
    """

    who: Party
    label: str
    round: int
    call_id: str
    start: float
    end: float
    state: str


class Step(TypedDict):
    """One thing that happened, and what it changes in the turn's document; `at` is in seconds after the turn began."""

    label: str
    at: float | None
    patches: list[Patch]


class Detail(TypedDict):
    """One turn: its steps, folded from an empty document on, and its time line."""

    turn_id: str
    made: str
    steps: list[Step]
    spans: list[Span]


class TotalRow(TypedDict):
    """What something took in all: `name` is a tool, a round or a model; `failed` counts calls that did not do well."""

    name: str
    count: int
    failed: int
    seconds: float
    input_tokens: int
    output_tokens: int
    cost: float | None


class Totals(TypedDict):
    """What a conversation took, versions that do not count included; `waited` is in seconds."""

    turns: int
    all: TotalRow
    waited: dict[Party, float]
    tools: list[TotalRow]
    rounds: list[TotalRow]
    models: list[TotalRow]


class SearchHit(TypedDict):
    """A turn that holds the words of a search, and what stands around the first of them."""

    turn_id: str
    snippet: str
