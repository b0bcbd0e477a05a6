"""Build the parameters of a tool and their JSON schemas from a function: its signature, annotations and docstring."""

from __future__ import annotations

import functools
import inspect
import types
from collections.abc import Callable, Mapping
from typing import Annotated, Any, Union, get_args, get_origin

from nbtool.errors import BadUsage
from nbtool.text import shorten
from nbtool.tools.schema.annotation_names import function_name
from nbtool.tools.schema.annotations import PLAIN_TYPES, to_json_type
from nbtool.tools.schema.declared_field import declared_field, is_json_value, stated_default
from nbtool.tools.schema.json_schema import drop_keyword, drop_titles, inline_refs
from nbtool.tools.schema.open_signature import open_signature, takes_any_position
from nbtool.tools.schema.parameter import Parameter
from nbtool.tools.schema.parameters import Parameters, compile_signature
from nbtool.tools.schema.reference_to import REFERENCE_TYPE
from nbtool.tools.schema.unpacked import ResolvedParameter, resolved_parameters

MAX_DESCRIPTION = 4_000
"""Maximum number of characters of a docstring sent to the model."""

_KINDS = inspect.Parameter


def parameters_of(function: Callable[..., Any]) -> tuple[str, Parameters]:
    """Return a function's description and parameters from its signature and docstring (Google, NumPy or reST).

    Raises:
        BadUsage: the signature cannot be read, or an annotation cannot be resolved.
    """
    try:
        signature = open_signature(function)
    except (ValueError, TypeError, RecursionError) as error:
        raise BadUsage(f"The signature of {function!r} cannot be read.", fix="Wrap it in a function.") from error
    description, parameter_texts = _parse_docstring(function)
    by_name: dict[str, Parameter] = {}
    extra = None
    for resolved in resolved_parameters(signature):
        parameter = _make_parameter(resolved, signature.function)
        if parameter.kind is _KINDS.VAR_KEYWORD:
            extra = parameter
        elif parameter.name in by_name:
            raise BadUsage(
                f"Two parameters of {function_name(function)} are called {parameter.name!r}.", fix="Change the alias."
            )
        else:
            by_name[parameter.name] = parameter
    is_plain = extra is None and all(declared.is_plain for declared in by_name.values())
    validator = compile_signature(by_name, extra)
    form_schema = _make_schema(validator.json_schema, by_name, extra, parameter_texts)
    schema = drop_keyword(form_schema, REFERENCE_TYPE)
    return description, Parameters(
        by_name,
        extra,
        schema,
        is_plain,
        form_schema,
        bound=signature.bound,
        by_position=takes_any_position(function),
        validator=validator,
    )


def _parse_docstring(function: Callable[..., Any]) -> tuple[str, dict[str, str]]:
    import docstring_parser  # noqa: PLC0415 - needed only when a tool is created

    text = inspect.getdoc(function.func if isinstance(function, functools.partial) else function) or ""
    try:
        parsed = docstring_parser.parse(text)
    except docstring_parser.ParseError:
        return shorten(text, MAX_DESCRIPTION), {}
    texts = [parsed.short_description, parsed.long_description]
    if parsed.returns and parsed.returns.description:
        texts.append(f"Returns: {parsed.returns.description}")
    parameter_texts = {entry.arg_name.lstrip("*"): entry.description or "" for entry in parsed.params}
    return shorten("\n\n".join(text_part for text_part in texts if text_part), MAX_DESCRIPTION), parameter_texts


def _make_parameter(resolved: ResolvedParameter, function: Callable[..., Any]) -> Parameter:
    raw, name = resolved.raw, resolved.name or resolved.raw.name
    declared = declared_field(resolved.annotation, raw.default, name)
    annotation = declared.annotation
    if declared.default is None:
        annotation = Union[annotation, None]  # noqa: UP007 - built from a value
    if declared.metadata:
        annotation = Annotated[annotation, *declared.metadata]
    json_type = _json_type(annotation, name, function)
    if raw.kind is _KINDS.VAR_POSITIONAL and not resolved.is_whole:
        json_type = list[json_type]  # type: ignore[valid-type]
    return Parameter(
        declared.alias or name,
        raw.kind,
        declared.default,
        json_type,
        _is_plain_annotation(json_type) and not declared.filled_in,
        declared.filled_in,
        name if declared.alias else "",
        resolved.is_required,
    )


def _json_type(annotation: Any, name: str, function: Callable[..., Any]) -> Any:
    try:
        return to_json_type(annotation)
    except (BadUsage, NameError) as error:  # NameError: an annotation inside a TypedDict
        problem = error.message if isinstance(error, BadUsage) else f"{error}."
        text = f"The parameter {name!r} of {function_name(function)} cannot be described to a model. {problem}"
        raise BadUsage(text, fix="Use types that can be imported, a class, or Any.") from error


def _is_plain_annotation(annotation: Any) -> bool:
    if get_origin(annotation) in (Union, types.UnionType):
        return all(_is_plain_annotation(member) for member in get_args(annotation))
    return annotation in PLAIN_TYPES


def _make_schema(
    compiled: Mapping[str, Any], declared: Mapping[str, Parameter], extra: Parameter | None, texts: Mapping[str, str]
) -> dict[str, Any]:
    of_each = compiled.get("properties", {})
    properties = {name: _property_schema(of_each[name], parameter, texts) for name, parameter in declared.items()}
    schema: dict[str, Any] = {"type": "object", "properties": properties}
    if required := [name for name, parameter in declared.items() if parameter.is_required]:
        schema["required"] = required
    schema["additionalProperties"] = (
        _property_schema(compiled["additionalProperties"], extra, texts) if extra else False
    )
    if "$defs" in compiled:
        schema["$defs"] = compiled["$defs"]
    return inline_refs(drop_titles(schema))


def _property_schema(schema: Mapping[str, Any], parameter: Parameter, texts: Mapping[str, str]) -> dict[str, Any]:
    property_schema = {key: value for key, value in schema.items() if key != "default" or is_json_value(value)}
    text, own_text = texts.get(parameter.target or parameter.name, ""), str(property_schema.get("description", ""))
    if text or own_text:
        property_schema["description"] = f"{text} ({own_text})" if text and own_text else text or own_text
    if "default" not in property_schema and (default := stated_default(parameter)):
        (property_schema["default"],) = default
    return property_schema
