from __future__ import annotations

from types import SimpleNamespace

import pytest

from nbtool.errors import BadUsage
from nbtool.magics.notebook.cell_context import MAX_CHARACTERS
from nbtool.magics.notebook.history_cells import HistoryCells
from nbtool.magics.notebook.page_cells import last_page_error, last_page_run, page_context
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


def failed(cell_id: str, source: str, number: int, error: str) -> NotebookCell:
    return cell(cell_id, source, number=number, outputs=(CellOutput("error", error, len(error)),))


def history_of(*runs: tuple[str, str], keeps_errors: bool = True) -> HistoryCells:
    """Return the history of a kernel in which these sources ran, each with the traceback in which it ended."""
    errors = {number: {"traceback": [error]} for number, (_, error) in enumerate(runs, 1) if error}
    history = SimpleNamespace(input_hist_raw=("", *(source for source, _ in runs)), output_hist_reprs={})
    if keeps_errors:
        history.exceptions, history.outputs = errors, {}
    return HistoryCells(SimpleNamespace(history_manager=history, execution_count=len(runs) + 1))


@pytest.mark.parametrize("keeps_errors", [True, False])
def test_the_cell_that_failed_last_is_the_one_that_still_shows_its_error(keeps_errors: bool) -> None:
    runs = [("a", "first"), ("b", "second"), ("c", "third"), ("%chat status", ""), ("c", "")]
    history = history_of(*runs, keeps_errors=keeps_errors)
    cells = [failed("b", "b", 2, "second"), failed("a", "a", 1, "first"), cell("c", "c", number=5), cell("new", "1")]

    found = last_page_error(cells, "chat", history)
    ran = last_page_run(cells, "chat", history)

    assert found
    assert (found.source, found.error, found.edited) == ("b", "second", "")
    assert ran
    assert (ran.number, ran.source) == (5, "c")


def test_a_cell_that_was_edited_since_it_failed_is_given_as_it_ran_and_as_it_is() -> None:
    found = last_page_error(
        [failed("a", "x + 2", 1, "x is not defined")], "", history_of(("x + 1", "x is not defined"))
    )

    assert found
    assert (found.source, found.edited) == ("x + 1", "x + 2")
    assert "In [1]:\n```python\nx + 1\n```" in found.format()
    assert "The user has edited [1] since; it has not run as it is now:\n```python\nx + 2\n```" in found.format()


@pytest.mark.parametrize(
    "stale",
    [
        failed("old", "z", 1, "an error of the kernel before"),
        failed("old", "z", 9, "boom"),
        failed("own", "%%chat\nHello", 2, "stopped"),
        failed("chat", "boom()", 3, "boom"),
        cell("old", "z", number=1),
        cell("words", "# z", "markdown"),
    ],
)
def test_errors_of_an_earlier_kernel_and_of_chats_are_none_that_is_to_be_fixed(stale: NotebookCell) -> None:
    history = history_of(("a()", "error of a"), ("%%chat\nHello", "stopped"), ("boom()", "boom"))

    assert last_page_error([stale], "chat", history) is None


def test_of_cells_with_one_number_the_one_that_is_as_it_ran_counts() -> None:
    cells = [cell("old", "a of an earlier kernel", number=1), cell("new", "a", number=1), cell("x", "x", number=1)]

    found = last_page_run(cells, "", history_of(("a", "")))

    assert found
    assert (found.source, found.edited) == ("a", "")
