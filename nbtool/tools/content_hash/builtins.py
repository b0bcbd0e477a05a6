"""Hash values of Python's own types: plain data, dates, records."""

from __future__ import annotations

import array
import datetime
import decimal
import enum
import fractions
import functools
import pathlib
import sys
import types
import uuid
import zoneinfo
from collections import Counter, OrderedDict, defaultdict, deque
from collections.abc import Callable, Iterable
from typing import Any

from nbtool.tools.content_hash import code, libraries
from nbtool.tools.content_hash.classes import hash_class, is_class
from nbtool.tools.content_hash.fields import class_attribute, class_name, get_field, instance_dict, mro, short_name
from nbtool.tools.content_hash.hasher import MAX_LEAVES, Hasher, NotHashable, OverLimit
from nbtool.tools.content_hash.plain_data import PLAIN_CONTAINERS
from nbtool.tools.values.named_parts import MultipartResult

HashFunction = Callable[[Any, Hasher], None]


def hash_value(value: Any, hasher: Hasher) -> None:
    """Hash one value.

    Raises:
        NotHashable: it cannot be compared.
    """
    hasher.count_items()
    kind = type(value)
    if id(kind) in PLAIN_CONTAINERS and hasher.hash_plain(value):
        return
    if hash_function := _HASH_FUNCTIONS.get(id(kind)):
        hasher.update_text(kind.__name__)
        hash_function(value, hasher)
    elif hasher.hash_other(value):
        return
    elif code_function := _CODE_HASH_FUNCTIONS.get(id(kind)):
        hasher.update_text(kind.__name__)
        code_function(value, hasher, hash_value)
    elif is_class(value):
        hasher.update_text("type")
        hash_class(value, hasher, hash_value)
    elif library_function := libraries.hash_function_for(kind):
        library_function(value, hasher, hash_value)
    elif hash_function := _record_hash_function(kind):
        hasher.update_text(class_name(kind))
        _hash_container(value, hasher, hash_function)
    else:
        raise NotHashable(f"{short_name(kind)} cannot be compared")


def hash_column(values: list[Any], hasher: Hasher, max_leaves: int = MAX_LEAVES) -> None:
    """Hash a list of values, much faster if all are plain: by type, and all values of a type at once.

    Raises:
        NotHashable: one of them cannot be compared.
    """
    hasher.update_text(f"column {len(values)}")
    if len(values) > max_leaves:
        raise OverLimit("it is too large to compare")
    kinds = list(map(id, map(type, values)))
    kind_set = sorted(set(kinds), key=lambda kind: _LEAVES.get(kind, 0))
    if not all(kind in _LEAVES for kind in kind_set):
        for value in values:
            hash_value(value, hasher)
        return
    if len(kind_set) > 1:
        hasher.update_bytes(bytes(_LEAVES[kind] for kind in kinds))
    for kind in kind_set:
        hash_same = values if len(kind_set) == 1 else [value for value in values if id(type(value)) == kind]
        hasher.update_text(type(hash_same[0]).__name__)
        _COLUMN_HASH_FUNCTIONS[kind](hash_same, hasher)


# --- plain values -------------------------------------------------------------------------------------------------


def _hash_text(value: str, hasher: Hasher) -> None:
    hasher.update_bytes(value.encode("utf-8", "surrogatepass"))


def _hash_bytes(value: bytes | bytearray, hasher: Hasher) -> None:
    hasher.update_bytes(value)


def _hash_number(value: Any, hasher: Hasher) -> None:
    hasher.update_text(value.hex() if type(value) is float else repr(value) if type(value) is complex else hex(value))


def _hash_repr(value: Any, hasher: Hasher) -> None:
    hasher.update_text(str(value))


def _hash_moment(value: Any, hasher: Hasher) -> None:
    """Hash a date or a time; a time zone must be defined by its name."""
    zone = getattr(value, "tzinfo", None)
    if zone is not None and type(zone) not in (datetime.timezone, zoneinfo.ZoneInfo):
        raise NotHashable(f"a time zone of the kind {short_name(type(zone))} cannot be compared")
    hasher.update_text(f"{value.isoformat()} {zone!s} {getattr(value, 'fold', 0)}")


def _hash_list(value: Any, hasher: Hasher) -> None:
    if hasher.enter(value):
        hash_column(list(value), hasher)
        hasher.exit()


def _hash_dict(value: Any, hasher: Hasher) -> None:
    if hasher.enter(value):
        hash_column(list(value.keys()), hasher)
        hash_column(list(value.values()), hasher)
        hasher.exit()


def _hash_defaultdict(value: Any, hasher: Hasher) -> None:
    hash_value(value.default_factory, hasher)
    _hash_dict(value, hasher)


def _hash_parts(value: Any, hasher: Hasher) -> None:
    _hash_text(instance_dict(value).get("text", ""), hasher)
    _hash_dict(value, hasher)


def _hash_set(value: Any, hasher: Hasher) -> None:
    parts = []
    for item in value:
        parts.append(part := hasher.fork())
        hash_value(item, part)
    hasher.update_text(str(len(parts)))
    hasher.merge_unordered(parts)


