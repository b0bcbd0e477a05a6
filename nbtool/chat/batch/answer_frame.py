"""The answers of a map as a frame of pandas or Polars: the fields of a record are columns."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping, Sequence
from importlib import import_module
from typing import TYPE_CHECKING, Any

from nbtool.chat.batch.rows import LIBRARIES, FrameLibrary, dtypes_of
from nbtool.errors import BadUsage, NbtoolError

if TYPE_CHECKING:
    from nbtool.chat.batch.answers import Answer

ANSWER, ERROR = "answer", "error"
"""The columns of answers that are no records, and of why a prompt has none."""


def make_frame(answers: Sequence[Answer], library: FrameLibrary | None, index: Any = None) -> Any:
    """Return a row for each answer, in order: its fields or the column `answer`, and `error` if some failed.

    A frame of pandas has the `index` of the input, else the labels of the answers.

    Raises:
        nbtool.errors.BadUsage: neither library is installed, or not the one that is named.
    """
    columns = _columns(answers)
    name, module = _import_library(library)
    if name == "polars":
        return module.DataFrame([_polars_column(module, *column) for column in columns.items()])
    labels = [answer.label for answer in answers] if index is None else index
    typed = {name: _pandas_column(module, values) for name, values in columns.items()}
    return module.DataFrame(typed, index=labels)


def _pandas_column(pandas: Any, values: list[Any]) -> Any:
    """Return a column that is still one of bool or int where values are missing: as float, long numbers would change.

    Of a float, pandas itself has a missing value.
    """
    present = [value for value in values if value is not None]
    dtypes = dtypes_of(present)
    if dtypes is None or len(present) == len(values) or type(present[0]) is float:
        return values
    return pandas.array(values, dtype=dtypes[1])


def _polars_column(polars: Any, name: str, values: list[Any]) -> Any:
    """Return a column of Polars; of objects, where the values have no type in common that it knows."""
    try:
        return polars.Series(name, values, strict=False)
    except (Exception, polars.exceptions.PanicException):  # noqa: BLE001 - it panics on a decimal that is no number
        return polars.Series(name, values, dtype=polars.Object)


def fields_of(value: Any) -> Mapping[str, Any] | None:
    """Return the fields of a record: a model of pydantic, a dataclass, a dict with names as keys; None for others."""
    model_fields = getattr(type(value), "model_fields", None)
    if isinstance(model_fields, Mapping):
        return {name: getattr(value, name) for name in model_fields}
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {field.name: getattr(value, field.name) for field in dataclasses.fields(value)}
    if isinstance(value, dict) and value and all(isinstance(name, str) for name in value):
        return value
    return None


def _columns(answers: Sequence[Answer]) -> dict[str, list[Any]]:
    records = [None if answer.error else fields_of(answer.value) for answer in answers]
    values = [answer.value for answer in answers if answer.error is None]
    names = list(dict.fromkeys(name for record in records if record for name in record))
    columns: dict[str, list[Any]] = {}
    if len(names) and all(record for answer, record in zip(answers, records, strict=True) if answer.error is None):
        columns = {name: [(record or {}).get(name) for record in records] for name in names}
    elif values or not answers:
        columns = {ANSWER: [None if answer.error else answer.value for answer in answers]}
    if any(answer.error for answer in answers):
        columns[_free_name(columns)] = [_error_text(answer.error) for answer in answers]
    return columns


def _free_name(columns: Iterable[str]) -> str:
    """Return the name of the column of errors, with underscores if a field has that name."""
    name, taken = ERROR, set(columns)
    while name in taken:
        name = f"{name}_"
    return name


def _error_text(error: BaseException | None) -> str | None:
    if error is None:
        return None
    return str(error) if isinstance(error, NbtoolError) else f"{type(error).__name__}: {error}"


def _import_library(library: FrameLibrary | None) -> tuple[str, Any]:
    for name in (library,) if library else LIBRARIES:
        try:
            return name, import_module(name)
        except ImportError:
            continue
    missing = library or " or ".join(LIBRARIES)
    raise BadUsage(f"A frame needs {missing}.", fix=f"Run `%pip install {library or LIBRARIES[0]}`.")
