"""Any Python value → text that a model can read, within a budget of characters.

Whatever is left out is said, with numbers. Objects draw themselves (`repr`) under guard: what they raise becomes a
line, what they print is swallowed, and what they return is stripped of escapes and cut.
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

from nbtool.shorten import left_out
from nbtool.tools.values.describe import describe, grouped, type_name
from nbtool.tools.values.excerpt import masked, restored
from nbtool.tools.values.jsonable import MAX_BITS, Jsonable, is_structure, own_form
from nbtool.tools.values.sanitize import plain_text, without_addresses, without_paths
from nbtool.tools.values.silence import quiet

BUDGET = 8_000
"""Characters that a result may take in the model's context, unless said otherwise."""

PREVIEW = 2_500
"""Characters that are told of a result that does not fit."""

MAX_QUICK = 10_000
"""Characters of a text that is written out on the loop itself."""

MAX_READ = 1_000_000
"""Characters of a text that are looked at for escapes before it is cut; of a longer one, only what is left of it."""

PREVIEW_ROWS = 5
"""Rows of a frame that are shown where the whole does not fit."""

MAX_COLUMNS = 50
"""Columns of a frame that are shown."""

MAX_SHOWN_WHOLE = 50
"""Values of a labelled array or a tensor that its own summary shows without leaving any out."""

MAX_ERRORS = 3
"""Errors of a group that are told."""

MAX_ROWS_TRIED = 100_000
"""Rows of a frame that are written out to see whether they fit."""


@dataclass(frozen=True, slots=True)
class Rendered:
    """A text, and whether it says everything; `is_object` where the value is more than its text."""

    text: str
    is_whole: bool = True
    is_object: bool = False


def render(value: Any, budget: int = BUDGET) -> Rendered:
    """Write a value as text of at most `budget` characters; never raises an `Exception`, never prints."""
    with nullcontext() if is_quick(value) else quiet():
        try:
            drawn = _draw(value, budget)
        except Exception as error:  # noqa: BLE001 - a value that cannot be drawn is named instead
            drawn = Rendered(f"{describe(value)} (it cannot be shown: {type_name(type(error))})", False, True)
    is_read = len(drawn.text) <= max(MAX_READ, budget)
    text = plain_text(drawn.text if is_read else cut(drawn.text, budget))
    return Rendered(cut(text, budget), drawn.is_whole and is_read and len(text) <= budget, drawn.is_object)


def preview(value: Any, budget: int = BUDGET) -> Rendered:
    """Write a value whole where it fits into the budget, and else only some of it.

    What is not whole is read by reference, a part at a time, and every later request of its turn carries it along.
    """
    drawn = render(value, budget)
    return drawn if drawn.is_whole or len(drawn.text) <= PREVIEW else render(value, min(budget, PREVIEW))


def is_quick(value: Any) -> bool:
    """Whether writing a value takes no time and runs nobody's own code: a plain one, and no long text."""
    kind = type(value)
    return value is None or kind in (bool, int, float) or (kind is str and len(value) <= MAX_QUICK)


def cut(text: str, budget: int = BUDGET) -> str:
    """Keep head and tail of a text that is longer than the budget, and say how much of it that is."""
    if len(text) <= budget:
        return text
    text = masked(text)
    room = max(0, budget - 80)
    tail = room // 4
    head = room - tail
    marker = (
        f"\n[… {grouped(room)} of {grouped(len(text))} characters: first {grouped(head)}, last {grouped(tail)} …]\n"
    )
    return restored((text[:head] + marker + text[max(head, len(text) - tail) :])[: max(budget, len(marker))])


def error_text(error: BaseException) -> str:
    """Say an exception in a line: its type and message, without paths of this machine and without escapes."""
    with quiet():
        try:
            message = str(error)
        except Exception:  # noqa: BLE001 - an exception whose text raises is known by its type
            message = ""
    name = type_name(type(error))
    inner = ""
    if isinstance(error, BaseExceptionGroup):
        inner = "".join(f"; {error_text(one)}" for one in error.exceptions[:MAX_ERRORS])
        more = len(error.exceptions) - MAX_ERRORS
        inner += f"; [{left_out(more, 'errors')}]" if more > 0 else ""
    message = without_paths(plain_text(without_addresses(message))).strip()
    return cut(f"{name}: {message}{inner}" if message else f"{name}{inner}", 2_000)


def _draw(value: Any, budget: int) -> Rendered:
    if (own := own_form(value)) is not None:
        return Rendered(own, is_object=True)
    if isinstance(value, str):
        return Rendered(str.__str__(value))
    if value is None or type(value) in (bool, int, float, complex):
        return Rendered(_scalar(value))
    if isinstance(value, bytes | bytearray | memoryview):
        return _bytes(bytes(value[: budget * 4]), len(value))
    if isinstance(value, BaseException):
        return Rendered(error_text(value))
    if is_structure(value):
        return _structure(value, budget)
    return _of_library(value, budget) or _other(value)


def _scalar(value: Any) -> str:
    if type(value) is int and value.bit_length() > MAX_BITS:
        return f"int of {grouped(value.bit_length())} bits"
    return repr(value)


