"""A map that has ended, as a notebook saves it: static HTML and text, which need neither a widget nor a script.

Messages of failures come from providers and tools: they are text in both.
"""

from __future__ import annotations

from collections.abc import Callable

from nbtool.blocks.map_protocol import MapData
from nbtool.blocks.render.code_spans import escape_with_code
from nbtool.blocks.render.static_html import name_collapsed
from nbtool.blocks.sanitize import one_line

STOPPED = "Stopped before it was finished; the finished answers are kept."

UNFINISHED = "These prompts had not all been answered when the notebook was saved. Call the same map again to go on."
"""Below a map in a notebook that was saved while it ran."""

COLLAPSED_MAP = "A map: show this output to read it."
"""What a collapsed output is."""

BAD_STYLE = "font-weight:600"
"""Of what failed: no color has enough contrast on a light page and on a dark one."""

MESSAGE_CHARS = 600
"""Characters of a message of a failure that are shown; it was shortened before."""

_FLAWS = frozenset(("undecided", "cut", "overspend"))
_COUNTS = frozenset(("failed", "before", "unsent")) | _FLAWS
_MUTED_STYLE = "opacity:.75"


def map_mimebundle(data: MapData) -> dict[str, str]:
    """Return the mimebundle of a map that has ended."""
    return {"text/html": name_collapsed(COLLAPSED_MAP, _to_html(data)), "text/plain": _to_text(data)}


def unfinished_map_mimebundle(data: MapData) -> dict[str, str]:
    """Return the mimebundle of a map that has not ended: how far it is, and how to go on."""
    return map_mimebundle({**data, "status": "running"})


def end_line(data: MapData) -> str:
    """Return why a map was stopped, and what can be done; empty if it was not."""
    if data["status"] == "running":
        return UNFINISHED
    if data["status"] != "stopped":
        return ""
    reason, fix = one_line(data["reason"], MESSAGE_CHARS), one_line(data["fix"], MESSAGE_CHARS)
    return " ".join(filter(None, [reason, STOPPED, fix]))


def failure_lines(data: MapData) -> list[str]:
    """Return each distinct message of a failure with its number, and a line for those that are only counted."""
    lines = [f"{item['count']:,} failed: {one_line(item['text'], MESSAGE_CHARS)}" for item in data["failures"]]
    return lines + ([f"{data['other_failures']:,} failed with other messages"] if data["other_failures"] else [])


def _to_html(data: MapData) -> str:
    end, rest = end_line(data), _rest(data)
    items = "".join(f"<li>{escape_with_code(line)}</li>" for line in failure_lines(data))
    parts = [
        f"<div>{_head(data, _count_html)}</div>",
        f'<div style="margin:.3em 0">{escape_with_code(end)}</div>' if end else "",
        f'<ul style="margin:.3em 0;font-size:90%">{items}</ul>' if items else "",
        f'<div style="margin-top:.3em;font-size:85%;{_MUTED_STYLE}">{escape_with_code(rest)}</div>' if rest else "",
    ]
    # MathJax would read the dollars of a cost as mathematics
    return f'<div class="tex2jax_ignore mathjax_ignore">{"".join(parts)}</div>'


def _to_text(data: MapData) -> str:
    head = _head(data, lambda _, text: text)
    parts = [head, end_line(data), *(f"  {line}" for line in failure_lines(data)), _rest(data)]
    return "\n".join(part for part in parts if part)


def _head(data: MapData, write: Callable[[str, str], str]) -> str:
    """Return how many prompts are done, and what became of the others; the sign of the log only if all is well."""
    counts = [(fact["kind"], fact["text"]) for fact in data["facts"] if fact["kind"] in _COUNTS]
    has_flaw = any(kind in _FLAWS for kind, _ in counts)
    is_well = data["status"] == "completed" and not data["failures"] and not has_flaw
    parts = [("", f"{'✓ ' if is_well else ''}{data['label']}"), *counts]
    return " · ".join(write(kind, text) for kind, text in parts)


def _count_html(kind: str, text: str) -> str:
    escaped = escape_with_code(text)
    return f'<span style="{BAD_STYLE}">{escaped}</span>' if kind == "failed" else escaped


def _rest(data: MapData) -> str:
    return " · ".join(fact["text"] for fact in data["facts"] if fact["kind"] not in _COUNTS)
