"""A type → the JSON schema of an answer, in the forms that providers take as a rule for it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from nbtool.errors import BadUsage
from nbtool.tools.schema.annotations import lift, takes_objects
from nbtool.tools.schema.json_schema import inlined, untitled

if TYPE_CHECKING:
    from pydantic import TypeAdapter


def answer_schema(type_: Any) -> tuple[TypeAdapter[Any], dict[str, Any], bool]:
    """Give a type's validator, its schema as an object, and whether it had to be wrapped as `{"value": …}` to be one.

    Raises:
        BadUsage: the type cannot be read from JSON.
    """
    from pydantic import PydanticUserError, TypeAdapter  # noqa: PLC0415 - only where an answer is to be a value

    unfit = BadUsage(f"An answer cannot be read as {type_!r}.", fix="Take a pydantic model, a dataclass or a list.")
    try:
        lifted = lift(type_)
        if takes_objects(lifted):
            raise unfit  # an answer is JSON: a class that JSON cannot be has no place in it
        adapter: TypeAdapter[Any] = TypeAdapter(lifted)
        schema = _closed(inlined(untitled(adapter.json_schema())))
    except (PydanticUserError, BadUsage, TypeError, NameError):
        raise unfit from None
    if schema.get("type") == "object":
        return adapter, schema, False
    shared = {"$defs": schema.pop("$defs")} if "$defs" in schema else {}
    wrapped = {"type": "object", "properties": {"value": schema}, "required": ["value"], "additionalProperties": False}
    return adapter, {**wrapped, **shared}, True


def is_strict(schema: Any) -> bool:
    """Whether every object in it is closed and all its properties are required, as OpenAI's strict mode demands.

    See https://platform.openai.com/docs/guides/structured-outputs#supported-schemas.
    """
    if isinstance(schema, list):
        return all(map(is_strict, schema))
    if not isinstance(schema, dict):
        return True
    if schema.get("type") == "object" and (
        schema.get("additionalProperties") is not False or set(schema.get("required", ())) != set(_names(schema))
    ):
        return False
    return "default" not in schema and all(is_strict(value) for key, value in schema.items() if key != "enum")


def options_for(dialect: str, schema: dict[str, Any], *, strict: bool) -> dict[str, Any]:
    """Give the request options that make a schema the rule of an answer; none for a dialect without them."""
    named = {"name": "answer", "schema": schema, "strict": strict}
    if dialect == "chat":
        return {"response_format": {"type": "json_schema", "json_schema": named}}
    return {"text": {"format": {"type": "json_schema", **named}}} if dialect == "responses" else {}


def _closed(schema: Any) -> Any:
    """Say of every object that it has no other properties than those it names."""
    if isinstance(schema, list):
        return [_closed(one) for one in schema]
    if not isinstance(schema, dict):
        return schema
    closed = {key: _closed(value) for key, value in schema.items()}
    if schema.get("type") == "object" and isinstance(schema.get("properties"), dict):
        closed.setdefault("additionalProperties", False)
    return closed


def _names(schema: dict[str, Any]) -> Any:
    return schema.get("properties", {})
