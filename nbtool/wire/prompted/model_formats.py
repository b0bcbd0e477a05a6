"""The marks that models write around a call, and the formats between them.

Sources: the chat templates of Hermes 2 Pro and Qwen (`<tool_call>`), Qwen3-Coder (`<function=…>`), GLM-4.5
(`<arg_key>`), Granite (`<|tool_call|>`), Llama 3 (`<|python_tag|>`, `<function=…>`), Llama 4 (`<|python_start|>`),
Mistral (`[TOOL_CALLS]`), DeepSeek, Kimi K2, LFM2 and Command R7B, as published with their weights.
"""

# ruff: noqa: RUF001 - the marks contain the characters that the models write

from __future__ import annotations

import html
import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

from nbtool.errors import InvalidArguments
from nbtool.wire.prompted.call_json import ParsedCall, parse_call_value
from nbtool.wire.prompted.call_python import parse_python_calls
from nbtool.wire.prompted.json_repair import parse_value, parse_values
from nbtool.wire.prompted.json_tokens import BLANK, find_end, strip_fence


@dataclass(frozen=True, slots=True)
class Delimiter:
    """A pair of marks; without a `closer` the calls end at the next opener or at the end of the reply."""

    opener: str
    closer: str = ""


MAX_END_CHARS = 200
"""Characters at the end of a text in which end-of-reply tokens are searched."""

DELIMITERS = (
    Delimiter("<tool_call>", "</tool_call>"),
    Delimiter("<tool_calls>", "</tool_calls>"),
    Delimiter("<TOOLCALL>", "</TOOLCALL>"),
    Delimiter("<function_call>", "</function_call>"),
    Delimiter("<function_calls>", "</function_calls>"),
    Delimiter("<function=", "</function>"),
    Delimiter("<function name=", "</function>"),
    Delimiter("<seed:tool_call>", "</seed:tool_call>"),
    Delimiter("<minimax:tool_call>", "</minimax:tool_call>"),
    Delimiter("<｜DSML｜tool_calls>", "</｜DSML｜tool_calls>"),
    Delimiter("<｜DSML｜function_calls>", "</｜DSML｜function_calls>"),
    Delimiter("<｜tool▁calls▁begin｜>", "<｜tool▁calls▁end｜>"),
    Delimiter("<|tool_calls_section_begin|>", "<|tool_calls_section_end|>"),
    Delimiter("<|tool_call_begin|>", "<|tool_call_end|>"),
    Delimiter("<|tool_call_start|>", "<|tool_call_end|>"),
    Delimiter("<|python_start|>", "<|python_end|>"),
    Delimiter("<|START_ACTION|>", "<|END_ACTION|>"),
    Delimiter("<|tool_call|>"),
    Delimiter("<|function_call|>"),
    Delimiter("<|python_tag|>"),
    Delimiter("[TOOL_CALLS]"),
)


@cache
def openers_pattern(openers: tuple[str, ...]) -> re.Pattern[str]:
    """Return the pattern of these marks; where one begins like another, the longer one is found."""
    return re.compile("|".join(map(re.escape, sorted(openers, key=len, reverse=True))) or r"(?!)")


OPENERS = openers_pattern(tuple(mark.opener for mark in DELIMITERS))
"""The opening marks of all model families."""

_END_TOKENS = re.compile(r"(?:\s*<(?:\|(?:eom_id|eot_id|im_end|end_of_text|endoftext|/tool_call)\||/s)>)+\s*\Z")
_FUNCTION = re.compile(
    r"\s*<(?:｜DSML｜)?(?:function=|function\s+name=|invoke\s+name=)[\"']?(?P<name>[^\"'>\s]+)[\"']?\s*>"
    r"(?P<body>.*?)</(?:｜DSML｜)?(?:function|invoke)>",
    re.DOTALL,
)
_PARAMETER = re.compile(
    r"\s*<(?:｜DSML｜)?(?:parameter=|parameter\s+name=|param\s+name=)[\"']?(?P<key>[^\"'>\s]+)[\"']?"
    r"(?:\s+string=\"(?P<text>true|false)\")?\s*>(?P<value>.*?)</(?:｜DSML｜)?(?:parameter|param)>",
    re.DOTALL,
)
_PAIR = re.compile(r"\s*<arg_key>(?P<key>[^<]*)</arg_key>\s*<arg_value>(?P<value>.*?)</arg_value>", re.DOTALL)
_NAMED_CALL = re.compile(
    r"[\s,;]*+(?:<｜tool▁call▁begin｜>(?:function<｜tool▁sep｜>)?|<\|tool_call_begin\|>|\[TOOL_CALLS\])?+\s*+"
    r"(?:functions\.)?(?P<name>[^\W\d][\w.-]*?)(?::\d+)?\s*+"
    r"(?:<｜tool▁sep｜>|<\|tool_call_argument_begin\|>|(?:\[CALL_ID\]\w+)?\[ARGS\])?+\s*+(?:```(?:json)?\s*+)?(?=\{)"
)
_NAMED_END = re.compile(r"\s*+(?:```)?+\s*+(?:<｜tool▁call▁end｜>|<\|tool_call_end\|>)?+\s*+")


