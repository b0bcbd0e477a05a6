from __future__ import annotations

import pytest

from nbtool.blocks.history.protocol import Row
from nbtool.blocks.history.tree_rows import MAX_TOOLS, tree_rows, version_row
from nbtool.chat.conversation.tree import Tree
from nbtool.chat.turn import Turn
from nbtool.events import CallFinished, CallStatus, TreeChanged
from nbtool.messages import user
from tests.history_of_many import add_turn, grow, make_turn


def build_tree(count: int) -> Tree[Turn]:
    tree: Tree[Turn] = Tree()
    grow(tree, count)
    return tree


def rows(tree: Tree[Turn]) -> list[Row]:
    return tree_rows(tree.roots, {node.node_id for node in tree.active_path})["rows"]


def test_a_line_is_as_narrow_as_it_has_branchings() -> None:
    listed = rows(build_tree(45))

    assert {row["depth"] for row in listed} == {0}
    assert [row["parent"] for row in listed] == list(range(-1, len(listed) - 1))
    assert all(row["line"] for row in listed)


def test_a_branch_is_set_in_above_what_goes_on_from_where_it_began() -> None:
    listed = rows(build_tree(55))

    head = next(at for at, row in enumerate(listed) if row["branches"])
    aside = [row for row in listed if row["depth"] == 1]
    after = next(row for row in listed[head:] if row["depth"] == 0)
    assert [row["node_id"] for row in aside] == ["n_46", "n_47"]
    assert not any(row["line"] for row in aside)
    assert listed[head]["parent"] == after["parent"] == head - 1


def test_the_line_that_is_active_goes_straight_down_whichever_it_is() -> None:
    tree = build_tree(55)
    tree.apply(TreeChanged("switch", "n_47", "turn_0000000000000000002f"))

    listed = rows(tree)

    assert next(row for row in listed if row["node_id"] == "n_47")["depth"] == 0
    assert next(row for row in listed if row["node_id"] == "n_50")["depth"] == 1


def test_versions_share_one_row_and_the_active_one_is_named() -> None:
    row = rows(build_tree(8))[5]

    assert [one["turn_id"][-2:] for one in row["versions"]] == ["05", "06"]
    assert row["current"] == 1


def test_what_was_deleted_is_not_listed() -> None:
    tree = build_tree(8)
    tree.apply(TreeChanged("delete", "n_5", "turn_00000000000000000006"))

    row = rows(tree)[5]

    assert [one["turn_id"][-2:] for one in row["versions"]] == ["05"]
    assert row["current"] == 0


def test_a_row_shows_what_a_turn_took() -> None:
    facts = version_row(make_turn(5, node="n"))

    assert facts["said"] == "Question 5: please find a chart of the closes for BBB"
    assert (facts["status"], facts["rounds"], facts["calls"]) == ("error", 2, 2)
    assert facts["tools"] == ["price", "order"]
    assert facts["tokens"] == 825
    assert facts["cost"] == pytest.approx(0.0021)


def test_tools_beyond_the_bound_are_counted() -> None:
    turn = make_turn(5, node="n")
    names = [f"tool_{number}" for number in range(MAX_TOOLS + 3)]
    turn.log = [*turn.log, *(CallFinished(name, name, 1, "ok", "") for name in names)]

    facts = version_row(turn)

    assert len(facts["tools"]) == MAX_TOOLS
    assert facts["more_tools"] == 5  # those three, and the two of the turn


@pytest.mark.parametrize(
    ("statuses", "failed", "denied"),
    [((), 0, 0), (("ok", "denied", "withheld"), 0, 2), (("error", "ok"), 1, 0), (("timed_out",), 1, 0)],
)
def test_the_calls_that_failed_or_were_denied_are_counted(
    statuses: tuple[CallStatus, ...], failed: int, denied: int
) -> None:
    turn = make_turn(5, node="n")
    turn.log = [event for event in turn.log if not isinstance(event, CallFinished)]
    turn.log += [CallFinished(f"call_{number}", "price", 1, status, "") for number, status in enumerate(statuses)]

    assert (version_row(turn).get("failed", 0), version_row(turn).get("denied", 0)) == (failed, denied)


def test_a_running_turn_is_shown_as_far_as_it_is_known() -> None:
    running = Turn(user("Say hello"), "tiny")

    facts = version_row(running)

    assert facts["said"] == "Say hello"
    assert facts["status"] == "running"
    assert facts["seconds"] is None


def test_too_many_places_and_versions_are_counted_and_cut() -> None:
    tree = build_tree(20)
    for number in range(100, 105):
        add_turn(tree, make_turn(number, node="n_2"))

    found = tree_rows(tree.roots, {node.node_id for node in tree.active_path}, max_nodes=10, max_versions=3)

    assert len(found["rows"]) == 10
    assert found["left_out"] == len(list(tree.nodes())) - 10
    assert [one["turn_id"][-2:] for one in found["rows"][2]["versions"]] == ["66", "67", "68"]
    assert found["rows"][2]["current"] == 2
