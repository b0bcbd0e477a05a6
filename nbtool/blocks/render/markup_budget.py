"""Limits how much Markdown of one reply is rendered; text beyond is shown unrendered, with a note."""

from __future__ import annotations

import re

from markdown_it.rules_block import StateBlock, blockquote, table
from markdown_it.rules_core import StateCore
from markdown_it.token import Token

MARKS_LIMIT = 1_000
"""Marks (emphasis, links, code …) in one paragraph, heading or cell."""

MARKUP_LIMIT = 12_000
"""Marks and table cells of one reply in total."""

COLUMNS_LIMIT = 100
"""Columns of a table."""

QUOTES_LIMIT = 6
"""Quotations inside each other; each of them goes through all its lines again."""

LINES_LIMIT = 3_000
"""Lines of one reply that are parsed as Markdown."""

SIZE_LIMIT = 100_000
"""Characters of one reply that are parsed as Markdown."""

PLAIN_NOTE = "Some of this text is shown unrendered: it has more markup than the limit"

_MARKS = re.compile(r"[*_~`\[\]<&\\!:$#%+=>@^{}-]")
"""Characters at which the parser of inline text stops, each of which costs a step."""


class Budget:
    """The rest of `MARKUP_LIMIT` while one reply is parsed."""

    __slots__ = ("is_exceeded", "left", "no_table_before", "plain_lines", "quotes")

    def __init__(self) -> None:
        self.left = MARKUP_LIMIT
        self.is_exceeded = False
        self.no_table_before = 0
        self.plain_lines: set[int] = set()
        self.quotes = 0  # open quotations at the line that is being parsed

    def spend(self, count: int, limit: int) -> bool:
        """Use up part of the budget; False, without using any, if it is too little."""
        if count > min(limit, self.left):
            self.is_exceeded = True
            return False
        self.left -= count
        return True


def split(text: str) -> tuple[str, str]:
    """Return the part of a reply to parse as Markdown, and the remaining lines, which are shown unrendered."""
    end = 0
    for _ in range(LINES_LIMIT):
        after = text.find("\n", end) + 1
        if not after and len(text) <= SIZE_LIMIT:
            return text, ""
        if not after or after > SIZE_LIMIT:
            break
        end = after
    return text[:end], text[end:]


def read_inline(state: StateCore) -> None:
    """Parse paragraphs, headings and cells; one with too many marks is text, line by line."""
    budget: Budget = state.env["budget"]
    for token in state.tokens:
        if token.type != "inline":
            continue
        token.children = token.children or []
        is_plain = token.map is not None and token.map[0] in budget.plain_lines
        if not is_plain and budget.spend(sum(1 for _ in _MARKS.finditer(token.content)), MARKS_LIMIT):
            state.md.inline.parse(token.content, state.md, state.env, token.children)
        else:
            token.children += _plain_tokens(token.content)


def bounded_table(state: StateBlock, start: int, end: int, silent: bool) -> bool:
    """Parse a table, unless it has too many columns, or more cells than the budget: then it is a paragraph."""
    budget: Budget = state.env["budget"]
    if start < budget.no_table_before or start + 2 > end or not _may_be_table(state, start + 1):
        return False
    columns = state.getLines(start, start + 1, 0, False).strip().strip("|").count("|") + 1
    if not silent and table(state, start, end, True):
        rows = _rows(state, start, end, budget.left // columns + 1)
        if columns > COLUMNS_LIMIT or not budget.spend(rows * columns, MARKUP_LIMIT):
            budget.is_exceeded, budget.no_table_before = True, start + rows
            budget.plain_lines.add(start)
            return False
    return table(state, start, end, silent)


def bounded_quote(state: StateBlock, start: int, end: int, silent: bool) -> bool:
    """Parse a quotation, unless it is nested too deeply: then its markers are text."""
    budget: Budget = state.env["budget"]
    if not silent and budget.quotes == QUOTES_LIMIT:
        budget.is_exceeded |= blockquote(state, start, end, True)
        return False
    budget.quotes += not silent
    try:
        return blockquote(state, start, end, silent)
    finally:
        budget.quotes -= not silent


def _may_be_table(state: StateBlock, line: int) -> bool:
    """Return whether a line starts like the second line of a table."""
    at = state.bMarks[line] + state.tShift[line]
    return at < state.eMarks[line] and state.src[at] in "|-:"


def _rows(state: StateBlock, start: int, end: int, max_rows: int) -> int:
    """Count the lines up to the next blank one, at most `most`."""
    last = min(end, start + max_rows)
    return next((line for line in range(start, last) if state.isEmpty(line)), last) - start


def _plain_tokens(text: str) -> list[Token]:
    lines = [Token("text", "", 0, content=line) for line in text.split("\n")]
    return [token for line in lines for token in (line, Token("hardbreak", "br", 0))][:-1]
