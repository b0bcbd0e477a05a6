"""Turn any Python value into the text that a model gets, within a budget of characters.

Omissions are reported, with numbers. `repr` of an object runs guarded: an exception becomes a line, printed output is
suppressed, and the text is sanitized and truncated.
"""

from __future__ import annotations

import csv
import dataclasses
import inspect
import io
import json
from contextlib import nullcontext
from dataclasses import dataclass
from typing import Any

from nbtool.text import format_number, left_out
from nbtool.tools.values.declared_form import contains_serializer
from nbtool.tools.values.jsonable import MAX_BITS, JsonConverter, is_json_like, llm_repr, own_repr, readable_part
from nbtool.tools.values.masked_excerpt import mask_text, restore_text
from nbtool.tools.values.output_suppression import suppress_output
from nbtool.tools.values.sanitize import strip_controls, without_addresses, without_paths
from nbtool.tools.values.type_and_shape import describe
from nbtool.tools.values.type_names import declared_name, type_name

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

MAX_COMPLETE_VALUES = 50
"""Maximum number of values of a labelled array or a tensor whose own summary is complete."""

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
        f"\n[… {format_number(available)} of {format_number(len(text))} characters: "
        f"first {format_number(head)}, last {format_number(tail)} …]\n"
    )
    return restore_text((text[:head] + marker + text[max(head, len(text) - tail) :])[: max(budget, len(marker))])


def format_error(error: BaseException) -> str:
    """Return an exception in one line: its type and message, without local paths and escapes."""
    with suppress_output():
        try:
            message = str(error)
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


def _render(value: Any, budget: int) -> Rendered:
    if (llm_text := llm_repr(value)) is not None:
        return Rendered(llm_text, is_object=True)
    if isinstance(value, str):
        return Rendered(str.__str__(value))
    if value is None or type(value) in (bool, int, float, complex):
        return Rendered(_format_scalar(value))
    if isinstance(value, bytes | bytearray | memoryview):
        return _render_bytes(bytes(value[: budget * 4]), len(value))
    if isinstance(value, BaseException):
        return Rendered(format_error(value))
    if is_json_like(value):
        return _render_json_like(value, budget)
    return _render_library(value, budget) or _render_other(value)


def _format_scalar(value: Any) -> str:
    if type(value) is int and value.bit_length() > MAX_BITS:
        return f"int of {format_number(value.bit_length())} bits"
    return repr(value)


def _render_bytes(data: bytes, size: int) -> Rendered:
    head = f"bytes, {format_number(size)} bytes"
    try:
        return Rendered(f"{head}, as text:\n{data.decode()}", is_complete=len(data) == size)
    except UnicodeDecodeError:
        return Rendered(f"{head}, not text", is_complete=False, is_object=True)


def _render_json_like(value: Any, budget: int) -> Rendered:
    converter = JsonConverter(budget)
    converted = converter.convert(value)
    text = json.dumps(converted, ensure_ascii=False, default=str)
    return Rendered(
        text, is_complete=converter.is_complete, is_object=converter.has_objects or dataclasses.is_dataclass(value)
    )


def _render_library(value: Any, budget: int) -> Rendered | None:
    kind = type(value)
    package, name = kind.__module__.partition(".")[0], kind.__name__
    if package in ("pandas", "polars") and name in ("DataFrame", "Series"):
        return _render_table(value, package, budget)
    if package == "numpy" and name == "ndarray":
        return _render_array(value, budget)
    if package in ("xarray", "torch") and name in ("Dataset", "DataArray", "Tensor"):
        return _render_tensor(value)
    if package == "numpy" and getattr(value, "ndim", None) == 0:
        return Rendered(str(value))
    if (package, name) in (("matplotlib", "Figure"), ("plotly", "Figure")) or package == "PIL":
        return Rendered(describe(value), is_complete=False, is_object=True)
    return None


