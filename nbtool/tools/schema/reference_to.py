"""The class in an annotation whose instances are passed by reference."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from nbtool.tools.values.type_names import type_name

REFERENCE_KEY = "\0reference"
"""The key of a placeholder for a live object in JSON during validation; no argument of a model contains it."""

REFERENCE_TYPE = "x-nbtool-reference"
"""The key of the class in the schema of a parameter that takes only a reference; models do not receive it."""


def object_of(value: Any, info: Any) -> Any:
    """Return the live object that a placeholder represents, and any other value as it is."""
    is_placeholder = isinstance(value, dict) and REFERENCE_KEY in value and info.context
    return info.context[value[REFERENCE_KEY]] if is_placeholder else value


@dataclass(frozen=True, slots=True)
class ReferenceTo:
    """Represents a class in an annotation whose instances are passed by reference."""

    kind: Any

    @property
    def name(self) -> str:
        """The display name of the class."""
        return type_name(self.kind)

    def __get_pydantic_core_schema__(self, _source: Any, _handler: Any) -> Any:
        from pydantic_core import core_schema  # noqa: PLC0415 - needed only when a tool is created

        return core_schema.with_info_plain_validator_function(self.check)

    def __get_pydantic_json_schema__(self, _schema: Any, _handler: Any) -> dict[str, Any]:
        description = f"a reference: $VAR_REF{{{{name}}}} to a {self.name}"
        return {"type": "string", "description": description, REFERENCE_TYPE: self.name}

    def check(self, value: Any, info: Any) -> Any:
        """Return an instance of the class, or the one that a placeholder represents."""
        given = object_of(value, info)
        if not is_instance(given, self.kind):
            from pydantic_core import PydanticCustomError  # noqa: PLC0415 - as above

            raise PydanticCustomError("reference_type", "a reference to a {name}", {"name": self.name})
        return given


def is_instance(value: Any, kind: Any) -> bool:
    """Whether a value is an instance of a class, or has the members of a protocol."""
    try:
        return isinstance(value, kind)
    except TypeError:  # a protocol that Python does not check by itself
        from typing_extensions import get_protocol_members  # noqa: PLC0415 - as above

        return all(hasattr(value, name) for name in get_protocol_members(kind))
