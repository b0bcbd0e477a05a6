from __future__ import annotations

from typing import Any

import pytest

from nbtool.blocks.history.conversation_search import search
from nbtool.blocks.history.protocol import Detail, Index, SearchHit, Totals
from nbtool.blocks.history.tree_rows import tree_rows
from nbtool.blocks.history.turn_steps import detail
from nbtool.blocks.history.usage_totals import totals
from nbtool.chat.conversation.tree import Tree
from nbtool.chat.turn import Turn
from nbtool.errors import BadUsage
from nbtool.view.explorer_messages import CellRequest
from nbtool.view.explorer_widget import ExplorerWidget
from tests.history_of_many import grow


class StubHistory:
    """A conversation of ten turns."""

    def __init__(self) -> None:
        self.tree: Tree[Turn] = Tree()
        self.wanted: list[CellRequest] = []
        grow(self.tree, 10)

    def index(self) -> Index:
        return tree_rows(self.tree.roots, {node.node_id for node in self.tree.active_path})

    def detail(self, turn_id: str) -> Detail:
        return detail(self.tree.get(turn_id)[1])

    def search(self, text: str) -> list[SearchHit]:
        return search([node.versions[0] for node in self.tree.nodes()], text)

    def totals(self) -> Totals:
        return totals([node.versions[0] for node in self.tree.nodes()])

    def media(self, turn_id: str, key: str) -> bytes | None:
        return f"{turn_id} {key}".encode()

    def cell(self, wanted: CellRequest) -> str:
        self.wanted.append(wanted)
        if wanted.action == "bind":
            raise BadUsage("This call left no result that is kept.")
        return "%%chat --rerun t"

    def name_branch(self, turn_id: str, name: str) -> str:
        if name == "taken":
            raise BadUsage("No chat can be called 'taken' here.")
        return f"The chat {name} has copies of {turn_id}."


class Page:
    """An explorer whose messages are collected in place of a comm."""

    def __init__(self) -> None:
        self.history = StubHistory()
        self.sent: list[dict[str, Any]] = []
        self.buffers: list[bytes] = []
        self.widget = ExplorerWidget(self.history, title="History of main", acts=["rerun"])
        self.widget.send = self._send
        self._count = 0

    def says(self, kind: str, **values: Any) -> dict[str, Any] | None:
        self._count += 1
        self.sent.clear()
        message = {"v": 1, "nonce": self.widget.nonce, "id": f"p-{self._count}", "kind": kind, **values}
        self.widget.receive(message)
        return self.sent[0] if self.sent else None

    def _send(self, content: dict[str, Any], buffers: list[bytes] | None = None) -> None:
        self.sent.append(content)
        self.buffers += buffers or []


@pytest.fixture
def page() -> Page:
    return Page()


def test_an_image_is_sent_by_its_turn_and_key(page: Page) -> None:
    key = "ab" * 16

    answer = page.says("media", turn="t1", key=key)
    odd = [page.says("media", turn="t1", key="x"), page.says("media", key=key), page.says("open", turn="t1", key=1)]

    assert answer == {"v": 1, "kind": "media", "key": key}
    assert page.buffers == [f"t1 {key}".encode()]
    assert odd == [None, None, None]


def test_nothing_is_sent_before_the_page_asks_and_then_the_tree_without_its_turns(page: Page) -> None:
    assert page.sent == []
    answer = page.says("hello")

    assert answer is not None
    assert (answer["kind"], answer["id"]) == ("index", "p-1")
    assert len(answer["index"]["rows"]) == 9
    assert "Let me look" not in str(answer)


def test_a_turn_is_sent_when_it_is_opened(page: Page) -> None:
    answer = page.says("open", turn="turn_00000000000000000003")

    assert answer is not None
    assert answer["detail"]["turn_id"] == "turn_00000000000000000003"
    assert "Let me look" in str(answer)


def test_searches_and_totals_are_answered(page: Page) -> None:
    found, sums = page.says("search", text="question 3:"), page.says("totals")

    assert found is not None
    assert [one["turn_id"][-2:] for one in found["found"]] == ["03"]
    assert sums is not None
    assert sums["totals"]["turns"] == 9


def test_what_cannot_be_done_is_refused_in_one_line(page: Page) -> None:
    unknown, unbound = page.says("open", turn="turn_x"), page.says("cell", action="bind", turn="t", call="c")

    assert unknown is not None
    assert unknown["kind"] == "refused"
    assert "no turn begins" in unknown["text"]
    assert unbound is not None
    assert unbound["text"].startswith("This call left no result")


def test_a_cell_is_written_and_nothing_more_is_done(page: Page) -> None:
    answer = page.says("cell", action="rerun", turn="t", round=2)

    assert answer is not None
    assert (answer["kind"], answer["text"]) == ("cell", "%%chat --rerun t")
    assert page.history.wanted == [CellRequest("rerun", "t", 2)]


def test_a_message_is_answered_once_and_a_foreign_one_never(page: Page) -> None:
    message = {"v": 1, "nonce": page.widget.nonce, "id": "p-1", "kind": "hello"}

    assert page.widget.receive(message) is True
    assert page.widget.receive(message) is False
    assert page.widget.receive({**message, "id": "p-2", "nonce": "guessed"}) is False
    assert len(page.sent) == 1


def test_the_module_that_all_views_share_is_sent_when_the_page_asks(page: Page) -> None:
    answer = page.says("rich")

    assert answer is not None
    assert answer["kind"] == "rich"
    assert len(page.buffers) == 1


@pytest.mark.parametrize(
    ("name", "kind", "text"), [("other", "named", "The chat other has copies of t1."), ("taken", "refused", "'taken'")]
)
def test_a_branch_is_named_or_the_page_gets_the_reason_why_not(name: str, kind: str, text: str) -> None:
    said = Page().says("name", turn="t1", name=name)

    assert said is not None
    assert said["kind"] == kind
    assert text in said["text"]


@pytest.mark.parametrize("name", ["", "x" * 61, 5])
def test_a_name_that_is_out_of_bounds_is_no_message(name: object) -> None:
    assert Page().says("name", turn="t1", name=name) is None
