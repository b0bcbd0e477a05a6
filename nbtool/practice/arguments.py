"""Where the arguments of a call come from: the words of the prompt, as the tool's schema asks for them.

A value is looked for after the tool's name, then before it, then anywhere in the prompt. Nothing is invented:
a required parameter for which nothing stands there is reported as missing, an optional one is left out.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from nbtool.practice.code import find_code, strip_mention_marks
from nbtool.practice.request import MENTION, REFERENCE, OfferedTool, ToolOutcome, reference_to

NUMBER = re.compile(r"(?<![\w.-])-?\d+(?:\.\d+)?(?![\w-])")
NUMBER_WORDS = {"two": 2, "three": 3, "four": 4, "five": 5, "six": 6, "seven": 7, "eight": 8, "nine": 9, "ten": 10}
NUMBER_WORD = re.compile(rf"\b(?:{'|'.join(NUMBER_WORDS)})\b", re.IGNORECASE)
QUOTED = re.compile(r"\"([^\"\n]+)\"|“([^“”\n]+)”|(?<!\w)'([^'\n]+)'(?!\w)|(?<![$&`])`([^`\n]+)`|\b(\d{4}-\d\d-\d\d)\b")
CAPITALISED = re.compile(r"(?<![\w.])[A-ZÀ-Þ]\w*(?:[.&-]\w+)*(?: [A-ZÀ-Þ][\wÀ-ÿ]*[a-zß-ÿ]\w*)*")
LIST_SEPARATOR = re.compile(r"\s*+(?:,|(?:,\s*+)?(?:and|or)(?: how many| the| of)?|&|vs\.?|versus)\s*+", re.IGNORECASE)
BOOLEAN_WORDS = {"true": True, "yes": True, "on": True, "false": False, "no": False, "off": False}
FALLBACK_ZONE = 2
CODE_PARAMETERS = {("run_python", "code"): "text/x-python"}
"""Parameters that take code, with its media type."""
MAX_PER_PARAMETER = 4
"""Calls that one tool gets in a round when several values are named for it."""


@dataclass(frozen=True, slots=True)
class Candidate:
    """A value and where it stands in the prompt."""

    start: int
    end: int
    value: Any


@dataclass(slots=True)
class ArgumentContext:
    """The prompt around one mention of a tool; `after` and `before` are the text that belongs to the mention.

    `blanked` is the prompt with every mention of a tool or variable blanked out, at the same places. `own_positions`
    are the places whose values this call has got, `used_positions` those that any call has.
    """

    prompt: str
    blanked: str
    after: range
    before: range
    variables: tuple[str, ...] = ()
    earlier_outcomes: tuple[ToolOutcome, ...] = ()
    used_positions: set[int] = field(default_factory=set)
    own_positions: set[int] = field(default_factory=set)

    def zone(self, candidate: Candidate) -> int:
        """Say how near a value stands: 0 after the tool's name, 1 before it, 2 elsewhere."""
        return 0 if candidate.start in self.after else 1 if candidate.start in self.before else FALLBACK_ZONE

    def rank(self, candidate: Candidate) -> tuple[bool, int, int]:
        """Order values: those that nobody has first, then by nearness and place."""
        return candidate.start in self.used_positions, self.zone(candidate), candidate.start


def fill_arguments(tool: OfferedTool, context: ArgumentContext) -> tuple[list[dict[str, Any]], str]:
    """Fill a tool's parameters: gives the arguments of each call, and the parameter that nothing was found for.

    A tool that requires one text or choice gets a call for each of several values that are named for it.
    """
    argument_sets: list[dict[str, Any]] = [{}]
    required = tool.parameters.get("required") or []
    for name, schema in (tool.parameters.get("properties") or {}).items():
        max_values = MAX_PER_PARAMETER if required == [name] else int(name in required)
        spec = resolve_schema(schema, tool.parameters)
        if media_type := CODE_PARAMETERS.get((tool.name, name)):
            spec["contentMediaType"] = media_type
        values = _find_values(name, spec, context, max_values)
        if not values and name in required:
            return [], name
        argument_sets = [{**arguments, name: value} for arguments in argument_sets for value in values] or argument_sets
    return argument_sets, ""


