"""Hash instances of Python classes in this process, without their own methods."""

from __future__ import annotations

import array
import sys
from collections import OrderedDict, defaultdict, deque
from collections.abc import Callable
from types import MemberDescriptorType
from typing import Any

from nbtool.tools.content_hash.builtins import hash_column, hash_value
from nbtool.tools.content_hash.code_names import passes_object
from nbtool.tools.content_hash.fields import class_name, instance_dict, mro, namespace, short_name
from nbtool.tools.content_hash.libraries import without_bookkeeping
from nbtool.tools.content_hash.live_code import can_run, hash_live_class
from nbtool.tools.content_hash.live_hasher import LiveHasher
from nbtool.tools.content_hash.module_origin import is_user_module

_POINTER = 8
"""Size in bytes of a slot, of a `__dict__` and of a list of weak references in an instance."""

_MANAGED_WEAKREF, _MANAGED_DICT = 1 << 3, 1 << 4
"""Flags of classes whose instances have them before the instance, from Python 3.12 and 3.11 on."""


def hash_instance(value: Any, hasher: LiveHasher) -> None:
    """Hash an instance of a Python class: the content of its builtin base, its `__dict__` and its slots.

    If an extension stores hidden state in it, a problem is recorded.
    """
    kind = type(value)
    ancestors = mro(kind)
    base = next(class_ for class_ in ancestors if class_ is object or id(class_) in BASES or _is_array(class_))
    own_classes = ancestors[: ancestors.index(base)]
    slots = [
        (class_, name, member)
        for class_ in own_classes
        for name, member in namespace(class_).items()
        if _is_slot(member)
    ]
    visible = sum("__slots__" in namespace(class_) for class_, _, _ in slots)  # a member of an extension may be a part
    if _hidden_bytes(kind, base) > _POINTER * visible:
        # the visible state is hashed nevertheless
        hasher.count_by_identity(value, f"a {short_name(kind)} cannot be compared")
    hash_live_class(kind, hasher)
    if base is not object:
        hasher.is_complete = True  # as in any container
        hash_base = BASES.get(id(base)) or _hash_ndarray
        hash_base(value, hasher)
    counted = _counted_names(value, ancestors, hasher)
    _hash_slots(value, [slot for slot in slots if counted is None or slot[1] in counted], hasher)
    own_state = without_bookkeeping(value, ancestors, instance_dict(value))
    if counted is None:
        hash_value(own_state, hasher)
        return
    for name in (name for name in own_state if name in counted):
        hasher.update_text(name)
        hasher.hash_as(own_state[name], is_complete=name in hasher.reach.passed_names)


def _hash_slots(value: Any, slots: list[tuple[type, str, Any]], hasher: LiveHasher) -> None:
    for kind, name, member in slots:
        hasher.update_text(f"{class_name(kind)} {name}")
        try:
            value_in_slot = member.__get__(value)
        except AttributeError:
            hasher.update_text("empty")
        else:
            hasher.hash_as(value_in_slot, is_complete=hasher.is_complete or name in hasher.reach.passed_names)


def _counted_names(value: Any, ancestors: tuple[type, ...], hasher: LiveHasher) -> frozenset[str] | None:
    """Return the names of the attributes that count, None if all do: code may read the whole instance."""
    own_classes = [base for base in ancestors if base is not object]
    if hasher.names is None or not all(is_user_module(namespace(base).get("__module__")) for base in own_classes):
        return None
    members = [item for base in own_classes for item in namespace(base).items()]
    if hasher.is_complete or any(
        can_run(name, member, hasher.names) and passes_object(member) for name, member in members
    ):
        hasher.complete_ids.update(map(id, own_classes), [id(value)])
        return None
    return hasher.names


def _is_slot(member: Any) -> bool:
    return type(member) is MemberDescriptorType


def _hidden_bytes(kind: type, base: type) -> int:
    """Return the bytes of an instance besides those of its base, its `__dict__` and its weak references.

    What the interpreter keeps before the instance is not part of its size: https://docs.python.org/3/c-api/typeobj.html
    """
    size, flags = type.__dict__["__basicsize__"], type.__dict__["__flags__"].__get__(kind)
    dict_offset, weakref_offset = type.__dict__["__dictoffset__"], type.__dict__["__weakrefoffset__"]
    own_dict = bool(dict_offset.__get__(kind)) and not dict_offset.__get__(base) and not flags & _MANAGED_DICT
    own_weak = bool(weakref_offset.__get__(kind)) and not weakref_offset.__get__(base) and not flags & _MANAGED_WEAKREF
    return int(size.__get__(kind)) - int(size.__get__(base)) - _POINTER * (own_dict + own_weak)


def _is_array(kind: type) -> bool:
    numpy = sys.modules.get("numpy")
    return numpy is not None and vars(numpy).get("ndarray") is kind


def _hash_ndarray(value: Any, hasher: LiveHasher) -> None:
    numpy = sys.modules["numpy"]
    hash_value(numpy.ndarray.view(value, numpy.ndarray), hasher)


def _builtin_member(kind: type, name: str, value: Any) -> Any:
    """Return a member of a builtin type, ignoring overrides of the object's class."""
    return namespace(kind)[name].__get__(value)


def _hash_mapping(value: Any, hasher: LiveHasher) -> None:
    hash_column(list(dict.keys(value)), hasher)
    hash_column(list(dict.values(value)), hasher)


def _hash_ordered(value: Any, hasher: LiveHasher) -> None:
    hash_column(list(OrderedDict.__iter__(value)), hasher)
    _hash_mapping(value, hasher)


def _hash_defaultdict(value: Any, hasher: LiveHasher) -> None:
    hash_value(_builtin_member(defaultdict, "default_factory", value), hasher)
    _hash_mapping(value, hasher)


def _hash_deque(value: Any, hasher: LiveHasher) -> None:
    hash_value(_builtin_member(deque, "maxlen", value), hasher)
    hash_column(list(deque.__iter__(value)), hasher)


def hash_array_module(value: Any, hasher: LiveHasher) -> None:
    """Hash an `array.array`."""
    hasher.update_text(_builtin_member(array.array, "typecode", value))
    hasher.data(array.array.tobytes(value))


BASES: dict[int, Callable[[Any, LiveHasher], None]] = {
    id(list): lambda value, hasher: hash_column(list(list.__iter__(value)), hasher),
    id(tuple): lambda value, hasher: hash_column(list(tuple.__iter__(value)), hasher),
    id(dict): _hash_mapping,
    id(OrderedDict): _hash_ordered,
    id(defaultdict): _hash_defaultdict,
    id(set): lambda value, hasher: hash_value(set(set.__iter__(value)), hasher),
    id(frozenset): lambda value, hasher: hash_value(set(frozenset.__iter__(value)), hasher),
    id(deque): _hash_deque,
    id(str): lambda value, hasher: hash_value(str.__str__(value), hasher),
    id(bytes): lambda value, hasher: hash_value(bytes(memoryview(value)), hasher),
    id(bytearray): lambda value, hasher: hash_value(bytes(memoryview(value)), hasher),
    id(int): lambda value, hasher: hash_value(int.__int__(value), hasher),
    id(float): lambda value, hasher: hash_value(float.__float__(value), hasher),
    id(array.array): hash_array_module,
}
"""Hash functions for the builtin part of an instance, without the methods of its own class."""
