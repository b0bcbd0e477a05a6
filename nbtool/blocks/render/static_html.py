"""A turn as static HTML and as plain text: for saved notebooks, exports, and front ends without widgets.

Inline styles only, no script, no style sheet, nothing loaded, no controls: JupyterLab's sanitizer for untrusted
notebooks leaves it unchanged.
"""

from __future__ import annotations

import re
import sys
from typing import Literal

from nbtool.blocks import media
from nbtool.blocks.argument_lines import long_arguments, omitted_arguments, short_arguments
from nbtool.blocks.argument_targets import resolved_text
from nbtool.blocks.display_limits import omitted_marker
from nbtool.blocks.labels import (
    CALL_STATE_LABELS,
    EDITED_ARGUMENTS,
    TRACEBACK,
    TRUNCATED,
    call_facts,
    call_line,
    decision_line,
    footer_line,
    format_seconds,
    reason_line,
    status_line,
    table_title,
    unread_reason,
    with_marker,
)
from nbtool.blocks.protocol import Block, CallBlock, Document, NoticeBlock, ProseBlock, TablePreview
from nbtool.blocks.question import notice_text, question_summary, remarks
from nbtool.blocks.render import markdown
from nbtool.blocks.render.code_spans import escape_text, escape_with_code
from nbtool.blocks.render.omission import mark_truncated, omission_line
from nbtool.blocks.sanitize import escape_invisible, one_line
from nbtool.events import WHOLE_RESULT
from nbtool.text import count_of, left_out

HTML_LIMIT = 150_000
TEXT_LIMIT = 50_000
"""Bytes of UTF-8 of a turn in a saved notebook, in each of its two forms."""

COLLAPSED_TURN = "A turn: show this output to read it."
COLLAPSED_QUESTION = "A turn: show this output to see it and to answer its questions."
"""What a collapsed output is."""

STATIC_QUESTION_NOTE = (
    "This is a static copy of the question: decide on the live card, or with %chat approve and %chat deny."
)
"""Shown below a saved question."""

OUTCOME_ROWS, OUTCOME_LINES = 5, 6
"""Rows of a table, and lines of a text, that stand below the last call."""

VALUE_NOT_SAVED = "The model has a reference; the value is shown while its kernel runs, and not saved."
DRAWN_ELSEWHERE = "JupyterLab with nbtool draws this result."

_NUMBER = re.compile(r"[-+]?(?:\d[\d_,]*+(?:\.\d*+)?|\.\d++)(?:e[-+]?\d++)?", re.IGNORECASE)
_MISSING = frozenset({"", "nan", "NaN", "NaT", "None", "<NA>", "inf", "-inf"})
"""What stands for a number that is missing; the same as in ReferenceCard.tsx."""

"""A mention such as &`name`, whose backticks a person types; several backticks; or a span of code on one line."""

_MUTED_STYLE = "opacity:.75"
_LINE = "1px solid rgba(128,128,128,.35)"
_PRE = (
    f"margin:.25em 0 .5em;padding:.5em .75em;border:{_LINE};max-height:24em;overflow:auto;"
    "white-space:pre-wrap;overflow-wrap:anywhere"
)
_RESULT = "margin:.15em 0 .6em 1.5em"
_FOLD = f"margin:.25em 0 .5em .45em;padding:.1em 0 .1em .9em;border-left:{_LINE}"
_CARD = f"margin:.4em 0 .8em;padding:.5em .9em;border:{_LINE};border-left:7px double"
_BAR = "margin:.5em 0;padding:.15em 0 .15em .75em;border-left:3px solid rgba(128,128,128,.6)"


def name_collapsed(what: str, html: str) -> str:
    """Put before the HTML of an output what it is: JupyterLab shows the source of one that is collapsed, in one line.

    https://github.com/jupyterlab/jupyterlab/blob/v4.5.0/packages/cells/src/widget.ts (`getOutputPlaceholderText`)
    """
    return f"<!-- {what} -->{html}"


