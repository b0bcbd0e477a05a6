from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import pytest

from nbtool.errors import ToolFailed
from nbtool.magics.notebook.page_notebook import PageNotebook
from nbtool.view.notebook_messages import MAX_CELLS
from tests.toolsets.memory_notebook import cell


@dataclass
class Answers:
    """The way to a page that gives these answers, whatever is asked; `asked` are the requests."""

    answers: list[Any]
    is_there: bool = True
    cell_id: str = "chat"
    asked: list[Mapping[str, Any]] = field(default_factory=list)

    def open(self) -> bool:
        return self.is_there

    def is_open(self, seconds: float | None = None) -> bool:  # noqa: ARG002 - it answers at once
        return self.is_there

    def poll(self) -> None:
        pass

    def request(self, message: Mapping[str, Any], *, changes: bool = False) -> Any:
        assert changes == (message["op"] not in ("cell", "cells"))
        self.asked.append(message)
        return self.answers.pop(0)


def data(cell_id: str = "one", **changes: Any) -> dict[str, Any]:
    fields = {"type": "code", "source": "x = 1", "length": 5, "number": 3, "outputs": [], "more_outputs": 0}
    return {"id": cell_id, **fields, **changes}


def listed(*cells: dict[str, Any], **envelope: Any) -> dict[str, Any]:
    return {"kind": "cells", "cells": list(cells), "more": 0, **envelope}


def done(cell_id: str = "one", **more: Any) -> dict[str, Any]:
    return {"kind": "done", "cell": cell_id, **more}


def test_cells_are_read_as_values() -> None:
    output = {"kind": "text", "text": "42", "length": 2}
    page = Answers([listed(data(outputs=[output]), v=1, nonce="n", id="i")])

    (one,) = PageNotebook(page, None).cells(10)

    assert (one.id, one.source, one.number, one.outputs[0].text) == ("one", "x = 1", 3, "42")
    assert page.asked == [{"op": "cells", "output": 10}]


@pytest.mark.parametrize(
    "answer",
    [
        None,
        "text",
        {},
        {"kind": "done"},
        done(more="than a page may say"),
        listed(data(type="applet")),
        listed(data(id="<b>")),
        listed(data(source=7)),
        listed(data(outputs=[{"kind": "text", "text": "42"}])),
        listed(*[data()] * (MAX_CELLS + 1)),
        listed(data("other")),
        listed(data(), data()),
    ],
)
def test_an_answer_of_another_form_or_about_another_cell_is_none(answer: Any) -> None:
    with pytest.raises(ToolFailed, match="did not answer"):
        PageNotebook(Answers([answer]), None).cell("one")


def test_where_no_page_answers_the_remedy_is_that_of_the_cell_or_of_who_serves_it() -> None:
    with pytest.raises(ToolFailed, match=r"Run the %%chat cell again"):
        PageNotebook(Answers([None]), None).cell("one")
    with pytest.raises(ToolFailed, match=r"closed or reloaded\. Serve it again\.$"):
        PageNotebook(Answers([None]), None, remedy="Serve it again.").cell("one")


@pytest.mark.parametrize("answer", [done("other"), listed(data()), {"kind": "done", "cell": "one", "after": "<b>"}])
def test_a_change_that_is_confirmed_of_another_cell_counts_as_unanswered(answer: Any) -> None:
    notebook = PageNotebook(Answers([answer]), None)

    with pytest.raises(ToolFailed, match="did not answer"):
        notebook.edit(cell("one", "x = 1"), "x = 2")
    assert notebook.changes == []


@pytest.mark.parametrize(
    ("reason", "said"),
    [("missing", "no such cell"), ("changed", "The user edited the cell"), ("unsupported", "does not allow")],
)
def test_a_refusal_is_one_clear_line_and_no_change_is_recorded(reason: str, said: str) -> None:
    notebook = PageNotebook(Answers([{"kind": "refused", "reason": reason}]), None)

    with pytest.raises(ToolFailed, match=said):
        notebook.delete(cell("one", "x = 1"))
    assert notebook.changes == []


@pytest.mark.promise("shown-cells")
def test_a_change_carries_the_source_that_was_shown() -> None:
    page = Answers([done(), done(), done(raw={"cell_type": "code"}, after=""), done()])
    notebook = PageNotebook(page, None)
    one = cell("one", "x = 1")

    notebook.edit(one, "x = 2")
    notebook.move(one, "former", "after")
    notebook.delete(one)

    assert [asked["expected"] for asked in page.asked] == ["x = 1"] * 3
    assert page.asked[1]["expected_after"] == "former"
    assert [change.kind for change in notebook.changes] == ["edited", "moved", "deleted"]


def test_without_a_page_every_request_says_so() -> None:
    notebook = PageNotebook(Answers([], is_there=False), None)

    assert not notebook.is_available
    with pytest.raises(ToolFailed, match="This front end has no notebook model"):
        notebook.cells(0)


def test_a_cell_runs_with_its_outputs_sent_to_its_place(shell: Any) -> None:
    page = Answers([done(), done()])

    run = PageNotebook(page, shell).run(cell("one", "print('hello')\n6 * 7"))

    assert [output.text for output in run.outputs] == ["hello\n", "42"]
    assert page.asked[0] == {"op": "start", "cell": "one", "expected": "print('hello')\n6 * 7"}
    assert [output["output_type"] for output in page.asked[1]["outputs"]] == ["stream", "execute_result"]


def test_a_cell_that_the_page_refuses_to_start_does_not_run(shell: Any) -> None:
    page = Answers([{"kind": "refused", "reason": "changed"}])

    with pytest.raises(ToolFailed, match="The user edited the cell"):
        PageNotebook(page, shell).run(cell("one", "ran_anyway = 1"))
    assert "ran_anyway" not in shell.user_ns


@pytest.mark.parametrize("source", ["%%chat\nHi", "  %chat status", "%%chat -c other\nHi"])
def test_a_cell_of_the_chat_itself_does_not_run_inside_another(shell: Any, source: str) -> None:
    with pytest.raises(ToolFailed, match="one of the chat itself"):
        PageNotebook(Answers([]), shell).run(cell("one", source))


@pytest.mark.parametrize("name", ["", "<b>", "a b", "a\n--- x\n+++ y", "a" * 65, "ä"])
def test_what_cannot_be_the_id_of_a_cell_is_not_asked_for(name: str) -> None:
    page = Answers([])

    with pytest.raises(ToolFailed, match="no such cell"):
        PageNotebook(page, None).cell(name)
    with pytest.raises(ToolFailed, match="no such cell"):
        PageNotebook(page, None).insert(name or "<", "code", "x")
    assert page.asked == []


def test_a_source_that_cannot_be_sent_is_one_clear_line() -> None:
    class Unsendable(Answers):
        def request(self, message: Mapping[str, Any], *, changes: bool = False) -> Any:  # noqa: ARG002 - as the page's
            return message["expected"].encode()

    with pytest.raises(ToolFailed, match="a character that cannot be sent"):
        PageNotebook(Unsendable([]), None).edit(cell("one", "x = '\ud800'"), "x = 1")
