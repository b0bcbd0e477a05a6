"""Replace the types of an annotation by those that are read from JSON, and types without a JSON form by references.

Within a type that contains itself, such as a TypedDict of a tree, a placeholder stands for the result.
"""

from __future__ import annotations

import collections.abc
import copy
import inspect
import types
import typing
import warnings
from collections.abc import Callable, Iterable
from contextvars import ContextVar
from typing import Annotated, Any, Union, get_args, get_origin

from nbtool.errors import BadUsage
from nbtool.tools.schema.field_classes import field_class_type
from nbtool.tools.schema.reference_to import ReferenceTo
from nbtool.tools.schema.scalars import scalar_type
from nbtool.tools.schema.type_variables import admitted_by, substitute, with_arguments
from nbtool.tools.schema.typed_dicts import is_typed_dict, make_typed_dict, typed_dict_items


class Whole:
    """Represents in an annotation a type that is being converted; `is_used` if it contains itself."""

    def __init__(self) -> None:
        self.converted: Any = None
        self.is_used = False

    def __get_pydantic_core_schema__(self, _source: Any, handler: Any) -> Any:
        return handler.generate_schema(self.converted)  # a reference, because it is in the middle of that


_unfinished: ContextVar[tuple[tuple[Any, Whole], ...]] = ContextVar("unfinished_types", default=())
"""The types around the one that is converted; some cannot be keys, because what is declared of them cannot."""


def lift_once(annotation: Any, lift: Callable[[], Any], name: Callable[[Any, Any], Any] | None = None) -> Any:
    """Return what a type is converted to, or what stands for that inside of it.

    Args:
        annotation: the type.
        lift: converts it.
        name: gives a name to the result, by which it can be referred to, if the result has none.
    """
    unfinished = _unfinished.get()
    if (outer := next((item for kind, item in unfinished if kind == annotation), None)) is not None:
        outer.is_used = True
        return Annotated[Any, outer]
    whole = Whole()
    token = _unfinished.set((*unfinished, (annotation, whole)))
    try:
        converted = lift()
    finally:
        _unfinished.reset(token)
    whole.converted = name(annotation, converted) if name and whole.is_used else converted
    return whole.converted


def name_type(annotation: Any, converted: Any) -> Any:
    """Return a converted alias as an alias again."""
    import typing_extensions  # noqa: PLC0415 - needed only when a tool is created

    return typing_extensions.TypeAliasType(str(getattr(annotation, "__name__", "Alias")), converted)


PLAIN_TYPES = (str, int, float, bool, types.NoneType)
"""The types of scalar JSON values."""

_VARIABLES = (typing.TypeVar, typing.ParamSpec, typing.ParamSpecArgs, typing.ParamSpecKwargs, typing.TypeVarTuple)


def to_json_type(annotation: Any) -> Any:
    """Replace types without a JSON form by references, and scalars of libraries by what is written for them.

    Raises:
        BadUsage: the annotation is no type.
    """
    if annotation is Any or annotation is object:
        return Any
    is_variable = isinstance(annotation, _VARIABLES)  # pydantic takes the default before the bound
    if annotation in PLAIN_TYPES or (not is_variable and _is_json(annotation)):
        return annotation
    if (meaning := _meaning_of(annotation)) is not None:
        return lift_once(annotation, lambda: to_json_type(meaning), name_type)
    origin, arguments = get_origin(annotation), get_args(annotation)
    if origin is Annotated:
        return _annotated(arguments[0], arguments[1:])
    if origin in (Union, types.UnionType):
        return Union[tuple(map(to_json_type, arguments))]  # noqa: UP007 - built from values
    return _of_class(annotation, origin or annotation, arguments)


def _of_class(annotation: Any, kind: Any, arguments: tuple[Any, ...]) -> Any:
    if is_typed_dict(kind):
        given = dict(zip(kind.__parameters__, arguments, strict=False)) if arguments else {}
        return lift_once(annotation, lambda: _typed_dict(kind, given))
    if kind in (collections.abc.Callable, type):
        return Annotated[Any, ReferenceTo(kind)]
    if arguments:
        lifted = with_arguments(annotation, to_json_type)
        if lifted is not annotation and _is_json(lifted):
            return lifted
    if inspect.isclass(kind):
        lifted_arguments = tuple(map(to_json_type, arguments))
        made = scalar_type(kind, arguments=lifted_arguments) or field_class_type(kind, to_json_type, takes_objects)
        return made or Annotated[Any, ReferenceTo(kind)]
    raise BadUsage(f"The annotation {annotation!r} has no JSON schema.", fix="Use a class or Any.")