def _hash_deque(value: Any, hasher: Hasher) -> None:
    hasher.update_text(str(value.maxlen))
    _hash_list(value, hasher)


def _hash_nothing(value: Any, hasher: Hasher) -> None:
    """Hash nothing more: the type is the whole value."""


# --- records ------------------------------------------------------------------------------------------------------


def _record_hash_function(kind: type) -> HashFunction | None:
    """Return the hash function for objects that are defined by their fields, or by their members."""
    ancestors = mro(kind)
    if any(base is enum.Enum for base in ancestors):
        return _hash_enum_member
    pydantic = sys.modules.get("pydantic")
    if pydantic and any(base is vars(pydantic).get("BaseModel") for base in ancestors):
        return _hash_model
    if type(class_attribute(kind, "__dataclass_fields__")) is dict:
        return _hash_dataclass
    if any(base is tuple for base in ancestors) and type(class_attribute(kind, "_fields")) is tuple:
        return lambda value, hasher: hash_column(list(tuple.__iter__(value)), hasher)
    return None


def _hash_container(value: Any, hasher: Hasher, hash_function: HashFunction) -> None:
    if hasher.enter(value):
        hash_function(value, hasher)
        hasher.exit()


def _hash_enum_member(value: Any, hasher: Hasher) -> None:
    namespace_ = instance_dict(value)
    hash_value(namespace_.get("_name_"), hasher)
    hash_value(namespace_.get("_value_"), hasher)


def _hash_model(value: Any, hasher: Hasher) -> None:
    hash_value(instance_dict(value), hasher)
    hash_value(get_field(value, "__pydantic_extra__"), hasher)


def _hash_dataclass(value: Any, hasher: Hasher) -> None:
    names = [name for name in class_attribute(type(value), "__dataclass_fields__") if type(name) is str]
    fields: Iterable[tuple[str, Any]] = ((name, get_field(value, name)) for name in names)
    for name, values in fields:
        hasher.update_text(name)
        hash_value(values, hasher)


_PATHS = (pathlib.PurePosixPath, pathlib.PureWindowsPath, pathlib.PosixPath, pathlib.WindowsPath)
_HASH_FUNCTIONS: dict[int, HashFunction] = {
    **{id(kind): _hash_nothing for kind in (type(None), type(...), type(NotImplemented))},
    **{id(kind): _hash_number for kind in (bool, int, float, complex)},
    **{id(kind): _hash_bytes for kind in (bytes, bytearray)},
    **{id(kind): _hash_repr for kind in (decimal.Decimal, fractions.Fraction, uuid.UUID, range, *_PATHS)},
    id(datetime.timedelta): _hash_repr,
    **{id(kind): _hash_moment for kind in (datetime.date, datetime.time, datetime.datetime)},
    **{id(kind): _hash_list for kind in (list, tuple)},
    **{id(kind): _hash_dict for kind in (dict, OrderedDict, Counter, types.MappingProxyType)},
    **{id(kind): _hash_set for kind in (set, frozenset)},
    id(str): _hash_text,
    id(deque): _hash_deque,
    id(defaultdict): _hash_defaultdict,
    id(MultipartResult): _hash_parts,
}  # fmt: skip
"""By the identity of a type: hashing a type could run a metaclass."""

_CODE_HASH_FUNCTIONS: dict[int, libraries.HashFunction] = {
    id(types.FunctionType): code.hash_function,
    id(types.BuiltinFunctionType): code.hash_builtin,
    id(types.MethodType): code.hash_method,
    id(functools.partial): code.hash_partial,
    id(types.ModuleType): code.hash_module,
}


# --- columns ------------------------------------------------------------------------------------------------------


def _hash_numbers(values: list[Any], hasher: Hasher) -> None:
    """Hash numbers as a buffer, including integers if they fit into 64 bits."""
    hasher.update_text(sys.byteorder)
    try:
        hasher.update_bytes(array.array("d" if type(values[0]) is float else "q", values))
    except OverflowError:
        _hash_texts(list(map(hex, values)), hasher)


def _hash_texts(values: list[str], hasher: Hasher) -> None:
    hasher.update_text(sys.byteorder)
    hasher.update_bytes(array.array("q", map(len, values)))
    _hash_text("".join(values), hasher)


def _hash_blobs(values: list[bytes], hasher: Hasher) -> None:
    hasher.update_bytes(array.array("q", map(len, values)))
    hasher.update_bytes(b"".join(values))


_COLUMN_HASH_FUNCTIONS: dict[int, Callable[[list[Any], Hasher], None]] = {
    id(type(None)): _hash_nothing,
    id(bool): lambda values, hasher: hasher.update_bytes(bytes(values)),
    id(int): _hash_numbers,
    id(float): _hash_numbers,
    id(str): _hash_texts,
    id(bytes): _hash_blobs,
}
_LEAVES = {kind: place for place, kind in enumerate(_COLUMN_HASH_FUNCTIONS, 1)}
