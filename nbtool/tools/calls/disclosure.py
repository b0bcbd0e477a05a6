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
from nbtool.thread_pool import run_with_timeout
from nbtool.tools.calls.binding import BoundCall
from nbtool.tools.calls.contents import (
    LISTS,
    MAX_INSPECTED,
    MIN_ROW_CHARS,
    VALUES,
    children,
    is_any_in,
    is_atom,
    items,
    package_of,
    result_rows,
    rows_of,
    unwrap_scalar,
)
from nbtool.tools.tool import Tool
from nbtool.tools.values.describe import declared_name, type_name
from nbtool.tools.values.jsonable import LIBRARIES
from nbtool.tools.values.multipart import MultipartResult
from nbtool.tools.values.render import format_error
from nbtool.tools.values.silence import suppress_output
from nbtool.tools.variables.store import Variables

MAX_UNREADABLE = 200
"""References to closed values in one call that a result is compared with; the result of a call with more is closed."""

MAX_COMPARED = 100_000
"""Items of a container that is compared with another one."""

_WORD = re.compile(r"\w+")
_SAFE_WORDS = frozenset({
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


class UnreadableValues:
    """What one call was given by reference alone, to compare its outcome with."""

    def __init__(self, bound: BoundCall, variables: Variables) -> None:
        self._variables = variables
        self._objects = [unwrap_scalar(link.value) for link in bound.unreadable_links]
        self._sliced_texts = [link.text for link in bound.unreadable_links if link.text is not None]
        self._known_objects = [
            *variables.unreadable_objects(),
            *(value for value in self._objects if not is_atom(value)),
        ]
        self._ids = {id(value) for value in self._known_objects if value is not None}

    @property
    def is_empty(self) -> bool:
        """Whether the call was given nothing of the kind."""
        return not self._objects

    def is_in_result(self, result: Any) -> bool:
        """Whether a result is, equals or tells any of it, or holds such a thing; what cannot be looked through is."""
        if len(self._objects) > MAX_UNREADABLE:
            return True
        for count, item in enumerate(items(result), 1):
            if count > MAX_INSPECTED:
                return not self.is_empty
            if id(item) in self._ids or (not self.is_empty and self._matches(item)):
                return True
        return not self.is_empty and self._is_in_sequence(result)

    def is_in_text(self, text: str) -> bool:
        """Whether any of it stands in a text."""
        if any(word in text if len(word) >= MIN_ROW_CHARS else _is_word_in(word, text) for word in self._texts):
            return True
        return bool(self._rows) and is_any_in(self._rows, text)

    async def may_be_in_text(self, text: str) -> bool:
        """Whether any of it stands in a text, looked for off the loop; also where that takes too long."""
        outcome = await run_with_timeout(partial(self.is_in_text, text), COMPARE_SECONDS)
        return outcome is None or outcome.error is not None or bool(outcome.value)

    def _matches(self, item: Any) -> bool:
        item = unwrap_scalar(item)
        if isinstance(item, str):
            return self.is_in_text(item)
        if isinstance(item, Media):
            return any(type(value) is bytes and value == item.data for value in self._objects)
        if any(_is_equal(item, value) for value in self._objects):
            return True
        if is_atom(item) or type(item) in (*LISTS, dict, MultipartResult) or item is None:
            return False  # its items are looked at on their own
        return self.is_in_text(self._variables.render(item))

    def _is_in_sequence(self, result: Any) -> bool:
        """Whether the values of a closed container stand in a result one after another, whatever holds them there."""
        return bool(self._rows) and any(row in text for text in result_rows(result) for row in self._rows)

    @cached_property
    def _rows(self) -> tuple[str, ...]:
        return tuple({row for value in self._objects for row in rows_of(value)})

    @cached_property
    def _texts(self) -> tuple[str, ...]:
        """Everything by which it could be told in a text: what went into texts, and how it is written."""
        raw_texts = [*self._sliced_texts, *(text for value in self._objects for text in self._text_forms(value))]
        texts = [text.strip() for text in raw_texts if text.strip()]
        return tuple({form for text in texts for form in (text, repr(text)[1:-1], json.dumps(text)[1:-1])})

    def _text_forms(self, value: Any) -> Iterator[str]:
        if value is None:
            return  # its type has told it
        if isinstance(value, str):
            yield str.__str__(value)
        elif isinstance(value, bytes):
            yield from (repr(value), value.decode("utf-8", "ignore"))
        else:
            yield self._variables.render(value)
            for render_with in (str, repr, json.dumps):
                with (
                    suppress_output(),
                    suppress(Exception),
                ):  # an object that cannot be written cannot have been told that way
                    yield render_with(value)


def may_leak(error: BaseException | None, bound: BoundCall, variables: Variables) -> bool:
    """Whether an error may quote an object that its call was given by reference alone.

    It may where a value stands in it; else it may not, if it is of nbtool or in a tool's own words (`ToolFailed`), or
    each of its words is one that the model knows: from its own arguments, from the tool, from the description of the
    object, or as grammar.
    """
    if error is None or not _uses_unreadable(bound, variables):
        return False
    type_prefix = "" if type_name(type(error)) == declared_name(type(error)) else type_name(type(error))
    # a class that was made at run time can be named by a value
    text = f"{type_prefix} {format_error(error).partition(': ')[2]}".lstrip()
    if UnreadableValues(bound, variables).is_in_text(text):
        return True
    vocabulary = (
        _tool_vocabulary(bound.tool),
        json.dumps(bound.arguments),
        *map(str, bound.described_arguments.values()),
    )
    return not isinstance(error, NbtoolError) and not _word_set(text) <= _SAFE_WORDS | _word_set(*vocabulary)


def _is_equal(left: Any, right: Any) -> bool:
    """Compare two values without running anybody's own code: plain ones, and those of the table libraries."""
    if right is None or (type(left) is bool) != (type(right) is bool):
        return False
    if is_atom(left) and is_atom(right):
        return bool(left == right or (left != left and right != right))
    package = package_of(left)
    if package in (*LIBRARIES, *VALUES):
        return type(left) is type(right) and _is_equal_by_library(left, right)
    is_container = type(left) in (*LISTS, dict) and type(left) is type(right) and len(left) > 0
    return is_container and len(left) == len(right) and _is_plain(left) and _is_plain(right) and bool(left == right)


def _is_equal_by_library(left: Any, right: Any) -> bool:
    if not hasattr(left, "shape"):
        return bool(left == right) if not hasattr(left, "__array__") else False
    if left.shape != right.shape or 0 in left.shape:
        return False
    if hasattr(left, "equals"):
        return bool(left.equals(right))
    return bool((left == right).all())


def _is_plain(value: Any) -> bool:
    """Whether a value is made of plain values alone, not too many of them."""
    for count, item in enumerate(items(value)):
        if count > MAX_COMPARED or not (item is None or is_atom(item) or children(item) is not None):
            return False
    return True


def _is_word_in(word: str, text: str) -> bool:
    return re.search(rf"(?<!\w)(?<!\d\.){re.escape(word)}(?!\w)(?!\.\d)", text) is not None


def _uses_unreadable(bound: BoundCall, variables: Variables) -> bool:
    names = {link.reference.name for links in bound.resolved.links.values() for link in links}
    return bool(bound.unreadable_links) or any(not _is_readable(name, variables) for name in names)


def _is_readable(name: str, variables: Variables) -> bool:
    try:
        return variables.get(name).is_readable
    except UnknownReference:
        return False  # it is gone meanwhile, and nobody can say what it was


def _tool_vocabulary(tool: Tool) -> str:
    return f"{tool.name} {tool.description} {json.dumps(tool.parameters.schema)}"


def _word_set(*texts: str) -> frozenset[str]:
    return frozenset(word for text in texts for word in _WORD.findall(text.casefold()))
