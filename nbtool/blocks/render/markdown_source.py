"""Rewrite a model's Markdown as Markdown that stays in its place, for documents that other programs render.

A text is parsed as for a saved notebook (`markdown.py`) and written from its tokens, so nothing in it opens or
closes a part of the document around it. Raw HTML is text, images are links, links lead only to the web or a mail
address and show where, and headings are below those of the document. Text beyond the limits is a block of code.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator, Sequence
from functools import cache
from urllib.parse import quote

from markdown_it import MarkdownIt
from markdown_it.rules_inline import StateInline
from markdown_it.token import Token

from nbtool.blocks.render.formulas import find_formula
from nbtool.blocks.render.markdown import TOP_HEADING as PARSED_HEADING
from nbtool.blocks.render.markdown import destination, is_safe_link, new_parser
from nbtool.blocks.render.markup_budget import PLAIN_NOTE, Budget, split
from nbtool.blocks.sanitize import escape_invisible, one_line, strip_stacks

TOP_HEADING = 4
"""The level of a text's highest headings: those of the document are above it."""

_LANGUAGE = re.compile(r"\w[\w+#.-]{0,29}", re.ASCII)
_MARKUP = re.compile(r"[`*\[\]|~$]|!(?=\[|$)|(?<![^\W_])_|_(?![^\W_])")
"""Characters that begin markup anywhere; an underscore only at the edge of a word."""

_BACKSLASH = re.compile(r"\\(?=[\w ])(?!begin|end)|(\\)")
"""A backslash that may be doubled; or one with which a formula would begin in JupyterLab, also when doubled."""

_BLOCK_START = re.compile(r"(\d{1,9}(?=[.)](?:\s|$)))|(?=[-+=>:@%{#])")
"""What begins a block, or extends the one above, at the start of a line, in any dialect of Markdown in use."""

_MARKS = {"strong_open": "**", "strong_close": "**", "em_open": "*", "em_close": "*", "s_open": "~~", "s_close": "~~"}
_ALIGNMENTS = {"left": ":--", "center": ":-:", "right": "--:"}
_LISTS = ("bullet_list_open", "ordered_list_open")
_URL_CHARACTERS = "%/:?#[]@!&'()*+,;=~-._"

_MENTION = re.compile(r"(?<![\\\w`])[$&]`[A-Za-z_][\w./-]{0,200}`(?!`)")
"""A variable or a tool that a prompt mentions. Outside of a span of code, GitHub reads two of `$` as a formula."""

_UNSAFE_FORMULA = re.compile(
    r"`|\]\s*\(|&#?\w+;|\\(?:href|url|class|style|cssId|data|html|unicode|require|includegraphics|input|bbox|tag|label"
    r"|mmlToken|definecolor|def|gdef|edef|xdef|let|global|(?:re)?new|provide|DeclareMath)",
    re.IGNORECASE,
)
"""What a formula of an exported text may not contain: links, definitions, styles, and markup of Markdown."""


def rewrite(text: str, *, has_mentions: bool = False) -> str:
    """Return Markdown that renders like a text, as blocks separated by blank lines.

    In a prompt, which `has_mentions`, each of them is in a span of code, as the person typed it.
    """
    budget = Budget()
    text, rest = split(strip_stacks(escape_invisible(text)))
    blocks = list(_blocks(_parser().parse(text, {"budget": budget, "has_mentions": has_mentions})))
    blocks += [fenced(rest, "text")] if rest else []
    blocks += [f"*{escape(PLAIN_NOTE)}.*"] if rest or budget.is_exceeded else []
    return "\n\n".join(block for block in blocks if block)


def fenced(text: str, language: str) -> str:
    """Return a text in a fence that is longer than any inside it, with invisible characters escaped."""
    escaped = escape_invisible(text).removesuffix("\n")
    fence = "`" * max(3, 1 + max((len(run) for run in re.findall("`+", escaped)), default=0))
    return f"{fence}{language}\n{escaped}\n{fence}"


