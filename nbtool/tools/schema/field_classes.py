"""Dataclasses and named tuples of which pydantic cannot read a field, such as one of a library's scalar class."""

from __future__ import annotations

import dataclasses
import inspect
import typing
from collections.abc import Callable
from contextvars import ContextVar
from typing import Annotated, Any

from nbtool.errors import BadUsage
from nbtool.tools.schema.made_of import MadeOf
from nbtool.tools.schema.typed_dicts import make_typed_dict

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
