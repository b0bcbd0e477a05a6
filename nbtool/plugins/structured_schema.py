"""Build the JSON schema of an answer from a type."""

from __future__ import annotations

from typing import Any

from nbtool.errors import BadUsage
from nbtool.json_schema.keywords import map_subschemas
from nbtool.tools.schema.annotations import takes_objects, to_json_type
from nbtool.tools.schema.json_schema import drop_titles, inline_refs
from nbtool.tools.schema.validator import Validator, compile_validator


def schema_for(type_: Any) -> tuple[Validator, dict[str, Any], bool]:
    """Return a type's validator, its schema as an object, and whether it is wrapped as `{"value": …}`.

    Raises:
        BadUsage: the type cannot be read from JSON.
    """
    from pydantic import PydanticUserError  # noqa: PLC0415 - only where an answer is to be a value

    unfit = BadUsage(f"An answer cannot be read as {type_!r}.", fix="Use a pydantic model, a dataclass or a list.")
    try:
        lifted = to_json_type(type_)
        if takes_objects(lifted):
            raise unfit  # an answer is JSON: it cannot contain objects without a JSON form
        validator = compile_validator(lifted, closes_records=False)
        schema = _close_objects(inline_refs(drop_titles(validator.json_schema)))
    except (PydanticUserError, BadUsage, TypeError, NameError):
        raise unfit from None
    if schema.get("type") == "object":
        return validator, schema, False
    shared = {"$defs": schema.pop("$defs")} if "$defs" in schema else {}
    wrapped = {"type": "object", "properties": {"value": schema}, "required": ["value"], "additionalProperties": False}
    return validator, {**wrapped, **shared}, True


def _close_objects(schema: Any) -> Any:
    """Set `additionalProperties` to False in every object."""
    if not isinstance(schema, dict):
        return schema
    copy = map_subschemas(schema, _close_objects)
    if schema.get("type") == "object" and isinstance(schema.get("properties"), dict):
        copy.setdefault("additionalProperties", False)
    return copy
