"""Extract the arguments of a call from the prompt, by the tool's schema.

A value is searched after the tool's name, then before it, then anywhere in the prompt. Nothing is invented: a required
parameter without a value is reported as missing, an optional one is omitted.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from nbtool.practice.code import find_code, strip_mention_marks
from nbtool.practice.request import MENTION, REFERENCE, OfferedTool, ToolOutcome, reference_to

NUMBER = re.compile(r"(?<![\w.-])-?\d+(?:\.\d+)?(?![\w-])")
NUMBER_WORDS = {"two": 2, "three": 3, "four": 4, "five": 5, "six": 6, "seven": 7, "eight": 8, "nine": 9, "ten": 10}
NUMBER_WORD = re.compile(rf"\b(?:{'|'.join(NUMBER_WORDS)})\b", re.IGNORECASE)
QUOTED = re.compile(r"\"([^\"\n]+)\"|“([^“”\n]+)”|(?<!\w)'([^'\n]+)'(?!\w)|(?<![$&`])`([^`\n]+)`|\b(\d{4}-\d\d-\d\d)\b")
CAPITALISED = re.compile(r"(?<![\w.])[A-ZÀ-Þ]\w*+(?:[.&-]\w++)*+(?: (?=[A-ZÀ-Þ]\w*[a-zß-ÿ])\w++)*+")
LIST_SEPARATOR = re.compile(r"\s*+(?:,|(?:,\s*+)?(?:and|or)(?: how many| the| of)?|&|vs\.?|versus)\s*+", re.IGNORECASE)
WHOLE_VALUE = r"=\s*(\"[^\"\n]+\"|'[^'\n]+'|\[[^\[\]\n]*\]|[^\s\"'`$&\[\](){}]+)"
VALUE = r"(?::|\bis\b)\s*(\"[^\"\n]+\"|'[^'\n]+'|-?[\w.]*\w)"
BOOLEAN_WORDS = {"true": True, "yes": True, "on": True, "false": False, "no": False, "off": False}
FALLBACK_ZONE = 2
CONTAINER_TYPES = ("array", "object")
"""Types of parameters that take a named variable as a whole if it is nearer than any value."""
CODE_PARAMETERS = {("run_python", "code"): "text/x-python"}
"""Code parameters, with their media type."""
MAX_PER_PARAMETER = 4
"""Maximum number of calls of one tool in a round when the prompt has several values for it."""


@dataclass(frozen=True, slots=True)
class Candidate:
    """A value and its position in the prompt."""

    start: int
    end: int
    value: Any


@dataclass(slots=True)
class ArgumentContext:
    """The prompt around one mention of a tool; `after` and `before` are the text that belongs to the mention.

    `up_to_next` is the text up to the next mention, also of later sentences: named values in it are of this one.
    `blanked` is the prompt with every mention of a tool or variable replaced by spaces of the same length.
    `own_positions` are the positions of the values used in this call, `used_positions` those used in any call.
    """

    prompt: str
    blanked: str
    after: range
    before: range
    up_to_next: range = range(0)
    variables: tuple[str, ...] = ()
    earlier_outcomes: tuple[ToolOutcome, ...] = ()
    used_positions: set[int] = field(default_factory=set)
    own_positions: set[int] = field(default_factory=set)

    def zone(self, candidate: Candidate) -> int:
        """Return how near a value is: 0 after the tool's name, 1 before it, 2 elsewhere."""
        return 0 if candidate.start in self.after else 1 if candidate.start in self.before else FALLBACK_ZONE

    def rank(self, candidate: Candidate) -> tuple[bool, int, int]:
        """Return the sort key of a value: unused ones first, then by distance and position."""
        return candidate.start in self.used_positions, self.zone(candidate), candidate.start


def fill_arguments(tool: OfferedTool, context: ArgumentContext) -> tuple[list[dict[str, Any]], str]:
    """Return the arguments of each call of a tool, and the first parameter without a value.

    A tool with one required text or choice gets one call for each of several values in the prompt.
    """
    argument_sets: list[dict[str, Any]] = [{}]
    required = tool.parameters.get("required") or []
    for name, schema in (tool.parameters.get("properties") or {}).items():
        max_values = MAX_PER_PARAMETER if required == [name] else int(name in required)
        spec = resolve_schema(schema, tool.parameters)
        if media_type := CODE_PARAMETERS.get((tool.name, name)):
            spec["contentMediaType"] = media_type
        values = _find_values(name, spec, context, max_values)
        if not values and required == [name]:
            values = _take_reference(context)
        if not values and name in required:
            return [], name
        argument_sets = [{**arguments, name: value} for arguments in argument_sets for value in values] or argument_sets
    return argument_sets, ""


def resolve_schema(schema: Mapping[str, Any], root: Mapping[str, Any]) -> dict[str, Any]:
    """Resolve `$ref`, and select the first branch of a union that is not null."""
    target = (root.get("$defs") or {}).get(str(schema.get("$ref", "")).rpartition("/")[2], {})
    branches = [branch for branch in schema.get("anyOf") or [] if branch.get("type") != "null"]
    nested = resolve_schema(branches[0], root) if branches else target
    return {**nested, **{key: value for key, value in schema.items() if key not in ("$ref", "anyOf")}}


