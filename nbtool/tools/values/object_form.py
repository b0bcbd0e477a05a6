"""An object that is neither data nor a table, as text or data: what it displays, or its own representation."""

from __future__ import annotations

import inspect
import re
import sys
from contextlib import AbstractContextManager, nullcontext
from typing import Any

from nbtool.tools.values.declared_form import contains_serializer
from nbtool.tools.values.display_form import display_form, has_display, is_summary
from nbtool.tools.values.lazy_iterators import NOT_READ, is_iterator
from nbtool.tools.values.result_media import is_drawing
from nbtool.tools.values.sanitize import without_addresses
from nbtool.tools.values.type_and_shape import describe
from nbtool.tools.values.type_names import declared_name, declared_type, type_name

MAX_BINARY_BYTES = 64
"""Maximum number of bytes that are no text and are written out."""

HIDES_FIELDS = "{kind}: not shown, because its text would have fields that a class in it keeps back"
"""In the place of an object whose representation would show the raw fields of a record with a serializer."""

SOURCES_OF_DATA = (
    "__dataframe__",
    "__arrow_c_stream__",
    "__dask_graph__",
    "to_pandas",
    "toPandas",
    "toarray",
    "collect",
)
"""Methods by which an object gives its data; they are not called, because they may compute or load it."""


MAX_VALUES_IN_REPR = 1_000
"""Number of values from which numpy cuts an array in a representation."""

_CUT_ARRAY = re.compile(r"[,\s]\.\.\.,")
"""What numpy writes for the values that it leaves out."""


def object_form(value: Any) -> tuple[Any, bool]:
    """Return an object as text or data, and whether that is all of it.

    Raises:
        Exception: a method of its class failed.
    """
    if inspect.isclass(value):
        return f"class {declared_name(value)}", True
    if inspect.isroutine(value) or inspect.ismodule(value):
        kind = "module" if inspect.ismodule(value) else "function"
        return f"{kind} {getattr(value, '__name__', '')}", True
    if is_iterator(value):
        return NOT_READ.format(kind=type_name(type(value))), False
    if is_drawing(value):
        return describe(value), False
    if has_display(value) and (form := display_form(value)) is not None:
        return form[0], form[1] and not _is_source_of_data(value)
    if contains_serializer(value):
        return HIDES_FIELDS.format(kind=describe(value)), False
    text = own_repr(value)
    if is_summary(text) and not _is_source_of_data(value) and not is_summary(written := str(value)):
        return written, False  # it says more than that representation, and maybe not all
    plain = without_addresses(text)
    is_whole = plain == text and not _CUT_ARRAY.search(text)  # an address stands for what is not shown
    return plain, is_whole and not is_summary(text) and not _is_source_of_data(value)


def _is_source_of_data(value: Any) -> bool:
    """Whether an object gives a table or an array on request, such as a lazy query: its representation is a summary."""
    return any(hasattr(type(value), name) for name in SOURCES_OF_DATA)


def bytes_text(value: bytes | bytearray, max_chars: int) -> str | None:
    """Return bytes as they are written in Python; None if they are too many, or no text and more than a few."""
    if len(value) > max_chars:
        return None
    if len(value) > MAX_BINARY_BYTES and not _is_text(bytes(value)):
        return None
    return repr(bytes(value))


def own_repr(value: Any) -> str:
    """Return the repr of an object; the default one of an object whose class was created at run time names its base."""
    kind: Any = type(value)
    declared = declared_type(kind)
    if declared is kind or kind.__repr__ is not object.__repr__:
        with _all_digits():
            return repr(value)
    return f"<{declared.__module__}.{declared.__qualname__} object>"


def _all_digits() -> AbstractContextManager[Any]:
    """Let numpy write the numbers of the arrays in a representation with all their digits, whatever its options are."""
    if (numpy := sys.modules.get("numpy")) is None:
        return nullcontext()
    options: AbstractContextManager[Any] = numpy.printoptions(
        floatmode="unique", suppress=False, threshold=MAX_VALUES_IN_REPR, formatter=None
    )
    return options


def is_binary(value: Any) -> bool:
    """Whether a value is bytes: a view of numbers of another size is a sequence of them."""
    if isinstance(value, memoryview):
        return value.ndim == 1 and value.itemsize == 1
    return isinstance(value, bytes | bytearray)


def has_llm_repr(value: Any) -> bool:
    """Whether a class defines `_repr_llm_`, the text of its objects for a model."""
    return inspect.getattr_static(type(value), "_repr_llm_", None) is not None


def llm_repr(value: Any) -> str | None:
    """Return the text of `_repr_llm_`; None if there is no such method or it returns no text."""
    text = value._repr_llm_() if has_llm_repr(value) else None
    return text if isinstance(text, str) else None


def _is_text(data: bytes) -> bool:
    try:
        data.decode()
    except UnicodeDecodeError:
        return False
    return True
