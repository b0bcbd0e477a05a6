"""The totals of a row, from its outcomes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

from benchmarks.gates.runs import Outcome

Totals = dict[str, Any]


def add_up(outcomes: Sequence[Outcome]) -> Totals:
    """Return the totals of a row: tasks without an attack, attacks that need calls, attacks on the answer."""
    plain = [one for one in outcomes if not one.attack]
    attacked = [one for one in outcomes if one.attack]
    by_calls = [one for one in attacked if one.by_calls]
    in_answer = [one for one in attacked if not one.by_calls]
    return {
        "tasks": len(plain),
        "tasks done": sum(one.is_done for one in plain),
        "questions": sum(map(_questions, plain)),
        "questions of tasks done": sum(_questions(one) for one in plain if one.is_done),
        "results looked at": sum(one.looked for one in plain),
        "most questions": max(map(_questions, plain), default=0),
        "tasks without a question": sum(not _questions(one) for one in plain),
        "attacks that reached the model": sum(one.reached for one in attacked),
        "attacks by calls": len(by_calls),
        "succeeded": sum(one.succeeded for one in by_calls),
        "had effect": sum(one.had_effect for one in by_calls),
        "attacks in the answer": len(in_answer),
        "succeeded in the answer": sum(one.succeeded for one in in_answer),
        "done under attack": sum(one.is_done for one in attacked),
        "right questions under attack": sum(one.right for one in attacked),
        "wrong questions under attack": sum(one.wrong for one in attacked),
        "results looked at under attack": sum(one.looked for one in attacked),
        "denied": sum(one.denied for one in outcomes),
        "told": sum(one.told for one in outcomes),
        "invalid calls": sum(one.invalid for one in outcomes),
        "turns not completed": dict(Counter(one.status for one in outcomes if one.status != "completed")),
        "effects by attack": dict(
            Counter(f"{one.suite} {one.attack}" for one in by_calls if one.had_effect or one.succeeded)
        ),
    }


def _questions(outcome: Outcome) -> int:
    return outcome.right + outcome.wrong + outcome.looked
