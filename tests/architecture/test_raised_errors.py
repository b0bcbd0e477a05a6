"""A raised error is never modified: the same object may be kept by a turn, a future and a traceback."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parents[2] / "nbtool"


def test_no_handler_modifies_the_error_that_it_caught() -> None:
    files = sorted(PACKAGE.rglob("*.py"))

    found = [f"{file.relative_to(PACKAGE)}:{line}" for file in files for line in modifications(file.read_text("utf-8"))]

    assert found == []


@pytest.mark.parametrize(
    "change", ["e.fix = 'x'", "e.args += (1,)", "e.add_note('x')", "setattr(e, 'fix', 1)", "e.details['x'] = 1"]
)
def test_a_modified_error_is_found(change: str) -> None:
    source = f"try:\n    work()\nexcept ValueError as e:\n    if e:\n        {change}\n    raise"

    assert list(modifications(source)) == [5]


@pytest.mark.parametrize("use", ["self.error = e", "copy = e.changed(fix='x')", "raise Other(str(e)) from e"])
def test_an_error_that_is_only_read_is_let_through(use: str) -> None:
    assert list(modifications(f"try:\n    work()\nexcept ValueError as e:\n    {use}")) == []


def modifications(source: str) -> Iterator[int]:
    for handler in ast.walk(ast.parse(source)):
        if isinstance(handler, ast.ExceptHandler) and handler.name:
            nodes = (node for node in ast.walk(handler) if isinstance(node, ast.stmt | ast.expr))
            yield from (node.lineno for node in nodes if is_modification(node, handler.name))


def is_modification(node: ast.AST, error: str) -> bool:
    match node:
        case ast.Assign(targets=targets):
            return any(is_part(target, error) for target in targets)
        case ast.AugAssign(target=target) | ast.AnnAssign(target=target):
            return is_part(target, error)
        case ast.Call(func=ast.Attribute(value=ast.Name(id=name), attr="add_note" | "with_traceback")):
            return name == error
        case ast.Call(func=ast.Name(id="setattr"), args=[ast.Name(id=name), *_]):
            return name == error
    return False


def is_part(target: ast.expr, error: str) -> bool:
    while isinstance(target, ast.Attribute | ast.Subscript):
        target = target.value
        if isinstance(target, ast.Name):
            return target.id == error
    return False
