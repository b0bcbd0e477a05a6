from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import Any

import pytest

from nbtool import Chat
from nbtool.magics.cell.approver import CellApprover, Mode
from nbtool.testing import ScriptedWire
from nbtool.tools import Approved, Denied
from nbtool.tools.approval import Decision, Question
from nbtool.toolsets import standard
from nbtool.toolsets.notebook_access import CellOutput, CellRun, open_notebook
from nbtool.toolsets.notebook_tools import MAX_SHOWN, notebook
from tests.tools.calling import ToolHarness, ask_for, make_harness
from tests.toolsets.memory_notebook import MemoryNotebook, cell

CHANGES: list[tuple[str, dict[str, Any]]] = [
    ("insert_cell", {"after": "one", "source": "z = 3"}),
    ("edit_cell", {"cell": "one", "old": "x = 1", "new": "x = 2"}),
    ("delete_cell", {"cell": "one"}),
    ("move_cell", {"cell": "one", "after": "two"}),
    ("run_cell", {"cell": "one"}),
]


def sample() -> MemoryNotebook:
    return MemoryNotebook([cell("one", "x = 1\ny = 2"), cell("two", "# Title", "markdown"), cell("chat", "%%chat\nHi")])


class Person:
    """Approves, writes down what was asked, and does something before the first answer."""

    def __init__(self, before: Callable[[], object] = lambda: None, decision: Decision | None = None) -> None:
        self.questions: list[Question] = []
        self._before, self._decision = before, decision or Approved()

    def ask(self, question: Question) -> Decision:
        if not self.questions:
            self._before()
        self.questions.append(question)
        return self._decision


def call_tool(
    cells: MemoryNotebook | None, person: Person, *calls: tuple[str, dict[str, Any]], harness: ToolHarness | None = None
) -> list[Any]:
    """Make calls one after another while a cell waits, and return their records."""
    used = harness or make_harness(notebook(), approver=person)
    with open_notebook(used.runtime.caller_thread, cells):
        return [used.run_lent(ask_for(name, **arguments))[0] for name, arguments in calls]


def test_a_list_is_an_outline_with_ids_sizes_and_the_cell_of_the_chat() -> None:
    cells = sample()
    cells.contents[0] = cell("one", "x = 1\ny = 2", number=3, outputs=(CellOutput("error", "E" * 10, 10),))

    record = call_tool(cells, Person(), ("list_cells", {}))[0]

    assert [line.partition(":")[0] for line in record.shown.splitlines()] == [
        "1. one code [3]",
        "2. two markdown",
        "3. chat code []",
        "[3 cells]",
    ]
    assert "10 characters, error" in record.shown
    assert "this chat" in record.shown.splitlines()[2]


def test_one_of_anything_is_singular() -> None:
    one = MemoryNotebook([cell("one", "x", outputs=(CellOutput("result", "1", 1),))])

    record = call_tool(one, Person(), ("list_cells", {}))[0]

    assert record.shown.splitlines() == ["1. one code []: x  (1 line, 1 output of 1 character)", "[1 cell]"]


def test_the_place_of_a_new_cell_is_shown_by_the_first_line_before_it() -> None:
    person = Person()

    call_tool(sample(), person, CHANGES[0], ("insert_cell", {"after": "", "source": "w = 0"}))

    assert ["“x = 1”" in person.questions[0].effect, "the start" in person.questions[1].effect] == [True, True]


def test_reading_asks_once_a_chat() -> None:
    person = Person()

    records = call_tool(sample(), person, ("list_cells", {}), ("read_cell", {"cell": "one"}), ("list_cells", {}))

    assert [record.status for record in records] == ["ok"] * 3
    assert [question.tool for question in person.questions] == ["list_cells"]


def test_a_chat_whose_reading_was_denied_is_asked_again() -> None:
    person = Person(decision=Denied("not now"))

    records = call_tool(sample(), person, ("list_cells", {}), ("read_cell", {"cell": "one"}))

    assert [record.status for record in records] == ["denied", "denied"]
    assert len(person.questions) == 2


