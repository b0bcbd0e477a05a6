"""Estimate the size of an object in bytes."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from typing import Any

from nbtool.messages import Media
from nbtool.tools.values.named_parts import MultipartResult

MAX_DEPTH = 4
"""Maximum nesting depth."""

SAMPLE_ITEMS = 50
"""Number of items of a container from which its size is extrapolated."""

UNKNOWN_SIZE = 1_000
"""Minimum size in bytes counted for an object of an unknown type."""

_ATOMS = (str, bytes, bytearray, int, float, complex, bool, type(None))
_CONTAINERS = (list, tuple, set, frozenset)


def size_of(value: Any, depth: int = MAX_DEPTH) -> int:
    """Return the estimated size of an object in bytes, from a sample of each container."""
    if type(value) in _ATOMS:
        return sys.getsizeof(value)
    if isinstance(value, Media):
        return len(value.data or b"")
    if isinstance(value, MultipartResult):
        return sum(size_of(part) for part in value.values())
    try:
        library_size = _size_by_library(value)
    except Exception:  # noqa: BLE001 - an estimate: if the size cannot be read, only the object's header counts
        return sys.getsizeof(object())
    return _plain_size(value, depth) if library_size is None else library_size


def _size_by_library(value: Any) -> int | None:
    packages = {kind.__module__.partition(".")[0] for kind in type(value).__mro__}
    if packages & {"numpy", "xarray", "torch"} and hasattr(value, "nbytes"):
        return int(value.nbytes)
    if "pandas" in packages and hasattr(value, "memory_usage"):
        used = value.memory_usage(deep=False)
        return int(used if isinstance(used, int) else used.sum())
    if "polars" in packages and hasattr(value, "estimated_size"):
        return int(value.estimated_size())
    if "PIL" in packages and hasattr(value, "getbands"):
        return int(value.width * value.height * len(value.getbands()))
    return None


def _plain_size(value: Any, depth: int) -> int:
    kind = type(value)
    if kind is dict:
        return sys.getsizeof(value) + _mean_size(value.items(), depth) * len(value)
    if kind in _CONTAINERS:
        return sys.getsizeof(value) + _mean_size(value, depth) * len(value)
    attributes = getattr(value, "__dict__", None)
    if depth <= 0 or type(attributes) is not dict or isinstance(value, type):
        return UNKNOWN_SIZE
    return UNKNOWN_SIZE + _mean_size(attributes.values(), depth) * len(attributes)


def _mean_size(items: Iterable[Any], depth: int) -> int:
    sample = [item for _, item in zip(range(SAMPLE_ITEMS), items, strict=False)] if depth > 0 else []
    return int(sum(size_of(item, depth - 1) for item in sample) / len(sample)) if sample else 0