def span(text: str, limit: int = 120) -> str:
    """Return the first `limit` characters of a text as an inline code span."""
    escaped = one_line(text, limit)
    ticks = "`" * (1 + max((len(run) for run in re.findall("`+", escaped)), default=0))
    padding = " " if escaped[:1] in ("`", "") or escaped[-1:] == "`" else ""
    return f"{ticks}{padding}{escaped}{padding}{ticks}"


def escape(text: str) -> str:
    """Return a text on one line in which nothing is inline markup."""
    line = re.sub(r"[\n\t]", " ", escape_invisible(text))
    line = re.sub(r"&(?=#?\w+;)", "&amp;", line)
    line = re.sub(r"<(?![\s\d=])", "&lt;", line)
    line = _BACKSLASH.sub(lambda match: "&#92;" if match[1] else r"\\", line)
    return _MARKUP.sub(r"\\\g<0>", line)


def quoted(blocks: str) -> str:
    """Return blocks as a quotation."""
    return _prefixed(blocks, "> ", "> ")


def table(head: Sequence[str], rows: Sequence[Sequence[str]], alignments: Sequence[str] = ()) -> str:
    """Return a table of cells in Markdown."""
    marks = alignments or ["---"] * len(head)
    return "\n".join(f"| {' | '.join(cells)} |" for cells in (head, marks, *rows))


def _blocks(tokens: Sequence[Token]) -> Iterator[str]:
    """Write the blocks of a sequence of tokens; a list that follows one of its kind gets another marker."""
    former, is_other = "", False
    for block in _top_level(tokens):
        kind = block[0].type
        is_other = kind == former and kind in _LISTS and not is_other
        former = kind
        yield _list(block, is_other=is_other) if kind in _LISTS else _block(block)


def _top_level(tokens: Sequence[Token]) -> Iterator[Sequence[Token]]:
    """Divide tokens into blocks, each from its first to its last token."""
    start = depth = 0
    for at, token in enumerate(tokens):
        depth += token.nesting
        if depth == 0:
            yield tokens[start : at + 1]
            start = at + 1


def _block(tokens: Sequence[Token]) -> str:
    first = tokens[0]
    match first.type:
        case "paragraph_open":
            lines = (_line_start(line.strip(" ")) for line in _inline(tokens[1]).split("\n"))
            return "\n".join(line for line in lines if line.strip("\\")).removesuffix("\\")
        case "heading_open":
            level = min(6, int(first.tag[1]) + TOP_HEADING - PARSED_HEADING)
            return f"{'#' * level} {_one_line(tokens[1]).replace('#', '&#35;') or '&nbsp;'}"
        case "fence" | "code_block":
            language = _LANGUAGE.match(first.info.strip())
            return fenced(first.content, language[0] if language else "")
        case "blockquote_open":
            return quoted("\n\n".join(_blocks(tokens[1:-1])))
        case "table_open":
            return _table(tokens)
        case "hr":
            return "___"
    return escape(first.content)


def _list(tokens: Sequence[Token], *, is_other: bool) -> str:
    number, items, is_loose = int(tokens[0].attrs.get("start", 1)), [], False
    for item in _top_level(tokens[1:-1]):
        mark = "-*"[is_other] if tokens[0].type == "bullet_list_open" else f"{number}{'.)'[is_other]}"
        blocks = [block[0] for block in _top_level(item[1:-1])]
        is_tight = not any(
            entry.type == "table_open" or (entry.type == "paragraph_open" and not entry.hidden) for entry in blocks
        )
        written = ("\n" if is_tight else "\n\n").join(_blocks(item[1:-1]))
        items.append(_prefixed(written, f"{mark} ", " " * (len(mark) + 1)).rstrip())
        number, is_loose = number + 1, is_loose or not is_tight
    return ("\n\n" if is_loose else "\n").join(items)


