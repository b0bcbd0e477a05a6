"""Read an object's fields without running its code: no `__getattribute__`, properties or metaclasses."""

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
    """Return a class and its base classes in method resolution order."""
    classes: tuple[type, ...] = _MRO.__get__(kind)
    return classes


def direct_bases(kind: type) -> tuple[type, ...]:
    """Return the direct base classes of a class."""
    classes: tuple[type, ...] = _BASES.__get__(kind)
    return classes


def module_of(kind: type) -> str:
    """Return the module of a class, including one written in C."""
    try:
        name = _MODULE.__get__(kind)
    except AttributeError:
        name = ""
    return name if type(name) is str else ""


def namespace(kind: type) -> dict[str, Any]:
    """Return a copy of the namespace of a class, without descriptors and metaclasses."""
    return dict(_DICT.__get__(kind))


def class_attribute(kind: type, name: str) -> Any:
    """Return an attribute of a class or its bases, without running descriptors; None if there is none."""
    return next((_DICT.__get__(base)[name] for base in mro(kind) if name in _DICT.__get__(base)), None)


def class_name(kind: type) -> str:
    """Return the module and the name of a class."""
    module = _DICT.__get__(kind).get("__module__")
    return f"{module if type(module) is str else ''}.{_QUALNAME.__get__(kind)}"


def short_name(kind: type) -> str:
    """Return the display name of a class."""
    return str(_QUALNAME.__get__(kind)).rpartition(".")[2]


def instance_dict(value: Any) -> dict[str, Any]:
    """Return an object's own `__dict__`; empty if it has none.

    Raises:
        NotHashable: its class overrides `__dict__`.
    """
    member = class_attribute(type(value), "__dict__")
    if member is None:
        return {}
    namespace_ = member.__get__(value) if type(member) is GetSetDescriptorType else None
    if type(namespace_) is not dict:
        raise NotHashable(f"{short_name(type(value))} overrides `__dict__`")
    return namespace_


def get_field(value: Any, name: str) -> Any:
    """Return a field of an object: from its `__dict__`, or from a slot.

    Raises:
        NotHashable: it is in neither, so that reading it could run code.
    """
    attributes = instance_dict(value)
    if name in attributes:
        return attributes[name]
    member = class_attribute(type(value), name)
    if type(member) is not MemberDescriptorType:
        raise NotHashable(f"the field {name!r} of {short_name(type(value))} is not a plain attribute")
    try:
        return member.__get__(value)
    except AttributeError:
        return None
