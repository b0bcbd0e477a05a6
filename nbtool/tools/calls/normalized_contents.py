"""The items of any container in a normalized form, to find values that must not leave in another representation.

A container becomes rows: its values in each order in which a list, a text or another container may repeat them. A row
contains words only, so that quotes, brackets, commas, tags and number types make no difference: the list `["a", 1.0]`,
its JSON, a line of CSV and a printed array of it are the same row. Containers are read without calling methods that
their class may override.
"""

from __future__ import annotations

import ast
import json
import math
import re
from array import array
from collections import ChainMap, UserDict, UserList, UserString, deque
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from functools import partial
from itertools import chain, islice
from types import MappingProxyType, SimpleNamespace
from typing import Any

from nbtool.text import count_of
from nbtool.tools.calls.normalized_tables import MAX_INSPECTED, is_missing, size_of, table_forms
from nbtool.tools.content_hash.object_token import object_token
from nbtool.tools.values.display_form import chart_values
from nbtool.tools.values.named_parts import MultipartResult

MAX_PARSED = 4_000_000
"""Maximum number of characters of a text parsed as JSON; a longer text that may be JSON is not compared."""

MAX_LITERAL = 100_000
"""Maximum number of characters of a text parsed as a Python literal; a longer one that may be a list is not compared.
"""

MIN_ROW_CHARS = 8
"""Minimum length of a row of two or three values to be searched for in a text."""

MIN_ROW_VALUES = 4
ROUNDED_BELOW = 100
"""Decimals below this number are compared by their first three digits: libraries round them differently."""

ATOMS = (bool, int, float, complex, str, bytes)
LISTS: tuple[Any, ...] = (list, tuple, set, frozenset)
VALUES = ("datetime", "decimal", "uuid", "fractions", "pathlib", "ipaddress", "zoneinfo")
"""Packages whose objects are scalar values."""

_VIEWS: tuple[Any, ...] = (type({}.keys()), type({}.values()), type({}.items()))
_WORD = re.compile(r"[^\W_]+(?:\.[0-9]+)?")
_MISSING = frozenset({"None", "null", "nan", "NaN", "NaT", "NA"})
_MARKUP = re.compile(r"<[^<>]{0,200}>")
_MIDNIGHT = re.compile(r"[ T]00:00:00(?:\.0{1,9})?(?![\w.])")
_BYTES = re.compile(r"(?<![\w'\"])b(?=['\"])")
_TIME = re.compile(r"(?<=\d)T(?=\d)")
_ZEROS = re.compile(r"(?<=\d)\.(\d{0,40}?)0*(?!\d)")


def items(result: Any, *, keys: bool = True) -> Iterator[Any]:
    """Yield a value and the contents of the containers in it, optionally with their `keys`; each container once."""
    iterators, visited = [iter((result,))], set[int]()
    while iterators:
        for item in iterators[-1]:
            yield item
            if (inner_values := children(item, keys=keys)) is not None and id(item) not in visited:
                visited.add(id(item))
                iterators.append(iter(inner_values))
                break
        else:
            iterators.pop()


def children(container: Any, *, keys: bool = True) -> Iterable[Any] | None:
    """Return the contents of a container, a record or a small table, without running code of its class."""
    kind = type(container)
    if base := next((base for base in _READERS if issubclass(kind, base)), None):
        names, values = _READERS[base](container)
        return chain(names, values) if keys else values
    if issubclass(kind, type):
        return None
    if (fields := getattr(kind, "__dataclass_fields__", None)) or hasattr(kind, "model_fields"):
        extra = getattr(container, "__pydantic_extra__", None) or {}
        return [*(getattr(container, name, None) for name in fields or kind.model_fields), *extra.values()]
    if of_attrs := getattr(kind, "__attrs_attrs__", None):
        return [getattr(container, attr.name, None) for attr in of_attrs]
    with suppress(Exception):  # a library object in a state in which it cannot be read
        if (series := chart_values(container)) is not None:
            return series
        if 0 < size_of(container) <= MAX_INSPECTED:
            return next((list(form) for form in table_forms(container)), None)
    return None


def rows_of(value: Any) -> list[str]:
    """Return the rows of a container's values; of a table by rows and by columns; a time is a row of one value.

    Raises:
        Exception: a library object cannot be read.
    """
    forms = [*table_forms(value)] or ([_leaves(value)] if children(value) is not None else [])
    if isinstance(value, bytes | bytearray | memoryview):
        forms = [bytes(value)]
    elif not forms and not is_atom(value) and package_of(value) in (*VALUES, "pandas", "numpy"):
        forms = [[value]]
    rows = [[*islice(_value_keys(form), MAX_INSPECTED)] for form in forms]
    max_values = (
        MAX_INSPECTED // 2
    )  # so that it is found within the inspected part of a container with other items before it
    return [row for keys in rows if (row := _join_row(keys[:max_values])) and _is_specific(keys)]


def result_rows(result: Any) -> Iterator[str]:
    """Yield the rows of everything in a result.

    Raises:
        Exception: a library object cannot be read, or a text that may be JSON is too long.
    """
    for item in islice(items(result, keys=False), MAX_INSPECTED):
        for form in table_forms(item):
            yield _join_row(islice(_value_keys(form), MAX_INSPECTED))
    yield _join_row(islice(_value_keys((result,)), MAX_INSPECTED))


