"""The form that a server asks a person to fill in: a flat schema of texts, numbers, yes or no, and choices.

https://modelcontextprotocol.io/specification/2025-11-25/client/elicitation
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from nbtool.errors import InvalidArguments
from nbtool.text import count_of, shorten
from nbtool.tools.approval import canonical_json
from nbtool.tools.schema.parameters import Parameters
from nbtool.tools.values.sanitize import single_line, strip_controls
from nbtool.tools.variables.references import ResolvedArguments

MAX_FIELDS = 30
"""Maximum number of fields of a form; one with more is declined."""

MAX_FORM = 20_000
"""Maximum number of characters of a form's schema as JSON; a longer one is declined."""

MAX_FIELD_NAME = 100
"""Maximum number of characters of a field's name."""

MAX_TEXT = 500
"""Maximum number of characters of a title or a description of a field."""

_SECRET = re.compile(
    r"pass(word|phrase|wd|code)|secret|token|api.?key|credential|private.?key|\bpin\b|\bcvv\b|card.?number|\bssn\b",
    re.IGNORECASE,
)
_LIMITS = ("minLength", "maxLength", "minimum", "maximum", "minItems", "maxItems")


class InvalidForm(ValueError):
    """The schema is not one of a form; the message says why."""


@dataclass(frozen=True, slots=True)
class FormParameters(Parameters):
    """The fields of a form as parameters; `draft` has the values that it is first shown with, which may not fit."""

    draft: Mapping[str, Any] = field(default_factory=dict)

    def check(self, resolved: ResolvedArguments) -> dict[str, Any]:
        """Return the values if they fit the fields, or are those of the draft.

        Raises:
            InvalidArguments: they do not fit.
        """
        values = dict(resolved.arguments)
        if canonical_json(values) != canonical_json(dict(self.draft)) and (problems := self.find_problems(values)):
            raise InvalidArguments(f"{'; '.join(problems)}.")
        return values

    def bind(self, values: Mapping[str, Any]) -> tuple[list[Any], dict[str, Any]]:
        """Return all values as one."""
        return [dict(values)], {}

    def find_gaps(self, values: Mapping[str, Any]) -> list[str]:
        """Return what the draft still lacks: it may be shown, and not sent."""
        return self.find_problems(values)

    def find_problems(self, values: Mapping[str, Any]) -> list[str]:
        """Return what does not fit: of each field the first problem."""
        fields = self.schema["properties"]
        missing = [f"{name!r} is missing" for name in self.schema["required"] if name not in values]
        found = (
            (name, _problem_of(fields[name], value) if name in fields else "is not asked for")
            for name, value in values.items()
        )
        if len(values) < self.schema.get("minProperties", 0):
            missing.append("nothing is filled in")
        return missing + [f"{shorten(name, MAX_FIELD_NAME)!r} {problem}" for name, problem in found if problem]


def form_parameters(schema: Any) -> FormParameters:
    """Return the parameters of a form from the schema that a server sent; what else it says is left out.

    Raises:
        InvalidForm: it is too large, or not flat.
    """
    if not isinstance(schema, Mapping) or not isinstance(fields := schema.get("properties"), Mapping):
        raise InvalidForm("its schema is not that of an object")
    if len(fields) > MAX_FIELDS:
        raise InvalidForm(f"it has {count_of(len(fields), 'field')}, above {MAX_FIELDS}")
    try:
        size = len(json.dumps(schema, allow_nan=False))
    except (TypeError, ValueError, RecursionError):
        raise InvalidForm("its schema is not JSON") from None
    if size > MAX_FORM:
        raise InvalidForm(f"its schema has {count_of(size, 'character')}, above {MAX_FORM:,}")
    asked = schema.get("required")
    required = [name for name in fields if isinstance(asked, list) and name in asked]
    known = {name: _field_schema(name, fields[name], is_required=name in required) for name in fields}
    clean = {"type": "object", "properties": known, "required": required, "additionalProperties": False}
    if type(least := schema.get("minProperties")) is int and least <= len(fields):
        clean["minProperties"] = least
    draft = {name: _first_value(record) for name, record in known.items() if "default" in record or name in required}
    return FormParameters({}, None, clean, is_form=True, draft=draft)


def secret_fields(parameters: FormParameters) -> list[str]:
    """Return the fields that seem to ask for a secret."""
    return [
        name
        for name, item in parameters.schema["properties"].items()
        if _SECRET.search(" ".join((name.replace("_", " "), item.get("title", ""), item.get("description", ""))))
    ]


