from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import pytest

from nbtool.magics.notebook.cell_changes import MAX_RAW_CHARACTERS, CellChange, describe_cells, undo_cells

RAW = {"id": "one", "cell_type": "code", "source": "x", "metadata": {"tags": []}, "outputs": [1], "execution_count": 2}


@dataclass
class Page:
    """A notebook that refuses the changes of these cells."""

    refuses: tuple[str, ...] = ()
    is_available: bool = True
    undone: list[CellChange] = field(default_factory=list)

    def undo(self, change: CellChange) -> str:
        if change.cell in self.refuses:
            return "it was edited."
        self.undone.append(change)
        return ""


@pytest.mark.parametrize(
    ("change", "request_"),
    [
        (CellChange("inserted", "one", source="x"), {"op": "delete", "cell": "one", "expected": "x"}),
        (
            CellChange("edited", "one", former="a", source="b"),
            {"op": "edit", "cell": "one", "expected": "b", "source": "a"},
        ),
        (
            CellChange("moved", "one", source="x", former_after="p", after="q"),
            {"op": "move", "cell": "one", "expected": "x", "after": "p", "expected_after": "q"},
        ),
        (
            CellChange("deleted", "one", former="x", after="p", raw=RAW),
            {
                "op": "insert",
                "cell": "one",
                "after": "p",
                "source": "x",
                "type": "code",
                "raw": {"cell_type": "code", "metadata": {"tags": []}, "outputs": [1], "execution_count": 2},
            },
        ),
        (CellChange("deleted", "one", former="x"), None),
        (CellChange("deleted", "one", former="x", raw={"cell_type": "applet"}), None),
    ],
)
def test_the_way_back_expects_the_cell_as_the_turn_left_it(change: CellChange, request_: dict[str, Any] | None) -> None:
    assert change.reverse() == request_


def test_a_deleted_cell_with_large_outputs_comes_back_without_them() -> None:
    raw = {**RAW, "outputs": ["x" * MAX_RAW_CHARACTERS]}

    request = CellChange("deleted", "one", former="x", raw=raw).reverse()

    assert request
    assert request["raw"] == {"metadata": {"tags": []}}


def test_changes_are_taken_back_in_reverse() -> None:
    page = Page()
    changes = [CellChange("inserted", "one"), CellChange("edited", "one"), CellChange("moved", "two")]

    remaining, said = undo_cells(changes, page)

    assert page.undone == changes[::-1]
    assert remaining == []
    assert said == "Took back 1 inserted, 1 edited, 1 moved cells."


def test_a_change_under_one_that_cannot_be_taken_back_is_left() -> None:
    page = Page(("one",))
    changes = [CellChange("inserted", "one"), CellChange("edited", "two"), CellChange("edited", "one")]

    remaining, said = undo_cells(changes, page)

    assert remaining == [changes[0], changes[2]]
    assert page.undone == [changes[1]]
    assert said == "Took back 1 edited cell. Cell one is left as it is: it was edited."


def test_where_no_page_answers_nothing_is_taken_back_and_this_is_reported() -> None:
    changes = [CellChange("inserted", "one")]

    remaining, said = undo_cells(changes, Page(is_available=False))

    assert remaining == changes
    assert "JupyterLab and Notebook 7" in said


def test_a_turn_without_changes_of_cells_says_nothing() -> None:
    assert undo_cells([], Page(is_available=False)) == ([], "")
    assert describe_cells([]) == ""
