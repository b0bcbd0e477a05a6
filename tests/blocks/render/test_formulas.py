"""Formulas in replies: the same texts are formulas here and in the page, and nothing of their source is lost."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from html import unescape
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from markdown_it.token import Token

from nbtool.blocks.render.formulas import MAX_FORMULA, find_formula
from nbtool.blocks.render.markdown import html_parser, render
from nbtool.blocks.render.markup_budget import Budget

CASES = json.loads((Path(__file__).parents[3] / "js/tests/formulas.json").read_text(encoding="utf-8"))


def formulas(tokens: Sequence[Token]) -> Iterator[str]:
    for token in tokens:
        if token.type in ("formula", "display_formula"):
            found = find_formula(token.content, 0, len(token.content))
            assert found is not None
            yield found.tex
        yield from formulas(token.children or ())


@pytest.mark.parametrize(("text", "expected"), CASES)
def test_a_text_has_these_formulas(text: str, expected: list[str]) -> None:
    assert list(formulas(html_parser().parse(text, {"budget": Budget()}))) == expected


@pytest.mark.parametrize("source", ["\\(x_i\\)", "\\[ E\\,=\\;m \\]", "$a_1*b*c_2$", "$$\n- x \\\\\n# y\n$$", "$a<b$"])
def test_the_source_of_a_formula_is_shown_as_written(source: str) -> None:
    html = render(f"{source}\n")

    assert source in unescape(html)
    assert "<em>" not in html


@given(st.text(alphabet="$\\()[]x_{} \n*", max_size=60))
def test_any_mix_of_marks_is_read_and_shows_each_letter(text: str) -> None:
    assert render(text).count("x") >= text.count("x")


def test_a_formula_that_is_too_long_is_text() -> None:
    assert find_formula("$$" + "x" * MAX_FORMULA + "$$", 0, 2 * MAX_FORMULA) is None
