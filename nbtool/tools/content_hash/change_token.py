"""Change tokens: words that change when an object was replaced or changed in place.

The whole content is read, within bounds, without running anything of the object. Where that is not possible the token
says that changes cannot be noticed, and whoever relies on it has to ask again at the moment of running.
"""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable
from dataclasses import dataclass
from types import CodeType
from typing import Any

from nbtool.tools.content_hash.builtins import hash_value
from nbtool.tools.content_hash.hasher import NotHashable
from nbtool.tools.content_hash.live import LiveObjectHasher
from nbtool.tools.content_hash.live_hasher import Reach
from nbtool.tools.content_hash.source import code_fingerprint
from nbtool.tools.values.describe import describe, object_token

MAX_BYTES = 256 * 1024 * 1024
"""Bytes of an object that are read for its token."""

MAX_ITEMS = 2_000_000
"""Python objects in it that are looked at one by one."""

MAX_SECONDS = 1.0
"""Seconds of the processor that this may take, for a tool however often it is read."""

MAX_TOOL_BYTES = 64 * 1024 * 1024
"""Bytes that are read of what a tool works with: its object, what it closes over, the globals that it names."""

MAX_TOOL_ITEMS = 20_000
"""Python objects of it that are looked at one by one."""


MAX_TOOL_WORK = 2 * MAX_TOOL_ITEMS
"""Objects that are looked at, again and again, until nothing more is found that its code names; then all counts."""

MAX_WRAPPERS = 20
"""Functions wrapped in each other that are looked through."""

TOO_LARGE = "it is too large to compare"

READS_ALL = frozenset({
    "__dict__", "__getattribute__", "__getstate__", "__reduce__", "asdict", "astuple", "attrgetter", "cloudpickle",
    "deepcopy", "dir", "eval", "exec", "getattr", "getattr_static", "getmembers", "locals", "model_dump", "pickle",
    "vars",
})  # fmt: skip
"""Names in whose company code may read attributes that it does not name: then all of them count."""


@dataclass(frozen=True, slots=True)
class ChangeToken:
    """The token of an object; `problem` says why changes in place may go unnoticed, and is empty where none can."""

    digest: str
    problem: str = ""


def change_token(value: Any) -> ChangeToken:
    """Give the token of an object as it is now."""
    hasher = LiveObjectHasher(MAX_SECONDS, max_bytes=MAX_BYTES, max_items=MAX_ITEMS)
    problem = _hash_or_problem(value, hasher) or "; ".join(
        [*hasher.problems, *([TOO_LARGE] if hasher.is_partial else [])]
    )
    return ChangeToken(f"{object_token(value)}:{describe(value)}:{hasher.hexdigest()}", problem)


def tool_change_token(function: Callable[..., Any]) -> ChangeToken:
    """Return the token of a tool's function with all that it works with beside its arguments, as it is now.

    That is its code, defaults, closure, wrappers, the object that it is bound to, and the functions, classes and data
    of the same notebook that it names; of an object of a class of the person's own, the attributes that the code names.
    What cannot be read counts by its identity; beyond the bounds only the code counts, and the token has a problem.
    """
    deadline, reach, digest, work = time.thread_time() + MAX_SECONDS, Reach(frozenset()), "", 0
    while work <= MAX_TOOL_WORK:
        previous = (reach.names, reach.passed_names, digest)
        hasher, problem = _read_tool(function, reach, deadline)
        next_reach, digest = hasher.next_reach(), hasher.hexdigest()
        work += MAX_TOOL_ITEMS - hasher.items_left
        if problem or previous == (next_reach.names, next_reach.passed_names, digest):
            return _tool_token(function, hasher, problem)
        if hasher.found_names & READS_ALL:
            break
        reach = next_reach
    return _tool_token(function, *_read_tool(function, Reach(), deadline))


def _read_tool(function: Callable[..., Any], reach: Reach, deadline: float) -> tuple[LiveObjectHasher, str]:
    seconds = deadline - time.thread_time()
    hasher = LiveObjectHasher(seconds, max_bytes=MAX_TOOL_BYTES, max_items=MAX_TOOL_ITEMS, reach=reach)
    return hasher, _hash_or_problem(function, hasher)


def _tool_token(function: Callable[..., Any], hasher: LiveObjectHasher, problem: str) -> ChangeToken:
    if problem:
        return ChangeToken(_code_digest(function), problem)
    return ChangeToken(hasher.hexdigest(), TOO_LARGE if hasher.is_partial else "")


def _code_digest(function: Any) -> str:
    """Give the code of a function and of what it wraps, which counts however much data there is."""
    digest = hashlib.sha256()
    for _ in range(MAX_WRAPPERS):
        code = getattr(function, "__code__", None)
        digest.update(code_fingerprint(code).encode() if type(code) is CodeType else object_token(function).encode())
        attributes = getattr(function, "__dict__", {})
        function = (
            attributes.get("__wrapped__") or getattr(function, "func", None) or getattr(function, "__func__", None)
        )
        if function is None:
            break
    return digest.hexdigest()


def _hash_or_problem(value: Any, hasher: LiveObjectHasher) -> str:
    try:
        hash_value(value, hasher)
    except NotHashable as unhashable:
        return str(unhashable)
    except RecursionError:
        return "it is nested too deep to compare"
    except Exception as error:  # noqa: BLE001 - a library that fails on its own object: then nothing is known of it
        return f"it cannot be read ({type(error).__name__})"
    return ""