def to_html(document: Document) -> str:
    """Render a turn as safe HTML, in the colors and the font of the page."""
    attached = media.to_html(document["head"].get("attached", ()))
    last = next((block for block in reversed(document["blocks"]) if block["kind"] == "call"), None)
    blocks = attached + "".join(
        _block(block) + (_outcome(block) if block is last else "")
        for block in document["blocks"]
        if not _is_aside(block)
    )
    end = status_line(document["head"])
    level: Literal["error", "info"] = "error" if document["head"]["status"] in ("error", "timeout") else "info"
    tail = _notice({"id": "", "kind": "notice", "text": end, "level": level}) if end else ""
    if rest := omission_line(document["head"]):
        tail += f'<div style="{_MUTED_STYLE}">{escape_with_code(rest)}</div>'
    tail += "".join(_aside(block) for block in document["blocks"] if block["kind"] == "notice" and _is_aside(block))
    footer = (
        f'<div style="margin-top:.6em;font-size:85%;{_MUTED_STYLE}">{escape_text(footer_line(document["head"]))}</div>'
    )
    # MathJax would read the dollars of a reply as mathematics
    return f'<div class="tex2jax_ignore mathjax_ignore">{blocks}{tail}{footer}</div>'


def _is_aside(block: Block) -> bool:
    """Whether a block is about the cell, and stands quietly at the end."""
    return block["kind"] == "notice" and block.get("aside", False)


def _aside(block: NoticeBlock) -> str:
    return f'<div style="font-size:85%;{_MUTED_STYLE}">{escape_with_code(block["text"])}</div>'


def _outcome(block: Block) -> str:
    """Render what came of the last call below its row, as the page does: a table's first rows, or its text."""
    if block["kind"] != "call" or block["state"] != "ok" or block.get("media"):
        return ""
    if preview := block.get("table"):
        return f'<div style="{_RESULT}">{_table(preview, OUTCOME_ROWS)}</div>'
    lines = block["result"].removesuffix(WHOLE_RESULT.format(name=block["reference"])).strip().split("\n")
    display = block.get("display")
    if display and display["mime"] == "text/markdown":
        return f'<div style="{_RESULT}">{markdown.render(display["text"])}</div>'
    note = (
        VALUE_NOT_SAVED
        if block.get("is_described")
        else DRAWN_ELSEWHERE
        if display
        else left_out(len(lines) - OUTCOME_LINES, "lines")
        if len(lines) > OUTCOME_LINES
        else ""
    )
    text = escape_text(escape_invisible("\n".join(lines[:OUTCOME_LINES])))
    more = f'<div style="font-size:85%;{_MUTED_STYLE}">{note}</div>' if note else ""
    return (
        f'<pre style="{_RESULT};white-space:pre-wrap;overflow-wrap:anywhere">{text}</pre>{more}' if text or more else ""
    )


def to_text(document: Document) -> str:
    """Render a turn as plain text; its thinking and long arguments are only counted."""
    if any(_is_short(block) for block in document["blocks"]):
        document = mark_truncated(document)
    parts = [f"[{media.describe(item)}]" for item in document["head"].get("attached", ())]
    parts += [_text_of(block) for block in document["blocks"]]
    parts += [status_line(document["head"]), omission_line(document["head"]), footer_line(document["head"])]
    return "\n\n".join(part.strip("\n") for part in parts if part)


def _block(block: Block) -> str:
    match block["kind"]:
        case "text":
            return _prose(block)
        case "thinking":
            return _thinking(block)
        case "call":
            return _call(block)
        case "notice":
            return _notice(block)


def _prose(block: ProseBlock) -> str:
    refusal = f'<div style="{_MUTED_STYLE}">The model refused:</div>' if block["refusal"] else ""
    return f"<div>{refusal}{markdown.render(block['text'])}{_truncation_notes(block)}</div>"


def _thinking(block: ProseBlock) -> str:
    seconds = block.get("seconds")
    return _fold(
        f"Thought for {format_seconds(seconds)}" if seconds else "Thought",
        f'<div style="white-space:pre-wrap">{escape_text(block["text"])}</div>{_truncation_notes(block)}',
    )


