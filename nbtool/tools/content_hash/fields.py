"""Reading an object's fields without running anything of it: past `__getattribute__`, properties and metaclasses."""

from __future__ import annotations

from types import GetSetDescriptorType, MemberDescriptorType
from typing import Any

from nbtool.tools.content_hash.hasher import NotHashable

_MRO = type.__dict__["__mro__"]
_DICT = type.__dict__["__dict__"]
_QUALNAME = type.__dict__["__qualname__"]
_BASES = type.__dict__["__bases__"]
_MODULE = type.__dict__["__module__"]


def mro(kind: type) -> tuple[type, ...]:
    """Give a class and the classes it comes from, as Python itself orders them."""
    classes: tuple[type, ...] = _MRO.__get__(kind)
    return classes


def direct_bases(kind: type) -> tuple[type, ...]:
    """Return the classes that a class names as its bases."""
    classes: tuple[type, ...] = _BASES.__get__(kind)
    return classes


def module_of(kind: type) -> str:
    """Return the module of a class, of one that is written in C too."""
    try:
        name = _MODULE.__get__(kind)
    except AttributeError:
        name = ""
    return name if type(name) is str else ""


def namespace(kind: type) -> dict[str, Any]:
    """Return a copy of what lies in a class itself, untouched by descriptors and metaclasses."""
    return dict(_DICT.__get__(kind))


def class_attribute(kind: type, name: str) -> Any:
    """Give what a class or one of its bases holds under a name, untouched by descriptors; None where there is none."""
    return next((_DICT.__get__(base)[name] for base in mro(kind) if name in _DICT.__get__(base)), None)


def class_name(kind: type) -> str:
    """Give the module and the name of a class."""
    module = _DICT.__get__(kind).get("__module__")
    return f"{module if type(module) is str else ''}.{_QUALNAME.__get__(kind)}"


def short_name(kind: type) -> str:
    """Give the name of a class as people say it."""
    return str(_QUALNAME.__get__(kind)).rpartition(".")[2]


def instance_dict(value: Any) -> dict[str, Any]:
    """Give what lies in an object's own `__dict__`; empty where it has none.

    Raises:
        Unknown: its class has made something else of `__dict__`.
    """
    member = class_attribute(type(value), "__dict__")
    if member is None:
        return {}
    namespace_ = member.__get__(value) if type(member) is GetSetDescriptorType else None
    if type(namespace_) is not dict:
        raise NotHashable(f"{short_name(type(value))} keeps its fields in its own way")
    return namespace_


def get_field(value: Any, name: str) -> Any:
    """Give a field of an object: from its `__dict__`, or from a slot.

    Raises:
        Unknown: it is in neither, so that reading it could run something.
    """
    attributes = instance_dict(value)
    if name in attributes:
        return attributes[name]
    member = class_attribute(type(value), name)
    if type(member) is not MemberDescriptorType:
        raise NotHashable(f"the field {name!r} of {short_name(type(value))} is not plain")
    try:
        return member.__get__(value)
    except AttributeError:
        return None
