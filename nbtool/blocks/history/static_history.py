"""A conversation as static HTML and as plain text: folds, tables and bars of characters, for saved notebooks.

It has no scripts, controls or external resources; see `static_html`, which renders its turns.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import cast

from markdown_it.common.utils import escapeHtml

from nbtool.blocks.fold.turn_events import Transcript
from nbtool.blocks.history.protocol import Index, Row, TotalRow, Totals, Version
from nbtool.blocks.labels import format_cost, format_seconds, turn_seconds
from nbtool.blocks.protocol import UsageData
from nbtool.blocks.render.document_truncation import fit_document
from nbtool.blocks.render.static_html import name_collapsed
from nbtool.blocks.render.static_html import to_html as turn_html
from nbtool.event_filter import filter_events
from nbtool.events import TurnStatus
from nbtool.ids import short_id
from nbtool.text import count_are, count_of, shorten
from nbtool.turn_view import TurnView
from nbtool.wire.framing.known_secrets import secret_hider

HTML_LIMIT = 150_000
"""Approximate bytes of UTF-8 of a conversation in a saved notebook; the latest turns are rendered in full first."""

TURN_LIMIT = 12_000
"""Bytes of one rendered turn."""

COLLAPSED_HISTORY = "The history of a chat: show this output to read it."
"""What a collapsed output is."""

MAX_LINES = 200
"""Nodes that are listed, the latest ones."""

TEXT_LINES = 50
"""Nodes that the plain text lists, the latest ones."""

MAX_PROMPT_CHARS = 2_000
"""Characters of a prompt that are shown."""

NO_CALL_WORKED = "!"
"""The symbol of a completed turn in which no call worked and one failed at least."""

ALL_CALLS_DENIED = "⊘"
"""The symbol of a completed turn in which each call was denied or its result withheld."""

_LINE_BYTES = 400
_BAR = 24
_MUTED_STYLE = "opacity:.75"
_CELL = "padding:.1em 1em .1em 0;text-align:left"
_INSIDE = "margin:.2em 0 .5em .45em;padding-left:.9em;border-left:1px solid rgba(128,128,128,.35)"
_STATUS_SIGNS: dict[TurnStatus, str] = {
    "completed": "✓", "cancelled": "■", "error": "✕", "timeout": "✕", "parked": "◆", "waiting": "◆", "running": "●",
}  # fmt: skip


def mimebundle(index: Index, totals: Totals, turns: Mapping[str, TurnView]) -> dict[str, str]:
    """Return the saved form, `text/html` and `text/plain`; `turns` by their ids."""
    html = name_collapsed(COLLAPSED_HISTORY, to_html(index, totals, turns))
    return {"text/html": html, "text/plain": to_text(index, totals)}


def to_html(index: Index, totals: Totals, turns: Mapping[str, TurnView]) -> str:
    """Render a conversation as safe HTML: its totals, and each node as a fold of its versions."""
    head = f'<summary style="cursor:pointer">{escapeHtml(_headline(index, totals))}</summary>{_tables(totals)}'
    rows, left_out = index["rows"][-MAX_LINES:], _left_out(index, MAX_LINES)
    writer = _TurnWriter(turns, _numbers(index), HTML_LIMIT - len(head.encode()) - len(rows) * _LINE_BYTES)
    lines = [writer.row(row) for row in reversed(rows)][::-1]
    mark = f'<div style="{_MUTED_STYLE}">… {count_are(left_out, "earlier turn")} not listed</div>' if left_out else ""
    body = f'<div style="{_INSIDE}">{mark}{"".join(lines)}</div>'
    return f'<details class="tex2jax_ignore mathjax_ignore">{head}{body}</details>'


def to_text(index: Index, totals: Totals) -> str:
    """Render a conversation as plain text: a line for each node."""
    left_out = _left_out(index, TEXT_LINES)
    mark = [f"… {count_of(left_out, 'earlier turn')}"] if left_out else []
    numbers = _numbers(index)
    lines = [f"{'  ' * row['depth']}{_line(row, _current(row), numbers)}" for row in index["rows"][-TEXT_LINES:]]
    return "\n".join([_headline(index, totals), *mark, *lines])


class _TurnWriter:
    """Renders nodes with their turns within a size limit; after that, only their lines."""

    def __init__(self, turns: Mapping[str, TurnView], numbers: Mapping[str, int], limit: int) -> None:
        self._turns = turns
        self._numbers = numbers
        self._bytes_left = limit

    def row(self, row: Row) -> str:
        """Render one node: a fold of the active version, containing the others as folds."""
        current = _current(row)
        if self._bytes_left < TURN_LIMIT:
            return _item(_line(row, current, self._numbers), row["depth"])
        origin = f'<div style="{_MUTED_STYLE}">{escapeHtml(current["made"])}</div>' if current["made"] else ""
        others = (version for version in row["versions"] if version is not current)
        folds = (_fold(f"Another version: {_line(row, other, {})}", self._turn(other)) for other in others)
        return _fold(
            _line(row, current, self._numbers), origin + self._turn(current) + "".join(folds), indent=row["depth"]
        )

    def _turn(self, version: Version) -> str:
        turn = self._turns.get(version["turn_id"])
        if turn is None or self._bytes_left < TURN_LIMIT:
            command = f"<code>%chat show {short_id(version['turn_id'])}</code>"
            return f'<div style="{_MUTED_STYLE}">Too large to include: {command}</div>'
        transcript = Transcript()
        for event in filter_events(list(turn.log), "notebook", secret_hider()):
            transcript.feed(event)
        prompt = escapeHtml(shorten(transcript.head["prompt"], MAX_PROMPT_CHARS))
        html = f'<div style="white-space:pre-wrap"><strong>{prompt}</strong></div>'
        html += fit_document(transcript.document(), turn_html, TURN_LIMIT)
        self._bytes_left -= len(html.encode())
        return html


def _current(row: Row) -> Version:
    return row["versions"][min(row["current"], len(row["versions"]) - 1)]


def _left_out(index: Index, limit: int) -> int:
    return index["left_out"] + max(0, len(index["rows"]) - limit)


def _numbers(index: Index) -> dict[str, int]:
    """Return the numbers of the nodes of the active line, as in `%chat history`."""
    line = (row["node_id"] for row in index["rows"] if row["line"])
    return {node_id: number for number, node_id in enumerate(line, 1)}


def _line(row: Row, version: Version, numbers: Mapping[str, int]) -> str:
    """Describe a version in one line."""
    count = len(row["versions"])
    number = f"{numbers[row['node_id']]}. " if row["node_id"] in numbers else ""
    facts = [
        f"{row['versions'].index(version) + 1}/{count}" if count > 1 else "",
        "branch" if row["branches"] else "",
        "hidden" if row["hidden"] else "",
        "pinned" if row["pinned"] else "",
        _counted_calls(version),
        turn_seconds(version["seconds"], version.get("waited", 0.0)) if version["seconds"] is not None else "",
        version["status"] if version["status"] != "completed" else "",
    ]
    return " · ".join([f"{_sign(version)} {number}{version['said'] or '(no text)'}", *filter(None, facts)])


def _sign(version: Version) -> str:
    """Return the symbol of a turn; a completed turn has no tick if none of its calls worked."""
    failed, denied = version.get("failed", 0), version.get("denied", 0)
    if version["status"] == "completed" and 0 < version["calls"] <= failed + denied:
        return NO_CALL_WORKED if failed else ALL_CALLS_DENIED
    return _STATUS_SIGNS[version["status"]]


def _counted_calls(version: Version) -> str:
    calls, failed, denied = version["calls"], version.get("failed", 0), version.get("denied", 0)
    parts = [count_of(calls, "call")]
    parts += [f"{failed:,} failed"] if failed else []
    parts += [f"{denied:,} denied"] if denied else []
    return ", ".join(parts) if calls else ""


def _headline(index: Index, totals: Totals) -> str:
    """Return the number of turns and tokens when the cell ran; the explorer above it shows those of today."""
    total, turns = totals["all"], len(index["rows"]) + index["left_out"]
    others = max(0, totals["turns"] - turns)
    versions = f", {count_of(others, 'other version')}" if others else ""
    facts = [
        f"History when this cell ran: {count_of(turns, 'turn')}{versions}",
        f"{count_of(total['input_tokens'] + total['output_tokens'], 'token')}{' of all versions' if others else ''}",
        total_cost(total),
    ]
    return " · ".join(fact for fact in facts if fact)


def _tables(totals: Totals) -> str:
    waits = [(who, length, format_seconds(length)) for who, length in totals["waited"].items()]
    tables = [
        _table("Waited for", [(str(who), length, text) for who, length, text in waits]),
        _table("Tools", [(total["name"], total["seconds"], _call_counts(total)) for total in totals["tools"]]),
        _table("Rounds", [(total["name"], total["seconds"], _token_cost(total)) for total in totals["rounds"]]),
        _table("Models", [(total["name"], total["seconds"], _token_cost(total)) for total in totals["models"]]),
    ]
    return _fold("Totals", "".join(tables))


def _table(title: str, rows: list[tuple[str, float, str]]) -> str:
    if not rows:
        return ""
    largest = max(value for _, value, _ in rows)
    lines = "".join(
        f'<tr><td style="{_CELL}"><code>{escapeHtml(name)}</code></td>'
        f'<td style="{_CELL};opacity:.5">{"█" * round(_BAR * value / largest) if largest else ""}</td>'
        f'<td style="{_CELL}">{escapeHtml(text)}</td></tr>'
        for name, value, text in rows
    )
    return f'<div style="font-size:85%;{_MUTED_STYLE}">{title}</div><table>{lines}</table>'


def _call_counts(item: TotalRow) -> str:
    failed = f", {item['failed']:,} not done" if item["failed"] else ""
    return f"{count_of(item['count'], 'call')}{failed}, {format_seconds(item['seconds'])}"


def _token_cost(item: TotalRow) -> str:
    cost = f", {text}" if (text := total_cost(item)) else ""
    tokens = f"{count_of(item['input_tokens'], 'token')} in, {item['output_tokens']:,} out"
    return f"{tokens}{cost}, {format_seconds(item['seconds'])}"


def total_cost(item: TotalRow) -> str:
    """Format the cost of a sum."""
    return format_cost(cast("UsageData", item))  # it has the same marks


def _fold(summary: str, inside: str, *, indent: int = 0) -> str:
    return (
        f'<details style="margin:.15em 0 .15em {_indent(indent)}"><summary style="cursor:pointer">'
        f'{escapeHtml(summary)}</summary><div style="{_INSIDE}">{inside}</div></details>'
    )


def _item(line: str, indent: int) -> str:
    return f'<div style="margin:.15em 0 .15em {_indent(indent)}">{escapeHtml(line)}</div>'


def _indent(depth: int) -> str:
    return f"{1.2 * min(depth, 8):.1f}em"
