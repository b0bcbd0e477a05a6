from __future__ import annotations

import pytest

from nbtool.errors import BadUsage
from nbtool.magics.notebook.earlier_cells import MAX_CHARACTERS
from nbtool.magics.notebook.page_cells import page_context
from nbtool.toolsets.notebook_access import CellOutput, NotebookCell
from tests.toolsets.memory_notebook import cell

CELLS = [
    cell("intro", "# Birds", "markdown"),
    cell("load", "df = load()", number=1, outputs=(CellOutput("text", "loaded", 6),)),
    cell("chat", "%%chat --cells above\nWhat?", number=2),
    cell("other", "%%chat\nHi", number=3),
    cell("fails", "1 / 0", number=4, outputs=(CellOutput("error", "\x1b[31mZeroDivisionError\x1b[0m", 25),)),
    cell("empty", " "),
    cell("fresh", "not_run = 1"),
]


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ("above", ["# Birds", "df = load()"]),
        ("1", ["df = load()"]),
        ("9", ["# Birds", "df = load()"]),
        ("all", ["# Birds", "df = load()", "1 / 0", "not_run = 1"]),
        ("1:4", ["df = load()", "1 / 0"]),
        ("4:", ["1 / 0"]),
    ],
)
def test_cells_are_chosen_by_their_place_and_the_chats_are_not(words: str, expected: list[str]) -> None:
    context = page_context(CELLS, "chat", words, "chat")

    sources = [one.source.strip() for one in CELLS if one.source.strip() and one.source.strip() in context.text]
    assert sources == expected
    assert context.count == len(expected)
    assert "%%chat" not in context.text


def test_markdown_outputs_and_errors_are_in_it_without_escapes() -> None:
    text = page_context(CELLS, "chat", "all", "chat").text

    assert text.startswith("Cells of the notebook, in its order:\n\nMarkdown:\n```markdown\n# Birds")
    assert "Out [1]:\n```\nloaded\n```" in text
    assert "Error of [4]:\n```\nZeroDivisionError\n```" in text
    assert "In [ ]:\n```python\nnot_run = 1" in text


def test_the_nearest_cells_stay_where_not_all_fit() -> None:
    many = [cell(f"c{at}", f"x{at} = '{'y' * 5_000}'") for at in range(9)]
    many.insert(5, cell("chat", "%%chat --cells all\nWhat?"))

    context = page_context(many, "chat", "all", "chat")

    assert [at for at in range(9) if f"x{at} = " in context.text] == [3, 4, 5, 6]
    assert context.omitted == 5
    assert len(context.text) < MAX_CHARACTERS + 500
    assert context.describe().startswith("4 cells from the page's notebook, about")
    assert context.describe().endswith("; 5 left out")


@pytest.mark.parametrize(
    ("words", "reason"), [("below", "names no cells"), ("0", "names no cells"), ("7:8", "from 1 to 4")]
)
def test_words_that_name_no_cells_are_refused(words: str, reason: str) -> None:
    with pytest.raises(BadUsage, match=reason):
        page_context(CELLS, "chat", words, "chat")


def test_a_notebook_without_such_cells_adds_nothing() -> None:
    context = page_context([cell("chat", "%%chat\nHi")], "chat", "above", "chat")

    assert (context.text, context.count) == ("", 0)
    assert context.describe() == "no cells: the page's notebook has none of these"


def test_the_digest_of_a_cell_changes_with_its_source() -> None:
    assert NotebookCell("a", "code", "x", 1).digest != NotebookCell("a", "code", "y", 1).digest
