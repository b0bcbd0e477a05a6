"""Writing what libraries hold: numpy arrays and numbers, pandas and polars frames, xarray.

No library is imported: a value of one can only be there when it is. Types are compared by identity, so that a subclass,
which may do anything, is not taken for the real thing.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

from nbtool.tools.content_hash.hasher import CHUNK, Ink, Unknown

Write = Callable[[Any, Ink], None]
Writer = Callable[[Any, Ink, Write], None]


def writer_of(kind: type) -> Writer | None:
    """Give the writer for a type of a library; None where the type is none that is known."""
    for package, names in _WRITERS.items():
        module = sys.modules.get(package)
        for name, writer in names.items() if module else ():
            if vars(module).get(name) is kind:
                return writer
    numpy = sys.modules.get("numpy")
    is_number = numpy and any(kind is scalar for scalar in numpy.sctypeDict.values()) and kind is not numpy.void
    return _scalar if is_number else None


# --- numpy --------------------------------------------------------------------------------------------------------


def _scalar(value: Any, ink: Ink, write: Write) -> None:
    _array(sys.modules["numpy"].asarray(value), ink, write)


def _array(array: Any, ink: Ink, write: Write) -> None:
    """Write an array as it lies in memory, whatever its strides are."""
    numpy = sys.modules["numpy"]
    ink.mark(f"array {array.dtype.str} {tuple(array.shape)}")
    ink.mark_live(str(array.flags.writeable))
    if array.dtype.names is not None:  # what lies between the fields is nobody's
        for name in array.dtype.names:
            ink.mark(name)
            _array(array[name], ink, write)
    elif array.dtype.hasobject or array.dtype.kind == "T":
        write(array.ravel().tolist(), ink)
    elif array.dtype.kind not in "biufcSUMmV":  # pragma: no cover - numpy has no other kind as yet
        raise Unknown(f"an array of {array.dtype} cannot be compared")
    elif array.size and (array.flags.c_contiguous or array.ndim == 0):
        ink.data(numpy.ascontiguousarray(array).reshape(-1).view(numpy.uint8))
    elif array.size:
        rows = max(1, CHUNK // max(1, array.nbytes // len(array)))
        for start in range(0, len(array), rows):
            ink.data(numpy.ascontiguousarray(array[start : start + rows]).reshape(-1).view(numpy.uint8))


# --- pandas -------------------------------------------------------------------------------------------------------


def _frame(frame: Any, ink: Ink, write: Write) -> None:
    ink.mark(f"pandas frame {frame.shape}")
    _index(frame.columns, ink, write)
    _index(frame.index, ink, write)
    for place in range(frame.shape[1]):
        _values(frame.iloc[:, place], ink, write)
    _notes(frame, ink, write)


def _series(series: Any, ink: Ink, write: Write) -> None:
    ink.mark("pandas series")
    write(series.name, ink)
    _index(series.index, ink, write)
    _values(series, ink, write)
    _notes(series, ink, write)


def _notes(table: Any, ink: Ink, write: Write) -> None:
    """Write what a person noted on a frame or a series: metadata, flags, attributes of their own."""
    _attributes(table.attrs, ink, write)
    if not table.flags.allows_duplicate_labels:
        ink.mark("no duplicate labels")
    own = {name: held for name, held in vars(table).items() if name not in _OF_PANDAS}
    _attributes(own, ink, write)


def _attributes(attributes: Any, ink: Ink, write: Write) -> None:
    """Write what a person noted on an object, where there is anything."""
    if attributes:
        ink.mark("attributes")
        write(dict(attributes), ink)


def _index(index: Any, ink: Ink, write: Write) -> None:
    pandas = sys.modules["pandas"]
    ink.mark("pandas index")
    write(list(index.names), ink)
    ink.mark_live(str(getattr(index, "freq", None)))
    if ink.is_live:
        _attributes({name: held for name, held in vars(index).items() if name not in _OF_INDEX}, ink, write)
    if type(index) is pandas.RangeIndex:
        write((index.start, index.stop, index.step), ink)
    elif type(index) is pandas.MultiIndex:
        for level in range(index.nlevels):
            _values(index.get_level_values(level).to_series(), ink, write)
    else:
        _values(index.to_series(), ink, write)


def _values(series: Any, ink: Ink, write: Write) -> None:
    """Write the values of a column; the word for its type stands before them."""
    numpy, pandas = sys.modules["numpy"], sys.modules["pandas"]
    dtype = series.dtype
    ink.mark(f"values {dtype.name if isinstance(dtype, pandas.CategoricalDtype) else dtype}")
    if isinstance(dtype, numpy.dtype):
        _array(series.to_numpy(), ink, write)
    elif type(dtype) is pandas.CategoricalDtype:
        ink.mark(str(dtype.ordered))
        _index(dtype.categories, ink, write)
        _array(series.cat.codes.to_numpy(), ink, write)
    elif type(dtype) is pandas.DatetimeTZDtype:
        _array(series.dt.tz_convert("UTC").dt.tz_localize(None).to_numpy(), ink, write)
    elif type(dtype) in (pandas.PeriodDtype, pandas.IntervalDtype):
        _array(pandas.util.hash_pandas_object(series, index=False).to_numpy(), ink, write)
    elif ink.is_live and (parts := _masked_parts(series.array)):
        for part in parts:
            _array(part, ink, write)
    elif any(type(dtype) is vars(pandas).get(name) for name in _MASKED):
        gone = series.isna().to_numpy(dtype=bool)
        _array(gone, ink, write)
        write([None if none else value for value, none in zip(series.tolist(), gone.tolist(), strict=True)], ink)
    else:
        raise Unknown(f"a column of {type(dtype).__name__} cannot be compared")


def _masked_parts(array: Any) -> tuple[Any, ...]:
    """Return the mask of a column and its data, what lies under the mask too; nothing where it is kept otherwise."""
    pandas, numpy = sys.modules["pandas"], sys.modules["numpy"]
    kinds = (vars(pandas.arrays).get(name) for name in ("IntegerArray", "FloatingArray", "BooleanArray"))
    if not any(type(array) is kind for kind in kinds):
        return ()
    parts = (array._mask, array._data)
    return parts if all(type(part) is numpy.ndarray for part in parts) else ()


_OF_INDEX = {
    "_cache", "_codes", "_data", "_engine", "_freq", "_id", "_levels", "_name", "_names", "_no_setting_name", "_range",
    "_references", "sortorder",
}  # fmt: skip
"""Attributes in which pandas keeps an index itself."""

_OF_PANDAS = {
    "_attrs",
    "_cacher",
    "_flags",
    "_index",
    "_is_copy",
    "_item_cache",
    "_mgr",
    "_name",
    "_references",
    "_subtyp",
}
"""Attributes in which pandas keeps a frame or a series itself."""

_MASKED = (
    "StringDtype", "BooleanDtype", "Float32Dtype", "Float64Dtype", "ArrowDtype",
    *(f"{sign}Int{bits}Dtype" for sign in ("", "U") for bits in (8, 16, 32, 64)),
)  # fmt: skip
"""The pandas types whose values are plain, or missing."""


def _timestamp(value: Any, ink: Ink, write: Write) -> None:  # noqa: ARG001 - one shape for every writer
    ink.mark(f"{type(value).__name__} {value.isoformat()} {getattr(value, 'tz', None)}")


def _missing(value: Any, ink: Ink, write: Write) -> None:  # noqa: ARG001 - one shape for every writer
    ink.mark(f"missing {type(value).__name__}")


# --- polars -------------------------------------------------------------------------------------------------------


def _polars_frame(frame: Any, ink: Ink, write: Write) -> None:
    ink.mark(f"polars frame {frame.shape}")
    for series in frame.get_columns():
        _polars_series(series, ink, write)


def _polars_series(series: Any, ink: Ink, write: Write) -> None:
    polars = sys.modules["polars"]
    ink.mark(f"polars series {series.name} {series.dtype} {len(series)}")
    if series.dtype == polars.Object:
        write(series.to_list(), ink)
        return
    if series.dtype in (polars.Categorical, polars.Enum, polars.Decimal):
        series = series.cast(polars.String)
    elif series.dtype.is_temporal():
        series = series.to_physical()
    if not series.dtype.is_numeric() and series.dtype != polars.Boolean:
        write(series.to_list(), ink)
        return
    if series.null_count():
        _array(series.is_null().to_numpy(), ink, write)
        series = series.fill_null(False if series.dtype == polars.Boolean else 0)
    _array(series.to_numpy(), ink, write)


# --- xarray -------------------------------------------------------------------------------------------------------


def _data_array(array: Any, ink: Ink, write: Write) -> None:
    ink.mark("xarray array")
    write(array.name, ink)
    _variable(array.variable, ink, write)
    _named(array.coords, ink, write)


def _dataset(dataset: Any, ink: Ink, write: Write) -> None:
    ink.mark("xarray dataset")
    _named(dataset.variables, ink, write)
    _attributes(dataset.attrs, ink, write)
    _attributes(dataset.encoding, ink, write)


def _named(variables: Any, ink: Ink, write: Write) -> None:
    for name in variables:
        write(name, ink)
        found = variables[name]
        _variable(getattr(found, "variable", found), ink, write)


def _variable(variable: Any, ink: Ink, write: Write) -> None:
    """Write a variable whose values lie in memory; one that would have to be read or computed is not."""
    numpy, xarray = sys.modules["numpy"], sys.modules["xarray"]
    held = variable._data
    if type(variable) is xarray.IndexVariable:
        held = variable.to_index().to_numpy()
    if type(held) is not numpy.ndarray:
        raise Unknown("an xarray whose values are not in memory cannot be compared")
    write(variable.dims, ink)
    write(dict(variable.attrs), ink)
    _attributes(variable.encoding, ink, write)
    _array(held, ink, write)


_WRITERS: dict[str, dict[str, Writer]] = {
    "numpy": {"ndarray": _array, "memmap": _array},
    "pandas": {
        "DataFrame": _frame, "Series": _series, "Timestamp": _timestamp, "Timedelta": _timestamp,
        **dict.fromkeys(("Index", "RangeIndex", "MultiIndex", "DatetimeIndex", "TimedeltaIndex", "CategoricalIndex",
                         "PeriodIndex", "IntervalIndex"), _index),
    },
    "pandas.api.typing": {"NAType": _missing, "NaTType": _missing},
    "polars": {"DataFrame": _polars_frame, "Series": _polars_series},
    "xarray": {"DataArray": _data_array, "Dataset": _dataset},
}  # fmt: skip
