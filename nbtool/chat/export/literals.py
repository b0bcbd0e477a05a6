"""Write values as Python source that evaluates to exactly the value, on one line, without invisible characters."""

from __future__ import annotations

import dataclasses
import datetime as dt
import decimal
import enum
import math
import pathlib
import uuid
from collections.abc import Iterable, Mapping
from typing import Any

from nbtool.blocks.sanitize import escape_invisible
from nbtool.chat.export.names import NotebookNames, is_name
from nbtool.text import clean_text
from nbtool.tools.values.type_names import type_name
from nbtool.tools.variables.references import Path

MAX_DEPTH = 50
"""Maximum nesting of containers."""


class NotLiteral(Exception):
    """A value, a reference or a function that has no Python source; the text says which, and why."""


def text_literal(text: str) -> str:
    r"""Return a text as a string literal; every control, bidirectional and invisible character becomes an escape."""
    literal = repr(clean_text(text))
    if literal[0] == "'" and '"' not in literal:
        literal = f'"{literal[1:-1]}"'
    return literal if escape_invisible(literal) == literal else "".join(map(_escaped, literal))


def _escaped(letter: str) -> str:
    if escape_invisible(letter) == letter:
        return letter
    return f"\\u{ord(letter):04x}" if ord(letter) < 0x10000 else f"\\U{ord(letter):08x}"


@dataclasses.dataclass(frozen=True, slots=True)
class LiteralWriter:
    """Write values for one piece of code; `locations` maps paths inside a value to expressions that replace it."""

    names: NotebookNames
    locations: Mapping[Path, str] = dataclasses.field(default_factory=dict)

    def write(self, value: Any, path: Path = ()) -> str:
        """Return the source of a value.

        Raises:
            NotLiteral: it is or contains a value that has no source.
        """
        if len(path) > MAX_DEPTH:
            raise NotLiteral(f"a value of more than {MAX_DEPTH} levels")
        if path in self.locations:
            return self.locations[path]
        kind = type(value)
        if value is None or kind in (bool, int, float, complex, bytes):
            return self._plain(value)
        if kind is str:
            return text_literal(value)
        if kind in (list, tuple, set, frozenset, dict):
            return self._container(value, path)
        return self._object(value, path)

    def _plain(self, value: Any) -> str:
        if type(value) is float and not math.isfinite(value):
            return f'{self.names.builtin("float")}("{value}")'
        try:
            return repr(value)
        except ValueError:  # an integer of more digits than Python writes
            raise NotLiteral("a number of very many digits") from None

    def _container(self, value: Any, path: Path) -> str:
        if type(value) is dict:
            bare = LiteralWriter(self.names)
            return f"{{{', '.join(f'{bare.write(key)}: {self.write(value[key], (*path, key))}' for key in value)}}}"
        if isinstance(value, set | frozenset) and any(location[: len(path)] == path for location in self.locations):
            raise NotLiteral("a reference inside a set")  # it is unknown which item it became
        items = ", ".join(self.write(inner, (*path, index)) for index, inner in enumerate(value))
        match value:
            case list():
                return f"[{items}]"
            case tuple():
                return f"({items},)" if len(value) == 1 else f"({items})"
            case set() if value:
                return f"{{{items}}}"
        made_by = self.names.builtin(type(value).__name__)
        return f"{made_by}([{items}])" if value else f"{made_by}()"

    def _object(self, value: Any, path: Path) -> str:
        if isinstance(value, enum.Enum):
            return self._member(value)
        if isinstance(value, dt.date | dt.time | dt.timedelta | dt.timezone):
            return self._time(value)
        if isinstance(value, decimal.Decimal | uuid.UUID):
            return self._constructor(type(value), [text_literal(str(value))])
        if isinstance(value, pathlib.PurePath):
            return f"{self.names.module('pathlib')}.Path({text_literal(str(value))})"
        return self._constructor(type(value), self._fields(value, path))

    def _member(self, value: enum.Enum) -> str:
        if value.name not in type(value).__members__:
            return self._constructor(type(value), [self.write(value.value)])  # a flag of several bits has no name
        return f"{self._class(type(value))}.{value.name}"

    def _time(self, value: Any) -> str:
        match value:
            case dt.datetime():
                parts = [value.year, value.month, value.day, value.hour, value.minute, value.second, value.microsecond]
                kind: type = dt.datetime
            case dt.date():
                parts, kind = [value.year, value.month, value.day], dt.date
            case dt.time():
                parts, kind = [value.hour, value.minute, value.second, value.microsecond], dt.time
            case dt.timedelta():
                parts, kind = [value.days, value.seconds, value.microseconds], dt.timedelta
            case _:
                return self._constructor(dt.timezone, [self._time(value.utcoffset(None))])
        while len(parts) > 3 and not parts[-1]:
            parts.pop()
        offset = value.utcoffset() if isinstance(value, dt.datetime | dt.time) else None
        zone = [] if offset is None else [f"tzinfo={self._time(dt.timezone(offset))}"]
        return self._constructor(kind, [*map(str, parts), *zone])

    def _fields(self, value: Any, path: Path) -> list[str]:
        """Return the constructor arguments of a dataclass, a named tuple or a model."""
        if dataclasses.is_dataclass(value):
            fields = [field.name for field in dataclasses.fields(value) if field.init]
        elif isinstance(value, tuple) and hasattr(value, "_fields"):
            fields = list(value._fields)
        else:
            fields = _model_fields(value)
        return [f"{name}={self.write(getattr(value, name), (*path, name))}" for name in fields]

    def _constructor(self, cls: type, arguments: Iterable[str]) -> str:
        return f"{self._class(cls)}({', '.join(arguments)})"

    def _class(self, cls: type) -> str:
        if path := self.names.find(cls):
            return path
        raise NotLiteral(f"the class {escape_invisible(type_name(cls))}, which has no name in the notebook")


def _model_fields(value: Any) -> list[str]:
    """Return the fields that were set on a pydantic model."""
    declared: Mapping[str, Any] = getattr(type(value), "__pydantic_fields__", {})
    fields_set = getattr(value, "__pydantic_fields_set__", None)
    if fields_set is None:
        raise NotLiteral(f"a {escape_invisible(type_name(type(value)))}")
    fields = [name for name in declared if name in fields_set]
    if len(fields) < len(fields_set) or any(declared[name].validation_alias or not is_name(name) for name in fields):
        raise NotLiteral(f"a {escape_invisible(type_name(type(value)))}, whose fields have aliases")
    return fields
