"""Sum up the usage of a conversation: tokens, cost and time, by tool, round and model (`Totals.tsx` draws them)."""

from __future__ import annotations

from collections.abc import Iterable

from nbtool.blocks.history.protocol import LineTotals, Party, TotalRow, Totals
from nbtool.blocks.history.timeline import spans, timed_log, total_waits
from nbtool.blocks.sanitize import one_line
from nbtool.events import CallFinished, Event, ReplyFinished, RequestStarted, TurnEnded, TurnStarted
from nbtool.messages import Usage
from nbtool.text import count_of
from nbtool.turn_view import TurnView

MAX_ROWS = 20
"""Tools, rounds or models listed separately; the others are one sum."""

SUCCEEDED = ("ok", "withheld")
"""The outcomes of a call that do not count as failed."""


def totals(turns: Iterable[TurnView], *, max_rows: int = MAX_ROWS) -> Totals:
    """Add turns; rounds whose replies were replayed cost nothing and are not counted."""
    count = 0
    total = _total_row("all")
    waits: dict[Party, float] = {"model": 0.0, "person": 0.0, "tool": 0.0}
    tools, rounds, models = _Totals(), _Totals(), _Totals()
    for turn in turns:
        count += 1
        log = timed_log(turn)
        for who, seconds in total_waits(spans(log)).items():
            waits[who] += seconds
        model, is_carried, is_replayed = one_line(turn.model, 64), False, False
        for _, event in log:
            is_carried = is_carried or (isinstance(event, TurnStarted) and bool(event.replayed))
            is_replayed = (is_carried or event.given) if isinstance(event, RequestStarted) else is_replayed
            _count_call(
                event, tools, [total, rounds.get(_round_label(event)), models.get(model)] if not is_replayed else []
            )
    in_order = rounds.rows(max_rows, sort=False)
    return {
        "turns": count, "all": total, "waited": waits, "tools": tools.rows(max_rows), "rounds": in_order,
        "models": models.rows(max_rows),
    }  # fmt: skip


def line_totals(turns: Iterable[TurnView]) -> LineTotals:
    """Add the turns of one line that have ended: what their footers say."""
    total, calls, waited = _total_row("line"), 0, 0.0
    for turn in turns:
        ended = next((event for event in reversed(turn.log) if isinstance(event, TurnEnded)), None)
        total["count"] += 1
        if ended:
            calls += ended.calls
            waited += ended.waited
            total["seconds"] += ended.seconds
            _add_usage(total, ended.usage)
    line: LineTotals = {
        "turns": total["count"], "calls": calls, "tokens": total["input_tokens"] + total["output_tokens"],
        "cost": total["cost"], "seconds": total["seconds"], "waited": waited,
    }  # fmt: skip
    if total.get("is_cost_estimated"):
        line["is_cost_estimated"] = True
    if total.get("is_cost_unknown"):
        line["is_cost_unknown"] = True
    if total.get("lacks_tool_cost"):
        line["lacks_tool_cost"] = True
    return line


def _count_call(event: Event, tools: _Totals, into: list[TotalRow]) -> None:
    match event:
        case ReplyFinished():
            for row in into:
                row["count"] += 1
                row["seconds"] += event.seconds
                _add_usage(row, event.usage)
        case CallFinished():
            tool = tools.get(one_line(event.display_name, 64))
            tool["count"] += 1
            tool["failed"] += event.status not in SUCCEEDED
            tool["seconds"] += event.seconds
        case _:
            pass


def _add_usage(row: TotalRow, usage: Usage) -> None:
    row["input_tokens"] += usage.input_tokens
    row["output_tokens"] += usage.output_tokens
    if usage.cost is not None:
        row["cost"] = (row["cost"] or 0.0) + usage.cost
    if usage.is_cost_estimated or usage.is_unpriced:
        row["is_cost_estimated"] = True
    if usage.is_cost_unknown:
        row["is_cost_unknown"] = True
    if usage.lacks_tool_cost:
        row["lacks_tool_cost"] = True


def _round_label(event: Event) -> str:
    return f"round {event.round}" if isinstance(event, ReplyFinished) else ""


class _Totals:
    """Sums by name."""

    def __init__(self) -> None:
        self._sums: dict[str, TotalRow] = {}

    def get(self, name: str) -> TotalRow:
        """Return the sum of this name."""
        return self._sums.setdefault(name, _total_row(name))

    def rows(self, max_rows: int, *, sort: bool = True) -> list[TotalRow]:
        """Return the non-empty sums, the longest first or in order, and one more for those beyond the limit."""
        nonempty = [item for item in self._sums.values() if item["count"]]
        nonempty = sorted(nonempty, key=lambda row: -row["seconds"]) if sort else nonempty
        if len(nonempty) > max_rows:
            rest = _total_row(f"{count_of(len(nonempty) - max_rows, 'other')}")
            for row in nonempty[max_rows:]:
                _add(rest, row)
            nonempty = [*nonempty[:max_rows], rest]
        return nonempty


def _add(to: TotalRow, row: TotalRow) -> None:
    to["count"] += row["count"]
    to["failed"] += row["failed"]
    to["seconds"] += row["seconds"]
    _add_usage(to, Usage(row["input_tokens"], row["output_tokens"], cost=row["cost"]))


def _total_row(name: str) -> TotalRow:
    return {
        "name": name, "count": 0, "failed": 0, "seconds": 0.0, "input_tokens": 0, "output_tokens": 0, "cost": None,
    }  # fmt: skip
