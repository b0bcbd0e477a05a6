"""Values of every type of event with a marked text in every place, made from the types; and who may see which."""

from __future__ import annotations

import base64
import sys
import types
import typing
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields, is_dataclass
from functools import cache
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

from nbtool import events, messages
from nbtool.audience import AUDIENCES, Audience, Kind
from nbtool.chat.recording.file import RecordedCall
from nbtool.events import Event
from nbtool.messages import Part

MARK = "canary"
"""What every marked text begins with."""


@dataclass(frozen=True, slots=True)
class Place:
    """A marked text, and the fields around it: each with the kind it has in this value."""

    text: str
    kinds: tuple[Kind, ...]

    def may_reach(self, audience: Audience) -> bool:
        """Return whether an audience gets every field around the text."""
        return all(kind in AUDIENCES[audience] for kind in self.kinds)


TYPES: tuple[type, ...] = (*get_args(Event), *get_args(Part), messages.Message, RecordedCall)
"""What is written or sent."""


def all_types() -> list[type]:
    """Return every dataclass in an event, a message or a record, however deep."""
    found: dict[type, None] = {}
    waiting: list[Any] = list(TYPES)
    while waiting:
        hint = waiting.pop()
        if is_dataclass(hint) and isinstance(hint, type):
            if hint not in found:
                found[hint] = None
                waiting += [hint_of(hint, field.name) for field in fields(hint)] + hint.__subclasses__()
        else:
            waiting += get_args(hint)
    return [kind for kind in found if kind.__qualname__ == kind.__name__]


@cache
def _hints(kind: type) -> Mapping[str, Any]:
    return get_type_hints(
        kind, {**vars(typing), **vars(sys.modules[kind.__module__]), **vars(events), **vars(messages)}
    )


def hint_of(kind: type, name: str) -> Any:
    """Return the annotation of a field."""
    return _hints(kind)[name]


class Marker:
    """Makes values with marked texts, and lists their places; each text is unique."""

    def __init__(self, make_text: Any = None) -> None:
        self.places: list[Place] = []
        self._make_text = make_text
        self._open: list[type] = []

    def make(self, kind: type, around: tuple[Kind, ...] = (), **given: Any) -> Any:
        """Return an instance with a marked text in every field, except the `given` ones."""
        values: dict[str, Any] = {}
        for field in fields(kind):
            if field.name in given:
                values[field.name] = given[field.name]
        for field in fields(kind):
            if field.name not in values:
                here = (*around, _kind(field, given))
                self._open.append(kind)
                values[field.name] = self._value(hint_of(kind, field.name), here, f"{kind.__name__}.{field.name}")
                self._open.pop()
        return kind(**values)

    def _value(self, hint: Any, around: tuple[Kind, ...], name: str) -> Any:
        origin = get_origin(hint)
        if origin in (Union, types.UnionType):
            options = [one for one in get_args(hint) if one is not type(None)]
            return self._value(options[0], around, name)
        if origin is tuple:
            inner = get_args(hint)[0]
            options = get_args(inner) if get_origin(inner) in (Union, types.UnionType) else (inner,)
            # values of a type in one of the same type would have no end
            return tuple(self._value(one, around, name) for one in options if self._open.count(one) < 2)
        if origin is Literal:
            return get_args(hint)[0]
        if is_dataclass(hint) and isinstance(hint, type):
            return self.make(hint, around)
        if origin is not None and issubclass(origin, Mapping):
            return self._mapping(get_args(hint)[1], around, name)
        return self._leaf(hint, around, name)

    def _mapping(self, inner: Any, around: tuple[Kind, ...], name: str) -> dict[str, Any]:
        """Return a dict with a marked key, and with keys that nbtool's own fields have too."""
        if is_dataclass(inner):
            return {self._text(around, f"{name}.key"): self._value(inner, around, name)}
        keys = ("id", "name", "host", "status", "kind", "call_id", "digest", "mime", "data")
        data: dict[str, Any] = {key: self._text(around, f"{name}.{key}") for key in keys}
        data |= {"role": "media", self._text(around, f"{name}.key"): [self._text(around, f"{name}.item")]}
        return {"object": data} if get_origin(inner) is dict else data

    def _leaf(self, hint: Any, around: tuple[Kind, ...], name: str) -> Any:
        if hint is bytes:
            return self._text(around, name).encode()
        if hint is bool:
            return False
        if hint is int or hint is float:
            return hint(1)
        return self._mapping(str, around, name) if hint is Any else self._text(around, name)

    def _text(self, around: tuple[Kind, ...], name: str) -> str:
        number = len(self.places)
        text = f"{MARK}-{number:04}-{name}-end" if self._make_text is None else self._make_text(around)
        self.places.append(Place(text, around))
        return text


def _kind(field: Any, given: Mapping[str, Any]) -> Kind:
    """Return the kind of a field in a value with these other fields."""
    kind: Kind = field.metadata.get("audience", "person")
    if condition := field.metadata.get("unless"):
        name, value, other = condition
        return other if given.get(name, False) == value else kind
    return kind


def variants(kind: type) -> Iterator[dict[str, Any]]:
    """Yield the values of those fields on which the audience of another one depends."""
    yield {}
    for field in fields(kind):
        if condition := field.metadata.get("unless"):
            yield {condition[0]: condition[1]}


def is_in(text: str, written: str) -> bool:
    """Whether a text is found, as it is or in base64 at its start."""
    packed = base64.urlsafe_b64encode(text.encode()).decode().rstrip("=")[:-2]
    return text in written or packed in written
