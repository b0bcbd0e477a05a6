"""Calls written as Python: `[price(ticker="A"), sum(values=[1, 2])]`. They are parsed, never evaluated."""

from __future__ import annotations

import ast
import re
import warnings
from typing import Any

from nbtool.wire.prompted.call_json import ParsedCall

MAX_LENGTH = 256 * 1024
"""Maximum characters of one list of calls."""
MAX_DEPTH = 64
"""Maximum nesting of brackets in one list of calls."""

LIST_START = r"\[\s*[^\W\d]\w*(?:\.[^\W\d]\w*)*\s*\("
_STARTS = re.compile(LIST_START)
_TOKEN = re.compile(
    r'"""(?:[^"\\]|\\.|"(?!""))*(?:"""|\Z)|"[^"\\\n]*(?:\\.[^"\\\n]*)*(?:"|\Z)?|'
    r"'[^'\\\n]*(?:\\.[^'\\\n]*)*(?:'|\Z)?|[()\[\]{}]",
    re.DOTALL,
)
_CLOSERS = {"(": ")", "[": "]", "{": "}"}


def find_call_list(text: str, position: int = 0) -> int:
    """Return the position of the next `[name(` from `position` on, or -1."""
    match = _STARTS.search(text, position)
    return match.start() if match else -1


def end_of_call_list(text: str, start: int) -> int:
    """Return the position after the list that starts at `start`, or -1 if it does not close or is nested too deeply."""
    stack: list[str] = []
    for token in _TOKEN.finditer(text, start, start + MAX_LENGTH):
        if token[0] in _CLOSERS:
            stack.append(_CLOSERS[token[0]])
        elif token[0] in (")", "]", "}"):
            if not stack or stack.pop() != token[0]:
                return -1
            if not stack:
                return token.end()
        if len(stack) > MAX_DEPTH:
            return -1
    return -1


def parse_python_calls(text: str) -> tuple[ParsedCall, ...] | None:
    """Parse a list of calls, or a single call, with keyword arguments that are literals.

    Several calls may also be without the list's brackets, or each in quotes.
    Return None for anything else: positional arguments, identifiers, operators, comprehensions, f-strings.
    """
    source = text.strip()
    if len(source) > MAX_LENGTH or not source.endswith(("]", ")")) or not _is_shallow(source):
        return None
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # an unknown escape in a model's string is not worth a warning
            body = ast.parse(source, mode="eval").body
        nodes = body.elts if isinstance(body, ast.List | ast.Tuple) else [body]
        return tuple(_read_call(_strip_quotes(node)) for node in nodes) or None
    except (ValueError, SyntaxError, RecursionError, MemoryError):
        return None


def _is_shallow(source: str) -> bool:
    depth = 0
    for token in _TOKEN.finditer(source):
        depth += (token[0] in _CLOSERS) - (token[0] in (")", "]", "}"))
        if depth > MAX_DEPTH:
            return False
    return True


def _strip_quotes(node: ast.expr) -> ast.expr:
    if isinstance(node, ast.Constant) and isinstance(node.value, str) and _is_shallow(node.value):
        return ast.parse(node.value.strip(), mode="eval").body
    return node


def _read_call(node: ast.expr) -> ParsedCall:
    if not isinstance(node, ast.Call) or node.args:
        raise ValueError("a call with named arguments is expected")
    arguments: dict[str, Any] = {}
    for keyword in node.keywords:
        if keyword.arg is None or keyword.arg in arguments:
            raise ValueError("every argument has one name")
        arguments[keyword.arg] = _read_value(keyword.value)
    return ParsedCall(_read_name(node.func), arguments)


def _read_name(node: ast.expr) -> str:
    if isinstance(node, ast.Name):
        return node.id
    if isinstance(node, ast.Attribute):
        return f"{_read_name(node.value)}.{node.attr}"
    raise ValueError("a name is expected")


def _read_value(node: ast.expr) -> Any:
    match node:
        case ast.Constant(value=None | bool() | int() | float() | str() as value):
            return value
        case ast.UnaryOp(op=ast.USub(), operand=ast.Constant(value=int() | float() as value)) if value is not True:
            return -value
        case ast.List(elts=items) | ast.Tuple(elts=items):
            return [_read_value(item) for item in items]
        case ast.Dict(keys=keys, values=values):
            return {_read_key(key): _read_value(value) for key, value in zip(keys, values, strict=True)}
    raise ValueError("a literal is expected")


def _read_key(node: ast.expr | None) -> str:
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return node.value
    raise ValueError("a key is text")
