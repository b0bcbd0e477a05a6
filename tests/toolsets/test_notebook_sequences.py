"""Random sequences of calls while a person types at the worst moments: no edit is lost, and all are shown."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import pytest

from nbtool.tools import Approved
from nbtool.tools.approval import Decision, Question
from nbtool.tools.values.line_diff import line_diff
from nbtool.toolsets.notebook_access import CellType, NotebookCell, digest_of, open_notebook
from nbtool.toolsets.notebook_tools import notebook
from tests.tools.calling import ask_for, make_harness
from tests.toolsets.memory_notebook import MemoryNotebook, cell

STEPS = 4


@dataclass(eq=False)
class Typing(MemoryNotebook):
    """A notebook in which the person types between two requests, and which writes down what tools changed."""

    generator: random.Random = field(default_factory=random.Random)
    typed: dict[str, str] = field(default_factory=dict)
    changed: list[tuple[str, str, str]] = field(default_factory=list)
    deleted: dict[str, str] = field(default_factory=dict)

    def type_somewhere(self, probability: float) -> None:
        cells = [one for one in self.contents if one.id != self.running_cell]
        if not cells or self.generator.random() >= probability:
            return
        chosen, token = self.generator.choice(cells), f"# typed {len(self.typed)}."
        self.typed[token] = chosen.id
        self.type_into(
            chosen.id, f"{token}\n{chosen.source}" if self.generator.random() < 0.5 else chosen.source + f"\n{token}"
        )

    def cell(self, cell_id: str) -> NotebookCell:
        self.type_somewhere(0.1)
        return super().cell(cell_id)

    def insert(self, after: str, type: CellType, source: str) -> str:
        cell_id = f"new{len(self.changed)}"
        super().insert(after, type, source)
        at = self._at("new")
        self.contents[at] = cell(cell_id, source, type)
        self.changed.append(("insert_cell", "", source))
        return cell_id

    def edit(self, cell: NotebookCell, source: str) -> None:
        self.type_somewhere(0.2)
        super().edit(cell, source)
        self.changed.append(("edit_cell", cell.source, source))

    def delete(self, cell: NotebookCell) -> None:
        self.type_somewhere(0.2)
        super().delete(cell)
        self.deleted[cell.id] = cell.source
        self.changed.append(("delete_cell", cell.source, ""))


def random_step(generator: random.Random, ids: list[str]) -> tuple[str, dict[str, Any]]:
    one, other = generator.choice(ids), generator.choice(["", *ids])
    steps: list[tuple[str, dict[str, Any]]] = [
        ("edit_cell", {"cell": one, "old": "value = ", "new": f"value = {generator.randrange(9)} + "}),
        ("edit_cell", {"cell": one, "old": "value", "new": "value"}),
        ("insert_cell", {"after": other, "source": "inserted = 1\nvalue = 2"}),
        ("delete_cell", {"cell": one}),
        ("move_cell", {"cell": one, "after": other}),
        ("run_cell", {"cell": one}),
    ]
    return generator.choice(steps)


def was_shown(change: tuple[str, str, str], questions: list[Question]) -> bool:
    tool, before, after = change
    expected = line_diff(before, after, "").splitlines()[2:]
    return before == after or any(
        question.tool == tool
        and question.effect.splitlines()[3:] == expected
        and (tool == "insert_cell" or digest_of(before) in question.effect)
        for question in questions
    )


@pytest.mark.promise("shown-cells")
@pytest.mark.parametrize("sequences", [50, pytest.param(300, marks=pytest.mark.nightly)])
def test_no_edit_is_lost_and_none_is_made_that_was_not_shown(
    sequences: int, record_property: Callable[[str, object], None]
) -> None:
    record_property("injected", sequences)
    statuses: set[str] = set()
    for seed in range(sequences):
        generator, questions = random.Random(seed), list[Question]()
        cells = Typing(
            [*(cell(f"c{at}", f"value = {at}\nresult = 1") for at in range(3)), cell("chat", "%%chat")],
            generator=generator,
        )

        def approve(question: Question) -> Decision:
            cells.type_somewhere(0.3)  # noqa: B023 - it runs within the round
            questions.append(question)  # noqa: B023 - the same
            return Approved()

        harness = make_harness(notebook(), approver=approve)
        with open_notebook(harness.runtime.caller_thread, cells):
            for _ in range(STEPS):
                ids = [one.id for one in cells.contents if one.id != "chat"] or ["none"]
                name, arguments = random_step(generator, ids)
                statuses.add(harness.run_lent(ask_for(name, **arguments))[0].status)

        everything = cells.sources | cells.deleted
        assert [token for token, where in cells.typed.items() if token not in everything[where]] == [], seed
        assert [change for change in cells.changed if not was_shown(change, questions)] == [], seed
    assert {"ok", "error"} <= statuses