def _call(block: CallBlock) -> str:
    sign = CALL_STATE_LABELS[block["state"]][0]
    name, short = escape_text(one_line(block["name"], 64)), escape_text(short_arguments(block["arguments"]))
    facts = call_facts(block)
    quiet = f' <span style="{_MUTED_STYLE}">· {escape_text(facts)}</span>' if facts else ""
    fold = _fold(f"{sign} <code>{name}({short})</code>{quiet}", "".join(_details(block)), quiet=False)
    return fold + _question(block) + _media(block)


def _question(block: CallBlock) -> str:
    """Render the pending question of a call: the text of the card, and where to decide; it has no controls.

    A pending result is not included: it may still be withheld.
    """
    if block["question"] is None:
        return ""
    notice, effect = block["question"].get("notice", ""), block["question"].get("effect", "")
    remark = remarks(block["question"])
    first = f'<div style="white-space:pre-wrap">{escape_text(remark)}</div>' if remark else ""
    notices = _section("Read this first", notice_text(notice))
    return (
        f'<div style="{_CARD}"><strong>Approval needed</strong>{first}{notices}'
        f"<div>{escape_text(question_summary(block))}</div>{_section('What will change', escape_invisible(effect))}"
        f'<div style="{_MUTED_STYLE}">{STATIC_QUESTION_NOTE}</div></div>'
    )


def _media(block: CallBlock) -> str:
    """Render the images and sounds of a result, which are shown below its call."""
    html = media.to_html(block.get("media", ()))
    return f'<div style="{_FOLD}">{html}</div>' if html else ""


def _details(block: CallBlock) -> list[str]:
    """Render the details of a call."""
    asked_for = block.get("asked_arguments", "")
    title = EDITED_ARGUMENTS if asked_for else "Arguments"
    parts = [_section(title, with_marker(long_arguments(block["arguments"]), block["more"].get("arguments", 0)))]
    if asked_for:
        parts.append(_fold("Requested by the model", _section("Arguments", long_arguments(asked_for))))
    if any(shape["references"] for shape in block["resolved"].values()):
        lines = (escape_invisible(f"{name} = {resolved_text(shape)}") for name, shape in block["resolved"].items())
        parts.append(_section("Resolved", "\n".join(lines)))
    parts += [f"<div>{escape_with_code(decision_line(decision))}</div>" for decision in block["decisions"]]
    reason = reason_line(block)
    parts.append(f"<div>{escape_with_code(reason)}</div>" if reason else "")
    parts.append(_section("Output", with_marker(block["progress"], block["more"].get("progress", 0))))
    whole = f", shown in part; the whole is {one_line(block['whole'], 200)}" if block.get("whole") else ""
    result = with_marker(block["result"], block["more"].get("result", 0))
    if preview := block.get("table"):
        parts += [_table(preview), _section(f"Text of the result{whole}", result)]
    else:
        parts.append(_section(f"Result{whole}", result))
    parts.append(_section(TRACEBACK, with_marker(block.get("traceback", ""), block["more"].get("traceback", 0))))
    reference = f"Stored as {one_line(block['reference'])}" if block["reference"] else ""
    return [*parts, f'<div style="{_MUTED_STYLE}">{escape_text(reference)}</div>' if reference else ""]


