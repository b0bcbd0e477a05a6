"""The usage of a reply in the Anthropic Messages dialect.

It counts what was read from the cache, and written to it, beside `input_tokens`, and further steps of the request in
`iterations`: https://platform.claude.com/docs/en/build-with-claude/compaction.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from nbtool.text import shorten
from nbtool.usage import Usage
from nbtool.wire.dialects.reported_cost import reported_cost
from nbtool.wire.dialects.usage_fields import MAX_MODEL_NAME, count, count_at

_OWN = (None, "message")
"""The types of iterations that are messages of the model that answers, or of one that declined to."""

_SERVING = "fallback_message"
"""The type of the iteration of the model that answered in place of the one that was asked; the last one."""


def read_usage(fields: Mapping[str, Any]) -> Usage:
    """Return the usage of all steps of a request, and the model that answered in place of another one."""
    listed = fields.get("iterations")
    iterations = [record for record in listed if isinstance(record, dict)] if isinstance(listed, list) else []
    serving = next((iteration for iteration in reversed(iterations) if iteration.get("type") == _SERVING), {})
    others = [iteration for iteration in iterations if iteration.get("type") not in (*_OWN, _SERVING)]
    own = replace(
        _counts(fields),
        thinking_tokens=count_at(fields, "output_tokens_details", "thinking_tokens"),
        web_searches=count_at(fields, "server_tool_use", "web_search_requests"),
        model=_model(serving),
        cost=reported_cost(fields),
    )
    hops = [iteration for iteration in iterations if iteration.get("type") in (*_OWN, _SERVING)]
    if serving and not _covers(own, list(map(_counts, hops))):
        others = [*(hop for hop in hops if _model(hop) not in ("", own.model)), *others]
    steps = (replace(_counts(other), model=_model(other)) for other in others)
    return own.with_steps(tuple(step for step in steps if step.total_tokens))


def _counts(fields: Mapping[str, Any]) -> Usage:
    cached, lifetimes = count_at(fields, "cache_read_input_tokens"), fields.get("cache_creation")
    by_lifetime = lifetimes if isinstance(lifetimes, dict) else {}
    detailed = sum(map(count, by_lifetime.values()))
    written = max(count_at(fields, "cache_creation_input_tokens"), detailed)
    return Usage(
        input_tokens=count_at(fields, "input_tokens") + cached + written,
        output_tokens=count_at(fields, "output_tokens"),
        cached_tokens=cached,
        cache_write_tokens=written,
        cache_write_1h_tokens=detailed - count_at(by_lifetime, "ephemeral_5m_input_tokens"),
    )


def _covers(total: Usage, parts: list[Usage]) -> bool:
    """Whether a total contains the counts of these parts."""
    return all(
        getattr(total, name) >= sum(getattr(part, name) for part in parts) for name in ("input_tokens", "output_tokens")
    )


def _model(iteration: Mapping[str, Any]) -> str:
    name = iteration.get("model")
    return shorten(name.strip(), MAX_MODEL_NAME) if isinstance(name, str) else ""
