"""Writing instances of Python classes in this process, past their own methods."""

from __future__ import annotations

import array
import sys
from collections import OrderedDict, defaultdict, deque
from collections.abc import Callable
from types import FunctionType, MemberDescriptorType
from typing import Any

from nbtool.tools.content_hash.builtins import column, write
from nbtool.tools.content_hash.fields import bases, class_name, namespace, short_name, state
from nbtool.tools.content_hash.live_code import may_run, write_class
from nbtool.tools.content_hash.live_hasher import LiveHasher
from nbtool.tools.content_hash.module_origin import is_own
from nbtool.tools.content_hash.names import passes_its_object

_POINTER = 8
"""Bytes of a slot, of a `__dict__` and of a list of weak references in an instance."""


def write_instance(value: Any, ink: LiveHasher) -> None:
    """Write an instance of a Python class: what its builtin base holds, its `__dict__` and its slots.

    Where an extension keeps state in it that cannot be seen, that is noted.
    """
    kind = type(value)
    line = bases(kind)
    base = next(one for one in line if one is object or id(one) in BASES or _is_array(one))
    own = line[: line.index(base)]
    slots = [(one, name, held) for one in own for name, held in namespace(one).items() if _is_slot(held)]
    if _hidden_bytes(kind, base) > _POINTER * len(slots):
        # what can be seen is read all the same
        ink.count_by_identity(value, f"a {short_name(kind)} cannot be compared")
    write_class(kind, ink)
    if base is not object:
        ink.is_whole = True  # as what lies in any container
        reader = BASES.get(id(base)) or _array
        reader(value, ink)
    wanted = _wanted(value, line, ink)
    _slots(value, [slot for slot in slots if wanted is None or slot[1] in wanted], ink)
    own_state = state(value)
    if wanted is None:
        write(own_state, ink)
        return
    for name in (name for name in own_state if name in wanted):
        ink.mark(name)
        ink.write_as(own_state[name], is_whole=name in ink.reach.passed)


def _slots(value: Any, slots: list[tuple[type, str, Any]], ink: LiveHasher) -> None:
    for kind, name, member in slots:
        ink.mark(f"{class_name(kind)} {name}")
        try:
            held = member.__get__(value)
        except AttributeError:
            ink.mark("empty")
        else:
            ink.write_as(held, is_whole=ink.is_whole or name in ink.reach.passed)


def _wanted(value: Any, line: tuple[type, ...], ink: LiveHasher) -> frozenset[str] | None:
    """Return the names of the attributes that count, None where all do: code may read the whole of an instance."""
    own = [base for base in line if base is not object]
    if ink.names is None or not all(is_own(namespace(base).get("__module__")) for base in own):
        return None
    methods = [(name, held) for base in own for name, held in namespace(base).items() if type(held) is FunctionType]
    if ink.is_whole or any(may_run(name, held, ink.names) and passes_its_object(held) for name, held in methods):
        ink.whole.update(map(id, own), [id(value)])
        return None
    return ink.names


def _is_slot(held: Any) -> bool:
    return type(held) is MemberDescriptorType


def _hidden_bytes(kind: type, base: type) -> int:
    """Count the bytes of an instance beside those of its base, its `__dict__` and its weak references."""
    size, offset = type.__dict__["__basicsize__"], type.__dict__["__dictoffset__"]
    weak = type.__dict__["__weakrefoffset__"]
    own_dict = bool(offset.__get__(kind)) and not offset.__get__(base)
    own_weak = bool(weak.__get__(kind)) and not weak.__get__(base)
    return int(size.__get__(kind)) - int(size.__get__(base)) - _POINTER * (own_dict + own_weak)


def _is_array(kind: type) -> bool:
    numpy = sys.modules.get("numpy")
    return numpy is not None and vars(numpy).get("ndarray") is kind


def _array(value: Any, ink: LiveHasher) -> None:
    numpy = sys.modules["numpy"]
    write(numpy.ndarray.view(value, numpy.ndarray), ink)


def _of_c(kind: type, name: str, value: Any) -> Any:
    """Give a member of a builtin type, past the class of the object."""
    return namespace(kind)[name].__get__(value)


def _mapping(value: Any, ink: LiveHasher) -> None:
    column(list(dict.keys(value)), ink)
    column(list(dict.values(value)), ink)


def _ordered(value: Any, ink: LiveHasher) -> None:
    column(list(OrderedDict.__iter__(value)), ink)
    _mapping(value, ink)


def _with_default(value: Any, ink: LiveHasher) -> None:
    write(_of_c(defaultdict, "default_factory", value), ink)
    _mapping(value, ink)


def _deque(value: Any, ink: LiveHasher) -> None:
    write(_of_c(deque, "maxlen", value), ink)
    column(list(deque.__iter__(value)), ink)


def write_array(value: Any, ink: LiveHasher) -> None:
    """Write an `array.array`."""
    ink.mark(_of_c(array.array, "typecode", value))
    ink.data(array.array.tobytes(value))


BASES: dict[int, Callable[[Any, LiveHasher], None]] = {
    id(list): lambda value, ink: column(list(list.__iter__(value)), ink),
    id(tuple): lambda value, ink: column(list(tuple.__iter__(value)), ink),
    id(dict): _mapping,
    id(OrderedDict): _ordered,
    id(defaultdict): _with_default,
    id(set): lambda value, ink: write(set(set.__iter__(value)), ink),
    id(frozenset): lambda value, ink: write(set(frozenset.__iter__(value)), ink),
    id(deque): _deque,
    id(str): lambda value, ink: write(str.__str__(value), ink),
    id(bytes): lambda value, ink: write(bytes(memoryview(value)), ink),
    id(bytearray): lambda value, ink: write(bytes(memoryview(value)), ink),
    id(int): lambda value, ink: write(int.__int__(value), ink),
    id(float): lambda value, ink: write(float.__float__(value), ink),
    id(array.array): write_array,
}
"""What the builtin part of an instance holds, read past the methods of its own class."""
