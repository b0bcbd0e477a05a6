"""The ids of cells and of their turns, as the front end's requests name them."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from nbtool.magics.kernel.cell_messages import cell_id, cell_of_turn, turn_cell_id


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