def is_any_in(rows: Iterable[str], text: str) -> bool:
    """Whether a row that is long enough to be specific is contained in the words of a text."""
    words = _join_row((normalized_words(text),))
    return any((len(row) >= MIN_ROW_CHARS or row.count("\0") > MIN_ROW_VALUES) and row in words for row in rows)


def normalized_words(text: str) -> str:
    """Return a text as its words joined by NUL; missing values have no word."""
    for pattern, replacement in ((_MARKUP, " "), (_BYTES, ""), (_MIDNIGHT, ""), (_TIME, " "), (_ZEROS, _strip_zeros)):
        text = pattern.sub(replacement, text)
    return "\0".join(_round_number(word) for word in _WORD.findall(text) if word not in _MISSING)


def value_key(value: Any) -> str:
    """Return a key that is equal for equal values; objects are identified by identity."""
    if isinstance(value, str):
        text = str.__str__(value)
        parsed = _parse_container(text)
        return (
            normalized_words(text)
            if parsed is None
            else "\0".join(filter(None, islice(_value_keys((parsed,)), MAX_INSPECTED)))
        )
    if value is None or is_missing(value):
        return ""
    value = unwrap_scalar(value)
    is_value = is_atom(value) or package_of(value) in (*VALUES, "pandas", "numpy")
    return (
        normalized_words(str(value))
        if is_value and not getattr(value, "shape", ())
        else f"object {object_token(value)}"
    )


def is_atom(value: Any) -> bool:
    """Whether a value is a scalar that contains no other value."""
    return type(value) in ATOMS


def unwrap_scalar(value: Any) -> Any:
    """Return the Python value of a numpy scalar; a time keeps its own unit."""
    is_scalar = type(value).__module__ == "numpy" and getattr(value, "shape", None) == () and hasattr(value, "item")
    return value.item() if is_scalar and value.dtype.kind not in "mM" else value


def package_of(value: Any) -> str:
    """Return the package of a value's class."""
    return type(value).__module__.partition(".")[0]


def _unnamed_values(kind: Any, container: Any) -> tuple[Iterable[Any], Iterable[Any]]:
    return (), [*kind.__iter__(container)]


def _attribute_value(name: str, container: Any) -> tuple[Iterable[Any], Iterable[Any]]:
    return (), [vars(container).get(name)]


_READERS: dict[type, Callable[[Any], tuple[Iterable[Any], Iterable[Any]]]] = {
    **{kind: partial(_unnamed_values, kind) for kind in (*LISTS, deque, *_VIEWS)},
    dict: lambda item: (dict.keys(item), [*dict.values(item)]),
    MultipartResult: lambda item: (item.keys(), [*item.values()]),
    MappingProxyType: lambda item: (item.keys(), [*item.values()]),
    BaseException: lambda item: ((), [*vars(BaseException)["args"].__get__(item)]),
    SimpleNamespace: lambda item: ((), [*vars(item).values()]),
    array: lambda item: ((), array.tolist(item)),
    range: lambda item: ((), item),
    **{kind: partial(_attribute_value, "data") for kind in (UserDict, UserList, UserString)},
    ChainMap: lambda item: ((), [*dict(ChainMap.items(item)).values()]),
}
"""Names and values in a container, read without methods that a subclass may override."""


def _value_keys(values: Iterable[Any]) -> Iterator[str]:
    return (value_key(leaf) for value in values for leaf in _leaves(value))


def _leaves(value: Any) -> Iterator[Any]:
    """Yield the scalar values in a value, in order, without keys."""
    return (item for item in items(value, keys=False) if children(item) is None)


def _join_row(keys: Iterable[str]) -> str:
    row = "\0".join(key for key in keys if key)
    return f"\0{row}\0" if row else ""


def _is_specific(keys: list[str]) -> bool:
    """Whether there are several values, or one long one: a single short value is not specific."""
    present = [key for key in keys if key]
    return len(present) > 1 or any(len(key) >= MIN_ROW_CHARS for key in present)


def _parse_container(text: str) -> Any:
    """Parse a text that is JSON, JSON lines or a Python literal of a container; None if it is none of these."""
    if text.lstrip()[:1] not in ("[", "{", "("):
        return None
    if len(text) > MAX_PARSED:
        raise ValueError(f"A text of {count_of(len(text), 'character')} is not compared.")
    for read in _PARSERS[: 3 if len(text) <= MAX_LITERAL else 2]:
        with suppress(Exception):  # not in this format; parsers of Python code raise several exception types
            value = read(text)
            return value if isinstance(value, (*LISTS, dict)) else None
    if len(text) > MAX_LITERAL:
        raise ValueError(f"A text of {count_of(len(text), 'character')} is not compared.")
    return None


_PARSERS: tuple[Callable[[str], Any], ...] = (
    json.loads, lambda text: [*map(json.loads, text.splitlines())], ast.literal_eval,
)  # fmt: skip


def _round_number(number_text: str) -> str:
    """Return a decimal number by its first digits, because libraries round it; other words unchanged."""
    if "." not in number_text:
        return number_text
    try:
        number = float(number_text)
    except ValueError:
        return number_text
    if number >= ROUNDED_BELOW or not number:
        return f"{int(number)}."
    exponent = math.floor(math.log10(number))
    return f"{int(number * 10.0 ** (2 - exponent) + 1e-6)}e{exponent}"


def _strip_zeros(match: re.Match[str]) -> str:
    return f".{match[1]}" if match[1] else ""
