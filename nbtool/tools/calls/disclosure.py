"""What was exposed by reference alone, and what would let its values out unasked: results that hand it back, errors.

A tool decides what it gives out of an object: a mean, a plot, some rows. Two things are no such decision: handing back
what it was given, and an error that quotes it. What it was given is the object, or what a path or a slice took out of
it; handing back is giving that very object, one that is equal to it, or a text in which it stands. Such a result is
described in place of being shown, and stays closed wherever it goes on; such an error waits at the result gate.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from contextlib import suppress
from functools import cached_property, partial
from typing import Any

from nbtool.errors import NbtoolError, UnknownReference
from nbtool.messages import Media
from nbtool.thread_pool import off_loop
from nbtool.tools.calls.binding import Bound
from nbtool.tools.calls.contents import (
    LISTS,
    MAX_LOOKED,
    SHORT,
    VALUES,
    inside,
    is_any_in,
    is_atom,
    items,
    package_of,
    rows_of,
    told_rows,
    unboxed,
)
from nbtool.tools.tool import Tool
from nbtool.tools.values.describe import declared_name, type_name
from nbtool.tools.values.jsonable import LIBRARIES
from nbtool.tools.values.multipart import Parts
from nbtool.tools.values.render import error_text
from nbtool.tools.values.silence import quiet
from nbtool.tools.variables.store import Variables

MAX_GIVEN = 200
"""References to closed values in one call that a result is compared with; the result of a call with more is closed."""

MAX_COMPARED = 100_000
"""Items of a container that is compared with another one."""

_WORD = re.compile(r"\w+")
_GRAMMAR = frozenset({
    "a", "an", "and", "any", "are", "argument", "arguments", "at", "attribute", "axis", "be", "by", "column", "columns",
    "does", "exist", "for", "found", "got", "has", "have", "in", "index", "invalid", "is", "it", "item", "items", "key",
    "keys", "keyword", "missing", "must", "named", "no", "not", "object", "of", "on", "or", "out", "positional",
    "range", "required", "subscriptable", "takes", "that", "the", "this", "to", "type", "unexpected", "unknown", "was",
    "were", "with",
})  # fmt: skip
"""Words of error messages that say nothing of any data."""


CLOSED_PROGRESS = "[It tells values that were exposed by reference only, so it is neither shown nor kept]\n"
"""Stands in place of a tool's words on its progress."""

COMPARE_SECONDS = 5.0
"""Seconds in which such words are compared with the values; those that take longer are not shown."""


class ClosedValues:
    """What one call was given by reference alone, to compare its outcome with."""

    def __init__(self, bound: Bound, variables: Variables) -> None:
        self._variables = variables
        self._objects = [unboxed(link.value) for link in bound.closed]
        self._pieces = [link.text for link in bound.closed if link.text is not None]
        self._known = [*variables.closed_objects(), *(one for one in self._objects if not is_atom(one))]
        self._ids = {id(one) for one in self._known if one is not None}

    @property
    def is_empty(self) -> bool:
        """Whether the call was given nothing of the kind."""
        return not self._objects

    def is_handed_back(self, result: Any) -> bool:
        """Whether a result is, equals or tells any of it, or holds such a thing; what cannot be looked through is."""
        if len(self._objects) > MAX_GIVEN:
            return True
        for looked, one in enumerate(items(result), 1):
            if looked > MAX_LOOKED:
                return not self.is_empty
            if id(one) in self._ids or (not self.is_empty and self._is_given(one)):
                return True
        return not self.is_empty and self._is_converted(result)

    def is_in_text(self, text: str) -> bool:
        """Whether any of it stands in a text."""
        if any(word in text if len(word) >= SHORT else _is_word_in(word, text) for word in self._texts):
            return True
        return bool(self._rows) and is_any_in(self._rows, text)

    async def may_be_in_text(self, text: str) -> bool:
        """Whether any of it stands in a text, looked for off the loop; also where that takes too long."""
        outcome = await off_loop(partial(self.is_in_text, text), COMPARE_SECONDS)
        return outcome is None or outcome.error is not None or bool(outcome.value)

    def _is_given(self, one: Any) -> bool:
        one = unboxed(one)
        if isinstance(one, str):
            return self.is_in_text(one)
        if isinstance(one, Media):
            return any(type(given) is bytes and given == one.data for given in self._objects)
        if any(_is_equal(one, given) for given in self._objects):
            return True
        if is_atom(one) or type(one) in (*LISTS, dict, Parts) or one is None:
            return False  # its items are looked at on their own
        return self.is_in_text(self._variables.text_of(one))

    def _is_converted(self, result: Any) -> bool:
        """Whether the values of a closed container stand in a result one after another, whatever holds them there."""
        return bool(self._rows) and any(row in told for told in told_rows(result) for row in self._rows)

    @cached_property
    def _rows(self) -> tuple[str, ...]:
        return tuple({row for one in self._objects for row in rows_of(one)})

    @cached_property
    def _texts(self) -> tuple[str, ...]:
        """Everything by which it could be told in a text: what went into texts, and how it is written."""
        told = [*self._pieces, *(text for one in self._objects for text in self._written(one))]
        texts = [text.strip() for text in told if text.strip()]
        return tuple({form for text in texts for form in (text, repr(text)[1:-1], json.dumps(text)[1:-1])})

    def _written(self, one: Any) -> Iterator[str]:
        if one is None:
            return  # its type has told it
        if isinstance(one, str):
            yield str.__str__(one)
        elif isinstance(one, bytes):
            yield from (repr(one), one.decode("utf-8", "ignore"))
        else:
            yield self._variables.text_of(one)
            for write in (str, repr, json.dumps):
                with quiet(), suppress(Exception):  # an object that cannot be written cannot have been told that way
                    yield write(one)


