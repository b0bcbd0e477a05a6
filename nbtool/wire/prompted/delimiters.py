"""The marks that models put around a call, and what may stand between them.

Sources: the chat templates of Hermes 2 Pro and Qwen (`<tool_call>`), Qwen3-Coder (`<function=…>`), GLM-4.5
(`<arg_key>`), Granite (`<|tool_call|>`), Llama 3 (`<|python_tag|>`, `<function=…>`), Llama 4 (`<|python_start|>`),
Mistral (`[TOOL_CALLS]`), DeepSeek, Kimi K2, LFM2 and Command R7B, as each publishes it with its weights.
"""

# ruff: noqa: RUF001 - the marks are written with the very characters that the models use

from __future__ import annotations

import html
import json
import re
from dataclasses import dataclass
from typing import Any

from nbtool.errors import InvalidArguments
from nbtool.wire.prompted.call_json import WrittenCall, read_shape
from nbtool.wire.prompted.call_python import read_pythonic
from nbtool.wire.prompted.json_repair import parse_value
from nbtool.wire.prompted.json_tokens import BLANK, find_end, split_values, unfenced


@dataclass(frozen=True, slots=True)
class Mark:
    """A pair of marks; without a `closer` the calls run to the next opener or to the end of the reply."""

    opener: str
    closer: str = ""


MAX_ENDING = 200
"""Characters at the end of a text in which tokens that end a reply are looked for."""

MARKS = (
    Mark("<tool_call>", "</tool_call>"),
    Mark("<tool_calls>", "</tool_calls>"),
    Mark("<TOOLCALL>", "</TOOLCALL>"),
    Mark("<function_call>", "</function_call>"),
    Mark("<function_calls>", "</function_calls>"),
    Mark("<function=", "</function>"),
    Mark("<function name=", "</function>"),
    Mark("<seed:tool_call>", "</seed:tool_call>"),
    Mark("<minimax:tool_call>", "</minimax:tool_call>"),
    Mark("<｜DSML｜tool_calls>", "</｜DSML｜tool_calls>"),
    Mark("<｜DSML｜function_calls>", "</｜DSML｜function_calls>"),
    Mark("<｜tool▁calls▁begin｜>", "<｜tool▁calls▁end｜>"),
    Mark("<|tool_calls_section_begin|>", "<|tool_calls_section_end|>"),
    Mark("<|tool_call_begin|>", "<|tool_call_end|>"),
    Mark("<|tool_call_start|>", "<|tool_call_end|>"),
    Mark("<|python_start|>", "<|python_end|>"),
    Mark("<|START_ACTION|>", "<|END_ACTION|>"),
    Mark("<|tool_call|>"),
    Mark("<|function_call|>"),
    Mark("<|python_tag|>"),
    Mark("[TOOL_CALLS]"),
)

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
_NAMED = re.compile(
    r"[\s,;]*+(?:<｜tool▁call▁begin｜>(?:function<｜tool▁sep｜>)?|<\|tool_call_begin\|>|\[TOOL_CALLS\])?+\s*+"
    r"(?:functions\.)?(?P<name>[^\W\d][\w.-]*?)(?::\d+)?\s*+"
    r"(?:<｜tool▁sep｜>|<\|tool_call_argument_begin\|>|(?:\[CALL_ID\]\w+)?\[ARGS\])?+\s*+(?:```(?:json)?\s*+)?(?=\{)"
)
_NAMED_END = re.compile(r"\s*+(?:```)?+\s*+(?:<｜tool▁call▁end｜>|<\|tool_call_end\|>)?+\s*+")


def without_end(text: str) -> str:
    """Leave out the tokens that end a reply, where a server leaves them in its text."""
    ended = _END_TOKENS.search(text, max(0, len(text) - MAX_ENDING))
    return text[: ended.start()] if ended else text


