"""Change tokens: words that change when an object was replaced or changed in place.

The whole content is read, within bounds, without running anything of the object. Where that is not possible the token
says that changes cannot be noticed, and whoever relies on it has to ask again at the moment of running.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import dataclass
from types import CodeType
from typing import Any

from nbtool.tools.content_hash.builtins import write
from nbtool.tools.content_hash.hasher import Unknown
from nbtool.tools.content_hash.live import LiveInk
from nbtool.tools.content_hash.live_hasher import Reach
from nbtool.tools.content_hash.source import compiled
from nbtool.tools.values.describe import describe, identity

MAX_BYTES = 256 * 1024 * 1024
"""Bytes of an object that are read for its token."""

MAX_ITEMS = 2_000_000
"""Python objects in it that are looked at one by one."""

MAX_SECONDS = 1.0
"""Seconds of the processor that this may take."""

MAX_TOOL_BYTES = 64 * 1024 * 1024
"""Bytes that are read of what a tool works with: its object, what it closes over, the globals that it names."""

MAX_TOOL_ITEMS = 20_000
"""Python objects of it that are looked at one by one."""


MAX_PASSES = 10
"""Times that a tool is read until nothing more is found that its code names; then all of it counts."""

MAX_WRAPPERS = 20
"""Functions wrapped in each other that are looked through."""

READS_ALL = frozenset({
    "__dict__", "__getattribute__", "__getstate__", "__reduce__", "asdict", "astuple", "attrgetter", "cloudpickle",
    "deepcopy", "dir", "eval", "exec", "getattr", "getattr_static", "getmembers", "locals", "model_dump", "pickle",
    "vars",
})  # fmt: skip
"""Names in whose company code may read attributes that it does not name: then all of them count."""


@dataclass(frozen=True, slots=True)
class ChangeToken:
    """The token of an object; `problem` says why changes in place may go unnoticed, and is empty where none can."""

    word: str
    problem: str = ""


def token_of(value: Any) -> ChangeToken:
    """Give the token of an object as it is now."""
    ink = LiveInk(MAX_SECONDS, max_bytes=MAX_BYTES, max_items=MAX_ITEMS)
    problem = _written(value, ink) or "; ".join(ink.problems)
    return ChangeToken(f"{identity(value)}:{describe(value)}:{ink.word()}", problem)


def token_of_tool(function: Callable[..., Any]) -> str:
    """Give a word for the function of a tool with all that it works with beside its arguments, as it is now.

    That is its code, defaults, closure, wrappers, the object that it is bound to, and the functions, classes and data
    of the same notebook that it names; of an object of a class of the person's own, the attributes that the code names.
    What cannot be read counts by its identity; beyond the bounds none of it counts.
    """
    reach, word = Reach(frozenset()), ""
    for _ in range(MAX_PASSES):
        before = (reach.names, reach.passed, word)
        ink, problem = _read_tool(function, reach)
        found, word = ink.reached(), ink.word()
        if problem:
            return f"{problem} {_codes(function)}"
        if before == (found.names, found.passed, word):
            return word
        reach = Reach() if ink.found & READS_ALL else found
    ink, problem = _read_tool(function, Reach())
    return f"{problem} {_codes(function)}" if problem else ink.word()


def _read_tool(function: Callable[..., Any], reach: Reach) -> tuple[LiveInk, str]:
    ink = LiveInk(MAX_SECONDS, max_bytes=MAX_TOOL_BYTES, max_items=MAX_TOOL_ITEMS, reach=reach)
    return ink, _written(function, ink)


def _codes(function: Any) -> str:
    """Give the code of a function and of what it wraps, which counts however much data there is."""
    codes = hashlib.sha256()
    for _ in range(MAX_WRAPPERS):
        code = getattr(function, "__code__", None)
        codes.update(compiled(code).encode() if type(code) is CodeType else identity(function).encode())
        own = getattr(function, "__dict__", {})
        function = own.get("__wrapped__") or getattr(function, "func", None) or getattr(function, "__func__", None)
        if function is None:
            break
    return codes.hexdigest()


def _written(value: Any, ink: LiveInk) -> str:
    try:
        write(value, ink)
    except Unknown as unknown:
        return str(unknown)
    except RecursionError:
        return "it is nested too deep to compare"
    except Exception as error:  # noqa: BLE001 - a library that fails on its own object: then nothing is known of it
        return f"it cannot be read ({type(error).__name__})"
    return ""