def _table(tokens: Sequence[Token]) -> str:
    rows: list[list[str]] = []
    alignments: list[str] = []
    for at, token in enumerate(tokens):
        if token.type == "tr_open":
            rows.append([])
        elif token.type in ("th_open", "td_open"):
            style = str(token.attrs.get("style", "")).removeprefix("text-align:")
            alignments += [_ALIGNMENTS.get(style, "---")] if token.type == "th_open" else []
            rows[-1].append(_one_line(tokens[at + 1], in_table=True))
    return table(rows[0], rows[1:], alignments)


def _one_line(inline: Token, *, in_table: bool = False) -> str:
    return re.sub(r"\\?\n", " ", _inline(inline, in_table=in_table)).strip()


def _inline(inline: Token, *, in_table: bool = False) -> str:
    """Write inline text; its lines are those of the source."""
    pieces: list[str] = []
    links: list[tuple[int, str]] = []
    for token in inline.children or ():
        if token.type == "link_open":
            links.append((len(pieces), str(token.attrs.get("href", ""))))
        elif token.type == "link_close":
            at, url = links.pop()
            pieces[at:] = [_link("".join(pieces[at:]), url)]
        elif token.type == "image":
            pieces.append(_image(token, is_in_link=bool(links)))
        else:
            pieces.append(_words(token, in_table=in_table))
    return "".join(pieces)


def _words(token: Token, *, in_table: bool) -> str:
    match token.type:
        case "softbreak":
            return "\n"
        case "hardbreak":
            return "\\\n"
        case "code_inline":
            written = span(token.content, sys.maxsize // 8)
            return written.replace("|", "\\|") if in_table else written
        case "formula":
            return escape(token.content) if in_table and "|" in token.content else token.content
    return _MARKS.get(token.type) or escape(token.content)


def _link(words: str, url: str) -> str:
    if not is_safe_link(url):
        return words
    address = quote(url, safe=_URL_CHARACTERS)
    if words.replace("\\", "") == address and "&" not in address:
        return f"<{address}>"
    target = destination(url, words.replace("\\", ""))
    return f"[{words}](<{address.replace('&', '&amp;')}>)" + (f" ({escape(target)})" if target else "")


def _image(token: Token, *, is_in_link: bool) -> str:
    words = escape(f"image: {token.content}" if token.content else "image")
    return f"\\[{words}\\]" if is_in_link else _link(words, str(token.attrs.get("src", "")))


def _line_start(line: str) -> str:
    """Escape what would begin a block."""
    return _BLOCK_START.sub(lambda match: f"{match[0]}\\", line, count=1) if _BLOCK_START.match(line) else line


def _prefixed(text: str, first: str, others: str) -> str:
    """Put a prefix before each line, without spaces at the ends of blank ones."""
    lines = text.split("\n")
    prefixes = (others if at else first for at in range(len(lines)))
    return "\n".join(
        prefix + line if line else prefix.rstrip(" ") for prefix, line in zip(prefixes, lines, strict=True)
    )


def _read_mention(state: StateInline, silent: bool) -> bool:
    match = _MENTION.match(state.src, state.pos, state.posMax) if state.env.get("has_mentions") else None
    if match is None:
        return False
    if not silent:
        state.push("code_inline", "code", 0).content = match[0]
    state.pos = match.end()
    return True


def _read_formula(state: StateInline, silent: bool) -> bool:
    formula = find_formula(state.src, state.pos, state.posMax)
    if formula is None or "$" in formula.tex or _UNSAFE_FORMULA.search(formula.tex):
        return False
    if not silent:
        mark = "$$" if formula.is_display else "$"
        words = re.sub(r"<", r"\\lt ", " ".join(formula.tex.split())).replace(">", r"\gt ")
        state.push("formula", "", 0).content = f"{mark}{words}{mark}"
    state.pos = formula.end
    return True


@cache
def _parser() -> MarkdownIt:
    parser = new_parser()
    parser.inline.ruler.before("escape", "formula", _read_formula)
    parser.inline.ruler.before("formula", "mention", _read_mention)
    return parser
