"""Export a branch as a Markdown document: prompts, answers, calls, figures and totals.

Headings up to the third level, folds and figures belong to the document. Texts of a person, a model or a tool are
rewritten (`blocks/render/markdown_source.py`) or stand in code fences, so that none of them is read as its structure.
"""

from __future__ import annotations

import html
from collections.abc import Iterator, Mapping, Sequence

from nbtool.blocks.argument_lines import long_arguments, omitted_arguments
from nbtool.blocks.display_limits import NO_LIMITS
from nbtool.blocks.history.static_history import total_cost
from nbtool.blocks.history.usage_totals import totals
from nbtool.blocks.labels import (
    EDITED_ARGUMENTS,
    TRUNCATED,
    call_facts,
    call_line,
    decision_line,
    footer_line,
    format_seconds,
    reason_line,
    status_line,
    table_title,
    turn_seconds,
)
from nbtool.blocks.protocol import Block, CallBlock, NoticeBlock, ProseBlock, TablePreview
from nbtool.blocks.render.markdown_source import escape, fenced, quoted, rewrite, span, table
from nbtool.blocks.sanitize import one_line
from nbtool.chat.export.figures import Figures, unsaved_media
from nbtool.chat.export.title import Origin, title_blocks
from nbtool.chat.turn import Turn
from nbtool.events import TurnEnded
from nbtool.messages import Media
from nbtool.text import count_of, left_out

CELL_LIMIT = 200
"""Characters of a cell of a table."""


def as_markdown(turns: Sequence[Turn], figures: Figures | None = None, origin: Origin | None = None) -> str:
    """Return turns as Markdown; the files of its images and sounds are added to `figures`."""
    own, origin = figures or Figures(), origin or Origin()
    pieces = [piece for number, turn in enumerate(turns, 1) for piece in _turn(turn, number, own, origin)]
    document = [*title_blocks(turns, origin), *pieces, *(_totals(turns) if turns else ())]
    return "\n\n".join(piece for piece in document if piece) + "\n"


def _turn(turn: Turn, number: int, figures: Figures, origin: Origin) -> Iterator[str]:
    transcript = origin.transcript(turn, NO_LIMITS)
    document = transcript.document()
    unsaved = unsaved_media(turn)
    yield f"## {number}. Prompt"
    yield quoted(rewrite(turn.prompt.text, has_mentions=True))
    attached = [part for part in turn.prompt.parts if isinstance(part, Media)]
    yield from (f"Attached: {figure}" for figure in figures.write(attached))
    yield "### Reply"
    for block in document["blocks"]:
        yield from _block(block, transcript.media, figures)
        if block["kind"] == "call":
            yield from figures.write_unsaved(unsaved.get(block["id"], 0) - len(block.get("media", ())))
    yield from figures.write(turn.media)
    if end := status_line(document["head"]):
        yield from _notice({"id": "", "kind": "notice", "text": end, "level": "error" if turn.error else "info"})
    yield f"*{escape(footer_line(document['head']))}*"


def _block(block: Block, media: Mapping[str, Media], figures: Figures) -> Iterator[str]:
    match block["kind"]:
        case "text":
            yield "The model refused:" if block["refusal"] else ""
            yield from _prose(block)
        case "thinking":
            yield from _fold("Thinking", _prose(block))
        case "notice":
            yield from _notice(block)
        case "call":
            yield from _fold(" · ".join(filter(None, [call_line(block), call_facts(block)])), _call(block))
            shown = block.get("media", ())
            yield from figures.write(media[item["key"]] for item in shown if item["key"] in media)


def _prose(block: ProseBlock) -> Iterator[str]:
    yield rewrite(block["text"])
    yield f"*\\[{TRUNCATED}\\]*" if block["state"] == "cut" else ""


def _notice(block: NoticeBlock) -> Iterator[str]:
    """Write a notice: its first line, and all others as code."""
    first, _, rest = block["text"].strip().partition("\n")
    yield f"**{'Note' if block['level'] == 'info' else block['level'].capitalize()}.** {escape(first)}"
    yield fenced(rest, "text") if rest.strip() else ""


def _call(block: CallBlock) -> Iterator[str]:
    """Write the details of a call."""
    asked_for = block.get("asked_arguments", "")
    if asked_for or omitted_arguments(block["arguments"]):
        yield _section(EDITED_ARGUMENTS if asked_for else "Arguments", long_arguments(block["arguments"]), "json")
    if asked_for:
        yield _section("Requested by the model", long_arguments(asked_for), "json")
    yield from (escape(decision_line(decision)) for decision in block["decisions"])
    yield escape(reason_line(block))
    yield _section("Output", block["progress"])
    if preview := block.get("table"):
        yield f"{table_title(preview)}:\n\n{_preview(preview)}"
        yield _section("Text of the result", block["result"])
        return
    yield _section("Result", block["result"])


def _section(title: str, text: str, language: str = "text") -> str:
    return f"{title}:\n\n{fenced(text, language)}" if text.strip() else ""


def _preview(preview: TablePreview) -> str:
    rows = [[_cell(cell) for cell in row] for row in preview["rows"]]
    omitted = ((preview.get("more_rows", 0), "rows"), (preview.get("more_columns", 0), "columns"))
    more = ", ".join(left_out(count, noun) for count, noun in omitted if count)
    written = table([_cell(name) or "&nbsp;" for name in preview["columns"]], rows)
    return f"{written}\n\n*{more}*" if more else written


def _cell(text: str) -> str:
    return escape(one_line(text, CELL_LIMIT))


def _fold(summary: str, inside: Iterator[str]) -> Iterator[str]:
    """Write a fold; the blank lines let Markdown be read inside it."""
    words = html.escape(one_line(summary, 300)).replace("$", "&#36;").replace("\\", "&#92;")
    yield f"<details>\n<summary>{words}</summary>"
    yield from inside
    yield "</details>"


def _totals(turns: Sequence[Turn]) -> Iterator[str]:
    """Write the sums of a document: of each model, of each tool, and of all."""
    sums = totals(turns)
    rows = [
        [f"model {span(item['name'])}", count_of(item["count"], "request"), f"{item['input_tokens']:,}",
         f"{item['output_tokens']:,}", escape(total_cost(item)), format_seconds(item["seconds"])]
        for item in sums["models"]
    ]  # fmt: skip
    rows += [
        [f"tool {span(item['name'])}", count_of(item["count"], "call"), "", "", "", format_seconds(item["seconds"])]
        for item in sums["tools"]
    ]
    whole = sums["all"]
    cost = escape(total_cost(whole))
    waited = sum(event.waited for turn in turns for event in turn.log if isinstance(event, TurnEnded))
    seconds = turn_seconds(sum(turn.stats.seconds for turn in turns), waited)
    tokens = [f"{whole['input_tokens']:,}", f"{whole['output_tokens']:,}"]
    rows.append(["all, from prompt to answer", count_of(sums["turns"], "turn"), *tokens, cost, seconds])
    yield "## Totals of these turns"
    yield table(["&nbsp;", "number", "tokens in", "tokens out", "cost", "time"], rows, ["---", *["--:"] * 5])
