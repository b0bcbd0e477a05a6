"""The parameters of a tool in use: offer them, check what a model sent, say what is wrong, and bind it to a call.

JSON is validated strictly: `"3"` is not an integer, and an integer is a valid float. Types with a JSON form get the
schema of pydantic; all others (a DataFrame, a connection, any class) are passed by reference.
"""

from __future__ import annotations

import inspect
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from operator import itemgetter
from typing import Annotated, Any, cast

from nbtool.errors import InvalidArguments
from nbtool.json_schema import UnfitSchema, normalize_parameters
from nbtool.json_schema.names import restore_names
from nbtool.text import shorten
from nbtool.tools.schema.annotations import PLAIN_TYPES
from nbtool.tools.schema.parameter import Parameter
from nbtool.tools.schema.reference_to import REFERENCE_KEY, REFERENCE_TYPE
from nbtool.tools.schema.validator import Validator, compile_validator
from nbtool.tools.values.type_and_shape import describe
from nbtool.tools.variables.references import Path, ReferenceTarget, ResolvedArguments


@dataclass(frozen=True, slots=True)
class Offer:
    """A schema that every model's server takes; `problem` says why there is none, as the end of a sentence.

    `names` has the parameters' own names by those that are offered, where they differ.
    """

    schema: Mapping[str, Any] = field(default_factory=dict)
    names: Mapping[str, str] = field(default_factory=dict)
    problem: str = ""

    def restore(self, arguments: Mapping[str, Any]) -> Mapping[str, Any]:
        """Return a model's arguments under the parameters' own names."""
        restored: Mapping[str, Any] = restore_names(dict(arguments), self.names) if self.names else arguments
        return restored


def make_offer(schema: Mapping[str, Any]) -> Offer:
    """Return what is offered of parameters with a schema."""
    try:
        normal = normalize_parameters(schema)
    except UnfitSchema as unfit:
        return Offer(problem=str(unfit))
    return Offer(normal.schema, normal.names)


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


MAX_VALUE_CHARS = 80
"""Maximum number of characters of an invalid value quoted in an error."""

MAX_PROBLEMS = 5
"""Maximum number of problems listed in one error."""

_KINDS = inspect.Parameter


