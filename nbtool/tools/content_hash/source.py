"""The source of code, if it is verified to be what was compiled.

A file can be edited after its code was loaded, and Python then returns new lines for old code. So the source is
compiled again, and used only if the result is the same code. Code without a verified source is identified by its
compiled form, which differs between versions of Python.
"""

from __future__ import annotations
import __future__ as futures

import ast
import functools
import inspect
import sys
import textwrap
import warnings
from collections.abc import Iterator
from types import CodeType, GetSetDescriptorType, MemberDescriptorType
from typing import Any

from nbtool.tools.content_hash.object_token import object_token

MAX_SOURCE = 4 * 1024 * 1024
"""Maximum number of bytes read of a file."""

_FUTURES = functools.reduce(
    lambda flags, name: flags | getattr(futures, name).compiler_flag, futures.all_feature_names, 0
)


def source_of(code: CodeType) -> str:
    """Return the source of a function or its compiled form; of a lambda, which shares its line, both."""
    source = verified_source(code)
    return source if source and code.co_name != "<lambda>" else source + code_fingerprint(code)


def verified_source(code: CodeType) -> str:
    """Return the source of code; empty if there is none, or it differs from what was compiled."""
    try:
        lines, start = inspect.findsource(code)
        text = "".join(lines)
        if len(text) > MAX_SOURCE or code not in _compile_all(text, code.co_filename, code.co_flags & _FUTURES):
            return ""
        return textwrap.dedent("".join(inspect.getblock(lines[start:])))
    except (OSError, TypeError, SyntaxError, IndexError):
        return ""


@functools.lru_cache(maxsize=64)
def _compile_all(text: str, file: str, flags: int) -> frozenset[CodeType]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # they were shown at the first compilation
        try:
            module_code = compile(text, file, "exec", flags=flags | ast.PyCF_ALLOW_TOP_LEVEL_AWAIT, dont_inherit=True)
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            return frozenset()
    return frozenset(_nested_code(module_code))


def _nested_code(code: CodeType) -> Iterator[CodeType]:
    for part in code.co_consts:
        if type(part) is CodeType:
            yield part
            yield from _nested_code(part)


def code_fingerprint(code: CodeType) -> str:
    """Return the text of a function's compiled form: equal for equal code on one version of Python."""
    return f"{sys.version_info[:2]} {[_field_text(getattr(code, name)) for name in CODE_FIELDS]}"


def _field_text(value: Any) -> str:
    """Return the text of a field of a code object, or of a constant in it, with its type."""
    kind = type(value)
    if kind is CodeType:
        return code_fingerprint(value)
    if kind is int or kind is bool:
        return f"{kind.__name__} {value:x}"  # Python does not write every integer as a decimal
    if kind is tuple or kind is frozenset:
        parts = [_field_text(part) for part in value]
        return f"{kind.__name__} {parts if kind is tuple else sorted(parts)}"
    if kind is slice:  # a constant since Python 3.14
        return f"slice {[_field_text(part) for part in (value.start, value.stop, value.step)]}"
    is_plain = kind in (bytes, complex, float, str, type(None), type(...))
    return f"{kind.__name__} {value!r}" if is_plain else object_token(value)


_POSITIONS = {"co_filename", "co_firstlineno", "co_linetable", "co_lnotab"}
"""Fields of a code object that say where it was written, and not what it does."""

CODE_FIELDS = tuple(
    name
    for name, member in sorted(vars(CodeType).items())
    if name.startswith("co_")
    and name not in _POSITIONS
    and isinstance(member, MemberDescriptorType | GetSetDescriptorType)
)
"""All other fields, including those that a later version of Python adds."""
