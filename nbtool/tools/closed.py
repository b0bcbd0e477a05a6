"""What was exposed by reference alone, and what would let its values out unasked: the object itself, and errors.

A tool decides what it gives out of an object: a mean, a plot, some rows. Two things are no such decision: handing back
the very object it was given, and an error whose text quotes it. The first is described in place of being shown, the
second waits at the result gate.
"""

from __future__ import annotations

import json
import re
from typing import Any

from nbtool.errors import NbtoolError, UnknownReference
from nbtool.tools.bound import Bound
from nbtool.tools.parts import Parts
from nbtool.tools.render import error_text
from nbtool.tools.tool import Tool
from nbtool.tools.variables import Variables

MAX_LOOKED = 1_000
"""Items of a result that are looked at for an object that was exposed by reference alone."""

_WORD = re.compile(r"\w+")
_GRAMMAR = frozenset({
    "a", "an", "and", "any", "are", "argument", "arguments", "at", "attribute", "axis", "be", "by", "column", "columns",
    "does", "exist", "for", "found", "got", "has", "have", "in", "index", "invalid", "is", "it", "item", "items", "key",
    "keys", "keyword", "missing", "must", "named", "no", "not", "object", "of", "on", "or", "out", "positional",
    "range", "required", "subscriptable", "takes", "that", "the", "this", "to", "type", "unexpected", "unknown", "was",
    "were", "with",
})  # fmt: skip
"""Words of error messages that say nothing of any data."""


def holds_closed(value: Any, variables: Variables) -> bool:
    """Whether a result is, or holds in plain containers, the very object that was exposed by reference alone."""
    waiting, looked = [value], 0
    while waiting and looked < MAX_LOOKED:
        inner = waiting.pop()
        looked += 1
        if variables.is_closed(inner):
            return True
        room = MAX_LOOKED - looked
        if type(inner) in (list, tuple, set, frozenset):
            waiting.extend(one for one, _ in zip(inner, range(room), strict=False))
        elif type(inner) in (dict, Parts):
            waiting.extend(one for one, _ in zip(inner.values(), range(room), strict=False))
    return False


def may_quote(error: BaseException | None, bound: Bound, variables: Variables) -> bool:
    """Whether an error may quote an object that its call was given by reference alone.

    It may, unless it is of nbtool or in a tool's own words (`ToolFailed`), or each of its words is one that the model
    knows: from its own arguments, from the tool, from the description of the object, or as grammar.
    """
    if error is None or isinstance(error, NbtoolError) or not _is_given_closed(bound, variables):
        return False
    said = _words(error_text(error).partition(": ")[2])
    return not said <= _GRAMMAR | _words(_known(bound.tool), json.dumps(bound.arguments), *bound.described.values())


def _is_given_closed(bound: Bound, variables: Variables) -> bool:
    names = {link.reference.name for links in bound.resolved.links.values() for link in links}
    return any(not _is_readable(name, variables) for name in names)


def _is_readable(name: str, variables: Variables) -> bool:
    try:
        return variables.get(name).is_readable
    except UnknownReference:
        return False  # it is gone meanwhile, and nobody can say what it was


def _known(tool: Tool) -> str:
    return f"{tool.name} {tool.description} {json.dumps(tool.parameters.schema)}"


def _words(*texts: str) -> frozenset[str]:
    return frozenset(word for text in texts for word in _WORD.findall(text.casefold()))
