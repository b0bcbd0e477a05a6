"""Values of the notebook in a prompt for each `{EXPRESSION}`, with `--set fill_prompt=true`; without it a hint."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Any

from nbtool.errors import BadUsage
from nbtool.policy import site_policy
from nbtool.text import count_of, list_names, shorten

_FIELD = re.compile(r"(?P<reference>\\?\$VAR_REF\{\{[^{}\n]*\}\})|(?P<brace>\{\{|\}\})|\{(?P<field>[^{}\n]+)\}")
"""References and doubled braces, which are no fields, and fields."""

_HINTED = re.compile(r"(?<![\w\\}$^{])\{([^{}\n]+)\}(?!\})")
"""A field where a person may expect a value: not after a command, an exponent or an index of LaTeX."""

_CONVERSIONS: dict[str, Callable[[Any], str]] = {"r": repr, "s": str, "a": ascii}

MAX_VALUE = 20_000
"""Characters of one value that are put into a prompt."""

MAX_HINTED = 3
"""Fields that the hint names."""

MAX_FIELD = 80
"""Characters of a field that a message shows."""

BRACES_FIX = "Braces that stay as they are: {{ and }}."
SMALLER_FIX = "Take a part of it, attach it with -a, or let a tool read it with -v."
WITHOUT_VALUES = "Write the prompt without `--set fill_prompt=true`."


def fill_prompt(text: str, names: Mapping[str, Any]) -> str:
    """Return a prompt with the values of its fields, each as an f-string formats it; `names` are the notebook's.

    A field without a name, such as `{"a": 1}`, stays as it is, and so do references. `{{` and `}}` are braces.

    Raises:
        BadUsage: an expression fails, or its value is too long.
        PolicyRefused: the administrator's policy does not allow values to be sent.
    """

    def replacement(match: re.Match[str]) -> str:
        if match["reference"]:
            return match[0]
        if match["brace"]:
            return match["brace"][0]
        parsed = _parse_field(match["field"])
        return match[0] if parsed is None else _value_text(match["field"], *parsed, names)

    return _FIELD.sub(replacement, text)


def describe_unfilled(text: str, names: Mapping[str, Any]) -> str:
    """Return that fields which begin with a name of the notebook are sent as they stand; empty if there are none."""
    fields = [field for field in _HINTED.findall(text) if (parsed := _parse_field(field)) and _root(parsed[0]) in names]
    if not fields:
        return ""
    shown = list_names([f"`{{{shorten(field, MAX_FIELD)}}}`" for field in dict.fromkeys(fields)], MAX_HINTED)
    verb = "is" if len(set(fields)) == 1 else "are"
    return f"{shown} {verb} only text here: `--set fill_prompt=true` puts the values of the notebook in."


@lru_cache(maxsize=256)  # a field that stands many times in a prompt is parsed once
def _parse_field(field: str) -> tuple[ast.Expression, str, str] | None:
    """Return expression, conversion and format of a field with a name in it; None for any other text in braces."""
    for text, conversion, spec in _splits(field):
        try:
            parsed = ast.parse(text.strip(), mode="eval")
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            continue
        has_name = any(isinstance(node, ast.Name) for node in ast.walk(parsed))
        return (parsed, conversion, spec) if has_name else None
    return None


def _splits(field: str) -> list[tuple[str, str, str]]:
    """Return the ways to read a field: as a whole, and with a conversion (`!r`) or a format (`:.2f`) at its end."""
    whole = [(field, "", "")]
    before, colon, spec = field.rpartition(":")
    head, mark, conversion = (before if colon else field).rpartition("!")
    converted = [(head, conversion, spec if colon else "")] if mark and conversion in _CONVERSIONS else []
    return [*whole, *converted, *([(before, "", spec)] if colon else [])]


def _root(parsed: ast.Expression) -> str:
    """Return the name that an expression of names, attributes, items and calls begins with; empty for any other."""
    node: ast.expr = parsed.body
    while isinstance(node, ast.Attribute | ast.Subscript | ast.Call):
        node = node.func if isinstance(node, ast.Call) else node.value
    return node.id if isinstance(node, ast.Name) else ""


def _value_text(field: str, parsed: ast.Expression, conversion: str, spec: str, names: Mapping[str, Any]) -> str:
    shown = f"{{{shorten(field, MAX_FIELD)}}}"
    site_policy().check_values("values in the prompt", fix=WITHOUT_VALUES)
    try:
        value = eval(compile(parsed, "<prompt>", "eval"), dict(names))
        value = _CONVERSIONS[conversion](value) if conversion else value
        text = format(value, spec)
    except Exception as error:  # noqa: BLE001 - the person's own expression may raise anything
        problem = shorten(f"{type(error).__name__}: {error}", 200)
        raise BadUsage(f"{shown} has no value ({problem}). Nothing was sent.", fix=BRACES_FIX) from None
    if len(text) > MAX_VALUE:
        size = count_of(len(text), "character")
        raise BadUsage(f"{shown} has {size}, above {MAX_VALUE:,}. Nothing was sent.", fix=SMALLER_FIX)
    return text