def strip_end_tokens(text: str) -> str:
    """Remove end-of-reply tokens that a server leaves in the text."""
    match = _END_TOKENS.search(text, max(0, len(text) - MAX_END_CHARS))
    return text[: match.start()] if match else text


def parse_call_body(body: str, *, is_closed: bool = True, opener: str = "") -> Sequence[ParsedCall] | None:
    """Parse the text between two marks.

    Return None if it cannot be parsed, and an empty list if it is not a call (a record, a definition). Without a
    closing mark (`is_closed`) missing brackets at the end are not added: the text was cut off there.
    """
    text = (opener + body if opener.startswith("<function") and opener[-1] == "=" else body).strip(BLANK)
    text = strip_end_tokens(text)
    if (fenced := strip_fence(text)) is not None:
        text = fenced.strip(BLANK)
    if text.startswith(("<｜tool▁call▁begin｜>", "<|tool_call_begin|>")):
        return _parse_named_calls(text)
    if text.startswith("<"):
        return _parse_function_tags(f"{text}</function>" if opener[-1:] == "=" and is_closed else text)
    if text.startswith(("{", "[")):
        return parse_python_calls(text) or _parse_json_calls(text, is_closed)
    if "<arg_key>" in text or re.fullmatch(r"[^\W\d][\w.-]*", text):
        return _parse_argument_pairs(text)
    return _parse_named_calls(text) or parse_python_calls(text)


def _parse_json_calls(text: str, is_closed: bool) -> list[ParsedCall] | None:
    calls: list[ParsedCall] | None = None
    for value in parse_values(text, is_closed=is_closed):
        if value is None:
            return None
        calls = calls or []
        calls += parse_call_value(value.value, is_delimited=True, repairs=value.repairs) or ()
    return calls


def _parse_function_tags(text: str) -> list[ParsedCall] | None:
    """Parse `<function=name>` with parameters in tags or as JSON, and `<invoke name="…">`."""
    calls: list[ParsedCall] = []
    position = 0
    while function := _FUNCTION.match(text, position):
        body = function["body"].strip()
        args = _parse_json_object(body) if body.startswith("{") else _parse_tags(body, _PARAMETER)
        if args is None:
            return None
        calls.append(ParsedCall(function["name"], args))
        position = function.end()
    return calls if calls and not text[position:].strip() else None


def _parse_json_object(text: str) -> dict[str, Any] | None:
    try:
        value = parse_value(text).value
    except InvalidArguments:
        return None
    return value if isinstance(value, dict) else None


def _parse_argument_pairs(text: str) -> list[ParsedCall] | None:
    """Parse `name<arg_key>…</arg_key><arg_value>…</arg_value>`."""
    name, _, rest = text.partition("<arg_key>")
    args = _parse_tags(f"<arg_key>{rest}" if rest else "", _PAIR)
    return None if args is None or not name.strip() else [ParsedCall(name.strip(), args, lacks_arguments=not rest)]


def _parse_tags(text: str, pattern: re.Pattern[str]) -> dict[str, Any] | None:
    args: dict[str, Any] = {}
    position = 0
    while match := pattern.match(text, position):
        groups = match.groupdict()
        args[groups["key"].strip()] = _guess_value(groups["value"], groups.get("text"))
        position = match.end()
    return None if text[position:].strip() else args


def _guess_value(text: str, is_text: str | None) -> Any:
    """Return the value of a tag without a type: the JSON value if it is valid JSON, else the text."""
    if text.startswith("<![CDATA[") and text.endswith("]]>"):
        return text[9:-3]
    if text.startswith("\n") and text.endswith("\n"):
        text = text[1:-1]
    if is_text == "true":
        return html.unescape(text)
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return text


def _parse_named_calls(text: str) -> list[ParsedCall] | None:
    """Parse names followed by JSON objects, as Mistral, DeepSeek and Kimi write them."""
    calls: list[ParsedCall] = []
    position = 0
    while match := _NAMED_CALL.match(text, position):
        end = find_end(text, match.end())
        args = _parse_json_object(text[match.end() : end]) if end > 0 else None
        if args is None:
            return None
        calls.append(ParsedCall(match["name"], args))
        position = _NAMED_END.match(text, end).end()  # type: ignore[union-attr]  # matches the empty string too
    return calls if calls and position == len(text) else None
