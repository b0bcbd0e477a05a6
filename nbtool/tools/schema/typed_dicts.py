"""TypedDicts: read the keys of one, and build one that pydantic reads."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, get_args, get_origin

_QUALIFIERS = ("Required", "NotRequired", "ReadOnly")


def is_typed_dict(kind: Any) -> bool:
    """Whether a class is a TypedDict, of `typing` or of `typing_extensions`."""
    import typing_extensions  # noqa: PLC0415 - needed only when a tool is created

    return typing_extensions.is_typeddict(kind)


def typed_dict_items(kind: Any) -> dict[str, tuple[Any, bool]]:
    """Return the annotation of each key of a TypedDict, and whether it is required."""
    import typing_extensions  # noqa: PLC0415 - needed only when a tool is created

    items = {}
    for name, hint in typing_extensions.get_type_hints(kind, include_extras=True).items():
        is_required, annotation = name in kind.__required_keys__, hint
        while (qualifier := getattr(get_origin(annotation), "_name", None)) in _QUALIFIERS:
            is_required = is_required if qualifier == "ReadOnly" else qualifier == "Required"
            (annotation,) = get_args(annotation)
        items[name] = (annotation, is_required)
    return items


def make_typed_dict(name: str, items: Mapping[str, tuple[Any, bool]], *, is_closed: bool = False) -> Any:
    """Return a TypedDict with these keys, as pydantic requires it before Python 3.12."""
    import typing_extensions  # noqa: PLC0415 - needed only when a tool is created

    markers: tuple[Any, Any] = (typing_extensions.NotRequired, typing_extensions.Required)
    fields = {key: markers[is_required][annotation] for key, (annotation, is_required) in items.items()}
    make: Any = typing_extensions.TypedDict
    made = make(name, fields)
    if is_closed:
        made.__pydantic_config__ = {"extra": "forbid"}
    return made
