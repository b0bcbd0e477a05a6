from __future__ import annotations

import pytest

from nbtool.blocks.render.markdown import render
from nbtool.blocks.render.markup_budget import (
    COLUMNS_LIMIT,
    LINES_LIMIT,
    MARKS_LIMIT,
    MARKUP_LIMIT,
    PLAIN_NOTE,
    QUOTES_LIMIT,
    SIZE_LIMIT,
)
from tests.cpu_time import run_within

SECONDS = 1.0
"""CPU time that a reply of 100 kB may take."""

NOTE = f'<div style="opacity:.75"><em>[{PLAIN_NOTE}]</em></div>'


def table(columns: int, rows: int, row: str = "|") -> str:
    return "|a" * columns + "|\n" + "|-" * columns + "|\n" + f"{row}\n" * rows


def marks(count: int) -> str:
    return "*a* " * (count // 2)


EDGES = {
    "columns of a table": (table(COLUMNS_LIMIT, 2), table(COLUMNS_LIMIT + 1, 2), "<table>"),
    "cells of all tables": (table(20, MARKUP_LIMIT // 20 - 2), table(20, MARKUP_LIMIT // 20), "<table>"),
    "marks of a paragraph": (marks(MARKS_LIMIT), marks(MARKS_LIMIT + 2), "<em>"),
    "marks of a reply": (
        "\n\n".join([marks(MARKS_LIMIT)] * (MARKUP_LIMIT // MARKS_LIMIT)) + "\n\n`end",
        "\n\n".join([marks(MARKS_LIMIT)] * (MARKUP_LIMIT // MARKS_LIMIT)) + "\n\n`end`",
        "<em>",
    ),
    "quotations": (">" * QUOTES_LIMIT + " - b", ">" * (QUOTES_LIMIT + 1) + " - b", "<li>b"),
    "lines": ("a\n" * (LINES_LIMIT - 1) + "- b", "a\n" * LINES_LIMIT + "- b", "<li>b"),
    "characters": ("a" * (SIZE_LIMIT - 5) + "\n- b", "a" * (SIZE_LIMIT - 2) + "\n- b", "<li>b"),
}


@pytest.mark.parametrize("bound", EDGES)
def test_what_is_above_a_bound_remains_as_it_was_written_and_says_so(bound: str) -> None:
    below, above, tag = EDGES[bound]
    if bound == "marks of a reply":
        assert "<code>end</code>" not in render(above)
        above, below = above, below.removesuffix("\n\n`end")
    else:
        assert tag not in render(above).removesuffix(NOTE)
    assert tag in render(below)
    assert PLAIN_NOTE not in render(below)
    assert render(above).count(PLAIN_NOTE) == 1


def test_nothing_of_a_table_that_is_not_set_is_lost() -> None:
    shown = render(f"before\n\n{table(COLUMNS_LIMIT + 1, 3, '|cell|')}\nafter *all*")

    assert shown.count("|cell|<br />") == 2
    assert "<em>all</em>" in shown


@pytest.mark.parametrize(
    "text",
    [
        table(500, 32_000),
        "\n".join([table(500, 500)] * 30),
        "*a_" * 33_000,
        "![" * 50_000,
        "#\n" * 50_000,
        "a" + "\u0301" * 100_000,
        table(1, 1, "|") * 10_000,
        ">" * 90_000 + "\n" + "a\n" * 3_000,
    ],
    ids=["table", "tables", "emphasis", "images", "headings", "combining", "small tables", "quotations"],
)
def test_a_hostile_reply_is_written_as_html_at_once(text: str) -> None:
    render("")

    run_within(SECONDS, lambda: render(text[:100_000]))
