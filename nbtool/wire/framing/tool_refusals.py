"""The words in which providers and servers refuse native tools.

Each row is one wording as a pattern, with an example, its source, and the day on which the source was read. New
wordings are new rows.
"""

from __future__ import annotations

import re
from typing import NamedTuple

_TOOLS = r"(?:native )?(?:tools?|functions?|tool[- _]?(?:use|usage|calling|calls?|choice)|function[- _]?call(?:ing|s)?)"
_NOT = (
    r"(?:is |are )?(?:currently )?(?:not (?:yet )?(?:support(?:ed)?|enabled|available|allowed|implemented)\b"
    r"|unsupported|disabled)"
)
_FIELD = r"(?:param(?:eter)?|argument|field|property|key|option|input)"
_REFUSE = r"(?:does not|doesn't|do not|don't|cannot|can't|not) (?:currently |yet )?support(?:s|ing)?"
_STATUSES_OF_OTHER_ERRORS = frozenset({401, 403, 408, 429})


class ToolRefusal(NamedTuple):
    """One wording: its pattern over the error in lower case, an example, its source, and the day it was read."""

    pattern: str
    example: str
    source: str
    day: str


TOOL_REFUSALS = (
    ToolRefusal(
        rf"{_REFUSE} (?:the (?:use of )?)?['\"`]?{_TOOLS}\b(?! of type)",
        "registry.ollama.ai/library/dolphin-mistral:7b-v2.8 does not support tools",
        "ollama/ollama#6027, continuedev/continue#10672",
        "2026-11-22",
    ),
    ToolRefusal(
        rf"\b{_TOOLS}['\"`]?(?: {_FIELD}s?)? {_NOT}"
        r"(?! (?:together|when|in combination|alongside)| with (?!th(?:is|e) |your |it\b))",
        "Function calling is not enabled for models/gemma-3-27b-it",
        "BerriAI/litellm#10313, agno-agi/agno#3505, sbintuitions/flexeval#242",
        "2026-11-22",
    ),
    ToolRefusal(
        rf"(?:unknown|unsupported|unrecognized|unexpected|invalid|extra|not permitted|not allowed)"
        rf"(?: request| keyword| body)? {_FIELD}s?(?: supplied| provided| found)?:? ?[\[('\"`]*"
        r"(?:tools|functions|tool_choice)\b(?!\[|\.)",
        "Unsupported param: tools",
        "QwenLM/Qwen#1298",
        "2026-11-22",
    ),
    ToolRefusal(
        rf"not support(?:ed)? (?:the )?(?:following )?{_FIELD}s?:? ?(?:[\[{{][^\]}}]{{0,200}})?['\"]"
        r"(?:tools|tool_choice|functions)\b(?!\[|\.)",
        "litellm.UnsupportedParamsError: perplexity does not support parameters: ['tools']",
        "BerriAI/litellm, `UnsupportedParamsError`",
        "2026-11-22",
    ),
    ToolRefusal(
        r"(?:^|[\s.'\"`])(?:tools|functions)['\"`]?: ?(?:extra (?:inputs|fields)|(?:this |unknown )?field|property)"
        r"[^.]{0,20} not (?:permitted|allowed|supported)",
        "body.tools: Extra inputs are not permitted",
        "the message of pydantic's `extra_forbidden`, as servers of FastAPI send it",
        "2026-11-22",
    ),
    ToolRefusal(
        r"no endpoints found that support tool",
        "No endpoints found that support tool use.",
        "OpenRouter",
        "2026-11-22",
    ),
    ToolRefusal(
        r"tool choice requires --enable-auto-tool-choice",
        '"auto" tool choice requires --enable-auto-tool-choice and --tool-call-parser to be set',
        "vLLM",
        "2026-11-22",
    ),
    ToolRefusal(r"tools param requires --jinja", "tools param requires --jinja flag", "llama.cpp", "2026-11-22"),
    ToolRefusal(
        rf"(?:model|endpoint|deployment)[^.]{{0,60}}\b{_TOOLS} (?:not support|unsupported)",
        "model features function calling not support",
        "Novita, as quoted by its clients",
        "2026-11-22",
    ),
    ToolRefusal(
        rf"(?:lacks|has no|have no|without) (?:native )?(?:support for )?{_TOOLS}(?: support| capabilit(?:y|ies))\b"
        rf"|not (?:capable of|compatible with) {_TOOLS}|support for {_TOOLS}[^.]{{0,40}} (?:not|isn't) \w",
        "This model has no tool support.",
        "expected wordings, not reported so far",
        "2026-11-22",
    ),
)
"""The wordings, in no particular order."""

_PATTERN = re.compile("|".join(f"(?:{refusal.pattern})" for refusal in TOOL_REFUSALS))


def is_tool_refusal(status: int | None, text: str) -> bool:
    """Whether an error, as text in lower case, refuses native tools; some servers answer 500 for it."""
    return status not in _STATUSES_OF_OTHER_ERRORS and _PATTERN.search(text) is not None
