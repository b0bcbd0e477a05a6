"""What pydantic's schemas lack: the members of a `Flag`, which are combined, and that a record takes no other keys."""

from __future__ import annotations

import enum
from functools import cache
from typing import TYPE_CHECKING, Any

from nbtool.tools.schema.closed_records import close_record

if TYPE_CHECKING:
    from pydantic.json_schema import GenerateJsonSchema


@cache
def schema_generator() -> type[GenerateJsonSchema]:
    """Return pydantic's generator of JSON schemas, which tells a model that the members of a `Flag` are added."""
    from pydantic.json_schema import GenerateJsonSchema  # noqa: PLC0415 - needed only when a tool is created

    class Generator(GenerateJsonSchema):
        def generate_inner(self, schema: Any) -> dict[str, Any]:
            return super().generate_inner(_with_members(schema) if _is_flag(schema) else close_record(schema))

        def dataclass_args_schema(self, schema: Any) -> dict[str, Any]:
            return super().dataclass_args_schema(schema) | _stated_keys(schema)

        def model_fields_schema(self, schema: Any) -> dict[str, Any]:
            return super().model_fields_schema(schema) | _stated_keys(schema)

        def enum_schema(self, schema: Any) -> dict[str, Any]:
            return {"type": "integer"} if _is_flag(schema) else super().enum_schema(schema)

    return Generator


def _stated_keys(fields: Any) -> dict[str, Any]:
    """Return what the schema of a class says of other keys; pydantic's says it where the class states it."""
    return {"additionalProperties": False} if fields.get("extra_behavior") == "forbid" else {}


def _is_flag(schema: Any) -> bool:
    return schema["type"] == "enum" and issubclass(schema["cls"], enum.Flag)


def _with_members(schema: Any) -> Any:
    """Return the core schema of a `Flag` whose description names the members, after what the class says of itself."""
    members = ", ".join(f"{member.value} ({member.name})" for member in schema["members"])

    def name_members(core: Any, handler: Any) -> Any:
        written = handler(core)
        described = handler.resolve_ref_schema(written)
        about = [described.get("description"), f"One of {members}, or the sum of several."]
        described["description"] = "\n".join(filter(None, about))
        return written

    metadata = schema.get("metadata") or {}
    functions = [*metadata.get("pydantic_js_functions", ()), name_members]
    return {**schema, "metadata": {**metadata, "pydantic_js_functions": functions}}
