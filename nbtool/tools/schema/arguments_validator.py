"""The validator of all arguments of a call: one schema of pydantic, compiled once for each signature."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any

from nbtool.tools.schema.parameter import Parameter
from nbtool.tools.schema.validator import Validator, compile_validator


def compile_signature(parameters: Mapping[str, Parameter], extra: Parameter | None) -> Validator:
    """Compile the validator of all arguments of a call, by their names."""
    return compile_validator(Annotated[Any, _Signature(parameters, extra)])


@dataclass(frozen=True, slots=True)
class _Signature:
    """Represents a signature in an annotation: an object with a key for each parameter."""

    parameters: Mapping[str, Parameter]
    extra: Parameter | None

    def __get_pydantic_core_schema__(self, _source: Any, handler: Any) -> Any:
        from pydantic_core import core_schema  # noqa: PLC0415 - needed only when a tool is created

        fields = {
            name: core_schema.typed_dict_field(
                _with_default(parameter, handler.generate_schema(parameter.annotation)), required=parameter.is_required
            )
            for name, parameter in self.parameters.items()
        }
        if self.extra is None:
            return core_schema.typed_dict_schema(fields, extra_behavior="forbid")
        extras = handler.generate_schema(self.extra.annotation)
        return core_schema.typed_dict_schema(fields, extras_schema=extras, extra_behavior="allow")

    def __get_pydantic_json_schema__(self, core: Any, handler: Any) -> Any:
        schema = dict(handler.resolve_ref_schema(handler(core)))
        schema["additionalProperties"] = handler(core["extras_schema"]) if self.extra else False
        return schema


def _with_default(parameter: Parameter, schema: Any) -> Any:
    """Return the schema of a parameter with the default that is filled in when its argument is left out."""
    from pydantic_core import core_schema  # noqa: PLC0415 - needed only when a tool is created

    if (filled := parameter.filled_in) is None:
        return schema
    return core_schema.with_default_schema(
        schema,
        default_factory=filled.make,
        default_factory_takes_data=filled.takes_data,
        validate_default=filled.is_validated,
    )
