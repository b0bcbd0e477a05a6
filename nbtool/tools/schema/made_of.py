"""The class in an annotation whose values are made of what a model writes: a library's scalar, or a class of fields."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from nbtool.tools.schema.reference_to import object_of
from nbtool.tools.schema.validator import Validator, compile_validator
from nbtool.tools.values.type_names import type_name


@dataclass(frozen=True, slots=True, eq=False)
class MadeOf:
    """Represents a class in an annotation.

    `base` is the annotation of what is written for it, and `make` returns the value of what was read and of the JSON
    value that it was read from.
    """

    kind: Any
    base: Any
    make: Callable[[Any, Any], Any]
    readers: list[Validator] = field(default_factory=list, repr=False)

    def __get_pydantic_core_schema__(self, _source: Any, handler: Any) -> Any:
        from pydantic_core import core_schema  # noqa: PLC0415 - needed only when a tool is created

        written = handler.generate_schema(self.base)
        return core_schema.with_info_plain_validator_function(self.read, json_schema_input_schema=written)

    def read(self, value: Any, info: Any) -> Any:
        """Return an object of the class: one that came by reference, or one made of what was written."""
        from pydantic import ValidationError  # noqa: PLC0415 - loaded when the tool was created
        from pydantic_core import PydanticCustomError  # noqa: PLC0415 - as above

        given = object_of(value, info)
        if (given is not value or info.mode == "python") and isinstance(given, self.kind):
            return given
        if not self.readers:
            self.readers.append(compile_validator(self.base))
        try:
            return self.make(self.readers[0].validate_json(json.dumps(given)), given)
        except ValidationError as error:
            first = error.errors(include_url=False, include_context=False)[0]
            place = ".".join(step for step in first["loc"] if isinstance(step, str) and "[" not in step)
            text = "is missing" if first["type"] == "missing" else first["msg"]
            text = f"{place}: {text}" if isinstance(given, dict) and place else text
        except (TypeError, ValueError):  # no JSON, or no value of the class
            text = f"Input should be a value of {type_name(self.kind)}"
        raise PydanticCustomError("made_of", "{text}", {"text": text})
