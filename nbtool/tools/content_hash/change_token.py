"""Change tokens: digests that change when an object is replaced or changed in place.

The whole content is read, within bounds, without running code of the object. If that is not possible, the token has a
problem: changes may go unnoticed, and approval must be asked again right before the run.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import dataclass
from types import CodeType
from typing import Any

from nbtool.threadless import thread_time
from nbtool.tools.content_hash.builtins import hash_value
from nbtool.tools.content_hash.hasher import NotHashable
from nbtool.tools.content_hash.live import LiveObjectHasher
from nbtool.tools.content_hash.live_hasher import Reach
from nbtool.tools.content_hash.source import code_fingerprint
from nbtool.tools.values.object_token import object_token
from nbtool.tools.values.type_and_shape import describe

MAX_BYTES = 256 * 1024 * 1024
"""Maximum number of bytes read of an object."""

MAX_ITEMS = 2_000_000
"""Maximum number of Python objects inspected in it."""

MAX_SECONDS = 1.0
"""Maximum processor seconds, in total over all passes for a tool."""

MAX_TOOL_BYTES = 64 * 1024 * 1024
"""Maximum number of bytes read of a tool's data: its object, its closure, the globals that it names."""

MAX_TOOL_ITEMS = 20_000
"""Maximum number of Python objects inspected in it."""

MAX_TOOL_WORK = 2
"""Maximum number of objects inspected over all passes until no new names are found, as a multiple of the number that
one pass may inspect; then all attributes count."""

MAX_WRAPPERS = 20
"""Maximum number of nested function wrappers that are followed."""

TOO_LARGE = "it is too large to compare"

READS_ALL = frozenset({
    "__dict__", "__getattribute__", "__getstate__", "__reduce__", "asdict", "astuple", "attrgetter", "cloudpickle",
    "deepcopy", "dir", "eval", "exec", "getattr", "getattr_static", "getmembers", "locals", "pickle",
    "vars",
})  # fmt: skip
"""Names with which code may read attributes that it does not name: then all attributes count."""


@dataclass(frozen=True, slots=True)
class ChangeToken:
    """The token of an object; `problem` says why changes in place may go unnoticed, and is empty if they cannot."""

    digest: str
    problem: str = ""


def change_token(
    value: Any, *, seconds: float = MAX_SECONDS, max_bytes: int = MAX_BYTES, max_items: int = MAX_ITEMS
) -> ChangeToken:
    """Return the token of an object as it is now."""
    hasher = LiveObjectHasher(seconds, max_bytes=max_bytes, max_items=max_items)
    problem = _hash_or_problem(value, hasher) or "; ".join(
        [*hasher.problems, *([TOO_LARGE] if hasher.is_partial else [])]
    )
    return ChangeToken(f"{object_token(value)}:{describe(value)}:{hasher.hexdigest()}", problem)


def tool_change_token(function: Callable[..., Any], *, max_items: int = MAX_TOOL_ITEMS) -> ChangeToken:
    """Return the token of a tool's function with all data that it uses besides its arguments, as it is now.

    It covers its code, defaults, closure, wrappers, the object that it is bound to, and the functions, classes and data
    of the same notebook that it names; of an instance of a user's class, the attributes that the code names. Objects
    that cannot be read count by identity; beyond the bounds only the code counts, and the token has a problem.
    """
    deadline, reach, digest, work = thread_time() + MAX_SECONDS, Reach(frozenset()), "", 0
    while work <= MAX_TOOL_WORK * max_items:
        previous = (reach.names, reach.passed_names, digest)
        hasher, problem = _read_tool(function, reach, deadline, max_items)
        next_reach, digest = hasher.next_reach(), hasher.hexdigest()
        work += max_items - hasher.items_left
        if problem or previous == (next_reach.names, next_reach.passed_names, digest):
            return _tool_token(function, hasher, problem)
        if hasher.found_names & READS_ALL:
            break
        reach = next_reach
    return _tool_token(function, *_read_tool(function, Reach(), deadline, max_items))


def _read_tool(
    function: Callable[..., Any], reach: Reach, deadline: float, max_items: int
) -> tuple[LiveObjectHasher, str]:
    seconds = deadline - thread_time()
    hasher = LiveObjectHasher(seconds, max_bytes=MAX_TOOL_BYTES, max_items=max_items, reach=reach)
    return hasher, _hash_or_problem(function, hasher)


def _tool_token(function: Callable[..., Any], hasher: LiveObjectHasher, problem: str) -> ChangeToken:
    if problem:
        return ChangeToken(_code_digest(function), problem)
    return ChangeToken(
        hasher.hexdigest(), "; ".join([*hasher.code_problems, *([TOO_LARGE] if hasher.is_partial else [])])
    )


def _code_digest(function: Any) -> str:
    """Return the digest of the code of a function and of the functions it wraps, which always counts."""
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
    except Exception as error:  # noqa: BLE001 - Python may not write a number, another thread may change a set
        return f"it cannot be read ({type(error).__name__})"
    return ""
