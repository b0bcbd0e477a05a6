"""Plan the reply of the practice model, from the request only and deterministically.

The tools that the prompt names are called in the order of their mention, all in one round; tools after a "then" are
called in the next round and may use earlier results. When nothing is left to call, it answers.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from nbtool.practice import phrases
from nbtool.practice.arguments import ArgumentContext, fill_arguments
from nbtool.practice.code import CODE_REQUEST, FENCED, QUOTED, write_cell
from nbtool.practice.request import MENTION, REFERENCE, OfferedTool, ParsedRequest, ToolOutcome
from nbtool.practice.schema_values import answer_for
from nbtool.practice.searched_tools import look_up_tools

MAX_CALLS = 8
"""Maximum number of calls in one round; more are omitted."""
MAX_MENTIONS = 40
"""Maximum number of tool mentions read in a prompt."""

SENTENCE_END = re.compile(r"[.?!](?=\s|$)|\n")
SEQUENCE_WORDS = re.compile(r"\b(?:then|afterwards|next|finally|after (?:that|which))\b", re.IGNORECASE)
IDENTITY_QUESTION = re.compile(
    r"\b(?:who|what) are you\b|\bare you an?\b|\bwhich model\b|\blanguage model\b|\bLLM\b", re.IGNORECASE
)
FAILURE_TEXT = re.compile(
    r"\W*(?:error\b|(?-i:\w*Error|\w*Exception)\b|denied|withheld|invalid|unknown|not found|no tool"
    r"|th(?:e|is) call (?:did not run|timed out|was (?:cancelled|stopped)|cannot)"
    r"|the user (?:did not approve|withheld)|nobody could be asked)",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Call:
    """A call to make; `arguments` is JSON."""

    name: str
    arguments: str


@dataclass(frozen=True, slots=True)
class Plan:
    """One reply: calls, or an answer."""

    text: str = ""
    calls: tuple[Call, ...] = ()
    thinking: str = ""


@dataclass(frozen=True, slots=True)
class Mention:
    """A tool named in the prompt; `stage` is the number of times that "then" occurs before it."""

    tool: OfferedTool
    start: int
    end: int
    is_marked: bool = True
    stage: int = 0


def make_plan(request: ParsedRequest) -> Plan:
    """Return the reply to a request; tools that are listed by name only are looked up first."""
    if (lookup := look_up_tools(request)) is None:
        return _plan_reply(request)
    if lookup.names:
        search = Call(lookup.find_name, json.dumps({"names": lookup.names}, ensure_ascii=False))
        return Plan(calls=(search,), thinking=phrases.thinking_about_search(lookup.names))
    plan = _plan_reply(lookup.request)
    return replace(plan, calls=tuple(Call(*lookup.wrap(call.name, call.arguments)) for call in plan.calls))


def _plan_reply(request: ParsedRequest) -> Plan:
    mentions = [] if request.final else _find_mentions(request)
    earlier_count = 0  # number of calls that belong to earlier stages
    for stage in dict.fromkeys(mention.stage for mention in mentions):
        current = [mention for mention in mentions if mention.stage == stage]
        is_new = len(request.outcomes) == earlier_count
        if is_new and any(has_failed(outcome) for outcome in request.outcomes):
            return _answer(request, skipped=[mention.tool.name for mention in current])
        calls, missing = _plan_calls(request, mentions, current, request.outcomes[:earlier_count])
        if missing and is_new:
            return Plan(phrases.missing_argument(*missing), thinking=phrases.THINKING_MISSING_ARGUMENT)
        if due_calls := calls[len(request.outcomes) - earlier_count :]:
            due_calls = due_calls if request.parallel else due_calls[:1]
            return Plan(
                calls=tuple(due_calls),
                thinking=phrases.thinking_about_calls([call.name for call in due_calls], request.outcomes),
            )
        earlier_count += len(calls)
    return _answer(request)


def has_failed(outcome: ToolOutcome) -> bool:
    """Return whether a result is a denial or an error."""
    return FAILURE_TEXT.match(outcome.text[:80]) is not None


def _answer(request: ParsedRequest, skipped: Sequence[str] = ()) -> Plan:
    if request.schema:
        return Plan(_answer_value(request, request.schema), thinking=phrases.THINKING_VALUE)
    if not request.outcomes and CODE_REQUEST.search(request.prompt):
        cell = write_cell(request.prompt, request.variables)
        return Plan(phrases.code_answer(cell), thinking=phrases.THINKING_CODE)
    if not request.outcomes:
        return Plan(phrases.introduction(request), thinking=phrases.THINKING_NO_TOOL)
    spelled = _spellings(request)
    outcomes = [replace(outcome, name=spelled.get(outcome.name, outcome.name)) for outcome in request.outcomes]
    text = phrases.results(outcomes, has_failed, [spelled.get(name, name) for name in skipped])
    return Plan(
        f"{phrases.SELF_DESCRIPTION}\n\n{text}" if IDENTITY_QUESTION.search(request.prompt) else text,
        thinking=phrases.THINKING_RESULTS,
    )


def _answer_value(request: ParsedRequest, schema: Mapping[str, Any]) -> str:
    """Return the answer that fits a schema."""
    mentions = _find_mentions(request)
    blanked, whole_prompt = _blank_mentions(request.prompt, mentions), range(len(request.prompt))
    context = ArgumentContext(request.prompt, blanked, whole_prompt, range(0), earlier_outcomes=request.outcomes)
    return json.dumps(answer_for(schema, context), ensure_ascii=False)


def _spellings(request: ParsedRequest) -> dict[str, str]:
    """Return the names of tools as the prompt spells them: a person writes `server.tool`."""
    mentions = [] if request.choice == "none" else _find_mentions(request)
    spelled = {mention.tool.name: request.prompt[mention.start : mention.end].strip("&@`") for mention in mentions}
    return {name: text for name, text in spelled.items() if "." in text}


def _find_short_names(prompt: str, tools: Sequence[OfferedTool]) -> list[Mention]:
    """Find tools of servers by the name without the server's, in backticks; an ambiguous one is none."""
    mentions = []
    for match in re.finditer(r"(?<![$\w`])[&@]?`(\w+)`(?!`)", prompt):
        matching = [tool for tool in tools if tool.name.endswith(f"_{match[1]}")]
        if len(matching) == 1:
            mentions.append(Mention(matching[0], *match.span()))
    return mentions


