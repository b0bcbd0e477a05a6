"""A conversation as static HTML and as plain text: folds, tables and bars of characters, for saved notebooks.

Nothing in it runs, looks alive or is fetched; see `static_html`, which writes its turns.
"""

from __future__ import annotations

from collections.abc import Mapping

from markdown_it.common.utils import escapeHtml

from nbtool.blocks.history.protocol import Index, Row, Sum, Totals, Version
from nbtool.blocks.history.source import Told
from nbtool.blocks.labels import seconds
from nbtool.blocks.static_html import to_html as turn_html
from nbtool.blocks.transcript import Transcript
from nbtool.blocks.truncate import fitted
from nbtool.events import TurnStatus
from nbtool.shorten import shorten

HTML_LIMIT = 150_000
"""Bytes of UTF-8 that a conversation takes in a saved notebook, about; the latest turns are told in full first."""

TURN_LIMIT = 12_000
"""Bytes that one turn of them takes."""

MAX_LINES = 200
"""Places that are listed, the latest ones."""

TEXT_LINES = 50
"""Places that the plain text lists, the latest ones."""

PROMPT = 2_000
"""Characters of a prompt that are kept."""

_LINE_BYTES = 400
_BAR = 24
_QUIET = "opacity:.75"
_CELL = "padding:.1em 1em .1em 0;text-align:left"
_INSIDE = "margin:.2em 0 .5em .45em;padding-left:.9em;border-left:1px solid rgba(128,128,128,.35)"
_SIGNS: dict[TurnStatus, str] = {
    "completed": "✓", "cancelled": "■", "error": "✕", "timeout": "✕", "parked": "◆", "waiting": "◆", "running": "●",
}  # fmt: skip


def bundle(index: Index, totals: Totals, turns: Mapping[str, Told]) -> dict[str, str]:
    """Give what a notebook keeps, `text/html` and `text/plain`; `turns` by their ids."""
    return {"text/html": to_html(index, totals, turns), "text/plain": to_text(index, totals)}


def to_html(index: Index, totals: Totals, turns: Mapping[str, Told]) -> str:
    """Write a conversation as HTML that can do nothing: its totals, and each place as a fold of its versions."""
    head = f'<summary style="cursor:pointer">{escapeHtml(_headline(index, totals))}</summary>{_tables(totals)}'
    rows, left_out = index["rows"][-MAX_LINES:], _left_out(index, MAX_LINES)
    told = _Turns(turns, HTML_LIMIT - len(head.encode()) - len(rows) * _LINE_BYTES)
    lines = [told.row(row) for row in reversed(rows)][::-1]
    mark = f'<div style="{_QUIET}">… {left_out:,} earlier places are not listed here</div>' if left_out else ""
    body = f'<div style="{_INSIDE}">{mark}{"".join(lines)}</div>'
    return f'<details class="tex2jax_ignore mathjax_ignore">{head}{body}</details>'


def to_text(index: Index, totals: Totals) -> str:
    """Write a conversation as plain text: a line for each place."""
    left_out = _left_out(index, TEXT_LINES)
    mark = [f"… {left_out:,} earlier places"] if left_out else []
    lines = [f"{'  ' * row['depth']}{_line(row, _current(row))}" for row in index["rows"][-TEXT_LINES:]]
    return "\n".join([_headline(index, totals), *mark, *lines])


class _Turns:
    """Writes places with their turns while there is room; after that, their lines alone."""

    def __init__(self, turns: Mapping[str, Told], room: int) -> None:
        self._turns = turns
        self._room = room

    def row(self, row: Row) -> str:
        """Write one place: a fold of the version that counts, the others as folds in it."""
        current = _current(row)
        if self._room < TURN_LIMIT:
            return _item(_line(row, current), row["depth"])
        made = f'<div style="{_QUIET}">{escapeHtml(current["made"])}</div>' if current["made"] else ""
        others = (version for version in row["versions"] if version is not current)
        folds = (_fold(f"Another version: {_line(row, other)}", self._turn(other)) for other in others)
        return _fold(_line(row, current), made + self._turn(current) + "".join(folds), indent=row["depth"])

    def _turn(self, version: Version) -> str:
        turn = self._turns.get(version["turn_id"])
        if turn is None or self._room < TURN_LIMIT:
            return f'<div style="{_QUIET}">Too much to keep here: <code>%chat show {version["turn_id"]}</code></div>'
        transcript = Transcript()
        for event in list(turn.log):
            transcript.feed(event)
        prompt = escapeHtml(shorten(transcript.head["prompt"], PROMPT))
        html = f'<div style="white-space:pre-wrap"><strong>{prompt}</strong></div>'
        html += fitted(transcript.document(), turn_html, TURN_LIMIT)
        self._room -= len(html.encode())
        return html


