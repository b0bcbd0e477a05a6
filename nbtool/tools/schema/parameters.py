"""The parameters of a tool in use: check what a model sent, say what is wrong with it, and bind it to a Python call.

JSON is validated strictly: `"3"` is not an integer, and an integer is a valid float. Types with a JSON form get the
schema of pydantic; all others (a DataFrame, a connection, any class) are passed by reference.
"""

from __future__ import annotations

import inspect
import json
import types
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from nbtool.errors import InvalidArguments
from nbtool.text import shorten
from nbtool.tools.schema.annotations import REFERENCE_KEY, REFERENCE_TYPE
from nbtool.tools.values.type_and_shape import describe
from nbtool.tools.variables.references import Path, ReferenceTarget, ResolvedArguments

if TYPE_CHECKING:
    from pydantic import TypeAdapter


MAX_VALUE_CHARS = 80
"""Maximum number of characters of an invalid value quoted in an error."""

MAX_PROBLEMS = 5
"""Maximum number of problems listed in one error."""

PLAIN_TYPES = (str, int, float, bool, types.NoneType)
"""The types of scalar JSON values."""

_KINDS = inspect.Parameter


@dataclass(frozen=True, slots=True)
class Parameter:
    """One parameter of a tool; `is_plain`: a string, a number or a boolean."""

    name: str
    kind: Any
    default: Any
    adapter: TypeAdapter[Any] = field(repr=False)
    is_plain: bool = False

    @property
    def is_required(self) -> bool:
        """Whether it has no default."""
        return self.default is _KINDS.empty and self.kind not in (_KINDS.VAR_POSITIONAL, _KINDS.VAR_KEYWORD)


@dataclass(frozen=True, slots=True)
class Parameters:
    """The parameters of a tool: their JSON schema, a validator, and the conversion to a Python call.

    `is_plain`: strings, numbers and booleans, whose validation is fast and runs no user code. `form_schema` is the
    schema for the form of a person, which also has the key `REFERENCE_TYPE`. `is_form`: a person fills them in.
    """

    by_name: Mapping[str, Parameter]
    extra: Parameter | None
    schema: Mapping[str, Any]
    is_plain: bool = False
    form_schema: Mapping[str, Any] | None = None
    is_form: bool = False

    def check(self, resolved: ResolvedArguments) -> dict[str, Any]:
        """Validate arguments and return their values by name; a referenced object remains the same object.

        Raises:
            InvalidArguments: each problem names the expected and the received type, and never the value of a
                reference.
        """
        values: dict[str, Any] = {}
        problems = [
            f"{name!r} is missing"
            for name, declared in self.by_name.items()
            if declared.is_required and name not in resolved.arguments
        ]
        for name in resolved.arguments:
            parameter = self.by_name.get(name, self.extra)
            if parameter is None:
                problems.append(f"{shorten(name, MAX_VALUE_CHARS)!r} is not expected")
                continue
            try:
                values[name] = _validate(parameter, name, resolved)
            except InvalidArguments as problem:
                problems.append(problem.message)
        if problems:
            raise self._invalid_arguments(problems)
        return values

    def takes_text(self, name: str, value: Any) -> bool:
        """Whether a parameter takes a text and not this object."""
        from pydantic import ValidationError  # noqa: PLC0415 - loaded when the tool was created

        parameter = self.by_name.get(name, self.extra)
        if parameter is None or isinstance(value, str):
            return False
        try:
            parameter.adapter.validate_python(_unwrap_scalar(value), strict=True)
        except ValidationError:
            return _is_free_text(_json_schema(parameter.adapter))
        return False

    def bind(self, values: Mapping[str, Any]) -> tuple[list[Any], dict[str, Any]]:
        """Return validated values as positional and keyword arguments; omitted ones use their defaults."""
        variadic = next(
            (declared.name for declared in self.by_name.values() if declared.kind is _KINDS.VAR_POSITIONAL), None
        )
        variadic_values = list(values.get(variadic, ())) if variadic else []
        positional: list[Any] = []
        keywords: dict[str, Any] = {name: value for name, value in values.items() if name not in self.by_name}
        for name, declared in self.by_name.items():
            is_positional = declared.kind is _KINDS.POSITIONAL_ONLY or (
                variadic_values and declared.kind is _KINDS.POSITIONAL_OR_KEYWORD
            )
            if name == variadic:
                positional += variadic_values
            elif is_positional:
                positional.append(values.get(name, declared.default))
            elif name in values:
                keywords[name] = values[name]
        return positional, keywords

    def _invalid_arguments(self, problems: list[str]) -> InvalidArguments:
        omitted = f" and {len(problems) - MAX_PROBLEMS} more" if len(problems) > MAX_PROBLEMS else ""
        listed = ", ".join(
            f"{name}{'' if declared.is_required else ' (optional)'}" for name, declared in self.by_name.items()
        )
        return InvalidArguments(
            f"{'; '.join(problems[:MAX_PROBLEMS])}{omitted}.", fix=f"Parameters: {listed or 'none'}."
        )


