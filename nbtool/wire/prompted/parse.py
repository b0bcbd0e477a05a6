"""Parses the calls in a whole text of a model."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass

from nbtool.errors import BadUsage
from nbtool.ids import new_id
from nbtool.messages import ToolCall
from nbtool.wire.prompted.call_json import ParsedCall, match_tools
from nbtool.wire.prompted.forms.marked_blocks import find_marked_blocks
from nbtool.wire.prompted.forms.table import find_bare_calls
from nbtool.wire.prompted.markdown_place import MarkdownPlace
from nbtool.wire.prompted.model_formats import DELIMITERS
from nbtool.wire.prompted.segments import CallBlock

_THINKING_ENDS = "</think>"


@dataclass(frozen=True, slots=True)
class ParsedText:
    """The prose and the calls of a text; `text` is everything except the calls, unchanged."""

    text: str
    calls: tuple[ToolCall, ...] = ()


def parse_calls(text: str, names: Iterable[str] | None = None, *, complete: bool = True) -> ParsedText:
    """Split a model's text into prose and calls.

    `names` are the available tools: a call of any other stays text. Without `names` every name is accepted. `complete`
    is whether the reply ended normally; calls of a truncated reply are not runnable, and the truncated one is not a
    call. If one call cannot be parsed, the text has no calls at all: part of the model's plan is not its plan.

    Raises:
        nbtool.errors.BadUsage: `text` is not a string, or `names` is a single string.
    """
    if not isinstance(text, str):
        raise BadUsage(f"What a model wrote is a text; {type(text).__name__} came.", fix="Decode bytes first.")
    if isinstance(names, str):
        raise BadUsage(f"`names` lists the tools there are; {names!r} is one text.", fix=f"Write `[{names!r}]`.")
    pieces = _read(text, None if names is None else frozenset(names), complete)
    return ParsedText(
        text="".join(piece for piece in pieces if isinstance(piece, str)),
        calls=tuple(_as_tool_call(call, complete) for piece in pieces if not isinstance(piece, str) for call in piece),
    )


def _read(text: str, names: frozenset[str] | None, complete: bool) -> list[str | list[ParsedCall]]:
    """Cut a text into prose and calls; those before a `</think>` are prose, for some templates hold its opening tag."""
    blocks = list(find_marked_blocks(text, DELIMITERS, MarkdownPlace(), may_be_open=True, complete=complete))
    if not blocks:
        thinking, end, answer = text.rpartition(_THINKING_ENDS)
        return [thinking + end, *_split(answer, find_bare_calls(answer, names), names)]
    if any(not block.calls and (complete or not block.is_cut) for block in blocks):
        return [text]
    return _split(text, [block for block in _without_thinking(text, blocks) if complete or not block.is_cut], names)


def _without_thinking(text: str, blocks: list[CallBlock]) -> list[CallBlock]:
    """Return the blocks behind the last `</think>` that is in none of them."""
    ends = [*(block.start for block in blocks[1:]), len(text)]
    thinking = [at for at, block in enumerate(blocks) if _THINKING_ENDS in text[block.end : ends[at]]]
    return blocks[thinking[-1] + 1 :] if thinking else blocks


def _split(text: str, blocks: list[CallBlock], names: frozenset[str] | None) -> list[str | list[ParsedCall]]:
    pieces: list[str | list[ParsedCall]] = []
    position = 0
    for block in blocks:
        calls = match_tools(block.calls or (), names)
        if calls:
            pieces += [text[position : block.start], calls]
            position = block.end
    return [*pieces, text[position:]]


def _as_tool_call(call: ParsedCall, complete: bool) -> ToolCall:
    call_id = new_id("call")
    return ToolCall(
        name=call.name,
        arguments=json.dumps(call.args, ensure_ascii=False),
        id=call_id,
        call_id=call_id,
        error=None if complete else "The reply was cut off before it was complete; its calls do not run.",
        runnable=complete,
        repaired=call.all_repairs,
    )
