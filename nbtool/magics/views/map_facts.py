"""The facts about a map in the words that a person reads: its rate, its time left, what failed, what it cost."""

from __future__ import annotations

import math

from nbtool.blocks.fold.document_builder import usage_data
from nbtool.blocks.labels import format_cost, format_seconds
from nbtool.blocks.map_protocol import MapData, MapFact, MapFactKind
from nbtool.chat.batch.status_line import cut_text, overspend_text, rows_text, undecided_text, unknown_text
from nbtool.map_progress import MapProgress
from nbtool.text import count_of, format_number

MIN_WAIT_SECONDS = 1.0
"""Seconds of waiting for the provider from which on they are said."""

SLOW_RATE = 10
"""Prompts a minute below which the rate has a decimal."""


def describe_map(progress: MapProgress) -> MapData:
    """Return what is shown of a map."""
    is_running = progress.state == "running"
    facts = {**(_running_facts(progress) if is_running else {}), **_counts(progress), **_usage_facts(progress)}
    if not is_running:
        facts["seconds"] = format_seconds(progress.seconds)
    return {
        "status": progress.state,
        "done": progress.done,
        "total": progress.total,
        "label": _label(progress),
        "facts": [MapFact(kind=kind, text=text) for kind, text in facts.items() if text],
        "failures": [
            {"text": f"{text} ({rows})" if (rows := rows_text(progress, number)) else text, "count": count}
            for number, (text, count) in enumerate(progress.failures)
        ],
        "other_failures": progress.other_failures,
        "reason": progress.reason,
        "fix": _fix(progress),
    }


def _fix(progress: MapProgress) -> str:
    """Return how many prompts have no answer because the map was stopped, and what can be done; empty if it was not."""
    if progress.state != "stopped":
        return ""
    fix = progress.continue_fix
    if not progress.unsent:
        return f"{fix[:1].upper()}{fix[1:]}."
    read = " read and" if progress.total is None else ""
    were = "was" if progress.unsent == 1 else "were"
    return f"{count_of(progress.unsent, 'prompt')} {were}{read} not sent, or not finished: {fix}."


def _label(progress: MapProgress) -> str:
    if progress.total is None:
        return count_of(progress.done, "prompt")
    return f"{format_number(progress.done)} of {count_of(progress.total, 'prompt')}"


def _running_facts(progress: MapProgress) -> dict[MapFactKind, str]:
    wait = progress.wait_seconds
    return {
        "wait": f"waiting {wait:.0f} s for the provider" if wait >= MIN_WAIT_SECONDS else progress.note,
        "rate": _rate(progress.per_minute),
        "left": _time_left(progress.seconds_left),
    }


def _counts(progress: MapProgress) -> dict[MapFactKind, str]:
    failed, before, unsent = progress.failed, progress.answered_before, progress.unsent
    return {
        "failed": f"✕ {format_number(failed)} failed" if failed else "",
        "before": f"{format_number(before)} answered before" if before else "",
        "unsent": f"⊘ {format_number(unsent)} not answered{unknown_text(progress)}" if unsent else "",
        "undecided": undecided_text(progress),
        "cut": cut_text(progress),
        "overspend": overspend_text(progress),
    }


def _usage_facts(progress: MapProgress) -> dict[MapFactKind, str]:
    usage = progress.usage
    return {
        "tokens": count_of(usage.total_tokens, "token") if usage.total_tokens else "",
        "cost": format_cost(usage_data(usage)),
    }


def _rate(per_minute: float | None) -> str:
    if per_minute is None:
        return ""
    number = f"{per_minute:.1f}" if per_minute < SLOW_RATE else format_number(round(per_minute))
    return f"{number} prompts a minute"


def _time_left(seconds: float | None) -> str:
    """Return how long it takes, as exact as it can be known; empty at the end."""
    if not seconds:
        return ""
    if seconds <= 55:
        return f"about {math.ceil(seconds / 5) * 5} s left"
    minutes = math.ceil(seconds / 60 - 1 / 12)
    if minutes < 60:
        return f"about {minutes} min left"
    hours, minutes = divmod(minutes, 60)
    return f"about {format_number(hours)} h{f' {minutes} min' if minutes and hours < 10 else ''} left"