def may_quote(error: BaseException | None, bound: Bound, variables: Variables) -> bool:
    """Whether an error may quote an object that its call was given by reference alone.

    It may where a value stands in it; else it may not, if it is of nbtool or in a tool's own words (`ToolFailed`), or
    each of its words is one that the model knows: from its own arguments, from the tool, from the description of the
    object, or as grammar.
    """
    if error is None or not _is_given_closed(bound, variables):
        return False
    named = "" if type_name(type(error)) == declared_name(type(error)) else type_name(type(error))
    # a class that was made at run time can be named by a value
    said = f"{named} {error_text(error).partition(': ')[2]}".lstrip()
    if ClosedValues(bound, variables).is_in_text(said):
        return True
    known = (_known(bound.tool), json.dumps(bound.arguments), *map(str, bound.described.values()))
    return not isinstance(error, NbtoolError) and not _words(said) <= _GRAMMAR | _words(*known)


def _is_equal(one: Any, given: Any) -> bool:
    """Compare two values without running anybody's own code: plain ones, and those of the table libraries."""
    if given is None or (type(one) is bool) != (type(given) is bool):
        return False
    if is_atom(one) and is_atom(given):
        return bool(one == given or (one != one and given != given))
    package = package_of(one)
    if package in (*LIBRARIES, *VALUES):
        return type(one) is type(given) and _is_equal_by_library(one, given)
    is_container = type(one) in (*LISTS, dict) and type(one) is type(given) and len(one) > 0
    return is_container and len(one) == len(given) and _is_plain(one) and _is_plain(given) and bool(one == given)


def _is_equal_by_library(one: Any, given: Any) -> bool:
    if not hasattr(one, "shape"):
        return bool(one == given) if not hasattr(one, "__array__") else False
    if one.shape != given.shape or 0 in one.shape:
        return False
    if hasattr(one, "equals"):
        return bool(one.equals(given))
    return bool((one == given).all())


def _is_plain(value: Any) -> bool:
    """Whether a value is made of plain values alone, not too many of them."""
    for looked, one in enumerate(items(value)):
        if looked > MAX_COMPARED or not (one is None or is_atom(one) or inside(one) is not None):
            return False
    return True


def _is_word_in(word: str, text: str) -> bool:
    return re.search(rf"(?<!\w)(?<!\d\.){re.escape(word)}(?!\w)(?!\.\d)", text) is not None


def _is_given_closed(bound: Bound, variables: Variables) -> bool:
    names = {link.reference.name for links in bound.resolved.links.values() for link in links}
    return bool(bound.closed) or any(not _is_readable(name, variables) for name in names)


def _is_readable(name: str, variables: Variables) -> bool:
    try:
        return variables.get(name).is_readable
    except UnknownReference:
        return False  # it is gone meanwhile, and nobody can say what it was


def _known(tool: Tool) -> str:
    return f"{tool.name} {tool.description} {json.dumps(tool.parameters.schema)}"


def _words(*texts: str) -> frozenset[str]:
    return frozenset(word for text in texts for word in _WORD.findall(text.casefold()))
