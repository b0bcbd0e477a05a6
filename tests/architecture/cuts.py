"""Reads where the package takes the beginning, or the end, of something that may be longer."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

_IDENTIFIERS = ("hexdigest", ".hex", "digest", "sha256", "content_hash", "view[")
"""What is cut there names something, and is no text of anybody's."""

_BOUNDS = frozenset(
    {
        "limit",
        "budget",
        "size",
        "count",
        "cap",
        "room",
        "available",
        "remaining",
        "kept",
    }
)


def read_cuts(package: Path) -> Iterator[tuple[str, str, str]]:
    """Give each cut: its place as `module:function`, the expression, and the source of the module."""
    for path in sorted(package.rglob("*.py")):
        source = path.read_text(encoding="utf-8")
        module = ".".join(path.relative_to(package).with_suffix("").parts).removesuffix(".__init__")
        for place, written in _cuts_in(ast.parse(source), ()):
            if not any(word in written for word in _IDENTIFIERS):
                yield f"{module}:{place}", written, source


def _cuts_in(node: ast.AST, inside: tuple[str, ...]) -> Iterator[tuple[str, str]]:
    for child in ast.iter_child_nodes(node):
        within = inside
        if isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            within = (*inside, child.name)
        if _is_cut(child):
            yield ".".join(inside), ast.unparse(child)
        yield from _cuts_in(child, within)


def _is_cut(node: ast.AST) -> bool:
    if isinstance(node, ast.Call):
        return getattr(node.func, "id", getattr(node.func, "attr", "")) == "islice"
    if not (isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Slice)):
        return False
    lower, upper = node.slice.lower, node.slice.upper
    return _is_bound(upper) if upper else isinstance(lower, ast.UnaryOp) and _is_bound(lower.operand)


def _is_bound(node: ast.expr) -> bool:
    match node:
        case ast.Constant(value=int(number)):
            return number > 16  # less is a look at how something begins
        case ast.Name(id=name):
            return name.lstrip("_").isupper() or name.startswith("max_") or name in _BOUNDS
        case ast.Attribute(attr=name):
            return name.isupper()
        case ast.BinOp(left=left, right=right):
            return _is_bound(left) or _is_bound(right)
    return False
