"""Values exposed by reference only, and what could disclose them without approval: results and errors.

A tool decides what it returns about an object: a mean, a plot, some rows. Two outcomes are not such a decision: a
result that returns the input, and an error that quotes it. The input is the object, or the part selected by a path or a
slice. A result returns it if it is that object, equals it, or is a text that contains it. Such a result is described
instead of shown, and remains unreadable wherever it is passed; such an error is held at the result gate.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from contextlib import suppress
from decimal import Decimal
from functools import cached_property, partial
from typing import Any

from nbtool.errors import NbtoolError, UnknownReference
from nbtool.messages import Media
from nbtool.threads.thread_pool import run_with_timeout
from nbtool.tools.calls.bound_call import BoundCall
from nbtool.tools.calls.normalized_contents import (
    LISTS,
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
from nbtool.tools.calls.normalized_tables import MAX_INSPECTED
from nbtool.tools.tool import Tool
from nbtool.tools.values.model_text import format_error
from nbtool.tools.values.named_parts import MultipartResult
from nbtool.tools.values.output_suppression import suppress_output
from nbtool.tools.values.type_and_shape import LIBRARIES
from nbtool.tools.values.type_names import declared_name, type_name
from nbtool.tools.variables.store import Variables

MAX_UNREADABLE = 200
"""Maximum number of references to unreadable values that a result is compared with; with more it is unreadable."""

MAX_COMPARED = 100_000
"""Maximum number of items of a container compared with another one."""

_WORD = re.compile(r"\w+")
_SAFE_WORDS = frozenset({
    "a", "an", "and", "any", "are", "argument", "arguments", "at", "attribute", "axis", "be", "by", "column", "columns",
    "does", "exist", "for", "found", "got", "has", "have", "in", "index", "invalid", "is", "it", "item", "items", "key",
    "keys", "keyword", "missing", "must", "named", "no", "not", "object", "of", "on", "or", "out", "positional",
    "range", "required", "subscriptable", "takes", "that", "the", "this", "to", "type", "unexpected", "unknown", "was",
    "were", "with",
})  # fmt: skip
"""Words of error messages that contain no data."""


JSON_WRITERS = (json.dumps, partial(json.dumps, default=str), partial(json.dumps, default=repr))
"""The ways in which a tool writes an object as JSON, also one that has parts that JSON does not have."""

CLOSED_PROGRESS = "[This output contains values that were exposed by reference only: it is neither shown nor stored]\n"
"""Replaces a tool's progress text."""

COMPARE_SECONDS = 5.0
"""Seconds for comparing a progress text with the values; a text that takes longer is not shown."""


class UnreadableValues:
    """The values that one call received by reference only, to compare its outcome with."""

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
        """Whether the call received no such value."""
        return not self._objects

    def is_in_result(self, result: Any) -> bool:
        """Whether a result is, equals or contains any of them; also if it cannot be inspected."""
        if not self._ids and self.is_empty:
            return False
        if len(self._objects) > MAX_UNREADABLE:
            return True
        for count, item in enumerate(items(result), 1):
            if count > MAX_INSPECTED:
                return not self.is_empty
            if id(item) in self._ids or (not self.is_empty and self._matches(item)):
                return True
        return not self.is_empty and self._is_in_sequence(result)

    def is_in_text(self, text: str) -> bool:
        """Whether a text contains any of them."""
        if any(word in text if len(word) >= MIN_ROW_CHARS else _is_word_in(word, text) for word in self._texts):
            return True
        return bool(self._rows) and is_any_in(self._rows, text)

    async def may_be_in_text(self, text: str) -> bool:
        """Whether a text contains any of them, checked off the event loop; also if that takes too long."""
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
        if isinstance(item, bytes):
            return self.is_in_text(item.decode("utf-8", "ignore"))  # bytes of a text are shown as this text
        if is_atom(item) or type(item) in (*LISTS, dict, MultipartResult) or item is None:
            return False  # its items are compared separately
        return self.is_in_text(self._variables.render(item))

    def _is_in_sequence(self, result: Any) -> bool:
        """Whether a result contains the values of an unreadable container in sequence, in any container."""
        return bool(self._rows) and any(row in text for text in result_rows(result) for row in self._rows)

    @cached_property
    def _rows(self) -> tuple[str, ...]:
        return tuple({row for value in self._objects for row in rows_of(value)})

    @cached_property
    def _texts(self) -> tuple[str, ...]:
        """All texts by which the values could be recognized: those inserted into texts, and their representations."""
        raw_texts = [*self._sliced_texts, *(text for value in self._objects for text in self._text_forms(value))]
        texts = [text.strip() for text in raw_texts if text.strip()]
        return tuple({form for text in texts for form in (text, repr(text)[1:-1], json.dumps(text)[1:-1])})

    def _text_forms(self, value: Any) -> Iterator[str]:
        if value is None:
            return  # its type already discloses it
        if isinstance(value, str):
            yield str.__str__(value)
        elif isinstance(value, bytes):
            yield from (repr(value), value.decode("utf-8", "ignore"))
        else:
            if isinstance(value, int | float | Decimal):
                yield from (f"{value:,}", f"{value:_}")
            yield self._variables.render(value)
            for render_with in (str, repr, *JSON_WRITERS):
                with (
                    suppress_output(),
                    suppress(Exception),
                ):  # an object without a representation cannot have been written that way
                    yield render_with(value)


def may_leak(error: BaseException | None, bound: BoundCall, variables: Variables) -> bool:
    """Whether an error may quote an object that its call received by reference only.

    It may if it contains a value of it. Otherwise it may not if it is one of nbtool's errors or a tool's own message
    (`ToolFailed`), or if the model knows each of its words: from its own arguments, the tool's definition, the
    description of the object, or as grammar.
    """
    if error is None or not _uses_unreadable(bound, variables):
        return False
    type_prefix = "" if type_name(type(error)) == declared_name(type(error)) else type_name(type(error))
    # the name of a class created at run time may be a value
    text = f"{type_prefix} {format_error(error).partition(': ')[2]}".lstrip()
    if UnreadableValues(bound, variables).is_in_text(text):
        return True
    vocabulary = (
        _tool_vocabulary(bound.tool),
        json.dumps(bound.arguments),
        *map(str, bound.resolved_arguments.values()),
    )
    return not isinstance(error, NbtoolError) and not _word_set(text) <= _SAFE_WORDS | _word_set(*vocabulary)


def _is_equal(left: Any, right: Any) -> bool:
    """Compare two values without running user code: scalars, and values of the table libraries."""
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
    """Whether a value consists of scalars only, and not too many."""
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
        return False  # it was removed meanwhile, and its readability is unknown


def _tool_vocabulary(tool: Tool) -> str:
    return f"{tool.name} {tool.description} {json.dumps(tool.parameters.schema)}"


def _word_set(*texts: str) -> frozenset[str]:
    return frozenset(word for text in texts for word in _WORD.findall(text.casefold()))
