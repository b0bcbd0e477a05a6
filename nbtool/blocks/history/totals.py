"""What a conversation took: tokens, cost and time, by tool, by round and by model."""

from __future__ import annotations

from collections.abc import Iterable

from nbtool.blocks.history.protocol import Sum, Totals, Who
from nbtool.blocks.history.source import Told, log_of
from nbtool.blocks.history.timeline import spans, waited
from nbtool.blocks.sanitize import one_line
from nbtool.events import CallFinished, Event, ReplyFinished, RequestStarted, TurnStarted
from nbtool.messages import Usage

MAX_SUMS = 20
"""Tools, rounds or models that are told one by one; the others are one sum."""

DID_WELL = ("ok", "withheld")
"""What a call may come out as without being counted among those that did not do well."""


def totals(turns: Iterable[Told]) -> Totals:
    """Sum turns up; rounds whose replies were told from the record cost nothing and are not counted."""
    count = 0
    whole = _sum("all")
    waits: dict[Who, float] = {"model": 0.0, "person": 0.0, "tool": 0.0}
    tools, rounds, models = _Sums(), _Sums(), _Sums()
    for turn in turns:
        count += 1
        log = log_of(turn)
        for who, seconds in waited(spans(log)).items():
            waits[who] += seconds
        model, is_told, given = one_line(turn.model, 64), False, False
        for _, event in log:
            is_told = is_told or (isinstance(event, TurnStarted) and bool(event.replayed))
            given = (is_told or event.given) if isinstance(event, RequestStarted) else given
            _take(event, tools, [whole, rounds.of(_round(event)), models.of(model)] if not given else [])
    in_order = rounds.listed(sort=False)
    return {
        "turns": count, "all": whole, "waited": waits, "tools": tools.listed(), "rounds": in_order,
        "models": models.listed(),
    }  # fmt: skip


def _take(event: Event, tools: _Sums, into: list[Sum]) -> None:
    match event:
        case ReplyFinished():
            for one in into:
                one["count"] += 1
                one["seconds"] += event.seconds
                _spend(one, event.usage)
        case CallFinished():
            tool = tools.of(one_line(event.name, 64))
            tool["count"] += 1
            tool["failed"] += event.status not in DID_WELL
            tool["seconds"] += event.seconds
        case _:
            pass


def _spend(one: Sum, usage: Usage) -> None:
    one["input_tokens"] += usage.input_tokens
    one["output_tokens"] += usage.output_tokens
    if usage.cost is not None:
        one["cost"] = (one["cost"] or 0.0) + usage.cost


def _round(event: Event) -> str:
    return f"round {event.round}" if isinstance(event, ReplyFinished) else ""


class _Sums:
    """Sums by name."""

    def __init__(self) -> None:
        self._sums: dict[str, Sum] = {}

    def of(self, name: str) -> Sum:
        """Give the sum of this name."""
        return self._sums.setdefault(name, _sum(name))

    def listed(self, *, sort: bool = True) -> list[Sum]:
        """Give those that count something, the longest first or in order, and one more for those that are too many."""
        found = [one for one in self._sums.values() if one["count"]]
        found = sorted(found, key=lambda one: -one["seconds"]) if sort else found
        if len(found) > MAX_SUMS:
            rest = _sum(f"{len(found) - MAX_SUMS} others")
            for one in found[MAX_SUMS:]:
                _add(rest, one)
            found = [*found[:MAX_SUMS], rest]
        return found


def _add(to: Sum, one: Sum) -> None:
    to["count"] += one["count"]
    to["failed"] += one["failed"]
    to["seconds"] += one["seconds"]
    _spend(to, Usage(one["input_tokens"], one["output_tokens"], cost=one["cost"]))


def _sum(name: str) -> Sum:
    return {
        "name": name, "count": 0, "failed": 0, "seconds": 0.0, "input_tokens": 0, "output_tokens": 0, "cost": None,
    }  # fmt: skip
