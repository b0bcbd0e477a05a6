"""All of a turn as plain text, for a person who asks for it: nothing is cut, nothing invisible is left out."""

from __future__ import annotations

from collections.abc import Iterator

from nbtool.blocks.labels import CUT, EDITED_ARGUMENTS, call_facts, decision_line, end_line, footer_line, long_arguments
from nbtool.blocks.media import about
from nbtool.blocks.protocol import Block, CallBlock, Document, ProseBlock
from nbtool.blocks.sanitize import visible


def to_whole_text(document: Document) -> str:
    """Write a document that was folded with `limits.WHOLE`."""
    head = document["head"]
    parts = [_titled("Prompt", head["prompt"]), *(f"[{about(one)}]" for one in head.get("attached", ()))]
    parts += [part for block in document["blocks"] for part in _block(block)]
    return "\n\n".join(part for part in [*parts, end_line(head), footer_line(head)] if part)


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
    return _titled(title, block["text"]) + (f"\n[{CUT}]" if block["state"] == "cut" else "")


def _call(block: CallBlock) -> Iterator[str]:
    asked_for = block.get("asked_arguments", "")
    yield _titled(f"Call of {visible(block['name'])}", call_facts(block))
    yield _titled(EDITED_ARGUMENTS if asked_for else "Arguments", long_arguments(block["arguments"]))
    yield _titled("What the model asked for", long_arguments(asked_for) if asked_for else "")
    yield _titled("Resolved", "\n".join(visible(f"{name} = {text}") for name, text in block["resolved"].items()))
    for decided in block["decisions"]:
        reason = f": {visible(decided['reason'])}" if decided["reason"] else ""
        yield f"{decision_line({**decided, 'reason': ''})}{reason}"
    yield "" if block["reason"] == block["result"] else block["reason"]
    yield _titled("Output", block["progress"])
    shown = block.get("shown", "")
    yield _titled("Result" if shown else "Result, as the model saw it", block["result"])
    yield _titled("What the model saw", shown)
    yield _titled("Traceback", block.get("traceback", ""))
    yield "\n".join(f"[{about(one)}]" for one in block.get("media", ()))
    yield f"Kept as {visible(block['reference'])}: `%chat bind` gives it a name." if block["reference"] else ""


def _titled(title: str, text: str) -> str:
    return f"{title}:\n{text}" if text.strip() else ""