def _current(row: Row) -> Version:
    return row["versions"][min(row["current"], len(row["versions"]) - 1)]


def _left_out(index: Index, limit: int) -> int:
    return index["left_out"] + max(0, len(index["rows"]) - limit)


def _line(row: Row, version: Version) -> str:
    """Tell of a version in one line."""
    count = len(row["versions"])
    facts = [
        f"{row['versions'].index(version) + 1}/{count}" if count > 1 else "",
        "branch" if row["branches"] else "",
        "hidden" if row["hidden"] else "",
        "pinned" if row["pinned"] else "",
        f"{version['calls']:,} call{'' if version['calls'] == 1 else 's'}" if version["calls"] else "",
        seconds(version["seconds"]) if version["seconds"] is not None else "",
        version["status"] if version["status"] != "completed" else "",
    ]
    return " · ".join([f"{_SIGNS[version['status']]} {version['said'] or '(no text)'}", *filter(None, facts)])


def _headline(index: Index, totals: Totals) -> str:
    whole = totals["all"]
    places = len(index["rows"]) + index["left_out"]
    facts = [
        f"History: {places:,} place{'' if places == 1 else 's'}, {totals['turns']:,} turns",
        f"{whole['input_tokens'] + whole['output_tokens']:,} tokens",
        f"${whole['cost']:.4f}" if whole["cost"] is not None else "",
    ]
    return " · ".join(fact for fact in facts if fact)


def _tables(totals: Totals) -> str:
    waited = [(who, length, seconds(length)) for who, length in totals["waited"].items()]
    tables = [
        _table("Waited for", [(str(who), length, told) for who, length, told in waited]),
        _table("Tools", [(one["name"], one["seconds"], _called(one)) for one in totals["tools"]]),
        _table("Rounds", [(one["name"], one["seconds"], _spent(one)) for one in totals["rounds"]]),
        _table("Models", [(one["name"], one["seconds"], _spent(one)) for one in totals["models"]]),
    ]
    return _fold("Totals", "".join(tables))


def _table(title: str, rows: list[tuple[str, float, str]]) -> str:
    if not rows:
        return ""
    most = max(value for _, value, _ in rows)
    lines = "".join(
        f'<tr><td style="{_CELL}"><code>{escapeHtml(name)}</code></td>'
        f'<td style="{_CELL};opacity:.5">{"█" * round(_BAR * value / most) if most else ""}</td>'
        f'<td style="{_CELL}">{escapeHtml(told)}</td></tr>'
        for name, value, told in rows
    )
    return f'<div style="font-size:85%;{_QUIET}">{title}</div><table>{lines}</table>'


def _called(one: Sum) -> str:
    failed = f", {one['failed']:,} not done" if one["failed"] else ""
    return f"{one['count']:,} call{'' if one['count'] == 1 else 's'}{failed}, {seconds(one['seconds'])}"


def _spent(one: Sum) -> str:
    cost = f", ${one['cost']:.4f}" if one["cost"] is not None else ""
    return f"{one['input_tokens']:,} + {one['output_tokens']:,} tokens{cost}, {seconds(one['seconds'])}"


def _fold(summary: str, inside: str, *, indent: int = 0) -> str:
    return (
        f'<details style="margin:.15em 0 .15em {_indent(indent)}"><summary style="cursor:pointer">'
        f'{escapeHtml(summary)}</summary><div style="{_INSIDE}">{inside}</div></details>'
    )


def _item(line: str, indent: int) -> str:
    return f'<div style="margin:.15em 0 .15em {_indent(indent)}">{escapeHtml(line)}</div>'


def _indent(depth: int) -> str:
    return f"{1.2 * min(depth, 8):.1f}em"
