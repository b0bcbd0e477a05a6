"""Writing values of Python itself: plain data, dates, records; what belongs to a library is written elsewhere."""

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
from nbtool.tools.content_hash.classes import is_class, write_class
from nbtool.tools.content_hash.fields import bases, class_name, field, of_class, short_name, state
from nbtool.tools.content_hash.hasher import MAX_LEAVES, Ink, OverLimit, Unknown
from nbtool.tools.values.multipart import Parts

Writer = Callable[[Any, Ink], None]


def write(value: Any, ink: Ink) -> None:
    """Write one value.

    Raises:
        Unknown: it cannot be compared.
    """
    ink.item()
    kind = type(value)
    if writer := _WRITERS.get(id(kind)):
        ink.mark(kind.__name__)
        writer(value, ink)
    elif ink.write_other(value):
        return
    elif of_code := _CODE.get(id(kind)):
        ink.mark(kind.__name__)
        of_code(value, ink, write)
    elif is_class(value):
        ink.mark("type")
        write_class(value, ink, write)
    elif of_library := libraries.writer_of(kind):
        of_library(value, ink, write)
    elif writer := _record_writer(kind):
        ink.mark(class_name(kind))
        _inside(value, ink, writer)
    else:
        raise Unknown(f"{short_name(kind)} cannot be compared")


def column(values: list[Any], ink: Ink) -> None:
    """Write a list of values, much faster where all are plain: by type, and of each type all at once.

    Raises:
        Unknown: one of them cannot be compared.
    """
    ink.mark(f"column {len(values)}")
    if len(values) > MAX_LEAVES:
        raise OverLimit("it is too large to compare")
    kinds = list(map(id, map(type, values)))
    found = sorted(set(kinds), key=lambda kind: _LEAVES.get(kind, 0))
    if not all(kind in _LEAVES for kind in found):
        for value in values:
            write(value, ink)
        return
    if len(found) > 1:
        ink.data(bytes(_LEAVES[kind] for kind in kinds))
    for kind in found:
        same = values if len(found) == 1 else [value for value in values if id(type(value)) == kind]
        ink.mark(type(same[0]).__name__)
        _COLUMNS[kind](same, ink)


# --- plain values -------------------------------------------------------------------------------------------------


def _text(value: str, ink: Ink) -> None:
    ink.data(value.encode("utf-8", "surrogatepass"))


def _bytes(value: bytes | bytearray, ink: Ink) -> None:
    ink.data(value)


def _number(value: Any, ink: Ink) -> None:
    ink.mark(value.hex() if type(value) is float else repr(value) if type(value) is complex else hex(value))


def _said(value: Any, ink: Ink) -> None:
    ink.mark(str(value))


def _moment(value: Any, ink: Ink) -> None:
    """Write a date or a time; a time zone must be one whose name says all."""
    zone = getattr(value, "tzinfo", None)
    if zone is not None and type(zone) not in (datetime.timezone, zoneinfo.ZoneInfo):
        raise Unknown(f"a time zone of the kind {short_name(type(zone))} cannot be compared")
    ink.mark(f"{value.isoformat()} {zone!s} {getattr(value, 'fold', 0)}")


def _list(value: Any, ink: Ink) -> None:
    if ink.enter(value):
        column(list(value), ink)
        ink.leave()


def _dict(value: Any, ink: Ink) -> None:
    if ink.enter(value):
        column(list(value.keys()), ink)
        column(list(value.values()), ink)
        ink.leave()


def _defaults(value: Any, ink: Ink) -> None:
    write(value.default_factory, ink)
    _dict(value, ink)


def _parts(value: Any, ink: Ink) -> None:
    _text(state(value).get("text", ""), ink)
    _dict(value, ink)


def _set(value: Any, ink: Ink) -> None:
    parts = []
    for one in value:
        parts.append(part := ink.apart())
        write(one, part)
    ink.mark(str(len(parts)))
    ink.take(parts)


def _deque(value: Any, ink: Ink) -> None:
    ink.mark(str(value.maxlen))
    _list(value, ink)


