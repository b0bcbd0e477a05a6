"""The person's own options, laid over what a wire wrote."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


def merge_options(body: Mapping[str, Any], options: Mapping[str, Any]) -> dict[str, Any]:
    """Return `body` with `options` laid over it, deeply; a None among them removes a field.

    Only objects are merged: a list or a plain value replaces what stood there.
    """
    merged = dict(body)
    for name, value in options.items():
        nested = merged.get(name)
        if value is None:
            merged.pop(name, None)
        elif isinstance(value, Mapping):
            merged[name] = merge_options(nested if isinstance(nested, Mapping) else {}, value)
        else:
            merged[name] = value
    return merged