def _find_values(name: str, spec: Mapping[str, Any], context: ArgumentContext, max_values: int) -> list[Any]:
    """Return the values for one parameter, best first: at most `count`; for an optional one (0) none or one."""
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
    if max_values and spec.get("type") in CONTAINER_TYPES and (taken := _take_reference(context, before=ranked)):
        return taken
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
    """Return whether a parameter takes an object by reference: by its schema, or because a variable has its name."""
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
    yield from _named_references(context)
    for variable in context.variables:
        for match in re.finditer(rf"(?<![\w`]){re.escape(variable)}(?!\w)", context.blanked):
            yield Candidate(*match.span(), reference_to(variable))
    if name in context.variables or len(context.variables) == 1:
        yield Candidate(
            len(context.prompt),
            len(context.prompt),
            reference_to(name if name in context.variables else context.variables[0]),
        )


def _take_reference(context: ArgumentContext, before: Sequence[Candidate] = ()) -> list[Any]:
    """Return the nearest unused reference, as the whole argument; none if a value of `before` is nearer."""
    free = [reference for reference in _named_references(context) if reference.start not in context.used_positions]
    if not free:
        return []
    nearest = min(free, key=context.rank)
    if before and context.rank(before[0]) < context.rank(nearest):
        return []
    context.own_positions.add(nearest.start)
    context.used_positions.add(nearest.start)
    return [nearest.value]


def _named_references(context: ArgumentContext) -> Iterator[Candidate]:
    for match in REFERENCE.finditer(context.prompt):
        yield Candidate(*match.span(), match[0])  # including its keys or its slice
    for match in MENTION.finditer(context.prompt):
        yield Candidate(*match.span(), reference_to(match[1]))


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
    """Find quoted texts and dates; if there are none, capitalized words that are not just the start of a sentence."""
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
    """Return the first candidate and those that the prompt joins to it."""
    joined = [candidates[0]]
    for candidate in sorted(candidates, key=lambda other: other.start):
        if candidate.start >= joined[-1].end and LIST_SEPARATOR.fullmatch(
            context.blanked, joined[-1].end, candidate.start
        ):
            joined.append(candidate)
    return joined


def _explicit_value(name: str, spec: Mapping[str, Any], context: ArgumentContext) -> Any:
    """Find `name=value`, `name: value` or `name is value`; a flag may be its name only, or with "no" before it.

    After `=` stands a whole word, such as a path, or a list: `[1, 2]` or `1,2`.
    """
    name_pattern = re.escape(name).replace("_", r"[_\s-]")
    if match := _find_named(rf"(?<![\w`]){name_pattern}\s*(?:{WHOLE_VALUE}|{VALUE})", context):
        text = match[1] or match[2]
        if text[0] in "\"'":
            return _coerce(text.strip("\"'"), spec)
        is_list = spec.get("type") == "array"
        return _coerce((text if is_list else text.partition(",")[0]).rstrip(".,;:!?)"), spec)
    flag_match = _find_named(rf"(\b(?:not|no|without)\s+)?\b{name_pattern}\b", context)
    return flag_match[1] is None if flag_match and spec.get("type") == "boolean" else None


def _find_named(pattern: str, context: ArgumentContext) -> re.Match[str] | None:
    """Find a named value: between the tool and the next mention of one, else anywhere in the prompt."""
    matches = list(re.finditer(pattern, context.blanked, re.IGNORECASE))
    own = (match for match in matches if match.start() in context.up_to_next)
    return next(own, matches[0] if matches else None)


def _coerce(text: str, spec: Mapping[str, Any]) -> Any:
    """Convert a word to the schema's type; None if it is not one."""
    kind = spec.get("type")
    if "enum" in spec:
        return next((choice for choice in spec["enum"] if str(choice).lower() == text.lower()), None)
    if kind in ("integer", "number"):
        return next((candidate.value for candidate in _find_numbers(text, integers_only=kind == "integer")), None)
    if kind == "array":
        items = [_coerce(item, spec.get("items") or {"type": "string"}) for item in _list_items(text)]
        return None if None in items else items
    return BOOLEAN_WORDS.get(text.lower()) if kind == "boolean" else text if kind == "string" else None


def _list_items(text: str) -> list[str]:
    """Return the items of a written list, without brackets and quotes."""
    items = re.findall(r"\"[^\"\n]*\"|'[^'\n]*'|[^,\[\]]+", text)
    return [item.strip().strip("\"'") for item in items if item.strip()]


def _value_from_earlier_result(spec: Mapping[str, Any], outcome: ToolOutcome) -> Any:
    """Return an earlier result: as a reference if it has one, else its value."""
    value = _coerce(outcome.result_text, spec)
    return outcome.reference or (outcome.result_text if value is None else value)
