"""What is read by a person or a model is compared in one place, tests/words: an assert of behaviour holds no sentence.

A sentence in an assert breaks with its wording, although what the test is about still holds. The number of such
asserts only goes down: where one is removed, lower `MOST`.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

TESTS = Path(__file__).parents[1]

MOST = 611
"""Asserts with a sentence outside of `PLACES`."""

PLACES = ("words", "contract", "reports")
"""Folders in which words are compared: the texts of a topic, what is promised, and situations of public reports."""

SENTENCE = re.compile(r"(?<![\w%`./-])[A-Za-z][a-z']*(?:[,:;]? [A-Za-z][a-z']*){2,}(?![\w`/])")
"""Three words in a row; not a command, a name or a path."""

COMPARING = {"startswith", "endswith", "count", "index", "find", "match", "search", "fullmatch", "findall", "partition"}
"""Methods and functions whose argument is compared, and not an input of the test."""


def sentences_in_asserts(source: str) -> Iterator[int]:
    """Yield the line of each assert that compares with a sentence."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Assert) and any(map(SENTENCE.search, compared_texts(node.test))):
            yield node.lineno


def compared_texts(node: ast.AST) -> Iterator[str]:
    """Yield the texts of an expression, without code in backquotes and without arguments of what the test calls."""
    if isinstance(node, ast.Constant):
        if isinstance(node.value, str):
            yield re.sub(r"`[^`]*`", "", node.value)
        return
    skipped = node.args + node.keywords if isinstance(node, ast.Call) and not is_comparing(node.func) else []
    for child in ast.iter_child_nodes(node):
        if child not in skipped:
            yield from compared_texts(child)


def is_comparing(function: ast.expr) -> bool:
    return (function.attr if isinstance(function, ast.Attribute) else getattr(function, "id", "")) in COMPARING


def test_no_assert_of_behaviour_is_added_that_holds_a_sentence() -> None:
    found = [
        f"{path.relative_to(TESTS)}:{line}"
        for path in sorted(TESTS.rglob("*.py"))
        if path.relative_to(TESTS).parts[0] not in PLACES
        for line in sentences_in_asserts(path.read_text(encoding="utf-8"))
    ]

    assert len(found) <= MOST, "compare the words in tests/words, and here what happened: the type, the state, the name"
    assert len(found) == MOST, f"set MOST to {len(found)}: it only goes down"


@pytest.mark.parametrize(
    "line",
    [
        'assert "nothing was sent" in text',
        'assert text.startswith("Nothing was sent")',
        'assert f"{name} was not sent today" == text',
        'assert re.match("Nothing was sent", text)',
        'assert "`%chat open` goes on with it" in text',
    ],
)
def test_a_sentence_is_found(line: str) -> None:
    assert list(sentences_in_asserts(line)) == [1]


@pytest.mark.parametrize(
    "line",
    [
        'assert "--budget" in text',
        'assert "%chat history list" in text',
        'assert "`%chat history list --all`" in text',
        'assert run("What is the time now?") == 3',
        'assert (turn.status, "2 turns") == result',
        'text = "nothing was sent"',
    ],
)
def test_what_is_no_sentence_is_not(line: str) -> None:
    assert list(sentences_in_asserts(line)) == []
