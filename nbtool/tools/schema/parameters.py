"""Signature and docstring → JSON schema and validator.

JSON is validated strictly: `"3"` is no integer, and an integer is a float. What a model can write as JSON gets the
schema that pydantic gives it; what it cannot (a DataFrame, a connection, any class) is taken by reference.
"""

from __future__ import annotations

import functools
import inspect
import json
import types
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Union, get_args, get_origin

from nbtool.errors import BadUsage, InvalidArguments
from nbtool.shorten import shorten
from nbtool.tools.schema.annotations import TOKEN, annotation_of, lift
from nbtool.tools.schema.json_schema import inlined, untitled
from nbtool.tools.values.describe import describe
from nbtool.tools.variables.references import Link, Path, Resolved

if TYPE_CHECKING:
    from pydantic import TypeAdapter

MAX_DESCRIPTION = 4_000
"""Characters of a docstring that a model is told."""

MAX_GOT = 80
"""Characters of a wrong value that an error repeats."""

MAX_PROBLEMS = 5
"""Problems that one error lists."""

PLAIN = (str, int, float, bool, types.NoneType)
"""The types of values that JSON has, but lists and objects."""

_KINDS = inspect.Parameter


@dataclass(frozen=True, slots=True)
class Parameter:
    """One parameter of a tool; `is_plain`: a text, a number or a truth value."""

    name: str
    kind: Any
    default: Any
    adapter: TypeAdapter[Any] = field(repr=False)
    is_plain: bool = False

    @property
    def is_required(self) -> bool:
        """Whether a call must give it."""
        return self.default is _KINDS.empty and self.kind not in (_KINDS.VAR_POSITIONAL, _KINDS.VAR_KEYWORD)


@dataclass(frozen=True, slots=True)
class Parameters:
    """The parameters of a tool: their JSON schema, a validator, and the way back into a Python call.

    `are_plain`: texts, numbers and truth values, whose validation runs nobody's own code and takes no time.
    """

    known: Mapping[str, Parameter]
    extra: Parameter | None
    schema: Mapping[str, Any]
    are_plain: bool = False

    def check(self, resolved: Resolved) -> dict[str, Any]:
        """Validate arguments and give their values by name; an object that was referred to stays the same object.

        Raises:
            InvalidArguments: each problem says what was expected and what came, and never what a reference holds.
        """
        values: dict[str, Any] = {}
        problems = [
            f"{name!r} is missing"
            for name, one in self.known.items()
            if one.is_required and name not in resolved.arguments
        ]
        for name in resolved.arguments:
            parameter = self.known.get(name, self.extra)
            if parameter is None:
                problems.append(f"{shorten(name, MAX_GOT)!r} is not expected")
                continue
            try:
                values[name] = _checked(parameter, name, resolved)
            except InvalidArguments as problem:
                problems.append(problem.message)
        if problems:
            raise self._refusal(problems)
        return values

    def takes_text(self, name: str, value: Any) -> bool:
        """Whether a parameter takes a text, and not this object."""
        from pydantic import ValidationError  # noqa: PLC0415 - loaded when the tool was made

        parameter = self.known.get(name, self.extra)
        if parameter is None or isinstance(value, str):
            return False
        try:
            parameter.adapter.validate_python(_unboxed(value), strict=True)
        except ValidationError:
            return _is_free_text(_json_schema(parameter.adapter))
        return False

    def bind(self, values: Mapping[str, Any]) -> tuple[list[Any], dict[str, Any]]:
        """Give validated values as positional and keyword arguments; what was not given is left to the defaults."""
        several = next((one.name for one in self.known.values() if one.kind is _KINDS.VAR_POSITIONAL), None)
        spread = list(values.get(several, ())) if several else []
        positional: list[Any] = []
        keywords: dict[str, Any] = {name: value for name, value in values.items() if name not in self.known}
        for name, one in self.known.items():
            by_place = one.kind is _KINDS.POSITIONAL_ONLY or (spread and one.kind is _KINDS.POSITIONAL_OR_KEYWORD)
            if name == several:
                positional += spread
            elif by_place:
                positional.append(values.get(name, one.default))
            elif name in values:
                keywords[name] = values[name]
        return positional, keywords

    def _refusal(self, problems: list[str]) -> InvalidArguments:
        more = f" and {len(problems) - MAX_PROBLEMS} more" if len(problems) > MAX_PROBLEMS else ""
        shown = ", ".join(f"{name}{'' if one.is_required else ' (optional)'}" for name, one in self.known.items())
        return InvalidArguments(f"{'; '.join(problems[:MAX_PROBLEMS])}{more}.", fix=f"Parameters: {shown or 'none'}.")


