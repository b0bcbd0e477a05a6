"""Texts that look like calls, written in another form than the one that was asked for.

None of them runs: a text that the model merely repeats may look like one. They are found so that they can be hidden,
reported, and asked for again, so the search is broad where a tool of the chat is named, and strict where none is.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

from nbtool.errors import InvalidArguments
from nbtool.wire.prompted.call_json import (
    ARGUMENT_KEYS,
    match_tool_name,
    parse_call_value,
)
from nbtool.wire.prompted.call_python import end_of_call_list, parse_python_calls
from nbtool.wire.prompted.delimiters import DELIMITERS, parse_call_body
from nbtool.wire.prompted.json_repair import parse_value
from nbtool.wire.prompted.json_tokens import find_end
from nbtool.wire.prompted.segments import MalformedReason

MAX_TRIES = 256
"""Places of one form in one text that are looked at; where there are more, the rest is hidden if it may hold a call."""

MAX_OVERLAPS = 8
"""Openers before the same end that are read up to it; further ones are read up to the next opener."""

MAX_DEPTH = 8
"""Objects around a call in JSON."""

MAX_NAMES = 1_000
"""Names of tools that are searched for in a text."""

_TAG_WORDS = r"tool|func|function|call|invoke|action|api"
_OPENERS = re.compile("|".join(re.escape(one.opener) for one in sorted(DELIMITERS, key=lambda one: -len(one.opener))))
_CLOSERS = {one.opener: one.closer for one in DELIMITERS}
_RESULT = re.compile(
    r"<(?P<tag>tool_results?|tool_response|function_results?|function_response|observation)\b[^>]*>", re.IGNORECASE
)
_WORD_TAG = re.compile(rf"<(?P<tag>[\w:.-]*(?:{_TAG_WORDS})[\w:.-]*)(?:[ =][^<>]*)?>", re.IGNORECASE)
# ruff: noqa: RUF001 - the marks are written with the very characters that the models use
_TOKEN = r"(?:<[|｜][\w▁ -]{1,40}[|｜]?>|<[\w▁ -]{1,40}[|｜]>)"
_SPECIAL = re.compile(rf"{_TOKEN}|\bto=(?:functions\.)?[A-Za-z_][\w.]*")
_SPECIAL_TAIL = re.compile(rf"\s*(?:{_TOKEN}\s*)*")
_JSON = re.compile(r"""(?:\[\s*)?\{\s*["'“]?[\w -]{1,60}["'”]?\s*:""")
_FENCE = re.compile(
    r"^[ \t>]*+(?P<fence>`{3,}+|~{3,}+)[ \t]*+(?P<info>[^\n`]*)\n(?P<body>.*?)(?:^[ \t>]*(?P=fence)[`~]*[ \t]*$|\Z)",
    re.MULTILINE | re.DOTALL,
)
_DATA_LANGUAGES = frozenset({"", "json", "json5", "jsonc", "xml", "text", "txt", "plaintext", "yaml", "yml", "html"})
_ACTION = re.compile(
    r"^[ \t*]*+Action:?[ \t*]*:?[ \t]*(?P<name>[^\n]+?)[ \t]*\r?\n(?:[^\n]*\n)??[ \t*]*Action[ _]?Input:?[ \t*]*",
    re.MULTILINE | re.IGNORECASE,
)
_ACTION_END = re.compile(r"^[ \t*]*+(?:Observation|Thought|Final Answer|Action)\b", re.MULTILINE | re.IGNORECASE)
_LABELS = (
    r"tool|tool[_ ]?name|tool[_ ]?call|tool[_ ]?use|function|function[_ ]?name|function[_ ]?call|call|calling|invoke"
    r"|invoking|use[_ ]?tool|using[ _]tool|action|name|api|api[_ ]call|command"
)
_ARGUMENT_LABEL = re.compile(
    r"\s*[-*]*[ \t]*(?:\*{2})?(?:arguments?|args|parameters?|params|input|action[_ ]?input)\b(?:\*{2})?[ \t]*[:=]",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class OtherForm:
    """A text that looks like a call, from `start` to `end`."""

    start: int
    end: int
    name: str = ""
    reason: MalformedReason = "other_form"


def find_other_forms(text: str, names: Collection[str] | None) -> list[OtherForm]:
    """Return what looks like a call, in order and without overlaps; with no tools at all, nothing does."""
    if names is not None and not names:
        return []
    reading = _Reading(text, names, [])
    reading.fences.extend(
        _Fence(match.start(), match.end(), match["info"], match["body"]) for match in reading.matches(_FENCE)
    )
    found = [form for find in _FINDERS for form in find(reading)]
    if reading.unread and _may_hold_call(reading, start := min(reading.unread)):
        found.append(OtherForm(start, len(text), reason="too_long"))
    merged: list[OtherForm] = []
    for form in sorted(found, key=lambda form: (form.start, -form.end)):
        if merged and form.start < merged[-1].end:
            continue
        merged.append(form)
    return merged


def names_alternation(names: Collection[str]) -> str:
    """Return names as a part of a regular expression, longest first; what separates their words may differ."""
    ordered = sorted(names, key=lambda name: (-len(name), name))[:MAX_NAMES]
    return "|".join("[-_.]".join(map(re.escape, re.split(r"[-_.]", name))) for name in ordered)


@dataclass(frozen=True, slots=True)
class _Fence:
    start: int
    end: int
    info: str
    body: str

    @property
    def language(self) -> str:
        return self.info.strip().split(" ")[0].strip("{}.:").lower()

    @property
    def is_for_calls(self) -> bool:
        """Whether the language says that a call is in the fence."""
        return self.language.startswith(("tool", "function", "call", "action"))


@dataclass(frozen=True, slots=True)
class _Reading:
    """A text, the tools that there are (None: any), and its code fences."""

    text: str
    names: Collection[str] | None
    fences: list[_Fence]
    unread: list[int] = field(default_factory=list)

    def matches(self, pattern: re.Pattern[str]) -> Iterator[re.Match[str]]:
        """Yield the places of a form, and note where more of them are left than are looked at."""
        for count, match in enumerate(pattern.finditer(self.text)):
            if count == MAX_TRIES:
                self.unread.append(match.start())
                return
            yield match

    def tool(self, name: str) -> str:
        """Return the tool that a written name means; empty if it means none."""
        return match_tool_name(name.strip(" `*\"'"), self.names) or "" if self.names is not None else ""

    def mentions_tool(self, text: str) -> str:
        """Return the first tool whose name is in a text; empty if there is none."""
        match = _names_pattern(self.alternation).search(text) if self.alternation else None
        return match[0] if match else ""

    def mention_from(self, position: int) -> re.Match[str] | None:
        """Return where the name of a tool is next."""
        return _names_pattern(self.alternation).search(self.text, position) if self.alternation else None

    @property
    def alternation(self) -> str:
        """The names of the tools as a part of a regular expression, longest first."""
        return names_alternation(self.names or ())

    def fence_at(self, position: int) -> _Fence | None:
        return next((fence for fence in self.fences if fence.start <= position < fence.end), None)

    def is_code(self, position: int) -> bool:
        """Whether a position is in a fence of a programming language: what is there is shown, not called."""
        fence = self.fence_at(position)
        return fence is not None and not fence.is_for_calls and fence.language not in _DATA_LANGUAGES

    def is_quoted(self, start: int, end: int) -> bool:
        """Whether a text is inline code."""
        return (
            self.text[max(0, start - 1) : start] == "`"
            and self.text[end : end + 1] == "`"
            and self.fence_at(start) is None
        )

    def widen(self, form: OtherForm) -> OtherForm:
        """Return a form with the whole fence around it, if it is alone in it."""
        fence = self.fence_at(form.start)
        if fence is None or form.end > fence.end:
            return form
        inside = self.text[fence.start : fence.end]
        alone = not fence.body.replace(self.text[form.start : form.end].strip(), "", 1).strip("` \t\r\n;,")
        return OtherForm(fence.start, fence.end, form.name, form.reason) if alone or len(inside) < 3 else form


def _may_hold_call(reading: _Reading, start: int) -> bool:
    rest = reading.text[start:]
    return bool(reading.mentions_tool(rest) or _OPENERS.search(rest))


@lru_cache(maxsize=64)
def _names_pattern(alternation: str) -> re.Pattern[str]:
    return re.compile(rf"(?<!\w)(?:{alternation})(?!\w)")


def _results(reading: _Reading) -> Iterator[OtherForm]:
    """Find results that the model made up."""
    for match in reading.matches(_RESULT):
        if reading.is_code(match.start()) or reading.is_quoted(match.start(), match.end()):
            continue
        closer = re.compile(rf"</{re.escape(match['tag'])}\s*>", re.IGNORECASE).search(reading.text, match.end())
        yield OtherForm(match.start(), closer.end() if closer else len(reading.text), reason="result")


def _delimited(reading: _Reading) -> Iterator[OtherForm]:
    """Find blocks between the marks of model families."""
    text, position = reading.text, 0
    overlaps: Counter[int] = Counter()
    for match in reading.matches(_OPENERS):
        if match.start() < position:
            continue
        closer = _CLOSERS[match[0]]
        end = text.find(closer, match.end()) if closer else -1
        stop = end if end >= 0 else len(text)
        overlaps[stop] += 1
        following = _OPENERS.search(text, match.end(), stop) if overlaps[stop] > MAX_OVERLAPS else None
        body = text[match.end() : following.start() if following else stop]
        calls = parse_call_body(body, is_closed=end >= 0 and not following, opener=match[0])
        name = reading.tool(calls[0].name) if calls else reading.mentions_tool(body)
        is_meant = bool(name) or not (reading.is_code(match.start()) or _is_shown(reading, match.start()))
        if not is_meant or not (calls or _looks_structured(body)):
            continue
        position = end + len(closer) if end >= 0 else len(text)
        reason: MalformedReason = "other_form" if calls else "unreadable"
        yield reading.widen(OtherForm(match.start(), position, name or (calls[0].name if calls else ""), reason))


def _is_shown(reading: _Reading, position: int) -> bool:
    """Whether a mark is in inline code, or in a fence that follows prose."""
    fence = reading.fence_at(position)
    if fence:
        return bool(reading.text[: fence.start].strip()) and not fence.is_for_calls
    return reading.text[max(0, position - 1) : position] == "`"


def _looks_structured(body: str) -> bool:
    start = body.lstrip(" \t\r\n`")[:200]
    return (
        start.startswith(("{", "[", "<"))
        or re.search(r"[\"']?(?:name|arguments|parameters)[\"']?\s*[:=>]", start) is not None
    )


def _tags(reading: _Reading) -> Iterator[OtherForm]:
    """Find tags that are named like a tool, or that mention a call and contain the name of a tool."""
    text = reading.text
    own = reading.alternation
    patterns = [_WORD_TAG, *([re.compile(rf"<(?P<tag>{own})(?:\s[^<>]*)?/?>")] if own else [])]
    for pattern in patterns:
        mention = reading.mention_from(0)
        for match in reading.matches(pattern):
            if reading.is_code(match.start()) or (
                _is_shown(reading, match.start()) and not reading.fence_at(match.start())
            ):
                continue
            closer = re.compile(rf"</{re.escape(match['tag'])}\s*>").search(text, match.end())
            stop = closer.end() if closer else len(text)
            if match[0].endswith("/>"):
                stop = match.end()
            if mention and mention.start() < match.start():
                mention = reading.mention_from(match.start())
            if mention and mention.end() <= stop:
                yield reading.widen(OtherForm(match.start(), stop, mention[0]))


def _special_tokens(reading: _Reading) -> Iterator[OtherForm]:
    """Find control tokens of chat templates that address a tool, with the object behind them."""
    text = reading.text
    for match in reading.matches(_SPECIAL):
        rest = text[match.end() : match.end() + 400]
        name = reading.mentions_tool(match[0] + rest.partition("\n\n")[0])
        brace = text.find("{", match.end(), match.end() + 400)
        if not name or reading.is_code(match.start()) or (brace < 0 and "to=" not in match[0]):
            continue
        end = find_end(text, brace) if brace >= 0 else -1
        tail = _SPECIAL_TAIL.match(text, end if end > 0 else len(text))
        yield OtherForm(match.start(), tail.end() if tail else len(text), name)


def _json_objects(reading: _Reading) -> Iterator[OtherForm]:
    """Find JSON that is a call of a tool; of an unknown tool only if it is all of the reply."""
    text, position = reading.text, 0
    for match in reading.matches(_JSON):
        if match.start() < position or reading.is_code(match.start()):
            continue
        end = find_end(text, match.start())
        stop = end if end > 0 else _end_of_paragraph(reading, match.start())
        body = text[match.start() : stop]
        names = _names_in_json(reading, body)
        name = next((tool for one in names or () if (tool := reading.tool(one))), "")
        if (
            names is None
            and (shown := reading.mentions_tool(body))
            and re.search(rf"[\"'“:]\s*(?:functions\.)?{re.escape(shown)}", body)
        ):
            yield reading.widen(OtherForm(match.start(), stop, shown, "unreadable"))
        elif name or (names and _is_whole(reading, match.start(), stop)):
            yield reading.widen(OtherForm(match.start(), stop, name or (names[0] if names else "")))
        position = stop


def _end_of_paragraph(reading: _Reading, position: int) -> int:
    fence = reading.fence_at(position)
    if fence:
        return fence.end
    end = reading.text.find("\n\n", position)
    return end if end >= 0 else len(reading.text)


def _names_in_json(reading: _Reading, body: str) -> list[str] | None:
    """Return the names of the calls in a JSON text, none if it has no call, and None if it cannot be read."""
    try:
        value = parse_value(body, is_closed=True).value
    except InvalidArguments:
        return None
    calls = parse_call_value(value, is_delimited=False)
    return [call.name for call in calls] if calls else list(_tools_in(reading, value, MAX_DEPTH))


def _tools_in(reading: _Reading, value: Any, depth: int) -> Iterator[str]:
    """Yield the tools that objects within a JSON value name beside an object or a text of arguments."""
    if isinstance(value, dict):
        name = next((tool for item in value.values() if isinstance(item, str) and (tool := reading.tool(item))), "")
        if name and any(isinstance(item, dict) or key in ARGUMENT_KEYS for key, item in value.items()):
            yield name
    if depth and isinstance(value, dict | list):
        for item in value.values() if isinstance(value, dict) else value:
            yield from _tools_in(reading, item, depth - 1)


def _is_whole(reading: _Reading, start: int, end: int) -> bool:
    around = reading.text[:start] + reading.text[end:]
    return not re.sub(r"`{3,}\w*|~{3,}\w*", "", around).strip()


def _python_calls(reading: _Reading) -> Iterator[OtherForm]:
    """Find calls written as Python: a list of them, one that is all of the reply, or a fence for calls."""
    text = reading.text
    for fence in reading.fences:
        if (fence.is_for_calls and (name := reading.mentions_tool(fence.body))) or (
            name := _only_call(reading, fence.body)
        ):
            yield OtherForm(fence.start, fence.end, name)
    for match in reading.matches(re.compile(r"\[\s*(?:functions\.)?([A-Za-z_][\w.]*)\s*\(")):
        end = end_of_call_list(text, match.start())
        if (
            not reading.is_code(match.start())
            and end > 0
            and (name := reading.tool(match[1]))
            and parse_python_calls(text[match.start() : end])
        ):
            yield reading.widen(OtherForm(match.start(), end, name))
    whole = text.strip().strip("`").strip()
    if (
        (calls := parse_python_calls(whole))
        and (name := reading.tool(calls[0][0]))
        and reading.fence_at(text.find(whole)) is None
    ):
        yield OtherForm(0, len(text), name)


def _only_call(reading: _Reading, code: str) -> str:
    """Return the tool that a code fence calls, if a call with literal arguments is all of it; else an empty text."""
    calls = parse_python_calls(code)
    if calls:
        return reading.tool(calls[0][0])
    names = _names_in_json(reading, code.strip()) if code.lstrip().startswith(("{", "[")) else None
    return next((tool for name in names or () if (tool := reading.tool(name))), "")


def _actions(reading: _Reading) -> Iterator[OtherForm]:
    """Find `Action:` and `Action Input:`."""
    for match in reading.matches(_ACTION):
        if reading.is_code(match.start()):
            continue
        end = _ACTION_END.search(reading.text, match.end())
        yield OtherForm(
            match.start(),
            end.start() if end else len(reading.text),
            reading.tool(match["name"]) or match["name"].strip()[:64],
        )


def _labelled(reading: _Reading) -> Iterator[OtherForm]:
    """Find the name of a tool on a line, with a label or alone, and its arguments behind it."""
    own = reading.alternation
    if not own:
        return
    label = rf"(?:\*{{0,2}}(?:{_LABELS})\*{{0,2}}[ \t]*[:=]?\*{{0,2}}[ \t]*)?"
    behind = r"(?P<next>[ \t]*[:,]?[ \t]*(?:with[ \t]*)?(?:\((?=[ \t]*[{\w])|\{|\r?\n))"
    line = re.compile(
        rf"^[ \t>*#-]*+{label}[\"'`*]{{0,4}}(?:functions\.)?(?P<name>{own})[\"'`*]{{0,4}}{behind}",
        re.MULTILINE | re.IGNORECASE,
    )
    sentence_end = re.compile(rf"(?<=[.!?:)\]`'\"])(?:functions\.)?(?P<name>{own})(?P<next>[ \t]*\r?\n)(?=[ \t]*\{{)")
    for match in (
        *reading.matches(line),
        *reading.matches(sentence_end),
    ):
        if not reading.is_code(match.start()) and (end := _end_of_arguments(reading, match)) > 0:
            yield reading.widen(OtherForm(match.start(), end, reading.tool(match["name"]) or match["name"]))


def _end_of_arguments(reading: _Reading, match: re.Match[str]) -> int:
    """Return the end of the arguments behind a name: an object, a list in parentheses, or labelled lines; else -1."""
    text, last = reading.text, match["next"].strip(" \t:,")[-1:]
    if last == "{":
        return find_end(text, match.end() - 1)
    if last == "(":
        close = text.find(")", match.end())
        inside = text[match.end() : close] if close >= 0 else ""
        has_arguments = inside.lstrip().startswith("{") or re.match(r"\s*\w+\s*=", inside) is not None
        is_alone = not text[close + 1 :].partition("\n")[0].strip(" `.;*") if close >= 0 else False
        return close + 1 if has_arguments and is_alone else -1
    position = match.end()
    label = _ARGUMENT_LABEL.match(text, position)
    start = label.end() if label else position
    brace = re.compile(r"\s*(?:`{3,}\w*\s*)?\{").match(text, start)
    if brace:
        end = find_end(text, brace.end() - 1)
        tail = (
            re.compile(r"[ \t]*\r?\n[ \t]*`{3,}[ \t]*(?=\n|\Z)").match(text, max(end, 0)) if "```" in brace[0] else None
        )
        return tail.end() if tail else end
    return _end_of_paragraph(reading, position) if label else -1


_FINDERS: tuple[Callable[[_Reading], Iterator[OtherForm]], ...] = (
    _results, _delimited, _tags, _special_tokens, _json_objects, _python_calls, _actions, _labelled,
)  # fmt: skip
