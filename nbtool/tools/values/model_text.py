"""Turn any Python value into the text that a model gets, within a budget of characters.

Omissions are reported, with numbers. `repr` of an object runs guarded: an exception becomes a line, printed output is
suppressed, and the text is sanitized and truncated.
"""

from __future__ import annotations

import dataclasses
import json
from contextlib import nullcontext
from dataclasses import dataclass
from typing import Any

from nbtool.text import count_of, format_number, left_out
from nbtool.tools.values.array_form import array_size
from nbtool.tools.values.declared_form import contains_serializer, message_of_arguments
from nbtool.tools.values.display_form import has_display
from nbtool.tools.values.jsonable import JsonConverter, contains_tables, json_text
from nbtool.tools.values.object_form import MAX_BINARY_BYTES, is_binary, llm_repr
from nbtool.tools.values.output_suppression import suppress_output
from nbtool.tools.values.sanitize import mask_text, restore_text, strip_controls, without_addresses, without_paths
from nbtool.tools.values.scalar_form import dtype_kind, is_missing
from nbtool.tools.values.table_form import table_form, table_shape
from nbtool.tools.values.table_text import PARTLY_READ, table_text
from nbtool.tools.values.type_and_shape import describe
from nbtool.tools.values.type_names import type_name

RESULT_CHARS = 8_000
"""Default maximum number of characters of a result in the model's context."""

PREVIEW_CHARS = 2_500
"""Number of characters sent of a result that does not fit."""

MAX_CHEAP_CHARS = 10_000
"""Maximum number of characters of a text that is rendered on the event loop."""

MAX_SANITIZED_CHARS = 1_000_000
"""Maximum number of characters sanitized before truncation; a longer text is truncated first."""

PREVIEW_ROWS = 5
"""Number of rows shown of a frame that does not fit."""

MAX_COLUMNS = 50
"""Maximum number of columns shown of a frame."""

PREVIEW_VALUES = 20
"""Number of values shown of an array that does not fit."""

MAX_ERRORS = 3
"""Maximum number of errors shown of an exception group."""

MAX_ROWS_RENDERED = 100_000
"""Maximum number of rows rendered to find out whether a frame fits."""


@dataclass(frozen=True, slots=True)
class Rendered:
    """A text, and whether it is complete; `is_object` if the value is more than its text."""

    text: str
    is_complete: bool = True
    is_object: bool = False


def render(value: Any, budget: int = RESULT_CHARS) -> Rendered:
    """Render a value as text of at most `budget` characters; never raises an `Exception`, never prints."""
    with nullcontext() if is_cheap(value) else suppress_output():
        try:
            rendered = _render(value, budget)
        except Exception as error:  # noqa: BLE001 - a value that cannot be rendered is described instead
            rendered = Rendered(f"{describe(value)} (rendering it failed: {type_name(type(error))})", False, True)
    is_sanitized = len(rendered.text) <= max(MAX_SANITIZED_CHARS, budget)
    text = strip_controls(rendered.text if is_sanitized else truncate(rendered.text, budget))
    return Rendered(
        truncate(text, budget), rendered.is_complete and is_sanitized and len(text) <= budget, rendered.is_object
    )


def render_or_preview(value: Any, budget: int = RESULT_CHARS) -> Rendered:
    """Render a value in full if it fits into the budget, else a preview.

    A large result would be sent again with every later request of its turn; the model reads it by reference, in parts.
    """
    rendered = render(value, budget)
    return (
        rendered
        if rendered.is_complete or len(rendered.text) <= PREVIEW_CHARS
        else render(value, min(budget, PREVIEW_CHARS))
    )


def is_cheap(value: Any) -> bool:
    """Whether rendering a value is fast and runs no user code: a plain value that is not a long text."""
    kind = type(value)
    return value is None or kind in (bool, int, float) or (kind is str and len(value) <= MAX_CHEAP_CHARS)


def truncate(text: str, budget: int = RESULT_CHARS) -> str:
    """Return the head and the tail of a text that exceeds the budget, with a note of how much is omitted."""
    if len(text) <= budget:
        return text
    text = mask_text(text)
    available = max(0, budget - 80)
    tail = available // 4
    head = available - tail
    marker = (
        f"\n[… {format_number(available)} of {count_of(len(text), 'character')}: "
        f"first {format_number(head)}, last {format_number(tail)} …]\n"
    )
    return restore_text((text[:head] + marker + text[max(head, len(text) - tail) :])[: max(budget, len(marker))])


def format_error(error: BaseException) -> str:
    """Return an exception in one line: its type, message and notes, without local paths and escapes."""
    with suppress_output():
        try:
            message = "; ".join(filter(None, (error_message(error), *map(str, getattr(error, "__notes__", ())))))
        except Exception:  # noqa: BLE001 - an exception whose text raises is shown by its type
            message = ""
    name = type_name(type(error))
    nested = ""
    if isinstance(error, BaseExceptionGroup):
        nested = "".join(f"; {format_error(member)}" for member in error.exceptions[:MAX_ERRORS])
        more = len(error.exceptions) - MAX_ERRORS
        nested += f"; [{left_out(more, 'errors')}]" if more > 0 else ""
    message = without_paths(strip_controls(without_addresses(message))).strip()
    return truncate(f"{name}: {message}{nested}" if message else f"{name}{nested}", 2_000)


