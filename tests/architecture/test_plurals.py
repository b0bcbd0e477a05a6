"""Numbers with their nouns in texts for people and models: one function writes them, so that none says "1 turns"."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from nbtool.text import count_are, count_of

ROOT = Path(__file__).parents[2] / "nbtool"

NUMBERS = frozenset({"len", "format_number", "sum", "size_of"})
"""Functions that return, or write, a number."""

NUMBER_NAME = re.compile(
    r"(^|_|\.)(count|number|size|total|left_out|more|omitted|turns|tokens|rounds|calls|rows|lines|bytes|deleted|free)$"
)
"""Names of numbers that may be 1."""

BOUND = re.compile(r"(^|\.)_?[A-Z][A-Z_0-9]*$|(^|[._])max_|(^|\.)limit$|parse_limit")
"""Names of bounds, which are larger."""

NOUN = re.compile(r" (?:(?!and |with |of |in |not )[a-z]+ )?[a-z]+s\b")
"""A plural after a number, perhaps with an adjective."""

NO_NOUNS = re.compile(r" (?:[a-z]+ )?(is|was|has|its|as|this|progress|of)\b")
"""Words that end in `s` and are no plurals."""

EXCEPTIONS = {
    "chat/turn/version_diff.py": "0 and 1 are written in words",
    "chat/export/figures.py": "1 is written in words",
    "plugins/media_variables.py": "more than a bound",
    "magics/views/map_facts.py": "a rate, with a decimal",
    "tools/mcp/catalog/entries.py": "a part of a number, which reads right with 1 too",
    "tools/mcp/server.py": "more than a bound",
    "tools/mcp/stdio/stdio_messages.py": "more than a bound",
    "tools/content_hash/samples.py": "hashed, not shown",
    "tools/values/type_and_shape.py": "a product of two numbers, or axes",
}
"""Modules with such a text, and why it is right there."""


def numbers_with_nouns(source: str) -> Iterator[str]:
    """Give each text of a module in which a number that may be 1 is followed by a plural, or by a choice of `s`."""
    texts = [node for node in ast.walk(ast.parse(source)) if isinstance(node, ast.JoinedStr)]
    return (ast.unparse(text) for text in texts if has_plural(text) or chooses_plural(text))


def has_plural(text: ast.JoinedStr) -> bool:
    """Whether a number is followed by a plural."""
    pairs = zip(text.values, text.values[1:], strict=False)
    following = [str(after.value) for value, after in pairs if is_number(value) and isinstance(after, ast.Constant)]
    return any(NOUN.match(one) and not NO_NOUNS.match(one) for one in following)


def chooses_plural(text: ast.JoinedStr) -> bool:
    """Whether a text with a number ends a word with `s`, or not."""
    choices = [one.value for one in text.values if isinstance(one, ast.FormattedValue)]
    ends = [
        {getattr(one.body, "value", None), getattr(one.orelse, "value", None)}
        for one in choices
        if isinstance(one, ast.IfExp)
    ]
    return {"", "s"} in ends and any(map(is_number, text.values))


def is_number(value: ast.expr) -> bool:
    """Whether what a text shows is a number that may be 1."""
    if not isinstance(value, ast.FormattedValue):
        return False
    shown = value.value
    if BOUND.search(ast.unparse(shown)):
        return False
    if isinstance(shown, ast.Call):
        name = ast.unparse(shown.func)
        return name in NUMBERS and not any(BOUND.search(ast.unparse(one)) for one in shown.args)
    spec = ast.unparse(value.format_spec) if value.format_spec else ""
    return "," in spec or bool(NUMBER_NAME.search(ast.unparse(shown)))


def test_every_number_that_may_be_1_is_written_with_its_noun_by_one_function() -> None:
    found = {
        (name, text)
        for path in sorted(ROOT.rglob("*.py"))
        if (name := path.relative_to(ROOT).as_posix()) not in EXCEPTIONS and name != "text.py"
        for text in numbers_with_nouns(path.read_text("utf-8"))
    }

    assert found == set(), "use count_of or count_are of nbtool.text"


def test_each_exception_is_still_one() -> None:
    assert [name for name in EXCEPTIONS if not list(numbers_with_nouns((ROOT / name).read_text("utf-8")))] == []


@pytest.mark.parametrize(
    ("text", "is_found"),
    [
        ('f"{count:,} turns"', True),
        ('f"{len(turns)} earlier turns"', True),
        ('f"{format_number(total)} requests"', True),
        ("f\"{count} turn{'' if count == 1 else 's'}\"", True),
        ('f"{left_out} more frames"', True),
        ("f\"{count_of(count, 'turn')}\"", False),
        ('f"{MAX_TURNS:,} turns"', False),
        ('f"{name} takes"', False),
    ],
)
def test_the_search_finds_what_it_is_for(text: str, is_found: bool) -> None:
    assert bool(list(numbers_with_nouns(text))) is is_found


def test_a_number_is_written_with_its_noun() -> None:
    assert [count_of(number, "turn") for number in (0, 1, 2, 1_000)] == ["0 turns", "1 turn", "2 turns", "1,000 turns"]
    assert [count_are(number, "more turn") for number in (1, 2)] == ["1 more turn is", "2 more turns are"]
