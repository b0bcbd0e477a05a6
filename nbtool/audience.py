"""For whom each field of an event, a message or a record is, and its form for one audience.

Each field names its kind in its metadata; `AUDIENCES` says which kinds an audience gets. A field without a kind is for
the person only. Envelope rules hold for the fields of nbtool's own types, never for keys inside the data of a user: in
content every key, text and number is redacted, also inside JSON texts and in the data of a text medium.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Mapping
from dataclasses import MISSING, Field, fields, is_dataclass, replace
from functools import cache
from typing import Any, Literal, TypeVar, get_args

from nbtool.text import map_media_text

T = TypeVar("T")

Kind = Literal["own", "run", "text", "free", "nested", "trace", "told", "native", "view", "person"]
"""What a field contains.

    own     an id, a name of a closed set, a number or a flag of nbtool    run     the same, different in each run
    text    text, also one that is JSON                                    free    content of any form
    nested  values whose own fields name their kinds                       native  data for the model's provider only
    trace   lines of the person's source code                              told    text about code of the person
    view    images and rows of a result, as the person sees them           person  for the person at the screen only
"""

Audience = Literal["person", "model", "journal", "notebook", "document", "export", "recording", "log", "span", "client"]
"""Who reads it: the person live; the model; the journal; a saved notebook and the explorer; an export to be read (`md`,
`ipynb`); an export as data (`json`); a recording; an event log; a span; a client of a served notebook."""

_SHARED: frozenset[Kind] = frozenset({"own", "text", "free", "nested"})

AUDIENCES: Mapping[Audience, frozenset[Kind]] = {
    "person": frozenset(get_args(Kind)),
    "model": _SHARED | {"run", "native"},
    "journal": _SHARED | {"run", "trace", "told", "native"},
    "notebook": _SHARED | {"run", "trace", "told", "view"},
    "document": _SHARED | {"run", "trace", "view"},
    "export": _SHARED | {"run", "trace"},
    "log": _SHARED | {"run", "trace"},
    "span": _SHARED | {"run"},
    "recording": _SHARED,
    "client": _SHARED,
}
"""The kinds that each audience gets."""

Hide = Callable[[str], str]
"""Returns a text without secrets and private values."""

Metadata = Mapping[str, Any]

OWN: Metadata = {"audience": "own"}
RUN: Metadata = {"audience": "run"}
TEXT: Metadata = {"audience": "text"}
FREE: Metadata = {"audience": "free"}
NESTED: Metadata = {"audience": "nested"}
TRACE: Metadata = {"audience": "trace"}
NATIVE: Metadata = {"audience": "native"}
VIEW: Metadata = {"audience": "view"}
PERSON: Metadata = {"audience": "person"}


def unless(metadata: Metadata, name: str, value: object, kind: Kind = "person") -> Metadata:
    """Return the metadata of a field that is of another `kind` if the field `name` has this value."""
    return {**metadata, "unless": (name, value, kind)}


def kind_of(field: Field[Any]) -> Kind:
    """Return what a field contains; one that names nothing is for the person only."""
    kind: Kind = field.metadata.get("audience", "person")
    return kind


def for_audience(value: T, audience: Audience, *, hide: Hide | None = None) -> T:
    """Return an event, a message or a record as an audience gets it.

    Fields that are not for it are empty. `hide` is applied to all content that is left. The value itself is returned
    if nothing changes.
    """
    kind: Any = type(value)
    changes: dict[str, Any] = {}
    for name, blank, condition in _left_out(kind, audience):
        if condition is None or getattr(value, condition[0]) == condition[1]:
            empty = blank() if callable(blank) else blank
            if getattr(value, name) != empty:
                changes[name] = empty
    for name, is_content in _inner(kind):
        if name in changes or not (hide or not is_content):
            continue
        if not (current := getattr(value, name)):  # most fields of most events: nothing to look into
            continue
        changed = _walk(current, audience, hide, is_content=is_content)
        if changed is not current:
            changes[name] = changed
    changed_value = replace(value, **changes) if changes else value  # type: ignore[type-var]  # every value is a dataclass
    return _with_hidden_data(changed_value, hide) if hide and "data" in _names(kind) else changed_value


def without_content(value: T, keep: Collection[str] = ()) -> T:
    """Return an event, a message or a record without its content: ids, numbers, flags and the fields to `keep` stay."""
    kind: Any = type(value)
    content = [field for field in _fields(kind) if kind_of(field) not in ("own", "run") and field.name not in keep]
    blanks = {field.name: _blank(field) for field in content}
    empty = {name: blank() if callable(blank) else blank for name, blank in blanks.items()}
    return replace(value, **empty)  # type: ignore[type-var]  # every value is a dataclass


def map_content(value: T, change: Hide) -> T:
    """Return a value with every text of its content changed, for instance with masks restored."""
    return for_audience(value, "person", hide=change)


def hide_content(value: Any, hide: Hide, *, numbers: bool = True) -> Any:
    """Return content of any form with `hide` applied to every key, text and number; itself if nothing changes."""
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, str):
        return _hide_text(value, hide)
    if isinstance(value, int | float):
        text = str(value)
        hidden = hide(text) if numbers else text
        return value if hidden == text else hidden
    if isinstance(value, bytes):
        return map_media_text(value, "", hide)
    if isinstance(value, Mapping):
        pairs = {_hide_key(key, hide): hide_content(inner, hide, numbers=numbers) for key, inner in value.items()}
        is_same = len(pairs) == len(value) and all(
            key is other and value[key] is inner for (key, inner), other in zip(pairs.items(), value, strict=True)
        )
        return value if is_same else pairs
    if isinstance(value, list | tuple):
        return _map_items(value, lambda inner: hide_content(inner, hide, numbers=numbers))
    return value


def person_fields(kind: type) -> frozenset[str]:
    """Return the names of the fields of a type that only the person gets."""
    return frozenset(field.name for field in _fields(kind) if kind_of(field) == "person")


def _walk(value: Any, audience: Audience, hide: Hide | None, *, is_content: bool) -> Any:
    """Return a part of a value for an audience; `is_content` if it is no value with fields of its own."""
    if is_dataclass(value):
        return for_audience(value, audience, hide=hide)
    if is_content:
        return hide_content(value, hide) if hide else value
    if isinstance(value, list | tuple):
        return _map_items(value, lambda inner: _walk(inner, audience, hide, is_content=False))
    if isinstance(value, Mapping):
        pairs = {
            _hide_key(key, hide) if hide else key: _walk(inner, audience, hide, is_content=False)
            for key, inner in value.items()
        }
        is_same = all(value.get(key) is inner for key, inner in pairs.items()) and len(pairs) == len(value)
        return value if is_same else pairs
    return value if value is None else hide_content(value, hide) if hide else value


def _map_items(items: list[Any] | tuple[Any, ...], change: Callable[[Any], Any]) -> Any:
    changed = [change(item) for item in items]
    is_same = all(entry is other for entry, other in zip(changed, items, strict=True))
    return items if is_same else tuple(changed) if isinstance(items, tuple) else changed


def _hide_key(key: Any, hide: Hide) -> Any:
    if isinstance(key, str):
        return _hide_text(key, hide)
    hidden = hide(text := str(key))
    return key if hidden == text else hidden


def _hide_text(text: str, hide: Hide) -> str:
    """Redact a text; one that is JSON in its decoded values, so that it stays JSON.

    Without an escape, a value that is redacted is redacted in the text too: then there is nothing to decode.
    """
    hidden = text if (hidden := hide(text)) == text else hidden
    if text.lstrip()[:1] not in ("{", "[", '"') or (hidden == text and "\\" not in text):
        return hidden
    try:
        value = json.loads(text)
        decoded = hide_content(value, hide, numbers=hidden != text)
        return hidden if decoded is value else json.dumps(decoded, ensure_ascii=False)
    except (ValueError, RecursionError):
        return hidden


def _with_hidden_data(value: Any, hide: Hide) -> Any:
    """Redact the data of a medium that is text, whatever its declared type."""
    if not isinstance(value.data, bytes):
        return value
    data = map_media_text(value.data, str(getattr(value, "mime", "")), hide)
    return value if data is value.data else replace(value, data=data)


@cache
def _left_out(kind: type, audience: Audience) -> tuple[tuple[str, Any, tuple[str, Any] | None], ...]:
    """Return the fields that an audience does not get, each with its empty value and the condition, if there is one."""
    result: list[tuple[str, Any, tuple[str, Any] | None]] = []
    allowed = AUDIENCES[audience]
    for field in _fields(kind):
        if kind_of(field) not in allowed:
            result.append((field.name, _blank(field), None))
        elif "unless" in field.metadata and field.metadata["unless"][2] not in allowed:
            result.append((field.name, _blank(field), field.metadata["unless"][:2]))
    return tuple(result)


@cache
def _inner(kind: type) -> tuple[tuple[str, bool], ...]:
    """Return the fields to look into, each with whether it is content; not the data of a medium."""
    named = [(field.name, kind_of(field)) for field in _fields(kind) if field.type != "bytes | None"]
    return tuple((name, text not in ("nested", "view", "native")) for name, text in named if text not in ("own", "run"))


@cache
def _names(kind: type) -> frozenset[str]:
    return frozenset(field.name for field in _fields(kind))


@cache
def _fields(kind: type) -> tuple[Field[Any], ...]:
    return fields(kind)


_EMPTY: Mapping[str, Any] = {"str": "", "int": 0, "float": 0.0, "bool": False}
"""The empty values of required fields, by their annotations."""


def _blank(field: Field[Any]) -> Any:
    """Return the empty value of a field, or the function that makes it."""
    if field.default is not MISSING:
        return field.default
    if field.default_factory in (dict, list, tuple):
        return field.default_factory
    return _EMPTY.get(
        str(field.type), () if str(field.type).startswith("tuple") else None if "None" in str(field.type) else ""
    )