def resolve_schema(schema: Mapping[str, Any], root: Mapping[str, Any]) -> dict[str, Any]:
    """Follow `$ref`, and take the first branch of a union that is not null."""
    target = (root.get("$defs") or {}).get(str(schema.get("$ref", "")).rpartition("/")[2], {})
    branches = [branch for branch in schema.get("anyOf") or [] if branch.get("type") != "null"]
    nested = resolve_schema(branches[0], root) if branches else target
    return {**nested, **{key: value for key, value in schema.items() if key not in ("$ref", "anyOf")}}


def _find_values(name: str, spec: Mapping[str, Any], context: ArgumentContext, max_values: int) -> list[Any]:
    """Give the values for one parameter, best first: at most so many, and none or one where it is not required (0)."""
    if (value := _explicit_value(name, spec, context)) is not None:
        return [value]
    candidates = _find_code_candidates(context) if "contentMediaType" in spec else _candidates(name, spec, context)
    ranked = sorted(
        (candidate for candidate in candidates if candidate.start not in context.own_positions), key=context.rank
    )
    if max_values and context.earlier_outcomes and not any(context.zone(candidate) == 0 for candidate in ranked):
        return [_value_from_earlier_result(spec, context.earlier_outcomes[-1])]
    if not max_values:
        ranked = [
            candidate
            for candidate in ranked
            if context.zone(candidate) < FALLBACK_ZONE and candidate.start not in context.used_positions
        ]
    if not ranked:
        return []
    joined, is_list = _joined_candidates(ranked, context), spec.get("type") == "array"
    is_text = "enum" in spec or (spec.get("type") == "string" and not is_reference(name, spec, context.variables))
    selected = joined if is_list else joined[: max(max_values, 1) if is_text else 1]
    context.own_positions.update(candidate.start for candidate in selected)
    context.used_positions.update(context.own_positions)
    values = [candidate.value for candidate in selected]
    return [values] if is_list else values


def is_reference(name: str, spec: Mapping[str, Any], variables: tuple[str, ...]) -> bool:
    """Say whether a parameter takes an object by reference: its schema says so, or it is named like a variable."""
    schema_text = json.dumps(spec).lower()
    return name in variables or (
        "enum" not in spec and ("$var_ref" in schema_text or "reference" in schema_text or "type" not in spec)
    )


def _candidates(name: str, spec: Mapping[str, Any], context: ArgumentContext) -> Iterator[Candidate]:
    kind, text = spec.get("type"), context.blanked
    if is_reference(name, spec, context.variables):
        yield from _find_references(name, context)
    elif "enum" in spec:
        for choice in spec["enum"]:
            for match in re.finditer(rf"(?<!\w){re.escape(str(choice))}(?!\w)", text, re.IGNORECASE):
                yield Candidate(*match.span(), choice)
    elif kind in ("integer", "number"):
        yield from _find_numbers(text, integers_only=kind == "integer")
    elif kind == "array":
        yield from _candidates(name, spec.get("items") or {"type": "string"}, context)
    elif kind == "string":
        yield from _find_texts(context)


def _find_references(name: str, context: ArgumentContext) -> Iterator[Candidate]:
    for match in REFERENCE.finditer(context.prompt):
        yield Candidate(*match.span(), match[0])  # with its keys or its slice
    for match in MENTION.finditer(context.prompt):
        yield Candidate(*match.span(), reference_to(match[1]))
    for variable in context.variables:
        for match in re.finditer(rf"(?<![\w`]){re.escape(variable)}(?!\w)", context.blanked):
            yield Candidate(*match.span(), reference_to(variable))
    if name in context.variables or len(context.variables) == 1:
        yield Candidate(
            len(context.prompt),
            len(context.prompt),
            reference_to(name if name in context.variables else context.variables[0]),
        )


