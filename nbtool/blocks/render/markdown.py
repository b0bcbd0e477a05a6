"""Render a model's Markdown as safe HTML.

Raw HTML is escaped, images become links, links lead only to the web or a mail address and show where; reference
definitions are ignored, so that a line far below cannot change the text above; a formula is its source. Work is
bounded: text with too many marks or table cells is shown unrendered.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import cache
from typing import Any
from urllib.parse import urlsplit

from markdown_it import MarkdownIt
from markdown_it.common.utils import escapeHtml
from markdown_it.renderer import RendererHTML
from markdown_it.token import Token
from markdown_it.utils import OptionsDict

from nbtool.blocks.render.formulas import display_html, inline_html, read_block
from nbtool.blocks.render.formulas import read_inline as read_formula
from nbtool.blocks.render.markup_budget import PLAIN_NOTE, Budget, bounded_quote, bounded_table, read_inline, split
from nbtool.blocks.sanitize import escape_invisible, strip_stacks

TOP_HEADING = 3
"""The level of the highest headings of a reply."""

SCHEMES = frozenset(("http", "https", "mailto"))
_PRE = "margin:.5em 0;padding:.5em .75em;border:1px solid rgba(128,128,128,.25);overflow:auto"
_QUOTE = "margin:.5em 0;padding:0 .9em;border-left:3px solid rgba(128,128,128,.4)"
_NESTING = 20
_DIRECTED = frozenset(
    f"{name}_open" for name in ("paragraph", "heading", "bullet_list", "ordered_list", "blockquote", "th", "td")
)
_RIGHT_TO_LEFT = re.compile("[\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufeff]")
_TASK = re.compile(r"\[([ xX])\] (?=\S)")
_NOTE = re.compile(r"\[\^([\w-]{1,20})\]: ")
_REFERENCE = re.compile(r"\[\^([\w-]{1,20})\]")
_ADDRESS = re.compile(r"(https?://[^\s<>\"'`]*[^\s<>\"'`.,;:!?*_)\]])")


def render(text: str) -> str:
    """Render Markdown as HTML without scripts, styles, images or ids."""
    budget = Budget()
    text, rest = split(strip_stacks(text))
    rendered: str = html_parser().render(text, {"budget": budget})
    plain = f'<div style="white-space:pre-wrap">{escapeHtml(rest)}</div>' if rest else ""
    note = f'<div style="opacity:.75"><em>[{PLAIN_NOTE}]</em></div>' if rest or budget.is_exceeded else ""
    return rendered + plain + note


def is_safe_link(url: str) -> bool:
    """Return whether a link may be followed: absolute, to the web or a mail address."""
    try:
        parts = urlsplit(url.strip())
    except ValueError:
        return False
    return parts.scheme.lower() in SCHEMES and bool(parts.netloc or parts.scheme.lower() == "mailto")


class _Renderer(RendererHTML):
    """Renders tokens; token types it does not name become escaped text."""

    def image(self, tokens: Sequence[Token], idx: int, options: OptionsDict, env: Any) -> str:
        token = tokens[idx]
        words = self.renderInlineAsText(token.children, options, env) if token.children else ""
        label = escapeHtml(f"image: {words}" if words else "image")
        url = str(token.attrs.get("src", ""))
        if env.get("link_in") is tokens or not is_safe_link(url):  # links do not nest
            return f"[{label}]"
        return f"[{_anchor(url)}{label}</a>{_target(url, '')}]"

    def link_open(self, tokens: Sequence[Token], idx: int, options: OptionsDict, env: Any) -> str:  # noqa: ARG002 - the signature of a render rule
        env["link_in"], env["link_at"] = tokens, idx
        return _anchor(str(tokens[idx].attrs.get("href", "")))

    def link_close(self, tokens: Sequence[Token], idx: int, options: OptionsDict, env: Any) -> str:  # noqa: ARG002 - the signature of a render rule
        start = env["link_at"]
        words = "".join(token.content for token in tokens[start:idx])
        return "</a>" + _target(str(tokens[start].attrs.get("href", "")), words)

    def fence(self, tokens: Sequence[Token], idx: int, options: OptionsDict, env: Any) -> str:  # noqa: ARG002 - the signature of a render rule
        # without a `code` in it: pages that color inline code, as VS Code does, would put a box behind each line
        return f'<pre style="{_PRE}">{escapeHtml(tokens[idx].content)}</pre>\n'

    code_block = fence

    def formula(self, tokens: Sequence[Token], idx: int, options: OptionsDict, env: Any) -> str:  # noqa: ARG002 - the signature of a render rule
        return inline_html(tokens[idx].content)

    def display_formula(self, tokens: Sequence[Token], idx: int, options: OptionsDict, env: Any) -> str:  # noqa: ARG002 - the signature of a render rule
        return display_html(tokens[idx].content)


def _heading(state: Any) -> None:
    """Lower headings by two levels: the notebook's own headings rank above those of a reply."""
    for token in state.tokens:
        if token.type in ("heading_open", "heading_close"):
            token.tag = f"h{min(int(token.tag[1]) + TOP_HEADING - 1, 6)}"


