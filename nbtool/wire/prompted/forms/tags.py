"""Results that the model made up, tags, and the control tokens of chat templates."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache
from itertools import zip_longest

from nbtool.errors import InvalidArguments
from nbtool.wire.prompted.call_json import parse_call_value, parse_json_calls
from nbtool.wire.prompted.forms.marked_blocks import TOKEN, end_of_unclosed
from nbtool.wire.prompted.forms.searched_text import OtherForm, SearchedText
from nbtool.wire.prompted.json_repair import parse_value
from nbtool.wire.prompted.json_tokens import find_end, split_values
from nbtool.wire.prompted.model_formats import OPENERS
from nbtool.wire.prompted.segments import CallBlock

MAX_UNKNOWN_CALL = 16 * 1024
"""Characters of a call of an unknown tool behind a control token; a longer one is shown."""

_TAG_WORDS = r"tool|func|function|call|invoke|action|api"
_RESULT = re.compile(
    r"<(?P<tag>tool_results?|tool_response|function_results?|function_response|observation)\b[^<>]*+>", re.IGNORECASE
)
_WORD_TAG = re.compile(rf"<(?=[\w:.-]*(?:{_TAG_WORDS}))(?P<tag>[\w:.-]++)(?:[ =][^<>]*+)?>", re.IGNORECASE)
_ADDRESS = r"\bto=(?:functions\.[A-Za-z_][\w.]*|[A-Za-z_][\w.]*(?=\s*(?:<|\{|json\b|code\b|\Z)))"
_SPECIAL = re.compile(rf"{TOKEN}|{_ADDRESS}")
_ROLE = re.compile(r"<\|(?:im_start|im_end|start_header_id|end_header_id|eot_id)\|>")
_SPECIAL_TAIL = re.compile(rf"\s*(?:(?!{OPENERS.pattern}){TOKEN}\s*)*")


def find_results(searched: SearchedText) -> Iterator[OtherForm]:
    """Find results that the model made up."""
    for match in searched.matches(_RESULT):
        if searched.is_code(match.start()) or searched.is_quoted(match.start(), match.end()):
            continue
        closer = re.compile(rf"</{re.escape(match['tag'])}\s*>", re.IGNORECASE).search(searched.text, match.end())
        yield OtherForm(match.start(), closer.end() if closer else len(searched.text), reason="result")


def find_tags(searched: SearchedText) -> Iterator[OtherForm]:
    """Find tags that are named like a tool, or that mention a call and contain the name of a tool."""
    text, tools = searched.text, searched.tools
    patterns = [_WORD_TAG, *([_tag_pattern(tools.alternation)] if tools.alternation else [])]
    for pattern in patterns:
        mention = tools.mention(text)
        for match in searched.matches(pattern):
            if searched.is_code(match.start()) or (
                searched.is_shown(match.start()) and not searched.fence_at(match.start())
            ):
                continue
            closer = re.compile(rf"</{re.escape(match['tag'])}\s*>").search(text, match.end())
            stop = closer.end() if closer else end_of_unclosed(text, match.end())
            if match[0].endswith("/>"):
                stop = match.end()
            if mention and mention.start() < match.start():
                mention = tools.mention(text, match.start())
            if mention and mention.end() <= stop:
                yield searched.widen(OtherForm(match.start(), stop, mention[0]))


@lru_cache(maxsize=64)
def _tag_pattern(alternation: str) -> re.Pattern[str]:
    return re.compile(rf"<(?P<tag>{alternation})(?:\s[^<>]*)?/?>")


def find_control_tokens(searched: SearchedText) -> Iterator[OtherForm]:
    """Find control tokens of chat templates before a call, or that address a tool, with the object behind them."""
    text = searched.text
    for match in searched.matches(_SPECIAL):
        rest = text[match.end() : match.end() + 400]
        name = searched.tools.find(match[0] + rest.partition("\n\n")[0])
        brace = text.find("{", match.end(), match.end() + 400)
        if not name and brace >= 0 and not text[match.end() : brace].strip() and not searched.is_shown(match.start()):
            name = _name_of_call(text[brace : brace + MAX_UNKNOWN_CALL])
        if not name or searched.is_code(match.start()) or (brace < 0 and "to=" not in match[0]):
            continue
        end = find_end(text, brace) if brace >= 0 else -1
        tail = _SPECIAL_TAIL.match(text, end if end > 0 else len(text))
        yield OtherForm(match.start(), tail.end() if tail else len(text), name)


def _name_of_call(text: str) -> str:
    """Return the name of the call with whose object a text begins; empty if it begins with something else."""
    end = find_end(text)
    try:
        calls = parse_call_value(parse_value(text[:end]).value, is_delimited=False) if end > 0 else None
    except InvalidArguments:
        return ""
    return calls[0].name if calls else ""


def read_between_role_tokens(text: str) -> list[CallBlock]:
    """Read objects between `<|im_start|>` tokens, which some models write instead of a tag.

    Nothing else may be between them, and the same token has to close: ambiguous marks need strict content.
    """
    blocks: list[CallBlock] = []
    tokens = list(_ROLE.finditer(text))
    for opener, closer in zip_longest(tokens, tokens[1:]):
        end = closer.start() if closer else len(text)
        content = text[opener.end() : end].strip()
        if not content.startswith(("{", "[{")):
            continue
        is_paired = opener[0] == "<|im_start|>" and (closer is None or closer[0] == opener[0])
        is_object = content.startswith("{") and len(split_values(content) or ()) == 1
        blocks.append(CallBlock(opener.start(), end, parse_json_calls(content) if is_paired and is_object else None))
        if blocks[-1].calls is None:
            break
    return blocks
