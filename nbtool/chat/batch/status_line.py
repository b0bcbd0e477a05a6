"""How far a map is, in one line of text."""

from __future__ import annotations

import re
from html import escape

from nbtool.events import EndReason
from nbtool.map_progress import MapProgress
from nbtool.messages import Usage
from nbtool.text import count_of, format_number

MIN_WAIT_SECONDS = 1.0
"""Seconds of waiting for the provider from which on they are said."""

_CODE = re.compile(r"`([^`]+)`")

APPROVER_FIX = "correct it and map again: these calls are asked about again"
"""What a person can do about calls that were denied because the approver failed."""

REPEAT_FIX = "what ran is not repeated unless `repeat_calls=True`"
"""What a later map does with the calls of such prompts that ran."""

UNASKED_FIX = 'pass a function that asks you as `approver=`, or set `run="auto"` on the tool'
"""What a person can do about calls that nobody could be asked about."""


CUTS: dict[EndReason, str] = {
    "rounds": "by `max_rounds`",
    "calls": "by `max_calls`",
    "length": "at the length limit of a reply",
    "repetition": "by `max_repeats`",
}
"""By the reason: what cut an answer short."""

LIMIT_FIX = "map again with a larger one to go on"
"""What a person can do about answers that were cut short by a limit on their turns."""


def status_line(progress: MapProgress) -> str:
    """Return how many prompts are done and what became of them; at the end also what can be done about it."""
    done, total, tokens = progress.done, progress.total, progress.usage.total_tokens
    is_waiting = progress.state == "running" and progress.wait_seconds >= MIN_WAIT_SECONDS
    parts = [
        count_of(done, "prompt") if total is None else f"{format_number(done)} of {count_of(total, 'prompt')}",
        "stopped" if progress.state == "stopped" else "",
        unsent_text(progress),
        failed_text(progress),
        f"{format_number(progress.answered_before)} answered before" if progress.answered_before else "",
        undecided_text(progress),
        cut_text(progress),
        overspend_text(progress),
        count_of(tokens, "token") if tokens else "",
        _cost_text(progress.usage),
        f"waiting {progress.wait_seconds:.0f} s for the provider" if is_waiting else "",
        progress.note,
    ]
    return ", ".join(part for part in parts if part)


def contents_line(prompts: int, failed: int) -> str:
    """Return what a batch contains, for below a view that says what came of it."""
    return f"{count_of(prompts, 'prompt')}: `.values`, `.answers`{f', {failed:,} in `.errors`' if failed else ''}"


def line_html(line: str) -> str:
    """Return a line as HTML, with code in backticks as such."""
    code = _CODE.sub(r"<code>\1</code>", escape(line))
    return f"<div>{code}</div>"


def _cost_text(usage: Usage) -> str:
    """Return the cost in US dollars, in the words of the page; empty if it is unknown."""
    if usage.cost is None:
        return ""
    return f"{'about ' if usage.is_cost_estimated else ''}${usage.cost:.4f}"


def unsent_text(progress: MapProgress) -> str:
    """Return how many prompts were not answered; where nobody knows how many there are, of those that were read."""
    if not progress.unsent:
        return ""
    which = " read and" if progress.total is None else ""
    return f"{format_number(progress.unsent)}{which} not answered{unknown_text(progress)}"


def unknown_text(progress: MapProgress) -> str:
    """Return of how many prompts that were not answered the outcome of a call is not known."""
    return f" ({format_number(progress.unknown)} with a call of unknown outcome)" if progress.unknown else ""


def failed_text(progress: MapProgress) -> str:
    """Return how many prompts failed; at the end also the first message, its rows, and how many failed with others."""
    if not progress.failed:
        return ""
    text = f"{format_number(progress.failed)} failed"
    if progress.state == "running" or not progress.failures:
        return text
    message, count = progress.failures[0]
    first, rows = message.removesuffix("."), rows_text(progress, 0)
    others = progress.failed - count
    if not others:
        return f"{text} ({rows}: {first})" if rows else f"{text} ({first})"
    return f"{text} ({rows or format_number(count)}: {first}; {format_number(others)} with other messages)"


def rows_text(progress: MapProgress, number: int) -> str:
    """Return the first rows that failed with the message of this number, and how many more; empty if not known."""
    rows = progress.failure_rows[number] if progress.failure_rows else ()
    if not rows:
        return ""
    more = progress.failures[number][1] - len(rows)
    names = [*rows, *([f"{format_number(more)} more"] if more else [])]
    joined = " and ".join(filter(None, [", ".join(names[:-1]), names[-1]]))
    return f"{'row' if len(names) == 1 else 'rows'} {joined}"


def undecided_text(progress: MapProgress) -> str:
    """Return how many answers had such calls; with the fix only at the end, because a running line is short."""
    if not progress.undecided:
        return ""
    text = f"{format_number(progress.undecided)} with calls denied or withheld"
    if progress.state == "running":
        return text
    repeats = f"; {REPEAT_FIX}" if progress.acted else ""
    if progress.approver_error:
        return f"{text}; {progress.approver_error} ({APPROVER_FIX}{repeats})"
    return f"{text}: nobody could be asked ({UNASKED_FIX}{repeats})"


def cut_text(progress: MapProgress) -> str:
    """Return how many answers were cut short and by what; at the end also what can be done about a limit."""
    if not progress.cut:
        return ""
    total = sum(count for _, count in progress.cut)
    if len(progress.cut) == 1:
        what = CUTS[progress.cut[0][0]]
    else:
        what = f"({', '.join(f'{format_number(count)} {CUTS[reason]}' for reason, count in progress.cut)})"
    has_fix = progress.state != "running" and any(
        reason in ("rounds", "calls", "repetition") for reason, _ in progress.cut
    )
    return f"{format_number(total)} cut short {what}{f': {LIMIT_FIX}' if has_fix else ''}"


def overspend_text(progress: MapProgress) -> str:
    """Return what a map that was completed has used beyond its budget: its last requests may exceed it."""
    usage, tokens, usd = progress.usage, progress.max_tokens, progress.max_usd
    if progress.state != "completed":
        return ""  # a stopped map says why
    parts = []
    if tokens is not None and usage.total_tokens > tokens:
        parts.append(f"{format_number(usage.total_tokens)} of {count_of(tokens, 'token')}")
    if usd is not None and usage.cost is not None and usage.cost > usd:
        parts.append(f"{_cost_text(usage)} of ${usd:g}")
    return f"over the budget: {' and '.join(parts)}" if parts else ""
