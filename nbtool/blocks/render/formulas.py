"""Where a formula of a model's Markdown begins and ends: nothing in it is markup, and its source is shown as written.

The rules are those of the page (`js/src/rich/markdown/lexer.ts`); `js/tests/formulas.json` holds both to them.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from markdown_it.common.utils import escapeHtml
from markdown_it.rules_block import StateBlock
from markdown_it.rules_inline import StateInline

MAX_FORMULA = 2_000
"""Characters of a formula; what is longer is text."""

_MARKS = {"$$": "$$", "\\[": "\\]", "\\(": "\\)"}
_BLANK = re.compile(r"\n[ \t]*\n")
_DOLLAR = re.compile(r"\$(?![\s$])((?:\\.|[^\\$\n])*?(?:\\.|[^\\$\s]))\$(?![\w$])", re.DOTALL)
_NO_FORMULA = re.compile(r"VAR_REF|.*(?:\{\{|`)", re.DOTALL)
_COMMAND = re.compile(r"\\[^\W\d_]+")
_WORD = re.compile(r"(?:^|\s)[^\W\d_]{2,}(?:[\s,.;:!?)]|$)")
_NOTATION = re.compile(r"[\\^_={}]")
_STYLE = "margin:.5em 0 .5em 1.5em;white-space:pre-wrap;overflow-wrap:anywhere"


@dataclass(frozen=True, slots=True)
class Formula:
    """A formula in a text: its source without marks, where it ends, and whether it has lines of its own."""

    tex: str
    end: int
    is_display: bool


def find_formula(text: str, start: int, end: int) -> Formula | None:
    """Return the formula that begins at a place of a text; None where none does."""
    opening = text[start : start + 2]
    if closing := _MARKS.get(opening):
        at = text.find(closing, start + 3, min(end, start + MAX_FORMULA))
        tex = text[start + 2 : at] if at > 0 else ""
        if not tex.strip() or (opening == "$$" and "$" in tex):
            return None
        return Formula(tex.strip(), at + 2, opening != "\\(")
    match = _DOLLAR.match(text, start, min(end, start + MAX_FORMULA))
    return Formula(match[1], match.end(), False) if match and _is_formula(match[1], text[:start][-1:]) else None


def read_inline(state: StateInline, silent: bool) -> bool:
    """Read a formula within a line."""
    formula = find_formula(state.src, state.pos, state.posMax)
    if formula is None:
        return False
    if not silent:
        state.push("formula", "", 0).content = state.src[state.pos : formula.end]
    state.pos = formula.end
    return True


def read_block(state: StateBlock, start: int, end: int, silent: bool) -> bool:
    """Read a formula that has its lines for itself."""
    at = state.bMarks[start] + state.tShift[start]
    if state.is_code_block(start) or state.src[at : at + 2] not in ("$$", "\\["):
        return False
    formula = find_formula(state.src, at, state.eMarks[end - 1])
    if formula is None or _BLANK.search(state.src, at, formula.end):
        return False
    last = next(line for line in range(start, end) if formula.end <= state.eMarks[line])
    if state.src[formula.end : state.eMarks[last]].strip() or any(
        state.sCount[line] < state.blkIndent for line in range(start, last + 1)
    ):
        return False
    if not silent:
        state.push("display_formula", "", 0).content = state.getLines(start, last + 1, state.blkIndent, False).strip()
        state.line = last + 1
    return True


def inline_html(source: str) -> str:
    """Return a formula within a line as HTML."""
    return f'<code dir="ltr">{escapeHtml(source)}</code>'


def display_html(source: str) -> str:
    """Return a formula with lines of its own as HTML."""
    return f'<pre dir="ltr" style="{_STYLE}">{escapeHtml(source)}</pre>\n'


def _is_formula(tex: str, before: str) -> bool:
    """Whether the text between two single dollars is a formula: not names, references, or words between two prices."""
    if before.isalnum() or before in ("$", "\\") or _NO_FORMULA.match(tex):
        return False
    return not _WORD.search(_COMMAND.sub("", tex)) or _NOTATION.search(tex) is not None