def _table(preview: TablePreview, limit: int = sys.maxsize) -> str:
    """Render the first rows of a result that is a table; what is no number is aligned to the left."""
    left = [
        not _is_numeric([row[at] for row in preview["rows"] if at < len(row)]) for at in range(len(preview["columns"]))
    ]
    align = [' style="text-align:left"' if is_text else ' style="text-align:right"' for is_text in left]
    head = "".join(
        f"<th{at}>{escape_text(one_line(name))}</th>" for at, name in zip(align, preview["columns"], strict=True)
    )
    shown = preview["rows"][:limit]
    rows = (
        "".join(f"<td{at}>{escape_text(one_line(cell))}</td>" for at, cell in zip(align, row, strict=False))
        for row in shown
    )
    body = "".join(f"<tr>{row}</tr>" for row in rows)
    more_rows = preview.get("more_rows", 0) + len(preview["rows"]) - len(shown)
    counts = ((more_rows, "rows"), (preview.get("more_columns", 0), "columns"))
    more = ", ".join(left_out(count, noun) for count, noun in counts if count)
    note = f'<div style="font-size:85%;{_MUTED_STYLE}">{more}</div>' if more else ""
    title = f'<div style="font-size:85%;{_MUTED_STYLE}">{table_title(preview)}</div>'
    return f'{title}<div style="overflow-x:auto"><table><tr>{head}</tr>{body}</table></div>{note}'


def _is_numeric(cells: list[str]) -> bool:
    """Whether a column holds numbers, as the page decides it."""
    return any(map(_NUMBER.fullmatch, cells)) and all(_NUMBER.fullmatch(cell) or cell in _MISSING for cell in cells)


def _notice(block: NoticeBlock) -> str:
    label = "" if block["level"] == "info" else f"<strong>{block['level'].capitalize()}.</strong> "
    return f'<div style="{_BAR};white-space:pre-wrap">{label}{escape_with_code(block["text"])}</div>'


def _fold(summary: str, inside: str, *, quiet: bool = True) -> str:
    style = f"cursor:pointer;{_MUTED_STYLE}" if quiet else "cursor:pointer"
    return (
        f'<details style="margin:.35em 0"><summary style="{style}">{summary}</summary>'
        f'<div style="{_FOLD}">{inside}</div></details>'
    )


def _section(title: str, text: str) -> str:
    if not text.strip():
        return ""
    head = f'<div style="font-size:85%;{_MUTED_STYLE}">{escape_text(title)}</div>'
    return f'{head}<pre style="{_PRE}">{escape_text(text)}</pre>'


def _truncation_notes(block: ProseBlock) -> str:
    marks = [omitted_marker(block["more"].get("text", 0)), TRUNCATED if block["state"] == "cut" else ""]
    return "".join(f'<div style="{_MUTED_STYLE}"><em>[{mark}]</em></div>' for mark in marks if mark)


def _text_of(block: Block) -> str:
    match block["kind"]:
        case "text":
            marks = [omitted_marker(block["more"].get("text", 0)), TRUNCATED if block["state"] == "cut" else ""]
            return "\n".join([block["text"], *(f"[{mark}]" for mark in marks if mark)])
        case "thinking":
            return f"[thinking: {count_of(len(block['text']) + block['more'].get('text', 0), 'character')}]"
        case "notice":
            return block["text"]
        case "call":
            return _call_text(block)


def _is_short(block: Block) -> bool:
    """Return whether a block is only partly shown in plain text."""
    if block["kind"] != "call":
        return block["kind"] == "thinking"
    return bool(omitted_arguments(block["arguments"]) or block["progress"])


def _call_text(block: CallBlock) -> str:
    facts = call_facts(block)
    lines = [call_line(block) + (f" · {facts}" if facts else "")]
    result = with_marker(block["result"] or block["reason"], block["more"].get("result", 0))
    question = block["question"]
    notice = notice_text(question.get("notice", "")).splitlines() if question else []
    remark_lines = remarks(question).splitlines() if question else []
    question_lines = (
        [f"    Approval needed: {question_summary(block)} {STATIC_QUESTION_NOTE}", *(f"    {line}" for line in notice)]
        if question
        else []
    )
    question_lines = [*(f"    {line}" for line in remark_lines), *question_lines]
    media_lines = [f"    [{media.describe(item)}]" for item in block.get("media", ())]
    trace = with_marker(block.get("traceback", ""), block["more"].get("traceback", 0))
    reason = unread_reason(block) if block["result"] else ""
    output_lines = [f"    {line}" for text in (result, reason, trace) if text for line in text.split("\n")]
    return "\n".join([*lines, *question_lines, *output_lines, *media_lines])
