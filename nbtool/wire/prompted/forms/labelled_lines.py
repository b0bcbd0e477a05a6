"""Calls in lines with labels: `Action:` and `Action Input:`, or the name of a tool and its arguments."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache
from itertools import islice

from nbtool.errors import InvalidArguments
from nbtool.wire.prompted.call_json import ParsedCall, parse_call_value
from nbtool.wire.prompted.forms.searched_text import MAX_BARE_TRIES, OtherForm, SearchedText
from nbtool.wire.prompted.json_repair import parse_object
from nbtool.wire.prompted.json_tokens import find_end
from nbtool.wire.prompted.model_formats import strip_end_tokens
from nbtool.wire.prompted.segments import CallBlock

_ACTION = re.compile(
    r"^[ \t*]*+Action(?!\r?\n):?[ \t*]*+:?[ \t]*+(?P<name>[^\n]*+)\n(?:[^\n]*+\n)??[ \t*]*+Action[ _]?Input:?[ \t*]*+",
    re.MULTILINE | re.IGNORECASE,
)
_ACTION_END = re.compile(r"^[ \t*]*+(?:Observation|Thought|Final Answer|Action)\b", re.MULTILINE | re.IGNORECASE)
LABELS = (
    "tool", "tool name", "tool call", "tool use", "function", "function name", "function call", "call", "calling",
    "invoke", "invoking", "use tool", "using tool", "action", "name", "api", "api call", "command",
)  # fmt: skip
"""What stands before the name of a tool."""

_LABEL = "|".join(label.replace(" ", "[_ ]?") for label in LABELS)
_ARGUMENT_LABEL = re.compile(
    r"\s*+(?:[-*]++[ \t]*+)?(?:arguments?|args|parameters?|params|input|action[_ ]?input)\b(?:\*{2})?[ \t]*[:=]",
    re.IGNORECASE,
)
_OPEN_OBJECT = re.compile(r"\s*+(?:`{3,}+\w*+\s*+)?\{")
_EXACT_ACTION = re.compile(r"^[ \t]*+Action:[ \t]*+(?P<name>\S[^\n]*+)\n\s*+Action Input:[ \t]*+(?=\S)", re.MULTILINE)
_OBSERVATION = re.compile(r"^[ \t]*Observation:", re.MULTILINE)
_NAME_LINE = re.compile(r"(?:\A|(?<=[.!:,;)`'\"\]…\n]))(?<!```)[ \t]*(?P<name>[^\W\d]\w{0,63})[ \t]*\r?\n(?=\{)")
_FENCE_END = re.compile(r"[ \t]*\r?\n[ \t]*`{3,}[ \t]*(?=\n|\Z)")


def find_actions(searched: SearchedText) -> Iterator[OtherForm]:
    """Find `Action:` and `Action Input:`."""
    for match in searched.matches(_ACTION):
        if searched.is_code(match.start()):
            continue
        end = _ACTION_END.search(searched.text, match.end())
        yield OtherForm(
            match.start(),
            end.start() if end else len(searched.text),
            searched.tools.match(match["name"].strip()) or match["name"].strip()[:64],
        )


def read_actions(text: str) -> list[CallBlock]:
    """Read `Action:` and `Action Input:`, as ReAct has them; what follows `Observation:` is invented by the model."""
    body = strip_end_tokens(text)
    invented = _OBSERVATION.search(body)
    body = body[: invented.start()] if invented else body
    blocks: list[CallBlock] = []
    for action in islice(_EXACT_ACTION.finditer(body), MAX_BARE_TRIES):
        blocks.append(_read_object(body, action.start(), action.end(), action["name"].rstrip()))
        if blocks[-1].calls is None:
            break
    return blocks


def _read_object(text: str, start: int, position: int, name: str) -> CallBlock:
    """Read the JSON object at `position`, up to the end of its line, as the arguments of `name`."""
    end = find_end(text, position) if text[position] == "{" else -1
    if end < 0 or text[end:].partition("\n")[0].strip(" \t\r`"):
        return CallBlock(start, end, None)
    try:
        parsed = parse_object(text[position:end])
    except InvalidArguments:
        return CallBlock(start, end, None)
    return CallBlock(start, end, (ParsedCall(name, parsed.value, parsed.repairs),))


def find_labelled_names(searched: SearchedText) -> Iterator[OtherForm]:
    """Find the name of a tool on a line, with a label or alone, and its arguments behind it."""
    if not searched.tools.alternation:
        return
    for pattern in _name_patterns(searched.tools.alternation):
        for match in searched.matches(pattern):
            if not searched.is_code(match.start()) and (end := _end_of_arguments(searched, match)) > 0:
                name = searched.tools.match(match["name"]) or match["name"]
                yield searched.widen(OtherForm(match.start(), end, name))


def read_named_objects(text: str) -> list[CallBlock]:
    """Read names on a line, each with a JSON object below it, up to the end of the text, as GLM-4 writes calls."""
    text = strip_end_tokens(text)
    blocks: list[CallBlock] = []
    for match in islice(_NAME_LINE.finditer(text), MAX_BARE_TRIES):
        if blocks and match.start() < blocks[-1].end:
            continue
        blocks.append(_read_object(text, match.start("name"), match.end(), match["name"]))
        if blocks[-1].calls is None:
            return []
    if not blocks or text[blocks[-1].end :].strip():
        return []
    arguments = (call.args for block in blocks for call in block.calls or ())
    return [] if any(parse_call_value(value, is_delimited=False) for value in arguments) else blocks


@lru_cache(maxsize=64)
def _name_patterns(alternation: str) -> tuple[re.Pattern[str], re.Pattern[str]]:
    """Return the patterns of a name on a line, and of one behind the end of a sentence."""
    label = rf"(?:\*{{0,2}}(?:{_LABEL})\*{{0,2}}[ \t]*[:=]?\*{{0,2}}[ \t]*)?"
    behind = r"(?P<next>[ \t]*[:,]?[ \t]*(?:with[ \t]*)?(?:\((?=[ \t]*[{\w])|\{|\r?\n))"
    line = rf"^[ \t>*#-]*+{label}[\"'`*]{{0,4}}(?:functions\.)?(?P<name>{alternation})[\"'`*]{{0,4}}{behind}"
    sentence_end = rf"(?<=[.!?:)\]`'\"])(?:functions\.)?(?P<name>{alternation})(?P<next>[ \t]*\r?\n)(?=[ \t]*\{{)"
    return re.compile(line, re.MULTILINE | re.IGNORECASE), re.compile(sentence_end)


def _end_of_arguments(searched: SearchedText, match: re.Match[str]) -> int:
    """Return the end of the arguments behind a name: an object, a list in parentheses, or labelled lines; else -1."""
    text, last = searched.text, match["next"].strip(" \t:,")[-1:]
    if last == "{":
        return find_end(text, match.end() - 1)
    if last == "(":
        return _end_of_list(text, match.end())
    label = _ARGUMENT_LABEL.match(text, match.end())
    brace = _OPEN_OBJECT.match(text, label.end() if label else match.end())
    if brace:
        end = find_end(text, brace.end() - 1)
        tail = _FENCE_END.match(text, max(end, 0)) if "```" in brace[0] else None
        return tail.end() if tail else end
    return searched.end_of_paragraph(match.end()) if label else -1


def _end_of_list(text: str, start: int) -> int:
    """Return the end of arguments in parentheses that nothing follows on their line; else -1."""
    close = text.find(")", start)
    if close < 0:
        return -1
    inside = text[start:close]
    has_arguments = inside.lstrip().startswith("{") or re.match(r"\s*\w+\s*=", inside) is not None
    is_alone = not text[close + 1 :].partition("\n")[0].strip(" `.;*")
    return close + 1 if has_arguments and is_alone else -1