def error_message(error: BaseException) -> str:
    """Return the text of an exception, in which records have the form that their class declares."""
    arguments = message_of_arguments(error)
    return str(error) if arguments is None else json_text(arguments, RESULT_CHARS)[0]


def printed_text(value: Any, budget: int) -> str:
    """Return what printing a value writes: tables, arrays and records as a model reads them, others as Python does."""
    if isinstance(value, BaseException):
        return error_message(value)
    return render(value, budget).text if contains_serializer(value) or contains_tables(value) else str(value)


def _render(value: Any, budget: int) -> Rendered:
    if (llm_text := llm_repr(value)) is not None:
        return Rendered(llm_text, is_object=True)
    if isinstance(value, str):
        return Rendered(str.__str__(value))
    if value is None or type(value) in (bool, float, complex):
        return Rendered(repr(value))
    if is_binary(value):
        return _render_bytes(bytes(value[: budget * 4]), len(value))
    if isinstance(value, BaseException):
        return Rendered(format_error(value))
    if (shape := table_shape(value)) is not None:
        return _render_table(value, shape, budget)
    if (size := array_size(value)) is not None:
        return _render_array(value, size, budget)
    return _render_data(value, budget)


def _render_bytes(data: bytes, size: int) -> Rendered:
    head = f"bytes, {count_of(size, 'byte')}"
    try:
        return Rendered(f"{head}, as text:\n{data.decode()}", is_complete=len(data) == size)
    except UnicodeDecodeError:
        if size <= MAX_BINARY_BYTES:
            return Rendered(f"{head}, not text: {data!r}", is_object=True)
        return Rendered(f"{head}, not text", is_complete=False, is_object=True)


def _render_data(value: Any, budget: int) -> Rendered:
    """Render a value that is no table: a number as Python writes it, an object by its text, anything else as JSON."""
    text, converter = json_text(value, budget)
    form = converter.converted
    if form is None or isinstance(form, bool | int | float):
        text = repr(form)
    elif isinstance(form, str) and (converter.has_objects or _is_bare(value)):
        text = form
    elif has_display(value) and not isinstance(form, str):
        text = f"{describe(value)}\n{text}"  # what a chart draws
    is_object = converter.has_objects or dataclasses.is_dataclass(value)
    return Rendered(text, is_complete=converter.is_complete, is_object=is_object)


def _is_bare(value: Any) -> bool:
    """Whether a value whose form is a text is written without quotes: a number, or a missing value."""
    return is_missing(value) or isinstance(value, int | complex) or dtype_kind(value) in ("c", "f")


def _render_table(value: Any, shape: tuple[int, int], budget: int) -> Rendered:
    rows, width = shape
    head = describe(value)
    row_count = min(rows, MAX_ROWS_RENDERED, max(PREVIEW_ROWS, budget // (2 * max(1, width))))
    if row_count == rows and width <= MAX_COLUMNS:
        whole = table_text(table_form(value, rows, width), budget)
        text = f"{head}\n{whole.text}".rstrip("\n")
        if len(text) <= budget:
            note = f"\n[{whole.loss}]" if whole.loss else ""
            return Rendered(f"{text}{note}", is_complete=not whole.loss, is_object=True)
    preview = table_text(table_form(value, min(rows, PREVIEW_ROWS), MAX_COLUMNS), budget)
    shown = f"{format_number(min(rows, PREVIEW_ROWS))} of {count_of(rows, 'row')}"
    if width > MAX_COLUMNS:
        shown += f", {format_number(MAX_COLUMNS)} of {count_of(width, 'column')}"
    marker = f"[preview: {shown}; this is not the full data]"
    return Rendered(f"{head}\n{preview.text}\n{marker}", is_complete=False, is_object=True)


def _render_array(value: Any, size: int, budget: int) -> Rendered:
    head = describe(value)
    if size * 2 <= budget:
        text, converter = json_text(value, budget)
        text = f"{head}\n{_with_line_breaks(converter.converted) or text}"
        if len(text) <= budget and not converter.has_described:
            note = "" if converter.is_complete else f"\n[{PARTLY_READ}]"
            return Rendered(f"{text}{note}", is_complete=converter.is_complete, is_object=True)
    preview = JsonConverter(PREVIEW_VALUES).first_values(value)
    text = _with_line_breaks(preview) or json.dumps(preview, ensure_ascii=False)
    return Rendered(f"{head}\n{text}\n{_preview_marker(size)}", is_complete=False, is_object=True)


def _with_line_breaks(rows: Any) -> str:
    """Return the rows of a matrix as JSON, each in a line of its own; empty for any other value."""
    if not isinstance(rows, list) or not rows or not all(isinstance(row, list) for row in rows):
        return ""
    return "[" + ",\n ".join(json.dumps(row, ensure_ascii=False) for row in rows) + "]"


def _preview_marker(size: int) -> str:
    return f"[preview of {count_of(size, 'value')}; this is not the full data]"
