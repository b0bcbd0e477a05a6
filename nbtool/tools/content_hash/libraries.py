"""Hash library objects: numpy arrays and scalars, pandas and polars frames, xarray.

No library is imported: its objects exist only if it is loaded. Types are compared by identity, because a subclass may
behave differently.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

from nbtool.tools.content_hash.hasher import CHUNK, Hasher, NotHashable

HashValue = Callable[[Any, Hasher], None]
HashFunction = Callable[[Any, Hasher, HashValue], None]


def hash_function_for(kind: type) -> HashFunction | None:
    """Return the hash function for a type of a library; None if the type is not supported."""
    for package, names in _HASH_FUNCTIONS.items():
        module = sys.modules.get(package)
        for name, hash_function in names.items() if module else ():
            if vars(module).get(name) is kind:
                return hash_function
    numpy = sys.modules.get("numpy")
    is_number = numpy and any(kind is scalar for scalar in numpy.sctypeDict.values()) and kind is not numpy.void
    return _hash_scalar if is_number else None


_BOOKKEEPING = {
    "pandas.": {"_cache"},
    "threading.": {"_waiters"},
    "asyncio.": {"_waiters", "_getters", "_putters", "_loop"},
}
"""Attributes that a library changes while its object stays as it is, by the beginning of its modules' names."""


def without_bookkeeping(value: Any, kinds: tuple[type, ...], state: dict[str, Any]) -> dict[str, Any]:
    """Return the attributes of an object without those that its library changes while the object stays as it is."""
    modules = [f"{getattr(kind, '__module__', '')}." for kind in kinds]
    left_out = set[str]().union(
        *(names for module, names in _BOOKKEEPING.items() if any(own.startswith(module) for own in modules))
    )
    state = {name: attribute for name, attribute in state.items() if name not in left_out} if left_out else state
    masked = getattr(sys.modules.get("numpy.ma"), "MaskedArray", None)
    if any(kind is masked for kind in kinds) and state.get("_fill_value") is None:
        numpy = sys.modules["numpy"]
        state = {**state, "_fill_value": numpy.asarray(numpy.ma.default_fill_value(value.dtype), value.dtype)}
    return state


# --- numpy --------------------------------------------------------------------------------------------------------


def _hash_scalar(value: Any, hasher: Hasher, hash_value: HashValue) -> None:
    _hash_array(sys.modules["numpy"].asarray(value), hasher, hash_value)