@pytest.mark.promise("fails-closed")
@pytest.mark.parametrize("tool", ["list_cells", "read_cell"])
def test_reading_that_no_person_allowed_is_asked_about_again_and_an_approval_does_not_override_a_denial(
    tool: str,
) -> None:
    person, reading = Person(), (tool, {} if tool == "list_cells" else {"cell": "one"})
    harness = make_harness(notebook(), approver=cell_approver("auto"))

    by_policy = call_tool(sample(), person, reading, harness=harness)
    harness.runtime.approver = cell_approver("deny")
    denied = call_tool(sample(), person, reading, harness=harness)
    harness.runtime.approver = person
    by_person = call_tool(sample(), person, reading, reading, harness=harness)
    harness.runtime.approver = cell_approver("deny")
    denied += call_tool(sample(), person, reading, harness=harness)

    assert [record.status for record in (*by_policy, *by_person)] == ["ok"] * 3
    assert [record.status for record in denied] == ["denied", "denied"]
    assert len(person.questions) == 1


def cell_approver(mode: Mode) -> CellApprover:
    """Return the approver of a cell with `--approve`."""
    chat = Chat(wire=ScriptedWire([]))
    return CellApprover(chat.compose("Read."), chat.approvals, mode)


def test_a_long_output_is_read_in_parts() -> None:
    text = "".join(f"{number:05}" for number in range(4_000))
    cells = MemoryNotebook([cell("one", "f()", outputs=(CellOutput("text", text, len(text)),))])

    records = call_tool(
        cells,
        Person(),
        ("read_cell", {"cell": "one"}),
        ("read_cell", {"cell": "one", "output": 1, "start": 15_000}),
        ("read_cell", {"cell": "one", "output": 2}),
    )

    assert f"{text[:2_000]}\n[20,000 characters" in records[0].shown
    assert "output=1]" in records[0].shown
    assert f"15,000]\n{text[15_000:]}" in records[1].shown
    assert records[2].status == "error"


def test_where_no_cell_can_run_the_model_is_referred_to_the_user() -> None:
    cells = sample()
    cells.can_run = False

    record = call_tool(cells, Person(), CHANGES[4])[0]

    assert record.status == "error"
    assert "user" in record.shown
    assert cells.ran == []


@pytest.mark.promise("shown-cells")
@pytest.mark.parametrize(("name", "arguments"), CHANGES)
def test_every_change_asks_and_shows_what_it_will_do_and_a_denied_one_changes_nothing(
    name: str, arguments: dict[str, Any]
) -> None:
    cells, person = sample(), Person(decision=Denied("no"))
    before = list(cells.contents)

    record = call_tool(cells, person, (name, arguments))[0]

    assert record.status == "denied"
    assert (cells.contents, cells.ran) == (before, [])
    assert person.questions[0].effect
    assert person.questions[0].sensitive
    assert not person.questions[0].can_remember


@pytest.mark.parametrize(
    ("name", "arguments", "lines"),
    [
        (*CHANGES[0], ["+z = 3"]),
        (*CHANGES[1], ["-x = 1", "+x = 2", " y = 2"]),
        (*CHANGES[2], ["-x = 1", "-y = 2"]),
        (*CHANGES[3], ["-x = 1  (one)", " # Title  (two)", "+x = 1  (one)"]),
        (*CHANGES[4], ["    x = 1", "    y = 2"]),
    ],
)
def test_a_change_is_shown_as_a_diff(name: str, arguments: dict[str, Any], lines: list[str]) -> None:
    person = Person()

    call_tool(sample(), person, (name, arguments))

    assert set(lines) <= set(person.questions[0].effect.splitlines())
    first, second = person.questions[0].effect.splitlines()[:2]
    assert first.split()[0] in ("Inserts", "Edits", "Deletes", "Moves", "Runs")
    assert second.startswith("--- ") or name == "run_cell"


def test_approved_changes_are_made() -> None:
    cells = sample()

    records = call_tool(cells, Person(), *CHANGES[:2], ("run_cell", {"cell": "one"}), ("delete_cell", {"cell": "two"}))

    assert json.loads(records[0].shown) == {"cell": "new", "state": "inserted"}
    assert cells.sources == {"one": "x = 2\ny = 2", "new": "z = 3", "chat": "%%chat\nHi"}
    assert cells.ran == ["x = 2\ny = 2"]
    assert records[2].shown.endswith("\n42")


