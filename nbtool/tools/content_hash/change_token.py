"""Change tokens: digests that change when an object is replaced or changed in place.

The whole content is read, within bounds, without running code of the object. If that is not possible, the token has a
problem: changes may go unnoticed, and approval must be asked again right before the run.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from types import CodeType
from typing import Any

from nbtool.threads.threadless import thread_time
from nbtool.tools.content_hash.builtins import hash_value
from nbtool.tools.content_hash.classes import is_class
from nbtool.tools.content_hash.hasher import NotHashable
from nbtool.tools.content_hash.live import LiveObjectHasher
from nbtool.tools.content_hash.live_hasher import Reach
from nbtool.tools.content_hash.object_token import object_token
from nbtool.tools.content_hash.source import code_fingerprint
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
    hasher, problem = _read_whole_tool(function, max_items)
    if problem:
        return ChangeToken(_code_digest(function, hasher), problem)
    problems = [*hasher.code_problems, *([TOO_LARGE] if hasher.is_partial else [])]
    return ChangeToken(hasher.hexdigest(), "; ".join(problems))


@dataclass(frozen=True, slots=True)
class PortableDigest:
    """The digest of a function that is the same in every process with the same code.

    `items` are the digests of the data that it uses of modules, by name. `modules` are the user's own modules, besides
    the notebook, that its code is part of or uses.
    """

    digest: str
    items: Mapping[str, str]
    modules: frozenset[str]


def portable_digest(function: Callable[..., Any]) -> PortableDigest:
    """Return the digest of a function and its data, or of a class; what counts by identity here counts by its type."""
    if is_class(function):
        hasher, problem = _read_tool(function, thread_time() + MAX_SECONDS, MAX_TOOL_ITEMS, True, Reach())
    else:
        hasher, problem = _read_whole_tool(function, MAX_TOOL_ITEMS, is_portable=True)
    digest = _code_digest(function, hasher) if problem else hasher.hexdigest()
    return PortableDigest(digest, hasher.items, frozenset(hasher.own_modules))


def _read_whole_tool(
    function: Callable[..., Any], max_items: int, *, is_portable: bool = False
) -> tuple[LiveObjectHasher, str]:
    """Read a tool until its code leads to no more names; return the last hasher, and why the tool cannot be read."""
    read = partial(_read_tool, function, thread_time() + MAX_SECONDS, max_items, is_portable)
    reach, digest, work = Reach(frozenset()), "", 0
    while work <= MAX_TOOL_WORK * max_items:
        previous = (reach.names, reach.passed_names, digest)
        hasher, problem = read(reach)
        next_reach, digest = hasher.next_reach(), hasher.hexdigest()
        work += max_items - hasher.items_left
        if problem or previous == (next_reach.names, next_reach.passed_names, digest):
            return hasher, problem
        if hasher.found_names & READS_ALL:
            break
        reach = next_reach
    return read(Reach())


def _read_tool(
    function: Callable[..., Any],
    deadline: float,
    max_items: int,
    is_portable: bool,
    reach: Reach,
) -> tuple[LiveObjectHasher, str]:
    hasher = LiveObjectHasher(
        deadline - thread_time(),
        max_bytes=MAX_TOOL_BYTES,
        max_items=max_items,
        reach=reach,
        is_portable=is_portable,
    )
    return hasher, _hash_or_problem(function, hasher)


def _code_digest(function: Any, hasher: LiveObjectHasher) -> str:
    """Return the digest of the code of a function and of the functions it wraps, which always counts."""
    digest = hashlib.sha256()
    for _ in range(MAX_WRAPPERS):
        code = getattr(function, "__code__", None)
        digest.update(code_fingerprint(code).encode() if type(code) is CodeType else hasher.identify(function).encode())
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
