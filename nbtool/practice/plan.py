"""What the practice model does: from the request alone, always the same.

The tools that the prompt names are called, in the order of their mention, all in one round; what stands after a
"then" waits for the next round and may use what came of the one before. When nothing is left to call, it answers.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from nbtool.practice import phrases
from nbtool.practice.answers import answer_for
from nbtool.practice.arguments import Scene, fill
from nbtool.practice.code import FENCED, QUOTED
from nbtool.practice.request import MENTION, REFERENCE, Ask, Done, Offer

MAX_CALLS = 8
"""Calls in one round; what is named beyond them is left out."""
MAX_MENTIONS = 40
"""Mentions of tools that are read in a prompt."""

SENTENCE_END = re.compile(r"[.?!](?=\s|$)|\n")
THEN = re.compile(r"\b(?:then|afterwards|next|finally|after (?:that|which))\b", re.IGNORECASE)
WHO = re.compile(r"\b(?:who|what) are you\b|\bare you an?\b|\bwhich model\b|\blanguage model\b|\bLLM\b", re.IGNORECASE)
FAILED = re.compile(
    r"\W*(?:error\b|(?-i:\w*Error|\w*Exception)\b|denied|withheld|invalid|unknown|not found|no tool"
    r"|th(?:e|is) call (?:did not run|timed out|was cancelled|cannot)|the user (?:did not approve|withheld))",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Call:
    """A call to make; `arguments` is JSON."""

    name: str
    arguments: str


@dataclass(frozen=True, slots=True)
class Plan:
    """One reply: calls to make, or an answer."""

    text: str = ""
    calls: tuple[Call, ...] = ()
    thinking: str = ""


@dataclass(frozen=True, slots=True)
class Mention:
    """A tool named in the prompt; `stage` counts the times that "then" stands before it."""

    offer: Offer
    start: int
    end: int
    is_marked: bool = True
    stage: int = 0


def plan(ask: Ask) -> Plan:
    """Decide what to reply."""
    mentions = [] if ask.final else _mentions(ask)
    before = 0  # how many of the calls made belong to the stages passed
    for stage in dict.fromkeys(mention.stage for mention in mentions):
        here = [mention for mention in mentions if mention.stage == stage]
        is_new = len(ask.done) == before
        if is_new and any(has_failed(done) for done in ask.done):
            return _answer(ask, unmade=[mention.offer.name for mention in here])
        calls, missing = _calls(ask, mentions, here, ask.done[:before])
        if missing and is_new:
            return Plan(phrases.missing(*missing), thinking=phrases.THINKING_OF_A_GAP)
        if due := calls[len(ask.done) - before :]:
            due = due if ask.parallel else due[:1]
            return Plan(calls=tuple(due), thinking=phrases.thinking_of([call.name for call in due], ask.done))
        before += len(calls)
    return _answer(ask)


def has_failed(done: Done) -> bool:
    """Say whether a result reads as a denial or an error."""
    return FAILED.match(done.text[:80]) is not None


def _answer(ask: Ask, unmade: Sequence[str] = ()) -> Plan:
    if ask.schema:
        return Plan(_value(ask, ask.schema), thinking=phrases.THINKING_OF_A_VALUE)
    if not ask.done:
        return Plan(phrases.about(ask), thinking=phrases.THINKING_OF_NOTHING)
    text = phrases.results(ask.done, has_failed, unmade)
    return Plan(f"{phrases.WHO}\n\n{text}" if WHO.search(ask.prompt) else text, thinking=phrases.THINKING_OF_RESULTS)


def _value(ask: Ask, schema: Mapping[str, Any]) -> str:
    """Write the answer that fits a schema."""
    mentions = _mentions(ask)
    plain, everything = _blanked(ask.prompt, mentions), range(len(ask.prompt))
    scene = Scene(ask.prompt, plain, everything, range(0), earlier=ask.done)
    return json.dumps(answer_for(schema, scene), ensure_ascii=False)


def _mentions(ask: Ask) -> list[Mention]:
    """Find the tools named in the prompt; a name that may be a plain word counts only where none is marked."""
    offers = [offer for offer in ask.tools if ask.choice in ("auto", "required", offer.name)]
    found: list[Mention] = []
    data = _quoted(ask.prompt, [offer.name for offer in offers])
    for offer in offers:
        name = re.escape(offer.name)
        for match in re.finditer(rf"(?<![$\w])[&@]?`{name}`|(?<![\w`${{.]){name}(?![\w`])", ask.prompt):
            if any(match.start() in span for span in data):
                continue
            is_marked = "`" in match[0] or "_" in offer.name or ask.prompt.startswith("(", match.end())
            found.append(Mention(offer, *match.span(), is_marked))
    marked = [mention for mention in found if mention.is_marked]
    if not found and ask.choice != "auto":
        found = [Mention(offer, len(ask.prompt), len(ask.prompt)) for offer in offers[:1]]
    staged: list[Mention] = []
    for one in sorted(marked or found, key=lambda mention: mention.start)[:MAX_MENTIONS]:
        last = staged[-1] if staged else one
        staged.append(replace(one, stage=last.stage + bool(THEN.search(ask.prompt, last.end, one.start))))
    return staged


def _quoted(prompt: str, names: Sequence[str]) -> list[range]:
    """Find the quoted texts and fences that hold more than the name of a tool: a name inside one is no mention."""
    found = [match for pattern in (FENCED, QUOTED) for match in pattern.finditer(prompt)]
    return [range(*match.span()) for match in found if match[0].strip('`"“”') not in names]


def _calls(
    ask: Ask, mentions: list[Mention], here: list[Mention], earlier: tuple[Done, ...]
) -> tuple[list[Call], tuple[Offer, str] | None]:
    """Fill the calls of one stage; gives them, and the first tool and parameter that nothing was found for."""
    calls: dict[Call, None] = {}
    gaps: list[tuple[Offer, str]] = []
    plain, taken = _blanked(ask.prompt, mentions), set[int]()
    for mention in here:
        after, before = _around(ask.prompt, mentions, mention)
        filled, missing = fill(mention.offer, Scene(ask.prompt, plain, after, before, ask.known, earlier, taken))
        for arguments in filled:
            calls[Call(mention.offer.name, json.dumps(arguments, ensure_ascii=False))] = None
        gaps += [(mention.offer, missing)] if missing else []
    return list(calls)[:MAX_CALLS], gaps[0] if gaps else None


def _around(prompt: str, mentions: list[Mention], mention: Mention) -> tuple[range, range]:
    """Give what stands after and before a mention: within its sentence, up to the mentions beside it."""
    ends = [match.start() for match in SENTENCE_END.finditer(prompt)] + [len(prompt)]
    until = min(end for end in ends + [one.start for one in mentions] if end >= mention.end)
    since = max(end for end in [0, *ends, *(one.end for one in mentions)] if end <= mention.start)
    return range(mention.end, until), range(since, mention.start)


def _blanked(prompt: str, mentions: list[Mention]) -> str:
    """Blank out every mention, so that its letters are not taken for a value; places stay as they are."""
    spans = [(mention.start, mention.end) for mention in mentions]
    spans += [match.span() for pattern in (REFERENCE, MENTION) for match in pattern.finditer(prompt)]
    text = list(prompt)
    for start, end in spans:
        text[start:end] = "\0" * (end - start)
    return "".join(text)
