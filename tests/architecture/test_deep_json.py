"""JSON that is nested too deeply is invalid JSON: what survives the one survives the other.

Python's parser raises RecursionError for brackets in brackets; a handler of ValueError alone lets it through, out of a
reader of what a stranger wrote.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parents[2] / "nbtool"
CATCHES_BOTH = {"RecursionError", "RuntimeError", "Exception", "BaseException"}


def test_every_handler_of_invalid_json_handles_json_that_is_too_deep() -> None:
    files = sorted(PACKAGE.rglob("*.py"))

    found = [f"{file.relative_to(PACKAGE)}:{line}" for file in files for line in forgetful(file.read_text("utf-8"))]

    assert found == []


@pytest.mark.parametrize(
    "read", ["json.loads(text)", "_DECODER.raw_decode(text, 0)", "json.JSONDecoder().decode(text)"]
)
@pytest.mark.parametrize("caught", ["ValueError", "(KeyError, ValueError)", "json.JSONDecodeError"])
def test_a_handler_that_forgets_deep_json_is_found(read: str, caught: str) -> None:
    assert list(forgetful(f"try:\n    x = {read}\nexcept {caught}:\n    x = None")) == [2]


@pytest.mark.parametrize("caught", ["(ValueError, RecursionError)", "Exception", "KeyError"])
def test_a_handler_of_both_or_of_neither_is_let_through(caught: str) -> None:
    assert list(forgetful(f"try:\n    x = json.loads(text)\nexcept {caught}:\n    x = None")) == []


def forgetful(source: str) -> Iterator[int]:
    """Yield the lines that parse JSON where invalid JSON is handled, and what is too deep is not."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Try):
            caught = {name for handler in node.handlers if handler.type for name in names(handler.type)}
            if caught & {"ValueError", "JSONDecodeError"} and not caught & CATCHES_BOTH:
                parts = (part for statement in node.body for part in ast.walk(statement))
                yield from (part.lineno for part in parts if isinstance(part, ast.Call) and reads_json(part))


def names(types: ast.expr) -> set[str]:
    found = {node.id for node in ast.walk(types) if isinstance(node, ast.Name)}
    return found | {node.attr for node in ast.walk(types) if isinstance(node, ast.Attribute)}


def reads_json(node: ast.Call) -> bool:
    match node:
        case ast.Call(func=ast.Attribute(value=ast.Name(id="json"), attr="loads")):
            return True
        case ast.Call(func=ast.Attribute(value=reader, attr="raw_decode" | "decode")):
            return "decoder" in ast.unparse(reader).lower()
    return False