def _nothing(value: Any, ink: Ink) -> None:
    """Write nothing more: the kind says it all."""


# --- records ------------------------------------------------------------------------------------------------------


def _record_writer(kind: type) -> Writer | None:
    """Give the writer for objects that are known by their fields, or by their members."""
    line = bases(kind)
    if any(base is enum.Enum for base in line):
        return _member
    pydantic = sys.modules.get("pydantic")
    if pydantic and any(base is vars(pydantic).get("BaseModel") for base in line):
        return _model
    if type(of_class(kind, "__dataclass_fields__")) is dict:
        return _dataclass
    if any(base is tuple for base in line) and type(of_class(kind, "_fields")) is tuple:
        return lambda value, ink: column(list(tuple.__iter__(value)), ink)
    return None


def _inside(value: Any, ink: Ink, writer: Writer) -> None:
    if ink.enter(value):
        writer(value, ink)
        ink.leave()


def _member(value: Any, ink: Ink) -> None:
    own = state(value)
    write(own.get("_name_"), ink)
    write(own.get("_value_"), ink)


def _model(value: Any, ink: Ink) -> None:
    write(state(value), ink)
    write(field(value, "__pydantic_extra__"), ink)


def _dataclass(value: Any, ink: Ink) -> None:
    names = [name for name in of_class(type(value), "__dataclass_fields__") if type(name) is str]
    fields: Iterable[tuple[str, Any]] = ((name, field(value, name)) for name in names)
    for name, held in fields:
        ink.mark(name)
        write(held, ink)


_PATHS = (pathlib.PurePosixPath, pathlib.PureWindowsPath, pathlib.PosixPath, pathlib.WindowsPath)
_WRITERS: dict[int, Writer] = {
    **{id(kind): _nothing for kind in (type(None), type(...), type(NotImplemented))},
    **{id(kind): _number for kind in (bool, int, float, complex)},
    **{id(kind): _bytes for kind in (bytes, bytearray)},
    **{id(kind): _said for kind in (decimal.Decimal, fractions.Fraction, uuid.UUID, range, *_PATHS)},
    id(datetime.timedelta): _said,
    **{id(kind): _moment for kind in (datetime.date, datetime.time, datetime.datetime)},
    **{id(kind): _list for kind in (list, tuple)},
    **{id(kind): _dict for kind in (dict, OrderedDict, Counter, types.MappingProxyType)},
    **{id(kind): _set for kind in (set, frozenset)},
    id(str): _text,
    id(deque): _deque,
    id(defaultdict): _defaults,
    id(Parts): _parts,
}  # fmt: skip
"""By the identity of a type: asking a type for its hash could run a metaclass."""

_CODE: dict[int, libraries.Writer] = {
    id(types.FunctionType): code.write_function,
    id(types.BuiltinFunctionType): code.write_builtin,
    id(types.MethodType): code.write_method,
    id(functools.partial): code.write_partial,
    id(types.ModuleType): code.write_module,
}


# --- columns ------------------------------------------------------------------------------------------------------


def _numbers(values: list[Any], ink: Ink) -> None:
    """Write numbers as they lie in memory, integers too where they fit into 64 bits."""
    ink.mark(sys.byteorder)
    try:
        ink.data(array.array("d" if type(values[0]) is float else "q", values))
    except OverflowError:
        _texts(list(map(hex, values)), ink)


def _texts(values: list[str], ink: Ink) -> None:
    ink.mark(sys.byteorder)
    ink.data(array.array("q", map(len, values)))
    _text("".join(values), ink)


def _blobs(values: list[bytes], ink: Ink) -> None:
    ink.data(array.array("q", map(len, values)))
    ink.data(b"".join(values))


_COLUMNS: dict[int, Callable[[list[Any], Ink], None]] = {
    id(type(None)): _nothing,
    id(bool): lambda values, ink: ink.data(bytes(values)),
    id(int): _numbers,
    id(float): _numbers,
    id(str): _texts,
    id(bytes): _blobs,
}
_LEAVES = {kind: place for place, kind in enumerate(_COLUMNS, 1)}
