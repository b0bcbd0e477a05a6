"""The user's options: renamed for a dialect, and merged into the request body."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


def merge_options(body: Mapping[str, Any], options: Mapping[str, Any]) -> dict[str, Any]:
    """Return `body` with `options` merged into it, recursively; None removes a field.

    Only objects are merged: a list or a scalar replaces the former value.
    """
    merged = dict(body)
    for name, value in options.items():
        nested = merged.get(name)
        if value is None:
            merged.pop(name, None)
        elif isinstance(value, Mapping):
            merged[name] = merge_options(nested if isinstance(nested, Mapping) else {}, value)
        else:
            merged[name] = value
    return merged


def combine_options(*options: Mapping[str, Any]) -> dict[str, Any]:
    """Return options merged recursively, the later over the earlier; None stays, because it removes a field."""
    combined: dict[str, Any] = {}
    for mapping in options:
        for name, value in mapping.items():
            former = combined.get(name)
            if isinstance(value, Mapping) and isinstance(former, Mapping):
                combined[name] = combine_options(former, value)
            else:
                combined[name] = value
    return combined


RESPONSES_NAMES = {
    "max_tokens": ("max_output_tokens",),
    "max_completion_tokens": ("max_output_tokens",),
    "reasoning_effort": ("reasoning", "effort"),
    "verbosity": ("text", "verbosity"),
}
"""Options of Chat Completions by name, and their paths in Responses: a model may change its dialect."""


_GENERATION_FIELDS = (
    "temperature", "topP", "topK", "candidateCount", "maxOutputTokens", "stopSequences", "seed", "presencePenalty",
    "frequencyPenalty", "responseMimeType", "responseSchema", "responseJsonSchema", "responseModalities",
    "responseLogprobs", "logprobs", "thinkingConfig", "mediaResolution", "speechConfig", "imageConfig",
)  # fmt: skip

GEMINI_NAMES: dict[str, tuple[str, ...]] = {
    **{name: ("generationConfig", name) for name in _GENERATION_FIELDS},
    "top_p": ("generationConfig", "topP"),
    "top_k": ("generationConfig", "topK"),
    "max_tokens": ("generationConfig", "maxOutputTokens"),
    "max_completion_tokens": ("generationConfig", "maxOutputTokens"),
    "max_output_tokens": ("generationConfig", "maxOutputTokens"),
    "stop": ("generationConfig", "stopSequences"),
    "presence_penalty": ("generationConfig", "presencePenalty"),
    "frequency_penalty": ("generationConfig", "frequencyPenalty"),
    "reasoning_effort": ("generationConfig", "thinkingConfig", "thinkingLevel"),
}
"""Options of the generation, by their own names and those of Chat Completions, and their paths for Gemini."""


def chat_options(options: Mapping[str, Any]) -> dict[str, Any]:
    """Return options with the names of Responses replaced by those of Chat Completions."""
    renamed = rename_options(options, {"max_output_tokens": ("max_tokens",)})
    for outer, inner, name in (("reasoning", "effort", "reasoning_effort"), ("text", "verbosity", "verbosity")):
        nested = renamed.get(outer)
        if isinstance(nested, Mapping) and nested.keys() == {inner}:
            renamed.pop(outer)
            renamed.setdefault(name, nested[inner])
    return renamed


def rename_options(options: Mapping[str, Any], names: Mapping[str, tuple[str, ...]]) -> dict[str, Any]:
    """Return options with each named one moved to its path, unless the path already has a value."""
    renamed = dict(options)
    for name, path in names.items():
        if name in renamed:
            _set_default(renamed, path, renamed.pop(name))
    return renamed


def _set_default(options: dict[str, Any], path: tuple[str, ...], value: Any) -> None:
    """Set the value at a path, unless there is one."""
    *outer, last = path
    for name in outer:
        nested = options.get(name)
        options[name] = dict(nested) if isinstance(nested, Mapping) else {}
        options = options[name]
    options.setdefault(last, value)