def _find_code_candidates(context: ArgumentContext) -> Iterator[Candidate]:
    for start, end, code in find_code(context.prompt, context.variables):
        yield Candidate(start, end, code)


def _find_numbers(text: str, *, integers_only: bool) -> Iterator[Candidate]:
    for match in NUMBER.finditer(text):
        if not (integers_only and "." in match[0]):
            yield Candidate(*match.span(), float(match[0]) if "." in match[0] else int(match[0]))
    for match in NUMBER_WORD.finditer(text):
        yield Candidate(*match.span(), NUMBER_WORDS[match[0].lower()])


def _find_texts(context: ArgumentContext) -> Iterator[Candidate]:
    """Find quoted texts and dates; where there are none, capitalised words that do not merely begin a sentence."""
    text = context.blanked
    quoted_texts = [
        Candidate(*match.span(), strip_mention_marks(context.prompt[slice(*match.span(match.lastindex or 0))]))
        for match in QUOTED.finditer(text)
    ]
    yield from quoted_texts
    for match in () if quoted_texts else CAPITALISED.finditer(text):
        start, text_found = match.start(), match[0]
        first_word, _, rest = text_found.partition(" ")
        if first_word == "I" or (_starts_sentence(text, start) and not (len(first_word) > 1 and first_word.isupper())):
            start, text_found = start + len(first_word) + 1, rest
        if text_found:
            yield Candidate(start, match.end(), text_found)


def _starts_sentence(text: str, start: int) -> bool:
    while start > 0 and text[start - 1] in " \t\"'(*-":
        start -= 1
    return start == 0 or text[start - 1] in ".!?:\n"


def _joined_candidates(candidates: list[Candidate], context: ArgumentContext) -> list[Candidate]:
    """Give the first one and those that the prompt joins to it."""
    joined = [candidates[0]]
    for candidate in sorted(candidates, key=lambda other: other.start):
        if candidate.start >= joined[-1].end and LIST_SEPARATOR.fullmatch(
            context.blanked, joined[-1].end, candidate.start
        ):
            joined.append(candidate)
    return joined


def _explicit_value(name: str, spec: Mapping[str, Any], context: ArgumentContext) -> Any:
    """Find `name=value`, `name: value` or `name is value`; a flag may be named alone, or with "no" before it."""
    name_pattern = re.escape(name).replace("_", r"[_\s-]")
    value_pattern = r"(?:=|:|\bis\b)\s*(\"[^\"\n]+\"|'[^'\n]+'|-?[\w.]*\w)"
    if match := re.search(rf"(?<![\w`]){name_pattern}\s*{value_pattern}", context.blanked, re.IGNORECASE):
        return _coerce(match[1].strip("\"'"), spec)
    flag_match = re.search(rf"(\b(?:not|no|without)\s+)?\b{name_pattern}\b", context.blanked, re.IGNORECASE)
    return flag_match[1] is None if flag_match and spec.get("type") == "boolean" else None


def _coerce(text: str, spec: Mapping[str, Any]) -> Any:
    """Read a word as the schema's type; None where it is not one."""
    kind = spec.get("type")
    if "enum" in spec:
        return next((choice for choice in spec["enum"] if str(choice).lower() == text.lower()), None)
    if kind in ("integer", "number"):
        return next((candidate.value for candidate in _find_numbers(text, integers_only=kind == "integer")), None)
    return BOOLEAN_WORDS.get(text.lower()) if kind == "boolean" else text if kind == "string" else None


def _value_from_earlier_result(spec: Mapping[str, Any], outcome: ToolOutcome) -> Any:
    """Pass an earlier result on: by reference where it names one, else its value."""
    value = _coerce(outcome.result_text, spec)
    return outcome.reference or (outcome.result_text if value is None else value)
