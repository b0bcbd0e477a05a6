"""Prepare code that a model wrote for an export: complete, visible, and not executed."""

from __future__ import annotations

import ast
import warnings
from collections.abc import Iterator

from nbtool.blocks.sanitize import escape_invisible
from nbtool.chat.export.literals import NotLiteral

BY_MODEL = "# Written by the model and run with your approval: review it before you run it again."
MAX_CODE = 16 * 1024
"""Maximum characters of a piece of code that is exported as code, for Python may take 2 ms for a thousand of them; more
is exported as a comment."""

UNSEEN = "# Code of a model, from an imported file: it was not run or approved here."


def names_in(code: str) -> Iterator[str]:
    """Yield the names that code uses or binds; none if it cannot be parsed, or is exported as a comment."""
    tree = _parsed(code) if len(code) <= MAX_CODE else None
    for node in ast.walk(tree) if tree else ():
        for name in ("id", "name", "asname", "arg"):
            if isinstance(value := getattr(node, name, None), str):
                yield value.partition(".")[0]


def as_source(code: str, bind: str = "") -> str:
    """Return code for an export; with `bind`, the value of its last expression is assigned to this name.

    Raises:
        NotLiteral: it is too long, not plain Python, or has no value to assign.
    """
    if len(code) > MAX_CODE:
        raise NotLiteral(f"code of at most {MAX_CODE:,} characters: this has {len(code):,}")
    tree = _parsed(code)
    if tree is None:
        raise NotLiteral("plain Python: the code is for IPython, or broken")
    last = tree.body[-1] if tree.body else None
    if bind and not isinstance(last, ast.Expr):
        raise NotLiteral("a value: the last statement of the code has none")
    source = code if escape_invisible(code) == code else ast.unparse(tree)
    if bind and isinstance(last, ast.Expr):
        if source == code and not last.col_offset:
            lines = code.splitlines(keepends=True)
            return "".join([*lines[: last.lineno - 1], f"{bind} = ", *lines[last.lineno - 1 :]]).rstrip()
        tree.body[-1] = ast.copy_location(ast.Assign([ast.Name(bind, ast.Store())], last.value), last)
        source = ast.unparse(ast.fix_missing_locations(tree))
    return source.rstrip()


def as_comment(code: str) -> str:
    """Return code as comments."""
    return "\n".join(f"#   {escape_invisible(line)}" for line in code.splitlines())


def compiles(source: str, *, script: bool = False) -> bool:
    """Whether source code compiles; it is not run."""
    flags = 0 if script else ast.PyCF_ALLOW_TOP_LEVEL_AWAIT
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            compile(source, "<code>", "exec", flags=flags, dont_inherit=True)
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            return False
    return True


def _parsed(code: str) -> ast.Module | None:
    if not compiles(code):
        return None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        tree = ast.parse(code)
    is_future = any(isinstance(node, ast.ImportFrom) and node.module == "__future__" for node in tree.body)
    return None if is_future else tree  # a __future__ import is valid only at the beginning of a file
