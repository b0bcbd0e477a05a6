"""The type that `--as` names: an annotation of names, `[…]`, `.` and `|`; nothing is called."""

from __future__ import annotations

import ast
import builtins
from collections.abc import Callable
from typing import Any

from nbtool.errors import BadUsage

FIX = "Write a type without quotes: `--as int`, `--as list[str]`, or a class of the notebook."


def parse_type(text: str, find: Callable[[str], Any]) -> Any:
    """Return the type of an annotation; `find` returns the object of a name that is none of Python's own.

    Raises:
        BadUsage: it is not a type, or one of its names does not exist.
    """
    try:
        return _type_in(ast.parse(text, mode="eval").body, find)
    except (SyntaxError, AttributeError, TypeError) as error:
        raise BadUsage(f"--as {text!r} is not a type ({error}).", fix=FIX) from None


def _type_in(node: ast.expr, find: Callable[[str], Any]) -> Any:
    match node:
        case ast.Name(id=name):
            return vars(builtins)[name] if name in vars(builtins) else find(name)
        case ast.Constant(value=value):
            return value
        case ast.Tuple(elts=elements):
            return tuple(_type_in(element, find) for element in elements)
        case ast.Attribute(value=owner, attr=name):
            return getattr(_type_in(owner, find), name)
        case ast.Subscript(value=of, slice=inside):
            return _type_in(of, find)[_type_in(inside, find)]
        case ast.BinOp(left=left, op=ast.BitOr(), right=right):
            return _type_in(left, find) | _type_in(right, find)
    raise BadUsage(f"--as takes a type, not {ast.unparse(node)!r}.", fix=FIX)
