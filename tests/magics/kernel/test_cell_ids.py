"""The ids of cells and of their turns, as the front end's requests name them."""

from __future__ import annotations

from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any

import pytest

from nbtool.magics.kernel import cell_messages
from nbtool.magics.kernel.cell_messages import cell_id, cell_of_turn, turn_cell_id
from nbtool.magics.kernel.cell_notebooks import CellNotebooks


def shell_that_runs(request: dict[str, Any]) -> Any:
    return SimpleNamespace(kernel=SimpleNamespace(get_parent=lambda _: request))


def request(number: int, cell: str) -> dict[str, Any]:
    return {"header": {"msg_id": f"request {number}"}, "metadata": {"cellId": cell} if cell else {}}


def test_the_prompts_of_one_execution_follow_one_another_and_another_execution_begins_at_the_first() -> None:
    loop, again = shell_that_runs(request(1, "c1")), shell_that_runs(request(2, "c1"))

    ids = [turn_cell_id(loop) for _ in range(3)] + [turn_cell_id(again) for _ in range(2)]

    assert ids == ["c1", "c1#2", "c1#3", "c1", "c1#2"]
    assert {cell_of_turn(one) for one in ids} == {"c1"} == {cell_id(loop)}


def test_a_front_end_that_names_no_cells_has_turns_without_one() -> None:
    unnamed = shell_that_runs(request(1, ""))

    assert [turn_cell_id(unnamed), turn_cell_id(SimpleNamespace(kernel=None))] == ["", ""]
    assert cell_of_turn("") == ""


@dataclass
class Notebooks:
    """Pages by their sessions, each with the path of its notebook, and how often each was asked for it."""

    paths: dict[str, str]
    asked: list[str] = field(default_factory=list)

    def turn_cell(self, session: str, cell: str = "c1") -> str:
        message = f"{session} {len(self.asked)} {cell}"
        shell = shell_that_runs({"header": {"msg_id": message, "session": session}, "metadata": {"cellId": cell}})
        return turn_cell_id(shell, lambda: self._answer(session))

    def _answer(self, session: str) -> str:
        self.asked.append(session)
        return self.paths.get(session, "")


@pytest.fixture
def cells(monkeypatch: pytest.MonkeyPatch) -> CellNotebooks:
    cells = CellNotebooks()
    monkeypatch.setattr(cell_messages, "cell_notebooks", cells)
    return cells


def test_cells_of_one_id_in_two_notebooks_are_two_cells(cells: CellNotebooks) -> None:
    cells.note_page("a", "folder/a.ipynb")
    pages = Notebooks({"b": "folder/b.ipynb"})

    ids = [pages.turn_cell(session) for session in ("a", "b", "a", "b")]

    assert ids == ["c1", "c1#@2", "c1", "c1#@2"]
    assert {cell_of_turn(one) for one in ids} == {"c1"}
    assert pages.asked == ["b"]


def test_a_page_that_was_loaded_again_has_the_cells_of_its_notebook(cells: CellNotebooks) -> None:
    cells.note_page("a", "RTC:folder/a.ipynb")
    pages = Notebooks({"a again": "folder/a.ipynb", "b": "b.ipynb"})

    assert [pages.turn_cell(session) for session in ("a", "a again", "b", "a again")] == ["c1", "c1", "c1#@2", "c1"]


@pytest.mark.usefixtures("cells")
def test_sessions_of_which_no_page_says_its_notebook_are_notebooks_of_their_own() -> None:
    pages = Notebooks({})

    assert [pages.turn_cell(session) for session in ("a", "b", "c", "b")] == ["c1", "c1#@2", "c1#@3", "c1#@2"]
    assert [pages.turn_cell(session, "c2") for session in ("b", "c")] == ["c2", "c2#@2"]
    assert pages.asked == ["b", "c"]


def test_a_page_that_named_no_notebook_is_taken_for_that_of_the_kernels_own(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(cell_messages, "cell_notebooks", CellNotebooks("/home/me/work/a.ipynb"))
    pages = Notebooks({"a again": "work/a.ipynb", "b": "work/b.ipynb"})

    assert [pages.turn_cell(session) for session in ("a", "a again", "b")] == ["c1", "c1", "c1#@2"]


def test_an_id_that_contains_its_notebook_names_one_cell_in_all_sessions(cells: CellNotebooks) -> None:
    cell = "vscode-notebook-cell:/work/a.ipynb#W0sZmlsZQ%3D%3D"
    pages = Notebooks({})

    assert [pages.turn_cell(session, cell) for session in ("a", "b")] == [cell, cell]
    assert pages.asked == []
    assert cells.is_same_cell(cell, "a", "b")


@pytest.mark.usefixtures("cells")
def test_what_only_looks_notes_nothing() -> None:
    looking = shell_that_runs({"header": {"msg_id": "m", "session": "b"}, "metadata": {"cellId": "c1"}})

    assert [turn_cell_id(looking), Notebooks({}).turn_cell("a"), Notebooks({}).turn_cell("b")] == ["c1", "c1", "c1#@2"]


def test_only_the_same_cell_of_the_same_notebook_counts_as_run_again(cells: CellNotebooks) -> None:
    for session, path in {"a": "a.ipynb", "a again": "a.ipynb", "b": "b.ipynb"}.items():
        cells.note_page(session, path)

    assert [cells.is_same_cell("c1", "a", other) for other in ("a", "a again", "b", "unknown")] == [
        True,
        True,
        False,
        False,
    ]