def _find_mentions(request: ParsedRequest) -> list[Mention]:
    """Find the tools named in the prompt; a name that is an ordinary word counts only if no name is marked."""
    tools = [tool for tool in request.tools if request.choice in ("auto", "required", tool.name)]
    mentions: list[Mention] = []
    quoted_ranges = _quoted_spans(request.prompt, [tool.name for tool in tools])
    for tool in tools:
        name = re.escape(tool.name)
        quoted = name.replace("_", "[._]")  # a person writes `server.tool`
        for match in re.finditer(rf"(?<![$\w])[&@]?`{quoted}`|(?<![\w`${{.]){name}(?![\w`])", request.prompt):
            if any(match.start() in span for span in quoted_ranges):
                continue
            is_marked = "`" in match[0] or "_" in tool.name or request.prompt.startswith("(", match.end())
            mentions.append(Mention(tool, *match.span(), is_marked))
    mentions = mentions or _find_short_names(request.prompt, tools)
    marked_mentions = [mention for mention in mentions if mention.is_marked]
    if not mentions and request.choice != "auto":
        mentions = [Mention(tool, len(request.prompt), len(request.prompt)) for tool in tools[:1]]
    staged_mentions: list[Mention] = []
    for mention_found in sorted(marked_mentions or mentions, key=lambda mention: mention.start)[:MAX_MENTIONS]:
        previous = staged_mentions[-1] if staged_mentions else mention_found
        staged_mentions.append(
            replace(
                mention_found,
                stage=previous.stage + bool(SEQUENCE_WORDS.search(request.prompt, previous.end, mention_found.start)),
            )
        )
    return staged_mentions


def _quoted_spans(prompt: str, names: Sequence[str]) -> list[range]:
    """Find the quoted texts and fences with more than a tool name: a name inside one is not a mention."""
    matches = [match for pattern in (FENCED, QUOTED) for match in pattern.finditer(prompt)]
    return [range(*match.span()) for match in matches if match[0].strip('`"“”').replace(".", "_") not in names]


def _plan_calls(
    request: ParsedRequest, mentions: list[Mention], current: list[Mention], earlier: tuple[ToolOutcome, ...]
) -> tuple[list[Call], tuple[OfferedTool, str] | None]:
    """Return the calls of one stage, and the first tool and parameter without a value."""
    calls: dict[Call, None] = {}
    missing_arguments: list[tuple[OfferedTool, str]] = []
    blanked, used_positions = _blank_mentions(request.prompt, mentions), set[int]()
    for mention in current:
        range_after, range_before = _surrounding(request.prompt, mentions, mention)
        filled, missing = fill_arguments(
            mention.tool,
            ArgumentContext(
                request.prompt,
                blanked,
                range_after,
                range_before,
                _up_to_next(request.prompt, mentions, mention),
                request.variables,
                earlier,
                used_positions,
            ),
        )
        for arguments in filled:
            calls[Call(mention.tool.name, json.dumps(arguments, ensure_ascii=False))] = None
        missing_arguments += [(mention.tool, missing)] if missing else []
    return list(calls)[:MAX_CALLS], missing_arguments[0] if missing_arguments else None


def _surrounding(prompt: str, mentions: list[Mention], mention: Mention) -> tuple[range, range]:
    """Return the text after and before a mention: in its sentence, up to the adjacent mentions."""
    ends = [match.start() for match in SENTENCE_END.finditer(prompt)] + [len(prompt)]
    stop = min(end for end in ends + [other.start for other in mentions] if end >= mention.end)
    begin = max(end for end in [0, *ends, *(other.end for other in mentions)] if end <= mention.start)
    return range(mention.end, stop), range(begin, mention.start)


def _up_to_next(prompt: str, mentions: list[Mention], mention: Mention) -> range:
    """Return the text from a mention to the next one, or to the end."""
    return range(mention.end, min([other.start for other in mentions if other.start >= mention.end] or [len(prompt)]))


def _blank_mentions(prompt: str, mentions: list[Mention]) -> str:
    """Replace every mention by spaces, so that its letters are not used as a value; positions are unchanged."""
    spans = [(mention.start, mention.end) for mention in mentions]
    spans += [match.span() for pattern in (REFERENCE, MENTION) for match in pattern.finditer(prompt)]
    text = list(prompt)
    for start, end in spans:
        text[start:end] = "\0" * (end - start)
    return "".join(text)
