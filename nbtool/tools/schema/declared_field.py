"""What a parameter declares by its annotation and its default: also by `Field(…)` in the place of either.

pydantic's `validate_call` takes `x: int = Field(default=3, ge=1)` as a parameter with the default 3, and so does this:
the function never receives the declaration itself. A schema states a default as the JSON value that is read as it.
"""

from __future__ import annotations

import copy
import dataclasses
import inspect
import json
import types
from dataclasses import dataclass
from functools import partial
from typing import Annotated, Any, get_args, get_origin

from nbtool.errors import BadUsage
from nbtool.tools.schema.parameter import FilledDefault, Parameter
from nbtool.tools.values.type_names import type_name

MAX_DEFAULT = 2_000
"""Maximum number of characters of a default in a schema; a longer one is not stated."""


def stated_default(parameter: Parameter) -> tuple[Any, ...]:
    """Return the JSON value of a default, alone in a tuple; an empty one if there is none that is read as it.

    A secret that shows as asterisks, an object of the notebook and an infinity have none.
    """
    default = parameter.default
    if default is inspect.Parameter.empty or is_json_value(default):
        return () if default is inspect.Parameter.empty else (default,)
    try:
        written = _written(default)
        is_same = _is_same(parameter.read(written), default) and len(json.dumps(written)) <= MAX_DEFAULT
    except Exception:  # noqa: BLE001 - of a default's class, or of a check of the tool's own
        return ()
    return (written,) if is_same else ()


def _is_same(read: Any, default: Any) -> bool:
    """Whether a default was read again; a list stands for a tuple."""
    if isinstance(read, list) and isinstance(default, tuple):
        return read == [*default]
    return bool(read == default)


def is_json_value(value: Any) -> bool:
    """Whether a default has exactly this form in JSON."""
    if type(value) in (list, dict):
        return all(map(is_json_value, value.values() if type(value) is dict else value)) and not (
            type(value) is dict and any(type(key) is not str for key in value)
        )
    return type(value) in (str, int, bool, types.NoneType) or (
        type(value) is float and value == value and abs(value) != float("inf")
    )


def _written(default: Any) -> Any:
    from pydantic_core import to_jsonable_python  # noqa: PLC0415 - needed only when a tool is created

    def plain(value: Any) -> Any:
        return value.item()  # a number of numpy

    return to_jsonable_python(plain(default) if hasattr(default, "item") else default, fallback=plain)


EMPTY = inspect.Parameter.empty


@dataclass(frozen=True, slots=True)
class DeclaredField:
    """The type of a parameter, its default, and what fills it in if its argument is left out.

    `metadata` are the declarations for pydantic that were taken off the annotation.
    """

    annotation: Any
    default: Any
    filled_in: FilledDefault | None = None
    metadata: tuple[Any, ...] = ()
    alias: str = ""


def declared_field(annotation: Any, default: Any, name: str) -> DeclaredField:
    """Return what a parameter declares.

    Raises:
        BadUsage: its default is to be replaced by another framework, which does not happen here.
    """
    from pydantic.fields import FieldInfo  # noqa: PLC0415 - needed only when a tool is created

    if callable(getattr(default, "dependency", None)):
        raise BadUsage(
            f"The default of the parameter {name!r} is {type_name(type(default))}, which another framework replaces.",
            fix="Bind the value: functools.partial(function, " + f"{name}=…).",
        )
    declares = isinstance(default, FieldInfo | dataclasses.Field) or (
        get_origin(annotation) is Annotated and any(isinstance(item, FieldInfo) for item in get_args(annotation)[1:])
    )
    if not declares:
        return DeclaredField(annotation, default, _filled_copy(default))
    info = (
        FieldInfo.from_annotation(annotation)
        if default is EMPTY
        else FieldInfo.from_annotated_attribute(annotation, default)
    )
    aliases = info.validation_alias or info.alias
    alias = (
        aliases
        if isinstance(aliases, str)
        else next((choice for choice in _choices(aliases) if isinstance(choice, str)), "")
    )
    return DeclaredField(info.annotation, _default_of(info), _filled_in(info), (info,), alias)


def _default_of(info: Any) -> Any:
    return EMPTY if info.is_required() or info.default_factory else info.default


def _filled_in(info: Any) -> FilledDefault | None:
    if info.is_required():
        return None
    makes = info.default_factory or partial(_new_copy, info.default)
    takes_data = bool(info.default_factory) and _takes_data(info.default_factory)
    return FilledDefault(makes, takes_data, bool(info.validate_default), is_declared=True)


def _takes_data(factory: Any) -> bool:
    """Whether a factory of a default takes the values before it, which is told by its signature."""
    try:
        parameters = [*inspect.signature(factory).parameters.values()]
    except (ValueError, TypeError):  # of a builtin, such as list
        return False
    by_position = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    return len(parameters) == 1 and parameters[0].kind in by_position and parameters[0].default is EMPTY


def _filled_copy(default: Any) -> FilledDefault | None:
    """Return what fills in a mutable default, as `validate_call` does: a copy, which no later call sees."""
    return None if default is EMPTY or _is_hashable(default) else FilledDefault(partial(_new_copy, default))


def _new_copy(default: Any) -> Any:
    if _is_hashable(default):
        return default
    try:
        return copy.deepcopy(default)
    except Exception:  # noqa: BLE001 - what cannot be copied is passed as Python does
        return default


def _is_hashable(value: Any) -> bool:
    try:
        hash(value)
    except TypeError:
        return False
    return True


def _choices(aliases: Any) -> list[Any]:
    return list(getattr(aliases, "choices", ()))