def _hash_array(array: Any, hasher: Hasher, hash_value: HashValue) -> None:
    """Hash an array in C order, independent of its strides."""
    numpy = sys.modules["numpy"]
    hasher.update_text(f"array {array.dtype.str} {tuple(array.shape)}")
    hasher.update_live_text(str(array.flags.writeable))
    _hash_attributes(array.dtype.metadata if hasher.is_live else None, hasher, hash_value)
    if array.dtype.names is not None:
        _hash_structured(array, hasher, hash_value)
    elif array.dtype.hasobject or array.dtype.kind == "T":
        hash_value(array.ravel().tolist(), hasher)
    elif array.dtype.kind not in "biufcSUMmV":  # pragma: no cover - numpy has no other kind yet
        raise NotHashable(f"an array of {array.dtype} cannot be compared")
    elif array.size and (array.flags.c_contiguous or array.ndim == 0):
        hasher.update_bytes(numpy.ascontiguousarray(array).reshape(-1).view(numpy.uint8))
    elif array.size:
        rows = max(1, CHUNK // max(1, array.nbytes // len(array)))
        for start in range(0, len(array), rows):
            hasher.update_bytes(numpy.ascontiguousarray(array[start : start + rows]).reshape(-1).view(numpy.uint8))


def _hash_structured(array: Any, hasher: Hasher, hash_value: HashValue) -> None:
    """Hash the fields of an array; in one process also the bytes between them, which only code sets, and can read.

    Those of an array with objects contain what tells one object from another.
    """
    numpy = sys.modules["numpy"]
    if hasher.is_live and array.dtype.hasobject:
        hasher.update_bytes(array.tobytes())
    elif hasher.is_live:
        raw = numpy.ndarray.view(array, numpy.dtype((numpy.void, array.dtype.itemsize)))
        hasher.update_bytes(numpy.ascontiguousarray(raw).reshape(-1).view(numpy.uint8))
    for name in array.dtype.names:
        hasher.update_text(name)
        _hash_array(array[name], hasher, hash_value)


# --- pandas -------------------------------------------------------------------------------------------------------


def _hash_frame(frame: Any, hasher: Hasher, hash_value: HashValue) -> None:
    hasher.update_text(f"pandas frame {frame.shape}")
    _hash_index(frame.columns, hasher, hash_value)
    _hash_index(frame.index, hasher, hash_value)
    for position in range(frame.shape[1]):
        _hash_values(frame.iloc[:, position], hasher, hash_value)
    _hash_metadata(frame, hasher, hash_value)


def _hash_series(series: Any, hasher: Hasher, hash_value: HashValue) -> None:
    hasher.update_text("pandas series")
    hash_value(series.name, hasher)
    _hash_index(series.index, hasher, hash_value)
    _hash_values(series, hasher, hash_value)
    _hash_metadata(series, hasher, hash_value)


def _hash_metadata(table: Any, hasher: Hasher, hash_value: HashValue) -> None:
    """Hash the user's metadata of a frame or a series: `attrs`, flags, added attributes."""
    _hash_attributes(table.attrs, hasher, hash_value)
    if not table.flags.allows_duplicate_labels:
        hasher.update_text("no duplicate labels")
    namespace_ = {
        name: value
        for name, value in vars(table).items()
        if name not in _PANDAS_TYPES and (name, type(value).__module__) not in _PANDAS_ACCESSORS
    }
    _hash_attributes(namespace_, hasher, hash_value)


def _hash_attributes(attributes: Any, hasher: Hasher, hash_value: HashValue) -> None:
    """Hash the attributes that a user added to an object, if there are any."""
    if attributes:
        hasher.update_text("attributes")
        hash_value(dict(attributes), hasher)


def _hash_index(index: Any, hasher: Hasher, hash_value: HashValue) -> None:
    pandas = sys.modules["pandas"]
    hasher.update_text("pandas index")
    hash_value(list(index.names), hasher)
    hasher.update_live_text(str(getattr(index, "freq", None)))
    if hasher.is_live:
        _hash_attributes(
            {name: value for name, value in vars(index).items() if name not in _OF_INDEX}, hasher, hash_value
        )
    if type(index) is pandas.RangeIndex:
        hash_value((index.start, index.stop, index.step), hasher)
    elif type(index) is pandas.MultiIndex:
        for level in range(index.nlevels):
            _hash_values(index.get_level_values(level).to_series(), hasher, hash_value)
    else:
        _hash_values(index.to_series(), hasher, hash_value)


def _hash_values(series: Any, hasher: Hasher, hash_value: HashValue) -> None:
    """Hash the values of a column, after the name of its type."""
    numpy, pandas = sys.modules["numpy"], sys.modules["pandas"]
    dtype = series.dtype
    hasher.update_text(f"values {dtype.name if isinstance(dtype, pandas.CategoricalDtype) else dtype}")
    if isinstance(dtype, numpy.dtype):
        _hash_array(series.to_numpy(), hasher, hash_value)
    elif type(dtype) is pandas.CategoricalDtype:
        hasher.update_text(str(dtype.ordered))
        _hash_index(dtype.categories, hasher, hash_value)
        _hash_array(series.cat.codes.to_numpy(), hasher, hash_value)
    elif type(dtype) is pandas.DatetimeTZDtype:
        _hash_array(series.dt.tz_convert("UTC").dt.tz_localize(None).to_numpy(), hasher, hash_value)
    elif type(dtype) in (pandas.PeriodDtype, pandas.IntervalDtype):
        _hash_array(pandas.util.hash_pandas_object(series, index=False).to_numpy(), hasher, hash_value)
    elif hasher.is_live and (parts := _masked_parts(series.array)):
        for part in parts:
            _hash_array(part, hasher, hash_value)
    elif any(type(dtype) is vars(pandas).get(name) for name in _MASKED):
        missing = series.isna().to_numpy(dtype=bool)
        _hash_array(missing, hasher, hash_value)
        hash_value(
            [None if no_value else value for value, no_value in zip(series.tolist(), missing.tolist(), strict=True)],
            hasher,
        )
    else:
        raise NotHashable(f"a column of {type(dtype).__name__} cannot be compared")


def _masked_parts(array: Any) -> tuple[Any, ...]:
    """Return the mask of a column and its data, including masked values; nothing if it is stored in another way."""
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
"""Attributes in which pandas stores an index itself."""

_PANDAS_ACCESSORS = {
    ("cat", "pandas.core.arrays.categorical"),
    ("dt", "pandas.core.indexes.accessors"),
    ("str", "pandas.core.strings.accessor"),
}
"""Views of its own values that a series of pandas 2 keeps once they were used, with the modules of their classes."""

_PANDAS_TYPES = {
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
"""Attributes in which pandas stores a frame or a series itself."""

_MASKED = (
    "StringDtype", "BooleanDtype", "Float32Dtype", "Float64Dtype", "ArrowDtype",
    *(f"{sign}Int{bits}Dtype" for sign in ("", "U") for bits in (8, 16, 32, 64)),
)  # fmt: skip
"""The pandas types whose values are plain, or missing."""


def _hash_timestamp(value: Any, hasher: Hasher, hash_value: HashValue) -> None:  # noqa: ARG001 - the signature of all hash functions
    hasher.update_text(f"{type(value).__name__} {value.isoformat()} {getattr(value, 'tz', None)}")
    hasher.update_live_text(value.unit)


def _hash_missing(value: Any, hasher: Hasher, hash_value: HashValue) -> None:  # noqa: ARG001 - the signature of all hash functions
    hasher.update_text(f"missing {type(value).__name__}")


# --- polars -------------------------------------------------------------------------------------------------------


def _hash_polars_frame(frame: Any, hasher: Hasher, hash_value: HashValue) -> None:
    hasher.update_text(f"polars frame {frame.shape}")
    for series in frame.get_columns():
        _hash_polars_series(series, hasher, hash_value)
    _hash_polars_attributes(frame, hasher, hash_value)


def _hash_polars_attributes(table: Any, hasher: Hasher, hash_value: HashValue) -> None:
    """Hash the attributes that a user added to a frame or a series, besides the one in which polars stores its data."""
    if hasher.is_live:
        added = {name: value for name, value in vars(table).items() if name not in ("_df", "_s")}
        _hash_attributes(added, hasher, hash_value)


def _hash_polars_series(series: Any, hasher: Hasher, hash_value: HashValue) -> None:
    polars = sys.modules["polars"]
    hasher.update_text(f"polars series {series.name} {series.dtype} {len(series)}")
    hasher.update_live_text(str(series.flags))  # a series marked as sorted computes other results
    _hash_polars_attributes(series, hasher, hash_value)
    if series.dtype == polars.Object:
        hash_value(series.to_list(), hasher)
        return
    if series.dtype in (polars.Categorical, polars.Enum, polars.Decimal):
        series = series.cast(polars.String)
    elif series.dtype.is_temporal():
        series = series.to_physical()
    if not series.dtype.is_numeric() and series.dtype != polars.Boolean:
        hash_value(series.to_list(), hasher)
        return
    if series.null_count():
        _hash_array(series.is_null().to_numpy(), hasher, hash_value)
        series = series.fill_null(False if series.dtype == polars.Boolean else 0)
    _hash_array(series.to_numpy(), hasher, hash_value)


# --- xarray -------------------------------------------------------------------------------------------------------


def _hash_data_array(array: Any, hasher: Hasher, hash_value: HashValue) -> None:
    hasher.update_text("xarray array")
    hash_value(array.name, hasher)
    hasher.update_live_text(str(id(array._close)))
    _hash_variable(array.variable, hasher, hash_value)
    _hash_named(array.coords, hasher, hash_value)


def _hash_dataset(dataset: Any, hasher: Hasher, hash_value: HashValue) -> None:
    hasher.update_text("xarray dataset")
    _hash_named(dataset.variables, hasher, hash_value)
    _hash_attributes(dataset.attrs, hasher, hash_value)
    _hash_attributes(dataset.encoding, hasher, hash_value)
    hasher.update_live_text(str(id(dataset._close)))


def _hash_named(variables: Any, hasher: Hasher, hash_value: HashValue) -> None:
    for name in variables:
        hash_value(name, hasher)
        variable = variables[name]
        _hash_variable(getattr(variable, "variable", variable), hasher, hash_value)


def _hash_variable(variable: Any, hasher: Hasher, hash_value: HashValue) -> None:
    """Hash a variable whose values are in memory; one that would have to be loaded or computed cannot be hashed."""
    numpy, xarray = sys.modules["numpy"], sys.modules["xarray"]
    data = variable._data
    if type(variable) is xarray.IndexVariable:
        data = variable.to_index().to_numpy()
    if type(data) is not numpy.ndarray:
        raise NotHashable("an xarray whose values are not in memory cannot be compared")
    hash_value(variable.dims, hasher)
    hash_value(dict(variable.attrs), hasher)
    _hash_attributes(variable.encoding, hasher, hash_value)
    _hash_array(data, hasher, hash_value)


_HASH_FUNCTIONS: dict[str, dict[str, HashFunction]] = {
    "numpy": {"ndarray": _hash_array, "memmap": _hash_array},
    "pandas": {
        "DataFrame": _hash_frame, "Series": _hash_series, "Timestamp": _hash_timestamp, "Timedelta": _hash_timestamp,
        **dict.fromkeys(("Index", "RangeIndex", "MultiIndex", "DatetimeIndex", "TimedeltaIndex", "CategoricalIndex",
                         "PeriodIndex", "IntervalIndex"), _hash_index),
    },
    "pandas.api.typing": {"NAType": _hash_missing, "NaTType": _hash_missing},
    "polars": {"DataFrame": _hash_polars_frame, "Series": _hash_polars_series},
    "xarray": {"DataArray": _hash_data_array, "Dataset": _hash_dataset},
}  # fmt: skip