def read_body(body: str, *, closed: bool = True, opener: str = "") -> list[WrittenCall] | None:
    """Read what stands between two marks.

    Gives None when it cannot be read, and an empty list when it can and is no call (a record, a definition).
    Without a closing mark (`closed`) brackets that lack at the end are not added: the text was cut off there.
    """
    text = (opener + body if opener.startswith("<function") and opener[-1] == "=" else body).strip(BLANK)
    text = without_end(text)
    if (fenced := unfenced(text)) is not None:
        text = fenced.strip(BLANK)
    if text.startswith(("<｜tool▁call▁begin｜>", "<|tool_call_begin|>")):
        return _read_named(text)
    if text.startswith("<"):
        return _read_functions(f"{text}</function>" if opener[-1:] == "=" and closed else text)
    if "<arg_key>" in text or re.fullmatch(r"[^\W\d][\w.-]*", text):
        return _read_pairs(text)
    if text.startswith(("{", "[")):
        return _read_pythonic(text) or _read_json(text, closed)
    return _read_named(text) or _read_pythonic(text)


def _read_json(text: str, closed: bool) -> list[WrittenCall] | None:
    pieces = split_values(text)
    if not pieces:
        pieces = [text] if closed else []
    if not closed and (not pieces or find_end(pieces[-1]) < 0):
        return None
    found: list[WrittenCall] = []
    for piece in pieces:
        try:
            parsed = parse_value(piece, ended=closed)
        except InvalidArguments:
            return None
        found.extend(read_shape(parsed.value, marked=True, repairs=parsed.repairs) or ())
    return found if pieces else None


def _read_pythonic(text: str) -> list[WrittenCall] | None:
    found = read_pythonic(text)
    return [WrittenCall(name, args) for name, args in found] if found else None


def _read_functions(text: str) -> list[WrittenCall] | None:
    """Read `<function=name>` with parameters in tags or as JSON, and `<invoke name="…">`."""
    found: list[WrittenCall] = []
    at = 0
    while function := _FUNCTION.match(text, at):
        body = function["body"].strip()
        args = _read_json_object(body) if body.startswith("{") else _read_tagged(body, _PARAMETER)
        if args is None:
            return None
        found.append(WrittenCall(function["name"], args))
        at = function.end()
    return found if found and not text[at:].strip() else None


def _read_json_object(text: str) -> dict[str, Any] | None:
    try:
        value = parse_value(text).value
    except InvalidArguments:
        return None
    return value if isinstance(value, dict) else None


def _read_pairs(text: str) -> list[WrittenCall] | None:
    """Read `name<arg_key>…</arg_key><arg_value>…</arg_value>`."""
    name, _, rest = text.partition("<arg_key>")
    args = _read_tagged(f"<arg_key>{rest}" if rest else "", _PAIR)
    return None if args is None or not name.strip() else [WrittenCall(name.strip(), args, lacks_arguments=not rest)]


def _read_tagged(text: str, form: re.Pattern[str]) -> dict[str, Any] | None:
    args: dict[str, Any] = {}
    at = 0
    while found := form.match(text, at):
        written = found.groupdict()
        args[written["key"].strip()] = _untyped(written["value"], written.get("text"))
        at = found.end()
    return None if text[at:].strip() else args


def _untyped(written: str, is_text: str | None) -> Any:
    """Give the value of a tag that does not say its type: JSON where it is JSON, or else the text itself."""
    if written.startswith("<![CDATA[") and written.endswith("]]>"):
        return written[9:-3]
    if written.startswith("\n") and written.endswith("\n"):
        written = written[1:-1]
    if is_text == "true":
        return html.unescape(written)
    try:
        return json.loads(written)
    except (ValueError, RecursionError):
        return written


def _read_named(text: str) -> list[WrittenCall] | None:
    """Read names with JSON objects behind them, as Mistral, DeepSeek and Kimi write them."""
    found: list[WrittenCall] = []
    at = 0
    while named := _NAMED.match(text, at):
        end = find_end(text, named.end())
        args = _read_json_object(text[named.end() : end]) if end > 0 else None
        if args is None:
            return None
        found.append(WrittenCall(named["name"], args))
        at = _NAMED_END.match(text, end).end()  # type: ignore[union-attr]  # matches the empty string too
    return found if found and at == len(text) else None