def _field_schema(name: str, given: Any, *, is_required: bool) -> dict[str, Any]:
    """Return the schema of a field with what is known of it. Patterns are left to the server: one can take for ever."""
    if not isinstance(given, Mapping) or not name or len(name) > MAX_FIELD_NAME or single_line(name) != name:
        raise InvalidForm(f"the field {shorten(single_line(str(name)), MAX_FIELD_NAME)!r} is not one of a form")
    kind = given.get("type") or ("string" if "enum" in given or "oneOf" in given else "")
    if not isinstance(kind, str) or kind not in _PROBLEMS:
        raise InvalidForm(f"the field {name!r} is of the type {shorten(single_line(str(kind)), 40)!r}, not a plain one")
    texts = {key: given[key] for key in ("title", "description") if isinstance(given.get(key), str)}
    clean: dict[str, Any] = {"type": kind}
    clean |= {key: shorten(strip_controls(text), MAX_TEXT) for key, text in texts.items()}
    clean |= {key: given[key] for key in _LIMITS if _is_number(given.get(key))}
    clean |= _choice_schema(name, kind, given, clean)
    if kind == "string" and is_required and "enum" not in clean:
        clean.setdefault("minLength", 1)
    if "default" in given and not _problem_of(clean, given["default"]):
        clean["default"] = given["default"]
    return clean


def _choice_schema(name: str, kind: str, given: Mapping[str, Any], clean: Mapping[str, Any]) -> dict[str, Any]:
    """Return the part of a field's schema that lists its choices."""
    choices = _choices(given.get("items") if kind == "array" else given)
    if kind != "array":
        return {} if choices is None else {"enum": choices}
    if choices is None:
        raise InvalidForm(f"the field {name!r} is a list without choices")
    listed = shorten(", ".join(map(single_line, choices)), MAX_TEXT)
    description = f"{clean.get('description', '')} Any of: {listed}".strip()
    return {"items": {"type": "string", "enum": choices}, "description": description}


def _choices(given: Any) -> list[str] | None:
    """Return the choices of a field: an `enum`, or a list of constants with titles; None for none."""
    if not isinstance(given, Mapping):
        return None
    titled = given.get("oneOf") or given.get("anyOf")
    choices = given.get("enum") or (
        [record.get("const") for record in titled if isinstance(record, Mapping)] if isinstance(titled, list) else None
    )
    if choices is None:
        return None
    if not isinstance(choices, list) or not all(isinstance(choice, str) for choice in choices):
        raise InvalidForm("a field has choices that are not texts")
    return choices


def _first_value(record: Mapping[str, Any]) -> Any:
    """Return the value of a field before a person has filled it in; None fits no field."""
    if "default" in record:
        return record["default"]
    return {"string": None if "enum" in record else "", "boolean": False, "array": []}.get(record["type"])


def _problem_of(record: Mapping[str, Any], value: Any) -> str:
    """Return why a value does not fit a field; empty if it fits."""
    return _PROBLEMS[record["type"]](record, value)


def _text_problem(record: Mapping[str, Any], value: Any) -> str:
    if not isinstance(value, str):
        return "is not a text"
    if "enum" in record and value not in record["enum"]:
        return "is none of the choices"
    length = len(value) if value.strip() else 0  # blanks fill in nothing
    return _outside(length, record.get("minLength"), record.get("maxLength"), " characters")


def _list_problem(record: Mapping[str, Any], value: Any) -> str:
    if not isinstance(value, list) or any(item not in record["items"]["enum"] for item in value):
        return "is no list of the choices"
    return _outside(len(value), record.get("minItems"), record.get("maxItems"), " choices")


def _number_problem(record: Mapping[str, Any], value: Any) -> str:
    if not _is_number(value) or (record["type"] == "integer" and value != int(value)):
        return "is not an integer" if record["type"] == "integer" else "is not a number"
    return _outside(value, record.get("minimum"), record.get("maximum"), "")


_PROBLEMS: dict[Any, Callable[[Mapping[str, Any], Any], str]] = {
    "boolean": lambda _, value: "" if isinstance(value, bool) else "is not true or false",
    "string": _text_problem,
    "array": _list_problem,
    "number": _number_problem,
    "integer": _number_problem,
}
"""Why a value does not fit a field, by the field's type."""


def _outside(size: float, least: Any, most: Any, unit: str) -> str:
    if least is not None and size < least:
        return f"has to be at least {least:g}{unit}"
    return f"may be at most {most:g}{unit}" if most is not None and size > most else ""


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)