@dataclass(frozen=True, slots=True)
class Parameters:
    """The parameters of a tool: their JSON schema, a validator, and the conversion to a Python call.

    `is_plain`: strings, numbers and booleans, whose validation is fast and runs no user code. `form_schema` is the
    schema for the form of a person, which also has the key `REFERENCE_TYPE`. `is_form`: a person fills them in.
    `bound` are the names that the author has bound: no argument may have one. `by_position` is whether the callable is
    a wrapper that takes any arguments by position, and may look at the first one. `validator` is compiled for all
    arguments together; `partial_validators` are those without the ones that came by reference, by their names.
    """

    by_name: Mapping[str, Parameter]
    extra: Parameter | None
    schema: Mapping[str, Any]
    is_plain: bool = False
    form_schema: Mapping[str, Any] | None = None
    is_form: bool = False
    bound: frozenset[str] = frozenset()
    by_position: bool = False
    validator: Validator | None = field(default=None, repr=False)
    partial_validators: dict[frozenset[str], Validator] = field(default_factory=dict, repr=False)
    _offer: Offer | None = field(init=False, default=None, repr=False, compare=False)

    @property
    def offer(self) -> Offer:
        """The parameters as they are offered to a model; made when they are first asked for."""
        if self._offer is None:
            object.__setattr__(self, "_offer", make_offer(self.schema))
        return cast(Offer, self._offer)

    def check(self, resolved: ResolvedArguments) -> dict[str, Any]:
        """Validate arguments and return their values by name; a referenced object remains the same object.

        The values include the defaults that validation fills in.

        Raises:
            InvalidArguments: each problem names the expected and the received type, and never the value of a
                reference.
        """
        from pydantic import ValidationError  # noqa: PLC0415 - loaded when the tool was created

        values: dict[str, Any] = {}
        missing: list[str] = []
        problems: list[str] = []
        by_reference = set(map(str, map(itemgetter(0), resolved.objects)))
        others = dict(resolved.arguments)
        for name in by_reference:
            others.pop(name, None)
            if (parameter := self._parameter(name)) is None:
                problems.append(_unexpected(name))
                continue
            try:
                values[name] = _validate_with_objects(parameter, name, resolved)
            except InvalidArguments as problem:
                problems.append(problem.message)
            except UNREADABLE as error:
                problems.append(f"{name!r} cannot be read: {type(error).__name__}")
        problems += map(_unexpected, filter(self.bound.__contains__, others))
        try:
            validator = self._validator_without(frozenset(by_reference & self.by_name.keys()))
            values |= validator.validate_json(resolved.json_text or json.dumps(others))
        except ValidationError as error:
            missing, others_wrong = self._problems_of(error, resolved)
            problems += others_wrong
        except UNREADABLE as error:
            problems.append(f"{', '.join(map(repr, others))} cannot be read: {type(error).__name__}")
        if missing or problems:
            raise self._invalid_arguments([*missing, *problems])
        return {name: values[name] for name in (*resolved.arguments, *values)}

    def _parameter(self, name: str) -> Parameter | None:
        return None if name in self.bound else self.by_name.get(name, self.extra)

    def _validator_without(self, names: frozenset[str]) -> Validator:
        """Return the validator of the arguments that did not come by reference."""
        if not names and self.validator:
            return self.validator
        if names not in self.partial_validators:
            rest = {name: parameter for name, parameter in self.by_name.items() if name not in names}
            self.partial_validators[names] = compile_signature(rest, self.extra)
        return self.partial_validators[names]

    def _problems_of(self, error: Any, resolved: ResolvedArguments) -> tuple[list[str], list[str]]:
        """Return which arguments are missing, and the first problem of each other one."""
        missing, found = [], dict[str, str]()
        for item in error.errors(include_url=False, include_context=False):
            name = str(item["loc"][0])
            parameter = self._parameter(name)
            if len(item["loc"]) == 1 and item["type"] == "missing":
                missing.append(f"{name!r} is missing")
            elif name in found or name in self.bound:
                continue
            elif parameter is None:
                found[name] = _unexpected(name)
            else:
                found[name] = _error_message(parameter, name, resolved, {**item, "loc": item["loc"][1:]})
        return missing, [*found.values()]

    def find_gaps(self, values: Mapping[str, Any]) -> list[str]:  # noqa: ARG002 - only a form has some
        """Return what is still missing of validated values, before a call may run."""
        return []

    def takes_text(self, name: str, value: Any) -> bool:
        """Whether a parameter takes a text and not this object."""
        from pydantic import ValidationError  # noqa: PLC0415 - loaded when the tool was created

        parameter = self._parameter(name)
        if parameter is None or isinstance(value, str) or not _is_free_text(parameter.alone.json_schema):
            return False
        try:
            parameter.alone.validate_object(_unwrap_scalar(value))
        except ValidationError:
            return True
        return False

    def bind(self, values: Mapping[str, Any]) -> tuple[list[Any], dict[str, Any]]:
        """Return validated values as positional and keyword arguments; omitted ones use their defaults.

        With `by_position`, what may be passed by position is, up to the first that is omitted.
        """
        variadic = next(
            (declared.name for declared in self.by_name.values() if declared.kind is _KINDS.VAR_POSITIONAL), None
        )
        variadic_values = list(values.get(variadic, ())) if variadic else []
        positional: list[Any] = []
        keywords: dict[str, Any] = {name: value for name, value in values.items() if name not in self.by_name}
        has_gap = False
        for name, declared in self.by_name.items():
            is_flexible = declared.kind is _KINDS.POSITIONAL_OR_KEYWORD
            has_gap = has_gap or (is_flexible and name not in values)
            is_positional = declared.kind is _KINDS.POSITIONAL_ONLY or (
                is_flexible and (variadic_values or (self.by_position and not has_gap))
            )
            if name == variadic:
                positional += variadic_values
            elif is_positional:
                positional.append(values.get(name, declared.default))
            elif name in values:
                keywords[declared.target or name] = values[name]
        return positional, keywords

    def _invalid_arguments(self, problems: list[str]) -> InvalidArguments:
        omitted = f" and {len(problems) - MAX_PROBLEMS} more" if len(problems) > MAX_PROBLEMS else ""
        listed = ", ".join(
            f"{name}{'' if declared.is_required else ' (optional)'}" for name, declared in self.by_name.items()
        )
        return InvalidArguments(
            f"{'; '.join(problems[:MAX_PROBLEMS])}{omitted}.", fix=f"Parameters: {listed or 'none'}."
        )