def parameters_of(function: Callable[..., Any]) -> tuple[str, Parameters]:
    """Read a function's description and parameters off its signature and docstring (Google, NumPy or reST).

    Raises:
        BadUsage: the signature cannot be read, or an annotation cannot be resolved or understood.
    """
    try:
        signature = inspect.signature(function)
    except (ValueError, TypeError) as error:
        raise BadUsage(f"The signature of {function!r} cannot be read.", fix="Wrap it in a function.") from error
    description, of_parameters = _docstring(function)
    known: dict[str, Parameter] = {}
    extra = None
    for raw in signature.parameters.values():
        parameter = _parameter(raw, function)
        if raw.kind is _KINDS.VAR_KEYWORD:
            extra = parameter
        else:
            known[raw.name] = parameter
    are_plain = extra is None and all(one.is_plain for one in known.values())
    return description, Parameters(known, extra, _schema(known, extra, of_parameters), are_plain)


def _docstring(function: Callable[..., Any]) -> tuple[str, dict[str, str]]:
    import docstring_parser  # noqa: PLC0415 - only where a tool is made

    text = inspect.getdoc(function.func if isinstance(function, functools.partial) else function) or ""
    try:
        parsed = docstring_parser.parse(text)
    except docstring_parser.ParseError:
        return shorten(text, MAX_DESCRIPTION), {}
    pieces = [parsed.short_description, parsed.long_description]
    if parsed.returns and parsed.returns.description:
        pieces.append(f"Returns: {parsed.returns.description}")
    of_parameters = {one.arg_name.lstrip("*"): one.description or "" for one in parsed.params}
    return shorten("\n\n".join(piece for piece in pieces if piece), MAX_DESCRIPTION), of_parameters


def _parameter(raw: inspect.Parameter, function: Callable[..., Any]) -> Parameter:
    from pydantic import TypeAdapter  # noqa: PLC0415 - only where a tool is made

    annotation = annotation_of(raw, function)
    if raw.default is None:
        annotation = Union[annotation, None]  # noqa: UP007 - built from a value
    lifted = lift(annotation)
    if raw.kind is _KINDS.VAR_POSITIONAL:
        lifted = list[lifted]  # type: ignore[valid-type]
    return Parameter(raw.name, raw.kind, raw.default, TypeAdapter(lifted), _says_plain(lifted))


def _says_plain(annotation: Any) -> bool:
    if get_origin(annotation) in (Union, types.UnionType):
        return all(_says_plain(one) for one in get_args(annotation))
    return annotation in PLAIN


def _checked(parameter: Parameter, name: str, resolved: Resolved) -> Any:
    from pydantic import ValidationError  # noqa: PLC0415 - loaded when the tool was made

    value = resolved.arguments[name]
    try:
        if (name,) in resolved.objects:
            parameter.adapter.validate_python(_unboxed(value), strict=True)
            return value
        objects = {path: found for path, found in resolved.objects.items() if path[0] == name}
        tokens = dict(enumerate(objects.values()))
        data = json.dumps(_with_tokens(value, (name,), {path: n for n, path in enumerate(objects)}, tokens))
        valid = parameter.adapter.validate_json(data, strict=True, context=tokens)
    except ValidationError as error:
        raise InvalidArguments(_problem(parameter, name, resolved, error)) from None
    except (ValueError, TypeError, RecursionError) as error:
        raise InvalidArguments(f"{name!r} cannot be read: {type(error).__name__}") from None
    return _with_objects(valid, objects)


def _with_tokens(value: Any, path: Path, numbers: Mapping[Path, int], objects: Mapping[int, Any]) -> Any:
    """Put a token, or the like of a plain value, where a live object stands, so that the rest is JSON."""
    if path in numbers:
        live = objects[numbers[path]]
        return live if type(live) in (str, int, float, bool, types.NoneType) else {TOKEN: numbers[path]}
    if isinstance(value, dict):
        return {key: _with_tokens(inner, (*path, key), numbers, objects) for key, inner in value.items()}
    if isinstance(value, list):
        return [_with_tokens(inner, (*path, index), numbers, objects) for index, inner in enumerate(value)]
    return value


def _with_objects(valid: Any, objects: Mapping[Path, Any]) -> Any:
    """Put the live objects back where validation kept plain containers."""
    for path, value in objects.items():
        place = valid
        for step in path[1:-1]:
            place = _at(place, step)
        if type(place) in (dict, list):
            place[path[-1]] = value
        elif _at(place, path[-1]) is not value:
            raise InvalidArguments(f"{path[0]!r}: a reference cannot stand at {path[1:]!r}; give it whole")
    return valid


