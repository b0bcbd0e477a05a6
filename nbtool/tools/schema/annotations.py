"""Resolve parameter annotations, and replace types without a JSON form by references."""

from __future__ import annotations

import collections.abc
import inspect
import types
import typing
from contextlib import suppress
from dataclasses import dataclass
from typing import Annotated, Any, Union, get_args, get_origin

from nbtool.errors import BadUsage
from nbtool.tools.values.type_names import type_name

PLAIN_TYPES = (str, int, float, bool, types.NoneType)
"""The types of scalar JSON values."""

REFERENCE_KEY = "\0reference"
"""The key of a placeholder for a live object in JSON during validation; no argument of a model contains it."""

REFERENCE_TYPE = "x-nbtool-reference"
"""The key of the class in the schema of a parameter that takes only a reference; models do not receive it."""


def annotation_of(raw: inspect.Parameter, function: Any) -> Any:
    """Return the annotation of a parameter; Any if it has none.

    Raises:
        BadUsage: the annotation cannot be resolved.
    """
    if raw.annotation is inspect.Parameter.empty:
        return Any
    unwrapped = _unwrap(function)
    names = _closure_values(unwrapped) if inspect.isfunction(unwrapped) else {}
    holder = types.SimpleNamespace(__annotations__={"it": raw.annotation})
    try:
        return typing.get_type_hints(holder, getattr(unwrapped, "__globals__", {}), names, include_extras=True)["it"]
    except Exception as error:
        raise BadUsage(
            f"The annotation {raw.annotation!r} of the parameter {raw.name!r} of {function_name(function)} cannot be "
            f"resolved: {error}.",
            fix="Import or define its names at the top level of the notebook or module, not only under "
            "`if TYPE_CHECKING:`, or annotate the parameter with Any.",
        ) from error


def _closure_values(function: types.FunctionType) -> dict[str, Any]:
    """Return the values of the bound names of an enclosing function; `inspect.getclosurevars` needs all of them."""
    values = {}
    for name, cell in zip(function.__code__.co_freevars, function.__closure__ or (), strict=True):
        with suppress(ValueError):  # the cell is empty: the name is bound later
            values[name] = cell.cell_contents
    return values


def function_name(function: Any) -> str:
    """Return the name of a function for a message, with its class if it is a method."""
    unwrapped = _unwrap(function)
    return str(getattr(unwrapped, "__qualname__", type(unwrapped).__name__)).rpartition("<locals>.")[2]


def _unwrap(function: Any) -> Any:
    """Return the function behind a method and decorators; of an object, its class's `__call__`."""
    unwrapped = inspect.unwrap(getattr(function, "__func__", function))
    return unwrapped if hasattr(unwrapped, "__globals__") else type(unwrapped).__call__


def to_json_type(annotation: Any) -> Any:
    """Replace types without a JSON form by references."""
    if annotation is Any or annotation is object or isinstance(annotation, typing.TypeVar):
        return Any
    if annotation in PLAIN_TYPES or _is_json(annotation):
        return annotation
    if typing.is_typeddict(annotation):
        return _typed_dict(annotation)
    origin, element = get_origin(annotation), get_args(annotation)
    if origin is Annotated:
        return Annotated[to_json_type(element[0]), *element[1:]]
    if origin in (Union, types.UnionType):
        return Union[tuple(to_json_type(argument) for argument in element)]  # noqa: UP007 - built from values
    if origin in _CONTAINERS:
        return origin[tuple(argument if argument is ... else to_json_type(argument) for argument in element)]
    kind = origin or annotation
    if kind is collections.abc.Callable or inspect.isclass(kind):
        return Annotated[Any, ReferenceTo(kind)]
    raise BadUsage(f"The annotation {annotation!r} has no JSON schema.", fix="Use a class or Any.")


def takes_objects(lifted: Any) -> bool:
    """Whether a converted annotation contains a class whose instances are passed by reference."""
    inner = [*get_args(lifted), *(lifted.__annotations__.values() if typing.is_typeddict(lifted) else ())]
    return isinstance(lifted, ReferenceTo) or any(map(takes_objects, inner))


def _typed_dict(annotation: Any) -> Any:
    """Return the `typing_extensions.TypedDict` of a `typing.TypedDict`: pydantic requires it before Python 3.12."""
    import typing_extensions  # noqa: PLC0415 - needed only when a tool is created

    hints = typing.get_type_hints(annotation, include_extras=True)
    fields = {}
    for name, hint in hints.items():
        marker, element = get_origin(hint), hint
        if marker in (typing.Required, typing.NotRequired):
            element = get_args(hint)[0]
        else:
            marker = typing.NotRequired if name in annotation.__optional_keys__ else typing.Required
        fields[name] = marker[to_json_type(element)]
    return typing_extensions.TypedDict(annotation.__name__, fields)  # type: ignore[operator]  # built from values


_CONTAINERS = (list, tuple, dict, set, frozenset, collections.abc.Sequence, collections.abc.Mapping)


def _is_json(annotation: Any) -> bool:
    from pydantic import PydanticUserError, TypeAdapter  # noqa: PLC0415 - needed only when a tool is created

    try:
        adapter = TypeAdapter(annotation)
        adapter.json_schema()
    except (PydanticUserError, TypeError, AttributeError, NameError):
        return False
    return not _calls_function(adapter.core_schema)


def _calls_function(core: Any) -> bool:
    """Whether validation would call a function, which pydantic does where one stands in place of a type.

    A class that is called creates its instance, as that of a named tuple.
    """
    if isinstance(core, dict):
        is_call = core.get("type") == "call" and not inspect.isclass(core.get("function"))
        return is_call or any(map(_calls_function, core.values()))
    return isinstance(core, list | tuple) and any(map(_calls_function, core))


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
        objects = info.context or {}
        value_given = objects[value[REFERENCE_KEY]] if isinstance(value, dict) and REFERENCE_KEY in value else value
        if not isinstance(value_given, self.kind):
            from pydantic_core import PydanticCustomError  # noqa: PLC0415 - as above

            raise PydanticCustomError("reference_type", "a reference to a {name}", {"name": self.name})
        return value_given
