"""Tests pass limits as parameters: none replaces a constant of the package."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]

CONSTANT = re.compile(r"_?[A-Z][A-Z0-9_]+")

EXCEPTIONS = {
    ("tests/toolsets/test_file_tools.py", "HAS_DESCRIPTORS"): "what the platform can do: the test runs as on Windows",
}
"""Constants that a test may replace, and why they are no parameters."""


def patched_constants(source: str) -> Iterator[str]:
    """Yield the names of constants that a test replaces in a module or a class."""
    for node in ast.walk(ast.parse(source)):
        match node:
            case ast.Call(
                func=ast.Attribute(attr="setattr" | "delattr" | "object" | "patch") | ast.Name(id="setattr" | "patch")
            ):
                texts = [argument.value for argument in node.args if isinstance(argument, ast.Constant)]
                yield from filter(CONSTANT.fullmatch, (str(text).rpartition(".")[2] for text in texts[:1]))
            case ast.Assign(targets=targets):
                names = (target.attr for target in targets if isinstance(target, ast.Attribute))
                yield from filter(CONSTANT.fullmatch, names)
            case ast.AugAssign(target=ast.Attribute(attr=name)) if CONSTANT.fullmatch(name):
                yield name


def test_no_test_replaces_a_constant_of_the_package() -> None:
    found = {
        (path.relative_to(ROOT).as_posix(), name)
        for path in (ROOT / "tests").rglob("*.py")
        if path != Path(__file__)
        for name in patched_constants(path.read_text(encoding="utf-8"))
    }

    assert found - EXCEPTIONS.keys() == set(), "pass the limit as a parameter, with the constant as its default"
    assert EXCEPTIONS.keys() - found == set(), "these are replaced no more: delete them"


@pytest.mark.parametrize(
    "source",
    [
        'monkeypatch.setattr(limits, "END_SECONDS", 1)',
        'monkeypatch.setattr("nbtool.chain.limits.END_SECONDS", 1)',
        'setattr(limits, "END_SECONDS", 1)',
        'mock.patch("nbtool.chain.limits.END_SECONDS", 1)',
        'patch.object(limits, "END_SECONDS", 1)',
        "limits.END_SECONDS = 1",
        "limits.END_SECONDS += 1",
        'monkeypatch.delattr(limits, "END_SECONDS")',
    ],
)
def test_each_way_to_replace_a_constant_is_found(source: str) -> None:
    assert list(patched_constants(source)) == ["END_SECONDS"]


@pytest.mark.parametrize("source", ['monkeypatch.setattr(os, "fsync", fail)', "settings.limit = 1", "END_SECONDS = 1"])
def test_other_replacements_are_not(source: str) -> None:
    assert list(patched_constants(source)) == []