def _at(place: Any, step: str | int) -> Any:
    """Give what validation made of one step into an argument, or None."""
    try:
        return place[step] if isinstance(step, int) or isinstance(place, dict) else getattr(place, step, None)
    except (LookupError, TypeError):
        return None


def _unboxed(value: Any) -> Any:
    """Give the Python number inside a numpy scalar, so that an np.int64 passes for an int."""
    is_scalar = type(value).__module__ == "numpy" and getattr(value, "ndim", None) == 0 and hasattr(value, "item")
    return value.item() if is_scalar else value


def _problem(parameter: Parameter, name: str, resolved: Resolved, error: Any) -> str:
    links = resolved.links_in(name)
    if links:  # what a reference holds must not come back to the model inside an error
        what = "; ".join(f"{link.reference.text} is a {describe(link.value)}" for link in links)
        return f"{name!r}: {_expected(parameter)} is expected; {what}{_way_to_text(parameter, links)}"
    first = error.errors(include_url=False, include_context=False)[0]
    place = "".join(
        f"[{step!r}]" for step in first["loc"] if not isinstance(step, str) or not step.startswith("function-")
    )
    got = json.dumps(first["input"], default=describe, ensure_ascii=False)
    message = first["msg"].removeprefix("Value error, ").removeprefix("Input should be ")
    return f"{name!r}{place}: expected {message}, got {shorten(got, MAX_GOT)}"


def _way_to_text(parameter: Parameter, links: Sequence[Link]) -> str:
    """Say how an object is given as a text, where a text is taken."""
    objects = [link for link in links if link.text is None and not isinstance(link.value, str)]
    if not objects or '"string"' not in json.dumps(_json_schema(parameter.adapter)):
        return ""
    reference = objects[0].reference
    if reference.keys:
        return f"; its text stands for it inside of a longer text, as in 'See {reference.text}'"
    return f"; its text is $VAR_REF{{{{{reference.name}:0}}}}"


def _is_free_text(schema: Mapping[str, Any]) -> bool:
    """Whether any text will do, alone or among other kinds of values."""
    kinds = [one for one in (schema, *schema.get("anyOf", ())) if one.get("type") == "string"]
    return any(not one.keys() & {"enum", "const", "format"} for one in kinds)


def _expected(parameter: Parameter) -> str:
    schema = _json_schema(parameter.adapter)
    kinds = [one for one in (schema, *schema.get("anyOf", ())) if "type" in one or "const" in one or "enum" in one]
    words = [
        str(one.get("description") if _is_reference(one) else one.get("type", "one of a few values")) for one in kinds
    ]
    return " or ".join(words) or "another value"


def _is_reference(schema: Mapping[str, Any]) -> bool:
    return str(schema.get("description", "")).startswith("a reference: ")


def _schema(known: Mapping[str, Parameter], extra: Parameter | None, described: Mapping[str, str]) -> dict[str, Any]:
    from pydantic import TypeAdapter  # noqa: PLC0415 - only where a tool is made

    everything = [*known.values(), *([extra] if extra else [])]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        by_name, shared = TypeAdapter.json_schemas([(one.name, "validation", one.adapter) for one in everything])
    properties = {name: _property(by_name[name, "validation"], one, described) for name, one in known.items()}
    schema: dict[str, Any] = {"type": "object", "properties": properties}
    if required := [name for name, one in known.items() if one.is_required]:
        schema["required"] = required
    schema["additionalProperties"] = _property(by_name[extra.name, "validation"], extra, described) if extra else False
    if "$defs" in shared:
        schema["$defs"] = shared["$defs"]
    return inlined(untitled(schema))


def _property(schema: Mapping[str, Any], parameter: Parameter, described: Mapping[str, str]) -> dict[str, Any]:
    made = dict(schema)
    said, own = described.get(parameter.name, ""), str(made.get("description", ""))
    if said or own:
        made["description"] = f"{said} ({own})" if said and own else said or own
    if parameter.default is not _KINDS.empty and "default" not in made and _is_plain(parameter.default):
        made["default"] = parameter.default
    return made


def _json_schema(adapter: TypeAdapter[Any]) -> dict[str, Any]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return adapter.json_schema()


def _is_plain(value: Any) -> bool:
    return type(value) in (str, int, bool, types.NoneType) or (
        type(value) is float and value == value and abs(value) != float("inf")
    )
