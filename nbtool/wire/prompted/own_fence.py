"""The chat's own mark of a call, read tolerantly: the word alone decides, whatever fence is drawn around it.

The word is random and only the model knows it, so a text that the model merely repeats cannot contain it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import islice, zip_longest

from nbtool.wire.prompted.json_tokens import BLANK, find_end
from nbtool.wire.prompted.model_formats import parse_call_body
from nbtool.wire.prompted.segments import CallBlock
from nbtool.wire.reply import CALLS_CEILING

MAX_ATTRIBUTES = 200
"""Maximum number of characters between the word and its call, on the line of the word."""

MAX_MARKS = CALLS_CEILING
"""Marks in one text that are read; the rest of the text is one block with too many."""

MAX_DECORATION = 80
"""Maximum number of characters before the word that belong to its mark."""

_LANGUAGES = r"json[5l]?|jsonc|xml|text|txt|yaml|tool_code|tool_calls?|tool|call|function_call"
_DECORATION = re.compile(
    rf"(?:(?:\A|(?<=\n))(?:`{{3,}}|~{{3,}})[ \t]*(?:{_LANGUAGES}|markdown|md)[ \t]*\r?\n)?[ \t]*"
    rf"(?:(?:`+|~{{2,}}|'{{3,}}|\"{{3,}}|[<\[({{*_|]{{1,3}})[ \t]*(?:\{{\.?)?)?(?:\b(?:{_LANGUAGES})\b[ \t:]*)?\Z",
    re.IGNORECASE,
)
_AFTER = re.compile(r"(?:[^\n{\[]|\{[.#:][^}\n]*\})*")
_INNER_FENCE = re.compile(rf"\s*+(?:`{{3,}}|~{{3,}})[ \t]*+(?:{_LANGUAGES})?[ \t]*+\r?\n", re.IGNORECASE)
_CLOSING_LINE = re.compile(r"^[ \t]*(?:`{3,}|~{3,}|'{3,}|\"{3,})[ \t]*\r?$", re.MULTILINE)
_CLOSERS = re.compile(
    r"(?:[ \t]*+(?:\r?\n[ \t]*+)?(?:`{3,}+(?!\w)|~{3,}+(?!\w)|'{3,}+(?!\w)|\"{3,}+(?!\w)|</?\s*+call-[\w-]++\s*+>"
    r"|</(?:tool_call|function_call|call)>|`(?!`)|\](?=\s*(?:\Z|\n))|\*{2})(?=\s|\Z|`|~|<))*+"
)
_FENCED = re.compile(r"\s*(?:`{3}|~{3}|'{3}|\"{3}|<|\[)")
_VALUE_GAP = re.compile(rf"[{re.escape(BLANK)},;]*")


def find_own_blocks(text: str, word: str) -> Iterator[CallBlock]:
    """Find the blocks that `word` marks; a mere mention of it in prose is none."""
    position = before = 0
    marks = list(islice(re.finditer(rf"(?<!</){re.escape(word)}", text, re.IGNORECASE), MAX_MARKS + 1))
    for mark, following in zip_longest(marks[:MAX_MARKS], marks[1:]):
        start = _start_of_mark(text, max(position, before), mark.start())
        limit = _start_of_mark(text, mark.end(), following.start()) if following else len(text)
        block = _read_block(text, start, mark.end(), limit)
        if block:
            yield block
            position = block.end
        before = mark.end()
    if len(marks) > MAX_MARKS:
        start = _start_of_mark(text, max(position, before), marks[-1].start())
        yield CallBlock(start, len(text), None, is_unread=True)


def _start_of_mark(text: str, floor: int, word_start: int) -> int:
    """Return where the decoration before the word begins: a fence, perhaps in another one, a tag, a language."""
    match = _DECORATION.search(text, max(floor, word_start - MAX_DECORATION), word_start)
    return match.start() if match else word_start


def _read_block(text: str, start: int, word_end: int, limit: int) -> CallBlock | None:
    is_fenced = _FENCED.match(text, start, word_end) is not None
    after = _AFTER.match(text, word_end, min(limit, word_end + MAX_ATTRIBUTES))
    position = after.end() if after else word_end
    if inner := _INNER_FENCE.match(text, position, limit):
        position = inner.end()
    while position < limit and text[position] in BLANK:
        position += 1
    if position < limit and text[position] in "{[":
        return _read_json(text, start, position, limit)
    if not is_fenced:
        return None  # the word in a sentence
    closing = _CLOSING_LINE.search(text, position, limit)
    end = closing.end() if closing else limit
    body = text[position : closing.start() if closing else limit]
    calls = parse_call_body(body, is_closed=closing is not None)
    if not calls and not body.strip() and closing is None:
        return CallBlock(start, end, None, is_cut=True)
    return CallBlock(start, end, tuple(calls) if calls else None, is_cut=closing is None and not calls)


def _read_json(text: str, start: int, begin: int, limit: int) -> CallBlock:
    """Read the JSON values of a block up to the end of the last, with the closing marks behind it."""
    block = text[begin:limit]
    end = position = 0
    while position < len(block) and block[position] in "{[":
        end = find_end(block, position)
        if end < 0:
            return _read_unbalanced(text, start, begin, limit)
        gap = _VALUE_GAP.match(block, end)
        position = gap.end() if gap else end
    calls = parse_call_body(block[:end])
    if not calls and _CLOSING_LINE.search(block, end):
        return _read_unbalanced(text, start, begin, limit)
    closers = _CLOSERS.match(block, end)
    return CallBlock(start, begin + (closers.end() if closers else end), tuple(calls) if calls else None)


def _read_unbalanced(text: str, start: int, begin: int, limit: int) -> CallBlock:
    """Read a block whose JSON does not end, or cannot be read, up to the line that closes it."""
    closing = _CLOSING_LINE.search(text, begin, limit)
    end = closing.end() if closing else limit
    calls = parse_call_body(text[begin : closing.start()]) if closing else None
    return CallBlock(start, end, tuple(calls) if calls else None, is_cut=closing is None)
