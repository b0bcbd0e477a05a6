"""All of a turn as plain text, on request: nothing is truncated, nothing invisible is omitted."""

from __future__ import annotations

from collections.abc import Iterator

from nbtool.blocks.argument_lines import long_arguments
from nbtool.blocks.labels import (
    EDITED_ARGUMENTS,
    TRACEBACK,
    TRUNCATED,
    call_facts,
    decision_line,
    footer_line,
    status_line,
)
from nbtool.blocks.media import describe
from nbtool.blocks.protocol import Block, CallBlock, Document, ProseBlock
from nbtool.blocks.render.saved_document import without_person_only
from nbtool.blocks.sanitize import escape_invisible


def to_whole_text(document: Document) -> str:
    """Render a document that was folded with `limits.WHOLE`."""
    document = without_person_only(document)
    head = document["head"]
    parts = [_section("Prompt", head["prompt"]), *(f"[{describe(media)}]" for media in head.get("attached", ()))]
    parts += [part for block in document["blocks"] for part in _block(block)]
    return "\n\n".join(part for part in [*parts, status_line(head), footer_line(head)] if part)


def _block(block: Block) -> Iterator[str]:
    match block["kind"]:
        case "text":
            yield _prose("The model refused" if block["refusal"] else "Reply", block)
        case "thinking":
            yield _prose("Thinking", block)
        case "notice":
            yield block["text"]
        case "call":
            yield from _call(block)


def _prose(title: str, block: ProseBlock) -> str:
    return _section(title, block["text"]) + (f"\n[{TRUNCATED}]" if block["state"] == "cut" else "")


def _call(block: CallBlock) -> Iterator[str]:
    asked_for = block.get("asked_arguments", "")
    yield _section(f"Call of {escape_invisible(block['name'])}", call_facts(block))
    yield _section(EDITED_ARGUMENTS if asked_for else "Arguments", long_arguments(block["arguments"]))
    yield _section("Requested by the model", long_arguments(asked_for) if asked_for else "")
    yield _section(
        "Resolved", "\n".join(escape_invisible(f"{name} = {text}") for name, text in block["resolved"].items())
    )
    for decided in block["decisions"]:
        reason = f": {escape_invisible(decided['reason'])}" if decided["reason"] else ""
        yield f"{decision_line({**decided, 'reason': ''})}{reason}"
    yield "" if block["reason"] == block["result"] else block["reason"]
    yield _section("Output", block["progress"])
    yield _section("Result", block["result"])
    yield _section(TRACEBACK, block.get("traceback", ""))
    yield "\n".join(f"[{describe(media)}]" for media in block.get("media", ()))
    yield f"Stored as {escape_invisible(block['reference'])}; `%chat bind` binds it." if block["reference"] else ""


def _section(title: str, text: str) -> str:
    return f"{title}:\n{text}" if text.strip() else ""
