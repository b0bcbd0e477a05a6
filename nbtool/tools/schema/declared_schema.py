"""Parameters that the author of a tool declares by a JSON schema instead of annotations.

Such as of a function that takes what a service describes. The schema is the one of the tool, and its arguments are
checked against it by the package `jsonschema`.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from nbtool.errors import BadUsage, InvalidArguments
from nbtool.json_schema import UnfitSchema, normalize_parameters
from nbtool.text import shorten
from nbtool.tools.schema.parameters import MAX_PROBLEMS, MAX_VALUE_CHARS, Parameters
from nbtool.tools.values.type_and_shape import describe
from nbtool.tools.variables.references import ResolvedArguments


@dataclass(frozen=True, slots=True)
class DeclaredParameters(Parameters):
    """The parameters of a declared schema; an object comes by reference where the schema has no type for it."""

    def check(self, resolved: ResolvedArguments) -> dict[str, Any]:
        """Return the arguments if they fit the schema; a referenced object remains the same object.

        Raises:
            InvalidArguments: an argument does not fit.
        """
        from jsonschema import Draft202012Validator  # type: ignore[import-untyped]  # noqa: PLC0415 - loaded when declared

        values = dict(resolved.arguments)
        objects = {str(path[0]) for path, value in resolved.objects.items() if not is_json(value)}
        problems = [
            f"{name!r}: a {describe(values[name])} came by reference, and the schema asks for JSON"
            for name in objects
            if self._property(name).keys() & {"type", "enum", "const", "anyOf", "oneOf", "allOf", "$ref"}
        ]
        checked = {name: value for name, value in values.items() if name not in objects}
        required = [name for name in self.schema.get("required", ()) if name not in objects]
        errors = Draft202012Validator({**self.schema, "required": required}).iter_errors(checked)
        try:
            problems += [_describe(error) for error in errors]
        except RecursionError:
            problems.append("the arguments are nested too deeply")
        if problems:
            more = f" and {len(problems) - MAX_PROBLEMS} more" if len(problems) > MAX_PROBLEMS else ""
            raise InvalidArguments(f"{'; '.join(problems[:MAX_PROBLEMS])}{more}.")
        return values

    def takes_text(self, name: str, value: Any) -> bool:
        """Whether a parameter takes a text and not this object."""
        return not isinstance(value, str) and self._property(name).get("type") == "string"

    def bind(self, values: Mapping[str, Any]) -> tuple[list[Any], dict[str, Any]]:
        """Return all arguments by keyword."""
        return [], dict(values)

    def _property(self, name: str) -> Mapping[str, Any]:
        found = self.schema.get("properties", {}).get(name, {})
        return found if isinstance(found, Mapping) else {}


def declare_parameters(schema: Any) -> DeclaredParameters:
    """Return the parameters of a JSON schema.

    Raises:
        BadUsage: it is no schema of an object, or the package `jsonschema` is not installed.
    """
    try:
        from jsonschema import Draft202012Validator  # noqa: PLC0415 - needed only for such a tool
        from jsonschema.exceptions import SchemaError  # type: ignore[import-untyped]  # noqa: PLC0415 - the same
    except ImportError as error:
        raise BadUsage(
            f"A tool with schema= needs the package `jsonschema` ({error}).", fix="Run `%pip install jsonschema`."
        ) from None
    try:
        own = json.loads(json.dumps(schema))
        Draft202012Validator.check_schema(own)
        normal = normalize_parameters(own, renames=False).schema  # refers to no other document, which would be fetched
    except UnfitSchema as unfit:
        raise BadUsage(f"schema= cannot be used: {unfit}.", fix='Pass {"type": "object", "properties": {…}}.') from None
    except (TypeError, ValueError, RecursionError, SchemaError) as error:
        reason = shorten(str(getattr(error, "message", error)), MAX_VALUE_CHARS * 2)
        raise BadUsage(f"schema= is no JSON schema: {reason}.", fix="Pass a dict of JSON values.") from None
    if not isinstance(own, dict) or own.get("type", "object") != "object":
        raise BadUsage("schema= has to be of an object.", fix='Pass {"type": "object", "properties": {…}}.')
    return DeclaredParameters({}, None, normal, form_schema=normal)


def _describe(error: Any) -> str:
    place = ".".join(map(str, error.absolute_path))
    return f"{place!r}: {shorten(error.message, 2 * MAX_VALUE_CHARS)}" if place else shorten(error.message, 200)


def is_json(value: Any) -> bool:
    """Whether a value can be written as JSON, whole."""
    try:
        json.dumps(value, allow_nan=False)
    except (TypeError, ValueError, RecursionError):
        return False
    return True