def _render_table(value: Any, package: str, budget: int) -> Rendered:
    rows = len(value)
    width = value.shape[1] if len(value.shape) == 2 else 1
    head = describe(value)
    row_count = min(rows, MAX_ROWS_RENDERED, max(PREVIEW_ROWS, budget // (2 * max(1, width))))
    if package == "pandas" and row_count > PREVIEW_ROWS and _longest_cell(value.head(row_count)) * row_count > budget:
        row_count = PREVIEW_ROWS  # rows are padded to the longest cell and would not fit
    text = _render_rows(value, package, row_count, width)
    if row_count == rows and width <= MAX_COLUMNS and len(head) + len(text) < budget:
        return Rendered(f"{head}\n{text}", is_object=True)
    preview_rows = min(rows, PREVIEW_ROWS)
    marker = f"[preview: {format_number(preview_rows)} of {format_number(rows)} rows; this is not the full data]"
    return Rendered(
        f"{head}\n{_render_rows(value, package, preview_rows, width)}\n{marker}", is_complete=False, is_object=True
    )


def _render_rows(value: Any, package: str, count: int, width: int) -> str:
    part = value.head(count)
    if package == "polars":
        return _to_csv(part if hasattr(part, "columns") else part.to_frame())
    if width > MAX_COLUMNS:
        part = part.iloc[:, :MAX_COLUMNS]
    return str(_with_readable_cells(part).to_string())


def _with_readable_cells(part: Any) -> Any:
    """Return a part of a pandas frame or series whose cells are in the form that their classes declare."""
    if part.ndim == 1:
        return part.map(_cell) if _has_records(part) else part
    shown = part.copy(deep=False)
    for index in range(part.shape[1]):
        if _has_records(column := part.iloc[:, index]):
            shown.isetitem(index, column.map(_cell))
    return shown


def _has_records(column: Any) -> bool:
    return str(column.dtype) == "object" and any(map(contains_serializer, column))


def _cell(value: Any) -> Any:
    return readable_part(value, RESULT_CHARS)


def _longest_cell(part: Any) -> int:
    """Return the length of the longest text in a pandas frame or series."""
    columns = (part.iloc[:, index] for index in range(min(part.shape[1], MAX_COLUMNS))) if part.ndim == 2 else (part,)
    return max((len(cell) for column in columns for cell in column if type(cell) is str), default=0)


def _to_csv(part: Any) -> str:
    """Return a polars frame as CSV; unlike `write_csv`, nested cells are supported."""
    buffer = io.StringIO()
    writer = csv.writer(buffer, lineterminator="\n")
    writer.writerow(part.columns[:MAX_COLUMNS])
    writer.writerows(map(_cell, row[:MAX_COLUMNS]) for row in part.rows())
    return buffer.getvalue().rstrip("\n")


def _render_array(value: Any, budget: int) -> Rendered:
    import numpy as np  # noqa: PLC0415 - the value is a numpy object

    if value.dtype.hasobject and contains_serializer(value.tolist()):
        cells = np.empty(value.size, dtype=object)
        cells[:] = [_cell(item) for item in value.flat]
        value = cells.reshape(value.shape)
    fits = value.size * 2 <= budget
    text = without_addresses(np.array2string(value, threshold=value.size + 1 if fits else 20, edgeitems=3))
    if fits and len(text) < budget:
        return Rendered(f"{describe(value)}\n{text}", is_object=True)
    text = without_addresses(np.array2string(value, threshold=20))
    return Rendered(f"{describe(value)}\n{text}\n{_preview_marker(value.size)}", is_complete=False, is_object=True)


def _render_tensor(value: Any) -> Rendered:
    """Return the summary of xarray and torch, which omits what does not fit."""
    size = value.nbytes // 8 if hasattr(value, "nbytes") else value.numel()
    text = f"{describe(value)}\n{without_addresses(repr(value))}"
    if size <= MAX_COMPLETE_VALUES:
        return Rendered(text, is_object=True)
    return Rendered(f"{text}\n{_preview_marker(size)}", is_complete=False, is_object=True)


def _preview_marker(size: int) -> str:
    return f"[preview of {format_number(size)} values; this is not the full data]"


def _render_other(value: Any) -> Rendered:
    if inspect.isclass(value):
        return Rendered(f"class {declared_name(value)}", is_object=True)
    if inspect.isroutine(value) or inspect.ismodule(value):
        kind = "module" if inspect.ismodule(value) else "function"
        return Rendered(f"{kind} {getattr(value, '__name__', '')}", is_object=True)
    if inspect.isgenerator(value) or inspect.isasyncgen(value):
        return Rendered(type_name(type(value)), is_complete=False, is_object=True)
    return Rendered(without_paths(without_addresses(own_repr(value))), is_object=True)