def _validate(parameter: Parameter, name: str, resolved: ResolvedArguments) -> Any:
    from pydantic import ValidationError  # noqa: PLC0415 - loaded when the tool was created

    value = resolved.arguments[name]
    try:
        if (name,) in resolved.objects:
            parameter.adapter.validate_python(_unwrap_scalar(value), strict=True)
            return value
        objects = {path: value_at for path, value_at in resolved.objects.items() if path[0] == name}
        tokens = dict(enumerate(objects.values()))
        data = json.dumps(_with_tokens(value, (name,), {path: n for n, path in enumerate(objects)}, tokens))
        valid = parameter.adapter.validate_json(data, strict=True, context=tokens)
    except ValidationError as error:
        raise InvalidArguments(_error_message(parameter, name, resolved, error)) from None
    except (ValueError, TypeError, RecursionError) as error:
        raise InvalidArguments(f"{name!r} cannot be read: {type(error).__name__}") from None
    return _with_objects(valid, objects)


def _with_tokens(value: Any, path: Path, numbers: Mapping[Path, int], objects: Mapping[int, Any]) -> Any:
    """Replace live objects by placeholders, or by an equivalent plain value, so that the rest is JSON."""
    if path in numbers:
        referenced = objects[numbers[path]]
        return (
            referenced
            if type(referenced) in (str, int, float, bool, types.NoneType)
            else {REFERENCE_KEY: numbers[path]}
        )
    if isinstance(value, dict):
        return {key: _with_tokens(item, (*path, key), numbers, objects) for key, item in value.items()}
    if isinstance(value, list):
        return [_with_tokens(item, (*path, index), numbers, objects) for index, item in enumerate(value)]
    return value


def _with_objects(valid: Any, objects: Mapping[Path, Any]) -> Any:
    """Put the live objects back where validation kept plain containers."""
    for path, value in objects.items():
        container = valid
        for step in path[1:-1]:
            container = _step_into(container, step)
        if type(container) in (dict, list):
            container[path[-1]] = value
        elif _step_into(container, path[-1]) is not value:
            raise InvalidArguments(
                f"{path[0]!r}: a reference is not allowed at {path[1:]!r}; pass it as the whole argument"
            )
    return valid


def _step_into(container: Any, step: str | int) -> Any:
    """Return the validated value of one step into an argument, or None."""
    try:
        return (
            container[step] if isinstance(step, int) or isinstance(container, dict) else getattr(container, step, None)
        )
    except (LookupError, TypeError):
        return None


def _unwrap_scalar(value: Any) -> Any:
    """Return the Python number of a numpy scalar, so that an np.int64 is accepted as an int."""
    is_scalar = type(value).__module__ == "numpy" and getattr(value, "ndim", None) == 0 and hasattr(value, "item")
    return value.item() if is_scalar else value


def _error_message(parameter: Parameter, name: str, resolved: ResolvedArguments, error: Any) -> str:
    links = resolved.links_in(name)
    if links:  # a referenced value must not be sent to the model in an error
        referenced = "; ".join(f"{link.reference.text} is a {describe(link.value)}" for link in links)
        kind = error.errors(include_url=False, include_context=False, include_input=False)[0]["type"]
        if kind in ("value_error", "assertion_error"):  # of a check of the tool's, whose message may quote the value
            return f"{name!r}: the tool's own check does not accept it; {referenced}"
        return f"{name!r}: {_expected_types(parameter)} is expected; {referenced}{_text_hint(parameter, links)}"
    first = error.errors(include_url=False, include_context=False)[0]
    location = "".join(
        f"[{step!r}]" for step in first["loc"] if not isinstance(step, str) or not step.startswith("function-")
    )
    received = json.dumps(first["input"], default=describe, ensure_ascii=False)
    message = first["msg"].removeprefix("Value error, ").removeprefix("Input should be ")
    return f"{name!r}{location}: expected {message}, got {shorten(received, MAX_VALUE_CHARS)}"


def _text_hint(parameter: Parameter, links: Sequence[ReferenceTarget]) -> str:
    """Return how to pass an object as text, if the parameter takes a text."""
    objects = [link for link in links if link.text is None and not isinstance(link.value, str)]
    if not objects or '"string"' not in json.dumps(_json_schema(parameter.adapter)):
        return ""
    reference = objects[0].reference
    if reference.keys:
        return f"; its text replaces it inside a longer text, as in 'See {reference.text}'"
    return f"; its text is $VAR_REF{{{{{reference.name}:0}}}}"


def _is_free_text(schema: Mapping[str, Any]) -> bool:
    """Whether any text is valid, alone or as one of several types."""
    kinds = [option for option in (schema, *schema.get("anyOf", ())) if option.get("type") == "string"]
    return any(not option.keys() & {"enum", "const", "format"} for option in kinds)


def _expected_types(parameter: Parameter) -> str:
    schema = _json_schema(parameter.adapter)
    kinds = [
        option
        for option in (schema, *schema.get("anyOf", ()))
        if "type" in option or "const" in option or "enum" in option
    ]
    names = [
        str(option.get("description") if REFERENCE_TYPE in option else option.get("type", "one of a few values"))
        for option in kinds
    ]
    return " or ".join(names) or "another value"


def _json_schema(adapter: TypeAdapter[Any]) -> dict[str, Any]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return adapter.json_schema()