@pytest.mark.promise("shown-cells")
@pytest.mark.parametrize(("name", "arguments"), CHANGES[1:])
def test_a_cell_that_was_edited_meanwhile_is_asked_about_again(name: str, arguments: dict[str, Any]) -> None:
    cells = sample()
    person = Person(lambda: cells.type_into("one", "x = 1\ny = 2\ntyped = True"))

    record = call_tool(cells, person, (name, arguments))[0]

    assert record.status == "ok"
    assert [question.again.reason if question.again else "" for question in person.questions] == ["", "changed"]
    assert "typed" in "".join([*cells.sources.values(), *cells.ran, person.questions[1].effect])


@pytest.mark.promise("shown-cells")
def test_an_edit_far_from_the_difference_is_asked_about_too() -> None:
    source = "\n".join(f"line {number}" for number in range(40))
    cells = MemoryNotebook([cell("one", source)])
    person = Person(lambda: cells.type_into("one", source.replace("line 39", "line xx")))

    call_tool(cells, person, ("edit_cell", {"cell": "one", "old": "line 0\n", "new": ""}))

    assert len(person.questions) == 2
    assert cells.sources["one"].startswith("line 1\n")
    assert cells.sources["one"].endswith("line xx")


def test_a_failed_run_is_an_error_with_its_output() -> None:
    cells = sample()
    cells.result = CellRun((CellOutput("text", "so far", 6),), "ValueError: no")

    record = call_tool(cells, Person(), ("run_cell", {"cell": "one"}))[0]

    assert record.status == "error"
    assert "ValueError: no" in record.shown
    assert "so far" in record.shown


@pytest.mark.parametrize(
    ("name", "arguments", "reason"),
    [
        ("edit_cell", {"cell": "one", "old": "absent", "new": ""}, "does not occur"),
        ("edit_cell", {"cell": "one", "old": " = ", "new": ""}, "occurs 2 times"),
        ("edit_cell", {"cell": "chat", "old": "Hi", "new": ""}, "the cell of this chat"),
        ("edit_cell", {"cell": "one", "old": "x = 1", "new": "x\u2028import os"}, "U\\+2028"),
        ("insert_cell", {"after": "", "source": "a\rb"}, "U\\+000D"),
        ("insert_cell", {"after": "none", "source": "a"}, "no such cell"),
        ("insert_cell", {"after": "", "source": "a" * (MAX_SHOWN + 1)}, "up to 19,000 can"),
        ("delete_cell", {"cell": "chat"}, "the cell of this chat"),
        ("run_cell", {"cell": "two"}, "only code cells"),
        ("move_cell", {"cell": "one", "after": "one"}, "the id of another cell"),
    ],
)
def test_a_change_that_cannot_be_shown_or_made_is_an_error_and_changes_nothing(
    name: str, arguments: dict[str, Any], reason: str
) -> None:
    cells = sample()
    before = list(cells.contents)

    record = call_tool(cells, Person(), (name, arguments))[0]

    assert record.status == "error"
    assert re.search(reason, record.shown)
    assert (cells.contents, cells.ran) == (before, [])


@pytest.mark.parametrize(("name", "arguments"), [("list_cells", {}), *CHANGES])
def test_without_a_notebook_model_every_tool_says_what_can_be_done_and_reading_asks_nobody(
    name: str, arguments: dict[str, Any]
) -> None:
    person = Person()
    record = call_tool(None, person, (name, arguments))[0]

    assert record.status == "error"
    assert record.shown.count("\n") == 0
    assert "JupyterLab" in record.shown
    assert "`%%chat -t nbtool:notebook`" in record.shown
    assert "`%%chat --cells above`" in record.shown
    assert len(person.questions) == (name not in ("list_cells", "read_cell"))


def test_the_toolset_is_a_standard_one() -> None:
    assert set(standard("notebook").tools()) == {"list_cells", "read_cell", *(name for name, _ in CHANGES)}
