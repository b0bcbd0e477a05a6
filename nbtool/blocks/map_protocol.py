"""The types of what is shown of a map of many prompts, which are sent to the page as JSON."""

from __future__ import annotations

from typing import Literal, TypedDict

MapStatus = Literal["running", "completed", "stopped"]

MapFactKind = Literal[
    "rate", "left", "failed", "before", "unsent", "undecided", "cut", "overspend", "tokens", "cost", "seconds", "wait"
]


class MapFact(TypedDict):
    """One fact in a few words, as a person reads it."""

    kind: MapFactKind
    text: str


class MapFailure(TypedDict):
    """One distinct message of failed prompts, and how many have it."""

    text: str
    count: int


class MapData(TypedDict):
    """A map as it is now; `total` is None where nobody knows how many prompts there are.

    `label` says in words how many of them are `done`; `reason` why it was stopped, empty if a person did, and `fix`
    what can be done then. `failures` are the first distinct messages, `other_failures` the number of failed prompts
    with others.
    """

    status: MapStatus
    done: int
    total: int | None
    label: str
    facts: list[MapFact]
    failures: list[MapFailure]
    other_failures: int
    reason: str
    fix: str