def _bytes(data: bytes, size: int) -> Rendered:
    head = f"bytes, {grouped(size)} bytes"
    try:
        return Rendered(f"{head}, as text:\n{data.decode()}", is_whole=len(data) == size)
    except UnicodeDecodeError:
        return Rendered(f"{head}, not text", is_whole=False, is_object=True)


def _structure(value: Any, budget: int) -> Rendered:
    made = Jsonable(budget)
    plain = made.of(value)
    text = json.dumps(plain, ensure_ascii=False, default=str)
    return Rendered(text, is_whole=made.is_whole, is_object=made.has_objects or dataclasses.is_dataclass(value))


def _of_library(value: Any, budget: int) -> Rendered | None:
    kind = type(value)
    package, name = kind.__module__.partition(".")[0], kind.__name__
    if package in ("pandas", "polars") and name in ("DataFrame", "Series"):
        return _table(value, package, budget)
    if package == "numpy" and name == "ndarray":
        return _array(value, budget)
    if package in ("xarray", "torch") and name in ("Dataset", "DataArray", "Tensor"):
        return _tensor(value)
    if package == "numpy" and getattr(value, "ndim", None) == 0:
        return Rendered(str(value))
    if (package, name) in (("matplotlib", "Figure"), ("plotly", "Figure")) or package == "PIL":
        return Rendered(describe(value), is_whole=False, is_object=True)
    return None


def _table(value: Any, package: str, budget: int) -> Rendered:
    rows = len(value)
    width = value.shape[1] if len(value.shape) == 2 else 1
    head = describe(value)
    tried = min(rows, MAX_ROWS_TRIED, max(PREVIEW_ROWS, budget // (2 * max(1, width))))
    if package == "pandas" and tried > PREVIEW_ROWS and _widest(value.head(tried)) * tried > budget:
        tried = PREVIEW_ROWS  # every row is filled up to the longest cell: these would not fit
    text = _rows(value, package, tried, width)
    if tried == rows and width <= MAX_COLUMNS and len(head) + len(text) < budget:
        return Rendered(f"{head}\n{text}", is_object=True)
    shown = min(rows, PREVIEW_ROWS)
    marker = f"[preview: {grouped(shown)} of {grouped(rows)} rows; this is not the full data]"
    return Rendered(f"{head}\n{_rows(value, package, shown, width)}\n{marker}", is_whole=False, is_object=True)


def _rows(value: Any, package: str, count: int, width: int) -> str:
    part = value.head(count)
    if package == "polars":
        return _csv(part if hasattr(part, "columns") else part.to_frame())
    if width > MAX_COLUMNS:
        part = part.iloc[:, :MAX_COLUMNS]
    return str(part.to_string())


def _widest(part: Any) -> int:
    """Give the characters of the longest text in a pandas frame or series."""
    columns = (part.iloc[:, at] for at in range(min(part.shape[1], MAX_COLUMNS))) if part.ndim == 2 else (part,)
    return max((len(cell) for column in columns for cell in column if type(cell) is str), default=0)


def _csv(part: Any) -> str:
    """Write a polars frame as CSV; unlike its own, this one takes lists and structures in its cells."""
    written = io.StringIO()
    lines = csv.writer(written, lineterminator="\n")
    lines.writerow(part.columns[:MAX_COLUMNS])
    lines.writerows(row[:MAX_COLUMNS] for row in part.rows())
    return written.getvalue().rstrip("\n")


def _array(value: Any, budget: int) -> Rendered:
    import numpy as np  # noqa: PLC0415 - numpy is there: the value is of it

    fits = value.size * 2 <= budget
    text = without_addresses(np.array2string(value, threshold=value.size + 1 if fits else 20, edgeitems=3))
    if fits and len(text) < budget:
        return Rendered(f"{describe(value)}\n{text}", is_object=True)
    text = without_addresses(np.array2string(value, threshold=20))
    return Rendered(f"{describe(value)}\n{text}\n{_preview(value.size)}", is_whole=False, is_object=True)


def _tensor(value: Any) -> Rendered:
    """Take the summary that xarray and torch make themselves, which leaves out what does not fit."""
    size = value.nbytes // 8 if hasattr(value, "nbytes") else value.numel()
    text = f"{describe(value)}\n{without_addresses(repr(value))}"
    if size <= MAX_SHOWN_WHOLE:
        return Rendered(text, is_object=True)
    return Rendered(f"{text}\n{_preview(size)}", is_whole=False, is_object=True)


def _preview(size: int) -> str:
    return f"[preview of {grouped(size)} values; this is not the full data]"


def _other(value: Any) -> Rendered:
    if inspect.isroutine(value) or inspect.isclass(value) or inspect.ismodule(value):
        kind = "class" if inspect.isclass(value) else "module" if inspect.ismodule(value) else "function"
        return Rendered(f"{kind} {getattr(value, '__name__', '')}", is_object=True)
    if inspect.isgenerator(value) or inspect.isasyncgen(value):
        return Rendered(type_name(type(value)), is_whole=False, is_object=True)
    return Rendered(without_paths(without_addresses(repr(value))), is_object=True)
