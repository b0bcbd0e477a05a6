"""Serialize events to JSON and back: the content of the journal, of recordings and of exports.

Reading treats the data as untrusted: the schema is closed, sizes are limited, nothing is looked up by a name in the
data, and the result holds values only.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import asdict
from functools import cache, partial
from math import isinf
from typing import TYPE_CHECKING, Annotated, Any

from nbtool.errors import UnreadableEvent
from nbtool.events import Event
from nbtool.text import clean_text, map_text, shorten

if TYPE_CHECKING:
    from pydantic import TypeAdapter

MAX_EVENT_BYTES = 128 * 1024 * 1024
"""Maximum size of the JSON of one event, in bytes."""

MAX_DEPTH = 100
"""Maximum nesting depth of lists and objects in an event that is read."""

MAX_NUMBER = 2**63
"""Exclusive bound on the absolute value of an integer in an event that is read."""


def dump_event(event: Event) -> str:
    """Return an event as JSON: bytes as base64, an object without a JSON form as the name of its type."""
    from pydantic_core import PydanticSerializationError, to_json  # noqa: PLC0415 - only where history is written

    try:
        return to_json(event, bytes_mode="base64", inf_nan_mode="null", fallback=_type_name).decode()
    except PydanticSerializationError:  # lone surrogates: rare, and expensive to check in every text
        return dump_data(event_data(event))


def event_data(event: Event) -> dict[str, Any]:
    """Return an event as plain data, of which `dump_data` makes the same JSON; it shares the event's texts."""
    from pydantic_core import to_jsonable_python  # noqa: PLC0415 - only where history is written

    convert = partial(to_jsonable_python, bytes_mode="base64", inf_nan_mode="null", fallback=_type_name)
    try:
        data: dict[str, Any] = convert(event)
    except UnicodeEncodeError:  # lone surrogates in a key
        data = convert(map_text(asdict(event), clean_text, keys=lambda key: clean_text(str(key))))
    return data


def dump_data(data: dict[str, Any]) -> str:
    """Return plain data as JSON, lone surrogates as U+FFFD."""
    from pydantic_core import PydanticSerializationError, to_json  # noqa: PLC0415 - only where history is written

    try:
        return to_json(data).decode()
    except PydanticSerializationError:
        return to_json(map_text(data, clean_text, keys=clean_text)).decode()


def load_event(data: str | bytes | Mapping[str, Any]) -> Event:
    """Read an event from the output of `dump_event`, as JSON or as plain data.

    Every field is validated, and unknown fields are dropped.

    Raises:
        UnreadableEvent: the data is not an event; the text says what is wrong and where.
    """
    from pydantic import ValidationError  # noqa: PLC0415 - only where history is read
    from pydantic_core import PydanticSerializationError, from_json, to_json  # noqa: PLC0415 - only where history is read

    try:
        text = data.encode() if isinstance(data, str) else data if isinstance(data, bytes) else to_json(data)
        if len(text) > MAX_EVENT_BYTES:
            raise UnreadableEvent(f"An event is larger than {MAX_EVENT_BYTES >> 20} MiB.")
        value = from_json(text, allow_inf_nan=False)
        _check_bounds(value)
        return _adapter().validate_json(text, strict=True)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False, include_context=False)[0]
        location = ".".join(map(str, first["loc"])) or "the event"
        raise UnreadableEvent(
            f"Not an event of a turn: {shorten(location, 200)!r}: {shorten(first['msg'], 200)!r}."
        ) from None
    except (ValueError, RecursionError, PydanticSerializationError) as error:
        raise UnreadableEvent(f"Not an event of a turn: invalid JSON: {shorten(str(error), 200)!r}.") from None


def load_events(items: Iterable[str | bytes | Mapping[str, Any]]) -> list[Event]:
    """Read events, in order.

    Raises:
        UnreadableEvent: one of them is not an event; the text says which, counted from 1.
    """
    events: list[Event] = []
    for item in items:
        try:
            events.append(load_event(item))
        except UnreadableEvent as error:
            raise UnreadableEvent(f"Event {len(events) + 1}: {error.message}") from None
    return events


@cache
def _adapter() -> TypeAdapter[Event]:
    from pydantic import Field, TypeAdapter  # noqa: PLC0415 - only where history is read

    return TypeAdapter(Annotated[Event, Field(discriminator="kind")])


def _check_bounds(value: Any) -> None:
    """Reject a value over the limits, level by level, so that deep nesting cannot overflow the stack."""
    level = [value]
    for _ in range(MAX_DEPTH):
        inner: list[Any] = []
        for item in level:
            kind = type(item)
            if kind is dict:
                inner.extend(item.values())
            elif kind is list:
                inner.extend(item)
            elif kind is int and abs(item) >= MAX_NUMBER:
                raise UnreadableEvent("An event contains an integer of 2**63 or more.")
            elif kind is float and isinf(item):  # as from_json reads 1e999
                raise UnreadableEvent("An event contains a number that is too large.")
        if not inner:
            return
        level = inner
    raise UnreadableEvent(f"An event is more than {MAX_DEPTH} levels deep.")


def _type_name(value: object) -> str:
    return f"<{type(value).__name__}>"
