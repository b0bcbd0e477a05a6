"""All wordings in which servers refuse native tools: those that nbtool lists, and others as they were reported."""

from __future__ import annotations

from nbtool.errors import ToolsNotSupported
from nbtool.wire.framing.tool_refusals import TOOL_REFUSALS
from tests.providers.behaviour import TEXT_DIALECTS, Behaviour, Topic, openai
from tests.providers.conditions import has_tools

REPORTED = (
    ("Function calling is not enabled for models/gemma-3-27b-it", "BerriAI/litellm#10313"),
    ("This model doesn't support tool use.", "agno-agi/agno#3505"),
    ("perplexity does not support parameters: ['tools'], for model=sonar", "BerriAI/litellm#11665"),
    ("`tools` parameter is not supported", "BerriAI/litellm#22006"),
    ("Unknown parameter: 'tools'", "QwenLM/Qwen#1298"),
    ("Unsupported param: tools", "QwenLM/Qwen3#822"),
    ("Tool calling is not supported for model: mistralai/Mistral-Small-24B-Instruct-2501", "truefoundry/models#944"),
)
"""Words and where they, or the like, were reported."""

_WORDINGS = {example: (source, day) for _, example, source, day in TOOL_REFUSALS}
_WORDINGS |= {words: (source, "2026-11-22") for words, source in REPORTED}

TOOL_ROWS = tuple(
    Behaviour(
        "compatible", "chat", f"refuses tools: {words}", ".*", has_tools, 400, openai(words), day, source, "m",
        error=ToolsNotSupported, topic=Topic.TOOLS, dialects=TEXT_DIALECTS,
    )
    for words, (source, day) in _WORDINGS.items()
)  # fmt: skip
"""A row for each; `compatible` is a server whose address alone is known."""