def _bare_links(state: Any) -> None:
    """Make links of bare web addresses in prose."""
    for token in state.tokens:
        if token.type == "inline" and "://" in token.content:
            token.children = [
                linked for child, inside in _tokens_in_links(token.children) for linked in _autolink(child, inside)
            ]


def _tokens_in_links(tokens: list[Token]) -> Iterator[tuple[Token, bool]]:
    """Return each token, and whether it is inside a link."""
    depth = 0
    for token in tokens:
        depth += (token.type == "link_open") - (token.type == "link_close")
        yield token, depth > 0


def _autolink(token: Token, inside: bool) -> Iterator[Token]:
    if token.type != "text" or inside:
        yield token
        return
    for at, piece in enumerate(_ADDRESS.split(token.content)):
        if at % 2 and is_safe_link(piece):
            yield Token("link_open", "a", 1, attrs={"href": piece})
            yield Token("text", "", 0, content=piece)
            yield Token("link_close", "a", -1)
        elif piece:
            yield Token("text", "", 0, content=piece)


def new_parser() -> MarkdownIt:
    """Return a parser of replies; parse with a `Budget` as `budget` in the environment."""
    parser = MarkdownIt("commonmark", {"html": False, "maxNesting": _NESTING}, renderer_cls=_Renderer)
    parser.enable(["table", "strikethrough"]).disable(["reference", "html_inline", "html_block"])
    parser.core.ruler.at("inline", read_inline)
    parser.block.ruler.at("table", bounded_table, {"alt": ["paragraph", "reference"]})
    parser.block.ruler.at("blockquote", bounded_quote, {"alt": ["paragraph", "reference", "blockquote", "list"]})
    parser.validateLink = is_safe_link  # type: ignore[method-assign]  # the documented way to say which links are followed
    parser.core.ruler.push("heading", _heading)
    parser.core.ruler.push("bare_links", _bare_links)
    return parser


@cache
def html_parser() -> MarkdownIt:
    """Return the parser of replies that are shown: also of formulas, tasks, footnotes and directions."""
    parser = new_parser()
    for rule in (_directions, _task_items, _footnotes):
        parser.core.ruler.push(rule.__name__, rule)
    parser.block.ruler.before("fence", "display_formula", read_block, {"alt": ["paragraph", "blockquote", "list"]})
    parser.inline.ruler.before("escape", "formula", read_formula)
    return parser


def _directions(state: Any) -> None:
    """Give each part the direction of its first letter where a text has another one, and a quotation its bar."""
    has_others = _RIGHT_TO_LEFT.search(state.src) is not None
    for token in state.tokens:
        if has_others and token.type in _DIRECTED:
            token.attrSet("dir", "auto")
        if token.type == "blockquote_open":
            token.attrSet("style", _QUOTE)


def _task_items(state: Any) -> None:
    """Show the box of a task in place of the mark of its item."""
    for item, _, inline in zip(state.tokens, state.tokens[1:], state.tokens[2:], strict=False):
        first = inline.children[0] if item.type == "list_item_open" and inline.children else None
        if first and first.type == "text" and (box := _TASK.match(inline.content)):
            first.content = f"{'☐' if box[1] == ' ' else '☑'} {first.content[box.end() :]}"
            item.attrSet("style", "list-style:none")


def _footnotes(state: Any) -> None:
    """Raise the names of footnotes, where they are written and where they are referred to."""
    inlines = [token for token in state.tokens if token.type == "inline"]
    names = {found[1] for token in inlines if (found := _NOTE.match(token.content))}
    if not names:
        return
    for token in inlines:
        is_note = _NOTE.match(token.content) is not None
        token.children = [
            piece for at, child in enumerate(token.children) for piece in _raised(child, names, is_note and at == 0)
        ]


def _raised(token: Token, names: set[str], is_note: bool) -> Iterator[Token]:
    """Yield a text with the names in it raised; a note begins with its own."""
    if token.type != "text":
        yield token
        return
    content = _NOTE.sub(r"[^\1] ", token.content) if is_note else token.content
    for at, piece in enumerate(_REFERENCE.split(content)):
        if at % 2 and piece in names:
            yield Token("sup_open", "sup", 1)
            yield Token("text", "", 0, content=piece)
            yield Token("sup_close", "sup", -1)
        elif piece:
            yield Token("text", "", 0, content=f"[^{piece}]" if at % 2 else piece)


def _anchor(url: str) -> str:
    title = escapeHtml(escape_invisible(url))
    return f'<a href="{escapeHtml(url)}" title="{title}" target="_blank" rel="noopener noreferrer">'


def _target(url: str, words: str) -> str:
    """Append the destination of a link, unless its text shows it."""
    shown = destination(url, words)
    return f' <span style="opacity:.75">({escapeHtml(escape_invisible(shown))})</span>' if shown else ""


def destination(url: str, words: str) -> str:
    """Return the host or the mail address that a link leads to; empty if its text contains it."""
    parts = urlsplit(url)
    target = parts.path if parts.scheme.lower() == "mailto" else parts.netloc
    return "" if target in words else target