UNREADABLE = (ValueError, TypeError, RecursionError)
"""What nesting that is too deep raises, and what a check of the tool's own may besides its refusal."""


def _unexpected(name: str) -> str:
    return f"{shorten(name, MAX_VALUE_CHARS)!r} is not expected"


def _validate_with_objects(parameter: Parameter, name: str, resolved: ResolvedArguments) -> Any:
    """Return the value of an argument that is, or contains, an object that came by reference."""
    from pydantic import ValidationError  # noqa: PLC0415 - loaded when the tool was created

    value = resolved.arguments[name]
    try:
        if (name,) in resolved.objects:
            parameter.alone.validate_object(_unwrap_scalar(value))
            return value
        objects = {path: value_at for path, value_at in resolved.objects.items() if path[0] == name}
        tokens = dict(enumerate(objects.values()))
        data = json.dumps(_with_tokens(value, (name,), {path: n for n, path in enumerate(objects)}, tokens))
        valid = parameter.alone.validate_json(data, context=tokens)
    except ValidationError as error:
        first = error.errors(include_url=False, include_context=False)[0]
        raise InvalidArguments(_error_message(parameter, name, resolved, first)) from None
    return _with_objects(valid, objects)


def _with_tokens(value: Any, path: Path, numbers: Mapping[Path, int], objects: Mapping[int, Any]) -> Any:
    """Replace live objects by placeholders, or by an equivalent plain value, so that the rest is JSON."""
    if path in numbers:
        referenced = objects[numbers[path]]
        return referenced if type(referenced) in PLAIN_TYPES else {REFERENCE_KEY: numbers[path]}
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


def _error_message(parameter: Parameter, name: str, resolved: ResolvedArguments, first: Mapping[str, Any]) -> str:
    links = resolved.links_in(name)
    if links:  # a referenced value must not be sent to the model in an error
        referenced = "; ".join(f"{link.reference.text} is a {describe(link.value)}" for link in links)
        if first["type"] in ("value_error", "assertion_error"):  # of the tool's own check: it may quote the value
            return f"{name!r}: the tool's own check does not accept it; {referenced}"
        return f"{name!r}: {_expected_types(parameter)} is expected; {referenced}{_text_hint(parameter, links)}"
    steps = [step for step in first["loc"] if not isinstance(step, str) or not step.startswith("function-")]
    is_key = bool(steps) and steps[-1] == "[key]"
    place = "".join([repr(name), *(f"[{step!r}]" for step in (steps[:-1] if is_key else steps))])
    if first["type"] == "missing":
        return f"{place} is missing"
    if first["type"] in _UNEXPECTED_KEY:
        return f"{place} is not expected"
    received = shorten(json.dumps(first["input"], default=describe, ensure_ascii=False), MAX_VALUE_CHARS)
    return f"{place}{' as a key' * is_key}: {_problem_text(first)}, got {received}"


_UNEXPECTED_KEY = ("extra_forbidden", "unexpected_keyword_argument")
"""What pydantic says of a key that a record does not declare."""


def _problem_text(first: Mapping[str, Any]) -> str:
    """Return what pydantic or the author of a check says of a value as the middle of a sentence."""
    return str(
        first["msg"]
        .replace("Input should be ", "expected ")
        .removeprefix("Value error, ")
        .removeprefix("Assertion failed, ")
    )


def _text_hint(parameter: Parameter, links: Sequence[ReferenceTarget]) -> str:
    """Return how to pass an object as text, if the parameter takes a text."""
    objects = [link for link in links if link.text is None and not isinstance(link.value, str)]
    if not objects or '"string"' not in json.dumps(parameter.alone.json_schema):
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
    schema = parameter.alone.json_schema
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
