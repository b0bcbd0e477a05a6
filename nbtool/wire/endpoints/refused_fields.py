"""The optional fields of a request that some models and servers refuse, and how a refusal is recognised.

A wire sends such a field by the abilities of its target, so a changed set of abilities leaves it out.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from nbtool.errors import AuthenticationFailed, ProviderError, ToolsNotSupported
from nbtool.wire.dialect import TOOL_SEARCH

REFUSAL_STATUSES = frozenset({400, 422})
"""The statuses with which a field is refused."""


LOST_REASONING = "{model} does not return its reasoning, so it does not carry over from one request to the next."


NEEDS_CHOICE = "{model} takes no tools that must not be called, so final replies are requested without tools."

_CHOICE = re.compile(r"tool[_ ]?choice|tool[_ ]?config|function[_ ]?calling[_ ]?config")


@dataclass(frozen=True, slots=True)
class OptionalField:
    """A field that is left out after a refusal.

    `params` are the values of the error's `param`; without one, or without `params`, `words` in its message decide. The
    field is sent while a target has the ability, or with `is_inverse` while it does not have it. `notice` is for the
    user.
    """

    ability: str
    params: tuple[str, ...]
    words: re.Pattern[str]
    notice: str
    is_inverse: bool = False

    def is_refused(self, error: ProviderError) -> bool:
        """Whether an error refuses this field."""
        if isinstance(error, AuthenticationFailed) or error.status not in REFUSAL_STATUSES:
            return False
        if error.param and self.params:
            name = error.param.partition("[")[0]
            return any(name == param or name.startswith(f"{param}.") for param in self.params)
        return bool(self.words.search(f"{error.code} {error.message}".lower()))

    def without(self, abilities: frozenset[str]) -> frozenset[str]:
        """Return the abilities of a target to which the field is not sent."""
        return abilities | {self.ability} if self.is_inverse else abilities - {self.ability}


_REFUSED_THINKING = re.compile(
    r"(?s)^(?!.*\b(?:blocks?|signature)\b).*?"  # a block of an earlier reply is no field of the request
    r"(?:\bthinking\W{0,2}[.:\]]|\badaptive\b|\bdisplay\b|\bthinking\b\W+(?:is|are|parameter|field|option|type)\b"
    r"|(?:support|parameter|argument|propert|field|input|option)\w*(?:\W+(?:the|supplied|for|of))*\W+thinking\b)"
)

OPTIONAL_FIELDS = (
    OptionalField(
        "no_encrypted_reasoning", ("include",), re.compile(r"encrypted[ _]content|\binclude\b"),
        LOST_REASONING,
        is_inverse=True,
    ),
    OptionalField(
        "reasoning_summary", ("reasoning", "reasoning.summary"), re.compile(r"reasoning[. ]summar|: '?reasoning\b"),
        "{model} gives no summaries of its reasoning here.",
    ),
    OptionalField(
        "thinking_display", ("thinking",), _REFUSED_THINKING,
        "{model} does not show its text between calls here.",
    ),
    OptionalField(
        "no_thought_summaries", (), re.compile(r"include_?thoughts"),
        "{model} gives no summaries of its thoughts here.", is_inverse=True,
    ),
    OptionalField(
        "no_cache_control", ("cache_control",), re.compile(r"cache_control"),
        "{model} takes no cache marks here, so every request is charged in full.", is_inverse=True,
    ),
    OptionalField(
        TOOL_SEARCH, (), re.compile(r"defer_loading|tool_search"),
        "{model} does not search for tools: it gets the definitions of all of them in this turn.",
    ),
    OptionalField(
        "no_stream_options", ("stream_options",), re.compile(r"stream_options"),
        "{model} does not report its usage here while it streams.", is_inverse=True,
    ),
    OptionalField(
        "json_schema", ("response_format", "text.format"),
        re.compile(r"response_?(?:format|json_?schema)|json_schema|grammar"),
        "{model} does not write a required call as JSON of a given form here; it is asked for one in the prompt only.",
    ),
    OptionalField(
        "max_completion_tokens", ("max_tokens",), re.compile(r"use 'max_completion_tokens'"), "", is_inverse=True,
    ),
)  # fmt: skip
"""The optional fields, in the order in which a refusal is compared with them."""


def is_choice_refused(error: Exception) -> bool:
    """Whether an error refuses tools that must not be called, or reports that the model called one nevertheless."""
    if isinstance(error, ToolsNotSupported):
        return True
    if not isinstance(error, ProviderError) or error.status not in REFUSAL_STATUSES:
        return False
    return bool(_CHOICE.search(f"{error.param} {error.code} {error.message}".lower()))


def refused_field(error: ProviderError, abilities: frozenset[str]) -> OptionalField | None:
    """Return the optional field that an error refuses, of those that are sent to a target with these abilities."""
    sent = (field for field in OPTIONAL_FIELDS if (field.ability in abilities) is not field.is_inverse)
    return next((field for field in sent if field.is_refused(error)), None)
