"""Any sequence of changes keeps what a tree promises."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule, run_state_machine_as_test

from nbtool.chat.conversation.tree import Node, Tree
from nbtool.events import TreeChanged, TreeOp, TurnStarted
from nbtool.messages import user

Tell = Callable[[str, object], None]

NUMBERS = st.integers(0, 1000)
CELLS = st.sampled_from(["", "c1", "c2", "c3"])


@dataclass
class StubTurn:
    turn_id: str
    number: int


class TreeMachine(RuleBasedStateMachine):
    """Says things and changes the tree as a conversation does, and tells a second tree of it as a journal does."""

    checked: ClassVar[int] = 0

    def __init__(self) -> None:
        super().__init__()
        self.tree: Tree[StubTurn] = Tree()
        self.told_of: Tree[StubTurn] = Tree()
        self.said: list[StubTurn] = []

    # --- what may happen --------------------------------------------------------------------------------------

    @rule(cell=CELLS, append=st.booleans())
    def say(self, cell: str, append: bool) -> None:
        before = node_ids(self.tree.active_path)
        node = self.tree.node_for_cell(cell, append=append)
        is_new = node not in self.tree.active_path
        actual = self.tree.history_before(node)

        self.put(node)

        assert self.tree.history_before(node) == actual
        if is_new:
            assert node_ids(self.tree.active_path) == [*before, node.node_id]
            assert actual == [one.turn for one in self.tree.active_path[:-1] if not one.hidden]
        else:
            assert node_ids(self.tree.active_path) == before

    @precondition(lambda self: self.tree.active_path)
    @rule(which=NUMBERS)
    def rerun(self, which: int) -> None:
        node = list(self.tree.nodes())[which % len(list(self.tree.nodes()))]
        was_on_line, line, below = node in self.tree.active_path, self.tree.active_path, node_ids(node.children)

        self.put(node)

        assert node.turn is self.said[-1]
        assert node in self.tree.active_path
        assert node_ids(node.children) == below
        assert self.tree.active_path == line if was_on_line else not self.tree.active_path[-1].children

    @precondition(lambda self: self.tree.active_path)
    @rule(which=NUMBERS, cell=CELLS)
    def edit(self, which: int, cell: str) -> None:
        old = self.any_node(which)
        node = self.tree.new_sibling(old, cell)
        assert node is not old

        self.put(node)

        above = self.tree.path(old)[:-1]
        assert self.tree.path(node) == (*above, node)
        assert self.tree.active_path[: len(above) + 1] == (*above, node)

    @precondition(lambda self: self.tree.active_path)
    @rule(which=NUMBERS)
    def insert(self, which: int) -> None:
        line = list(self.tree.active_path)
        place = which % len(line)
        node = self.tree.insert_after(line[place])

        self.put(node)

        assert self.tree.active_path == (*line[: place + 1], node, *line[place + 1 :])

    @precondition(lambda self: self.tree.active_path)
    @rule(which=NUMBERS, op=st.sampled_from(["hide", "show", "pin", "unpin"]))
    def mark(self, which: int, op: TreeOp) -> None:
        node = self.any_node(which)

        self.apply(TreeChanged(op, node.node_id))

        assert (node.hidden if op in ("hide", "show") else node.pinned) == (op in ("hide", "pin"))

    @precondition(lambda self: self.tree.active_path)
    @rule(which=NUMBERS, below=st.booleans())
    def delete(self, which: int, below: bool) -> None:
        node = self.any_node(which)
        version = node.versions[which % len(node.versions)]
        missing = self.tree.turns_from(node) if below else [version]
        left = [one for one in self.tree_said() if one not in missing]

        self.apply(TreeChanged("delete", node.node_id, "" if below else version.turn_id))

        assert sorted(one.number for one in self.tree_said()) == sorted(one.number for one in left)

    @precondition(lambda self: self.tree.last_deletion)
    @rule()
    def undo(self) -> None:
        assert self.tree.last_deletion
        node, turn_id = self.tree.last_deletion
        before = self.tree_said()

        self.apply(TreeChanged("restore", node.node_id, turn_id))

        assert {one.number for one in before} < {one.number for one in self.tree_said()}

    @precondition(lambda self: self.tree.active_path)
    @rule(which=NUMBERS, below=st.booleans())
    def undo_at_once(self, which: int, below: bool) -> None:
        node = self.any_node(which)
        turn_id = "" if below else node.versions[which % len(node.versions)].turn_id
        before = snapshot(self.tree)

        self.apply(TreeChanged("delete", node.node_id, turn_id))
        self.apply(TreeChanged("restore", node.node_id, turn_id))

        assert snapshot(self.tree) == before

    @precondition(lambda self: any(self.tree.nodes()))
    @rule(which=NUMBERS)
    def switch(self, which: int) -> None:
        node = list(self.tree.nodes())[which % len(list(self.tree.nodes()))]
        version = node.versions[which % len(node.versions)]

        self.apply(TreeChanged("switch", node.node_id, version.turn_id))

        assert node in self.tree.active_path
        assert node.turn is version

    @precondition(lambda self: any(self.tree.nodes()))
    @rule(which=NUMBERS)
    def branch(self, which: int) -> None:
        node = list(self.tree.nodes())[which % len(list(self.tree.nodes()))]

        self.apply(TreeChanged("branch", node.node_id))

        assert self.tree.active_path[-1] is node

    @rule()
    def branch_at_the_root(self) -> None:
        self.apply(TreeChanged("branch", ""))

        assert self.tree.active_path == ()

    @rule(op=st.sampled_from(["hide", "pin", "delete", "restore", "switch", "branch"]), turn_id=st.text(max_size=3))
    def hear_of_the_unknown(self, op: TreeOp, turn_id: str) -> None:
        before = snapshot(self.tree)

        self.apply(TreeChanged(op, "n_unknown", turn_id))

        assert snapshot(self.tree) == before

    # --- what always holds ------------------------------------------------------------------------------------

    @invariant()
    def the_active_line_is_a_path(self) -> None:
        TreeMachine.checked += 1
        line = self.tree.active_path
        assert self.tree.path(line[-1] if line else None) == line
        for above, below in itertools.pairwise(line):
            assert below in above.children
        assert not line or line[0] in self.tree.roots

    @invariant()
    def every_place_is_seen_once_and_holds_a_version(self) -> None:
        nodes = list(self.tree.nodes())
        assert len({node.node_id for node in nodes}) == len(nodes)
        assert all(node.versions and node.turn in node.versions for node in nodes)

    @invariant()
    def nothing_that_was_said_is_lost(self) -> None:
        marked = {turn_id for node in self.all_nodes() for turn_id in node.deleted}
        stored = [version for node in self.all_nodes() for version in node.all_versions]
        assert sorted(one.number for one in stored) == list(range(len(self.said)))
        assert len(self.tree_said()) == len(self.said) - len(marked)

    @invariant()
    def what_is_told_is_the_line_that_is_seen(self) -> None:
        next_one = self.tree.node_for_cell()
        assert self.tree.history_before(next_one) == [node.turn for node in self.tree.active_path if not node.hidden]
        pinned = [node.turn for node in self.tree.active_path if node.pinned and not node.hidden]
        assert self.tree.history_before(next_one, window=0) == pinned

    @invariant()
    def the_same_changes_give_the_same_tree(self) -> None:
        assert snapshot(self.told_of) == snapshot(self.tree)

    def teardown(self) -> None:
        """Undo everything: then everything that was said is seen again."""
        while self.tree.last_deletion:
            node, turn_id = self.tree.last_deletion
            self.apply(TreeChanged("restore", node.node_id, turn_id))
        assert sorted(one.number for one in self.tree_said()) == list(range(len(self.said)))

    # --- words ------------------------------------------------------------------------------------------------

    def any_node(self, which: int) -> Node[StubTurn]:
        return self.tree.active_path[which % len(self.tree.active_path)]

    def all_nodes(self) -> list[Node[StubTurn]]:
        return list(self.tree._nodes.values())  # deleted places are seen nowhere else

    def tree_said(self) -> list[StubTurn]:
        return [version for node in self.tree.nodes() for version in node.versions]

    def put(self, node: Node[StubTurn]) -> None:
        said = StubTurn(f"turn_{len(self.said)}_", len(self.said))
        parent, child = (
            node.parent.node_id if node.parent else "",
            node.insert_before.node_id if node.insert_before else "",
        )
        event = TurnStarted(said.turn_id, "m", user("x"), 0.0, node.cell_id, node.node_id, parent, child)
        self.said.append(said)
        self.tree.add_version(node, said)
        self.told_of.add_version(self.told_of.node_from_event(event), said)

    def apply(self, change: TreeChanged) -> None:
        self.tree.apply(change)
        self.told_of.apply(change)


def node_ids(nodes: tuple[Node[StubTurn], ...]) -> list[str]:
    return [node.node_id for node in nodes]


def snapshot(tree: Tree[StubTurn]) -> object:
    """Write down everything that can be seen of a tree."""
    nodes = [
        (
            node.node_id,
            node_ids(node.children),
            [one.turn_id for one in node.versions],
            node.current,
            node.hidden,
            node.pinned,
        )
        for node in tree.nodes()
    ]
    return nodes, node_ids(tree.active_path), node_ids(tree.roots), node_ids(tuple(tree.branches()))


@pytest.mark.timeout(300)  # the oldest hypothesis takes a minute, the newest ten seconds
def test_any_sequence_of_changes_keeps_what_a_tree_promises(record_property: Tell) -> None:
    record_property("injected", run(examples=60, steps=30))


@pytest.mark.nightly
@pytest.mark.timeout(1800)
def test_many_sequences_of_changes_keep_what_a_tree_promises(record_property: Tell) -> None:
    record_property("injected", run(examples=3_000, steps=50))


def run(examples: int, steps: int) -> int:
    """Run so many sequences, and give how many steps they had."""
    TreeMachine.checked = 0
    how = settings(max_examples=examples, stateful_step_count=steps, deadline=None)
    run_state_machine_as_test(TreeMachine, settings=how)
    return TreeMachine.checked
