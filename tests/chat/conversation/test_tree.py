from __future__ import annotations

from dataclasses import dataclass

import pytest

from nbtool.chat.conversation.tree import Node, Tree
from nbtool.errors import BadUsage
from nbtool.events import TreeChanged, TurnStarted
from nbtool.messages import user


@dataclass
class StubTurn:
    turn_id: str


def build_tree(*turn_ids: str) -> tuple[Tree[StubTurn], list[Node[StubTurn]]]:
    tree: Tree[StubTurn] = Tree()
    nodes = []
    for turn_id in turn_ids:
        node = tree.node_for_cell(turn_id)
        tree.add_version(node, StubTurn(turn_id))
        nodes.append(node)
    return tree, nodes


def told_ids(tree: Tree[StubTurn], **how: int) -> list[str]:
    return [said.turn_id for said in tree.history_before(tree.node_for_cell(), **how)]


def test_a_place_is_no_part_of_the_tree_before_something_is_there() -> None:
    tree, _ = build_tree("a")

    tree.node_for_cell("b")

    assert [node.cell_id for node in tree.active_path] == ["a"]


def test_a_cell_run_again_gets_its_own_place_and_a_new_version() -> None:
    tree, (a, b) = build_tree("a", "b")

    again = tree.node_for_cell("a")
    tree.add_version(again, StubTurn("a2"))

    assert again is a
    assert [said.turn_id for said in a.versions] == ["a", "a2"]
    assert [said.turn_id for said in tree.history_before(b)] == ["a2"]


def test_append_gives_a_place_at_the_end_all_the_same() -> None:
    tree, _ = build_tree("a")

    assert tree.node_for_cell("a", append=True).parent is tree.active_path[-1]


def test_hidden_turns_are_not_sent() -> None:
    tree, (_, b, _) = build_tree("a", "b", "c")
    b.hidden = True

    assert told_ids(tree) == ["a", "c"]


def test_a_window_contains_the_latest_turns_and_those_that_are_pinned() -> None:
    tree, (a, _, c, _) = build_tree("a", "b", "c", "d")
    a.pinned = True

    assert told_ids(tree, window=2) == ["a", "c", "d"]
    assert told_ids(tree, window=0) == ["a"]
    c.hidden = True
    assert told_ids(tree, window=2) == ["a", "b", "d"]


def test_a_branch_leaves_what_came_after_reachable() -> None:
    tree, (a, b) = build_tree("a", "b")

    tree.apply(TreeChanged("branch", a.node_id))
    c = tree.node_for_cell("c")
    tree.add_version(c, StubTurn("c"))

    assert [node.cell_id for node in tree.active_path] == ["a", "c"]
    assert a.children == (b, c)
    assert [node.cell_id for node in tree.nodes()] == ["a", "b", "c"]


def test_a_branch_at_the_very_beginning_is_a_new_root() -> None:
    tree, _ = build_tree("a")

    tree.apply(TreeChanged("branch", ""))

    assert told_ids(tree) == []
    assert tree.node_for_cell().parent is None


def test_a_turn_is_found_by_the_beginning_of_its_id() -> None:
    tree, (a, _) = build_tree("turn_a1", "turn_b1")

    assert tree.find("turn_a") is a
    with pytest.raises(BadUsage, match="several turns begin"):
        tree.find("turn")
    with pytest.raises(BadUsage, match="no turn begins"):
        tree.find("x")


def test_a_turn_is_put_in_where_one_was_deleted_and_both_come_back_in_order() -> None:
    tree, (a, b, _) = build_tree("a", "b", "c")
    deletion = TreeChanged("delete", b.node_id, "b")
    tree.apply(deletion)

    tree.add_version(tree.insert_after(a, "x"), StubTurn("x"))

    assert [node.cell_id for node in tree.active_path] == ["a", "x", "c"]
    tree.apply(TreeChanged("restore", b.node_id, "b"))
    assert [node.cell_id for node in tree.active_path] == ["a", "x", "b", "c"]


def test_a_new_version_off_the_line_leads_the_line_to_the_end_of_its_branch() -> None:
    tree, (a, b, c) = build_tree("a", "b", "c")
    tree.apply(TreeChanged("branch", a.node_id))

    tree.add_version(b, StubTurn("b2"))

    assert tree.active_path == (a, b, c)


def test_a_forged_place_joins_nothing_in_a_circle() -> None:
    tree, (a, b) = build_tree("a", "b")
    forged = TurnStarted("x", "m", user("x"), 0.0, "x", "n_x", parent_id=b.node_id, child_id=a.node_id)

    tree.add_version(tree.node_from_event(forged), StubTurn("x"))

    assert [node.cell_id for node in tree.active_path] == ["a", "b", "x"]
    assert tree.roots == (a,)


def test_an_erased_version_is_gone_and_the_other_versions_and_turns_keep_their_places() -> None:
    tree, (a, b, c) = build_tree("a", "b", "c")
    tree.add_version(b, StubTurn("b2"))

    tree.erase("b2")
    assert [node.turn.turn_id for node in tree.active_path if node.turn] == ["a", "b", "c"]
    tree.erase("b")
    assert tree.active_path == (a, c)
    assert told_ids(tree) == ["a", "c"]
    assert [version.turn_id for version in tree.all_versions()] == ["a", "c"]


def test_undo_restores_of_a_deletion_what_was_not_erased() -> None:
    tree, (_, b, c) = build_tree("a", "b", "c")
    tree.apply(TreeChanged("delete", b.node_id))

    tree.erase("b")
    tree.apply(TreeChanged("restore", b.node_id))
    assert told_ids(tree) == ["a", "c"]
    assert c.versions
