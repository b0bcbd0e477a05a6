"""Classes of fields that pydantic cannot read, such as one of a library's scalar class; and what a class is made of."""

from __future__ import annotations

import dataclasses
import inspect
import json
import typing
from collections.abc import Callable
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Annotated, Any

from nbtool.errors import BadUsage
from nbtool.tools.schema.reference_to import object_of
from nbtool.tools.schema.typed_dicts import make_typed_dict
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


_unfinished: ContextVar[tuple[Any, ...]] = ContextVar("unfinished", default=())
"""The classes whose fields are being looked at: one that contains itself is passed by reference."""


def field_class_type(kind: Any, lift: Callable[[Any], Any], has_objects: Callable[[Any], bool]) -> Any:
    """Return the annotation of a class that is made of its fields; None for any other class.

    Args:
        kind: the class.
        lift: returns the annotation of what is written for a field.
        has_objects: whether such an annotation contains a reference: then the whole is passed by reference.
    """
    required = _required_fields(kind)
    if not required or kind in _unfinished.get():
        return None
    token = _unfinished.set((*_unfinished.get(), kind))
    try:
        hints = typing.get_type_hints(kind, include_extras=True)
        lifted = {name: (lift(hints.get(name, Any)), is_required) for name, is_required in required.items()}
    except (BadUsage, NameError, TypeError):
        return None
    finally:
        _unfinished.reset(token)
    if any(has_objects(annotation) for annotation, _ in lifted.values()):
        return None
    written = make_typed_dict(kind.__name__, lifted, is_closed=True)
    return Annotated[Any, MadeOf(kind, written, lambda fields, _: kind(**fields))]


def _required_fields(kind: Any) -> dict[str, bool]:
    """Return which fields a class is made of, and whether each is required."""
    if dataclasses.is_dataclass(kind):
        names = [field.name for field in dataclasses.fields(kind) if field.init]
    else:
        names = list(getattr(kind, "_fields", ())) if issubclass(kind, tuple) else []
    parameters = inspect.signature(kind).parameters if names else {}
    if not all(name in parameters for name in names):
        return {}
    return {name: parameters[name].default is inspect.Parameter.empty for name in names}