def _meaning_of(annotation: Any) -> Any:
    """Return what a name for a type stands for: a variable, a `NewType`, an alias (PEP 695), …; None for a type."""
    import typing_extensions  # noqa: PLC0415 - needed only when a tool is created

    if isinstance(annotation, _VARIABLES):
        return admitted_by(annotation)
    if isinstance(annotation, typing.NewType):
        return annotation.__supertype__
    kinds: Any = (typing_extensions.TypeAliasType, getattr(typing, "TypeAliasType", ()))
    if isinstance(alias := get_origin(annotation) or annotation, kinds):
        return substitute(alias.__value__, dict(zip(alias.__type_params__, get_args(annotation), strict=False)))
    return str if annotation in (typing.LiteralString, typing_extensions.LiteralString) else None


def _annotated(annotation: Any, metadata: tuple[Any, ...]) -> Any:
    """Return a type with what is declared of it; what a scalar is restricted to is a property of what is written."""
    if (meaning := _meaning_of(annotation)) is not None:
        return to_json_type(Annotated[meaning, *metadata])
    constraints, validators = _split(metadata)
    members = get_args(annotation) if get_origin(annotation) in (Union, types.UnionType) else (annotation,)
    scalars = [scalar_type(member, constraints) if constraints and not _is_json(member) else None for member in members]
    if not any(scalars):
        return Annotated[to_json_type(annotation), *metadata]
    lifted = [scalar or to_json_type(item) for scalar, item in zip(scalars, members, strict=True)]
    whole: Any = Union[tuple(lifted)]  # noqa: UP007 - built from values
    return Annotated[whole, *validators] if validators else whole


def _split(metadata: Iterable[Any]) -> tuple[tuple[Any, ...], tuple[Any, ...]]:
    """Return the constraints among declarations, and the author's validators, which get a value of the type."""
    from pydantic.fields import FieldInfo  # noqa: PLC0415 - needed only when a tool is created

    constraints: list[Any] = []
    validators: list[Any] = []
    for item in metadata:
        if isinstance(item, FieldInfo):
            field = copy.copy(item)
            field.metadata, others = _split(item.metadata)  # type: ignore[assignment]  # pydantic reads any sequence
            constraints.append(field)
            validators += others
        else:
            (validators if hasattr(item, "__get_pydantic_core_schema__") else constraints).append(item)
    return tuple(constraints), tuple(validators)


def takes_objects(lifted: Any) -> bool:
    """Whether a converted annotation contains a class whose instances are passed by reference."""
    fields = lifted.__annotations__.values() if is_typed_dict(lifted) else ()
    return isinstance(lifted, ReferenceTo) or any(map(takes_objects, [*get_args(lifted), *fields]))


def _typed_dict(annotation: Any, arguments: dict[Any, Any]) -> Any:
    items = {
        name: (to_json_type(substitute(hint, arguments)), is_required)
        for name, (hint, is_required) in typed_dict_items(annotation).items()
    }
    return make_typed_dict(annotation.__name__, items)


def _is_json(annotation: Any) -> bool:
    from pydantic import PydanticUserError, TypeAdapter  # noqa: PLC0415 - needed only when a tool is created
    from pydantic_core import PydanticSerializationError  # noqa: PLC0415 - the same

    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of a declaration that is one of a parameter
            adapter = TypeAdapter(annotation)
            adapter.json_schema()
    except (PydanticUserError, PydanticSerializationError, TypeError, AttributeError, NameError, KeyError):
        return False  # a member of an enum has no JSON form, or a class's own methods want what this one lacks
    return get_origin(annotation) is not type and not _calls_function(adapter.core_schema)


def _calls_function(core: Any) -> bool:
    """Whether validation would call a function, which pydantic does where one stands in place of a type.

    A class that is called creates its instance, as that of a named tuple.
    """
    if isinstance(core, dict):
        is_call = core.get("type") == "call" and not inspect.isclass(core.get("function"))
        return is_call or any(map(_calls_function, core.values()))
    return isinstance(core, list | tuple) and any(map(_calls_function, core))
