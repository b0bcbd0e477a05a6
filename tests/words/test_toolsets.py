"""What the tools that ship answer a model: files, cells of the notebook, Python, inspection, web pages."""

from __future__ import annotations

import ipaddress
import json
import os
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from syrupy.assertion import SnapshotAssertion

from nbtool import Approved, Denied
from nbtool.messages import Media
from nbtool.tools.approval import Decision, Question
from nbtool.toolsets import files, html_text, inspection, notebook_python, person, web
from nbtool.toolsets.notebook_access import CellOutput, CellRun, open_notebook
from nbtool.toolsets.notebook_tools import notebook
from nbtool.toolsets.runner_registry import CodeResult
from nbtool.wire.transport.web_pages.page_fetch import MAX_PAGE, Fetcher
from tests.chaos import serve, whole
from tests.samples import PNG
from tests.tools.calling import ToolHarness, ask_for, make_harness
from tests.toolsets.memory_notebook import MemoryNotebook, cell

Call = tuple[str, dict[str, Any]]


class Person:
    """Approves each call, and has what was to be seen beside it."""

    def __init__(self) -> None:
        self.effects: list[str] = []

    def ask(self, question: Question) -> Approved:
        self.effects.append(question.effect)
        return Approved()


def title_of(name: str, arguments: dict[str, Any]) -> str:
    given = ", ".join(f"{key}={json.dumps(value)}" for key, value in arguments.items())
    return f"{name}({given if len(given) < 120 else given[:60] + '…'})"


def text_of(record: Any) -> str:
    return f"{record.status}: {record.shown if len(record.shown) < 600 else '… ' + record.shown[-160:]}"


def answers(harness: ToolHarness, *calls: Call) -> dict[str, str]:
    """Run calls one after another and return what the model gets for each."""
    return {title_of(*one): text_of(harness.run(ask_for(one[0], **one[1]))) for one in calls}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Give a folder with files, links out of it, and what is closed."""
    folder = tmp_path / "data"
    for name in ("sub", ".git/hooks", "many"):
        (folder / name).mkdir(parents=True)
    (folder / "a.txt").write_text("one\ntwo\nthree\n")
    (folder / "b.txt").write_text("one\ntwo\n")
    (folder / "notes.md").write_text("-----BEGIN OPENSSH PRIVATE KEY-----\n")
    (folder / "mail.md").write_text("key: sk-proj-" + "a1" * 12)
    (folder / "x.bin").write_bytes(b"\x89PNG\r\n\x1a\n\0\0")
    (folder / "big.txt").write_text("x" * 3_000_000)
    (folder / ".env").write_text("KEY=1")
    (tmp_path / "secret.txt").write_text("SENTINEL")
    (folder / "to_secret").symlink_to("../secret.txt")
    os.link(tmp_path / "secret.txt", folder / "hard.txt")
    os.mkfifo(folder / "pipe")
    for number in range(600):
        (folder / "many" / f"{number:04}").touch()
    return folder


FILES: tuple[Call, ...] = (
    *(
        ("read_file", {"path": path})
        for path in ("../a", "/etc/passwd", "to_secret", ".env", ".git/config", "none.txt", "sub", "pipe", "hard.txt",
                     "notes.md", "mail.md", "x.bin", "big.txt", "a\0b", "C:\\a")
    ),
    ("read_file", {"path": "a.txt", "start": 2, "lines": 1}),
    ("read_file", {"path": "a.txt", "start": 9}),
    ("write_file", {"path": "out/r.md", "content": "# R\n"}),
    ("write_file", {"path": "out/r.md", "content": "x"}),
    ("write_file", {"path": ".git/hooks/x", "content": ""}),
    ("write_file", {"path": "x", "content": "a\0b"}),
    ("write_file", {"path": "x", "content": "y" * 1_000_001}),
    ("edit_file", {"path": "a.txt", "old": "two", "new": "2"}),
    ("edit_file", {"path": "a.txt", "old": "four", "new": "x"}),
    ("edit_file", {"path": "a.txt", "old": "e\n", "new": ""}),
    ("list_files", {"path": "sub"}),
    ("list_files", {"path": "many"}),
    ("list_files", {"pattern": "*" * 201}),
)  # fmt: skip


def test_files(folder: Path, snapshot: SnapshotAssertion) -> None:
    assert answers(make_harness(files(folder), approver=lambda _: Approved()), *FILES) == snapshot


def test_what_a_person_sees_beside_a_change_of_a_file(folder: Path, snapshot: SnapshotAssertion) -> None:
    person, texts = Person(), {}
    harness = make_harness(files(folder), approver=person)
    for name, arguments in (
        ("write_file", {"path": "a.txt", "content": "one\nthree\n", "replace": True}),
        ("write_file", {"path": "b.txt", "content": "one\r\ntwo\r\n", "replace": True}),
        ("write_file", {"path": "big.txt", "content": "new", "replace": True}),
        ("edit_file", {"path": "a.txt", "old": "absent", "new": "x"}),
    ):
        harness.run(ask_for(name, **arguments))
        text = person.effects[-1]
        texts[title_of(name, arguments)] = text if len(text) < 700 else text.partition("\n")[0]

    assert texts == snapshot


CELLS: tuple[Call, ...] = (
    ("list_cells", {}),
    ("read_cell", {"cell": "one"}),
    ("read_cell", {"cell": "one", "output": 2}),
    ("read_cell", {"cell": "none"}),
    ("insert_cell", {"after": "one", "source": "z = 3"}),
    ("insert_cell", {"after": "", "source": "w = 0"}),
    ("insert_cell", {"after": "", "source": "a\rb"}),
    ("insert_cell", {"after": "", "source": "a" * 20_000}),
    ("edit_cell", {"cell": "one", "old": "x = 1", "new": "x = 2"}),
    ("edit_cell", {"cell": "one", "old": "absent", "new": ""}),
    ("edit_cell", {"cell": "one", "old": " = ", "new": ""}),
    ("edit_cell", {"cell": "chat", "old": "Hi", "new": ""}),
    ("run_cell", {"cell": "one"}),
    ("run_cell", {"cell": "two"}),
    ("move_cell", {"cell": "one", "after": "two"}),
    ("move_cell", {"cell": "one", "after": "one"}),
    ("delete_cell", {"cell": "chat"}),
    ("delete_cell", {"cell": "two"}),
)


def sample() -> MemoryNotebook:
    outputs = (CellOutput("error", "E" * 10, 10),)
    one = cell("one", "x = 1\ny = 2", number=3, outputs=outputs)
    return MemoryNotebook([one, cell("two", "# Title", "markdown"), cell("chat", "%%chat\nHi")])


def cell_answers(cells: MemoryNotebook | None, *calls: Call) -> dict[str, str]:
    """Run calls while a cell waits; below an answer is what the person saw before."""
    person, texts = Person(), {}
    harness = make_harness(notebook(), approver=person)
    with open_notebook(harness.runtime.caller_thread, cells):
        for name, arguments in calls:
            person.effects.clear()
            (record,) = harness.run_lent(ask_for(name, **arguments))
            seen = [f"seen before:\n{effect}" for effect in person.effects if effect]
            texts[title_of(name, arguments)] = "\n".join([text_of(record), *seen])
    return texts


def test_cells(snapshot: SnapshotAssertion) -> None:
    assert cell_answers(sample(), *CELLS) == snapshot


def test_a_long_output_of_a_cell(snapshot: SnapshotAssertion) -> None:
    text = "".join(f"{number:05}" for number in range(4_000))
    long = MemoryNotebook([cell("one", "f()", outputs=(CellOutput("text", text, len(text)),))])
    calls: list[Call] = [("read_cell", {"cell": "one"}), ("read_cell", {"cell": "one", "output": 1, "start": 15_000})]
    shown = {title: text.replace("… ", "")[-60:] for title, text in cell_answers(long, *calls).items()}

    assert shown == snapshot


def test_cells_that_cannot_run_or_fail(snapshot: SnapshotAssertion) -> None:
    without, failing = sample(), sample()
    without.can_run = False
    failing.result = CellRun((CellOutput("text", "so far", 6),), "ValueError: no")
    run: Call = ("run_cell", {"cell": "one"})

    texts = {"where no cell can run": without, "where it fails": failing, "without a notebook model": None}
    assert {title: "".join(cell_answers(one, run).values()) for title, one in texts.items()} == snapshot


def test_python(snapshot: SnapshotAssertion) -> None:
    results = {
        "output and value": CodeResult(output="hello\n", has_value=True, value=[1]),
        "figures": CodeResult(figures=(Media("image/png", data=PNG),) * 12),
        "long output": CodeResult(output="x" * 50_000, omitted=1_234_567),
        "an error": CodeResult(output="so far\n", error="ValueError: no (line 2)"),
        "nothing": CodeResult(),
    }
    texts = {}
    for title, result in results.items():
        harness = make_harness(notebook_python(lambda _, result=result: result), approver=lambda _: Approved())
        texts[title] = text_of(harness.run(ask_for("run_python", code="…")))
    harness = make_harness(notebook_python(lambda _: CodeResult()), approver=lambda _: Approved())
    texts |= answers(harness, ("run_python", {"code": " \n"}), ("run_python", {"code": "x" * 100_001}))

    assert texts == snapshot


INSPECTED: tuple[Call, ...] = (
    *((tool, {"name": name}) for tool in ("describe", "columns", "head", "signature") for name in ("t", "f", "n")),
    *((tool, {"name": "wide"}) for tool in ("describe", "head")),
    ("value_counts", {"name": "t", "column": "n"}),
    ("value_counts", {"name": "t", "column": "name", "most": 2}),
    ("value_counts", {"name": "t", "column": "nmae"}),
    ("value_counts", {"name": "o"}),
    ("columns", {"name": "o"}),
    ("source", {"name": "f"}),
    ("source", {"name": "n"}),
    ("sample", {"name": "f"}),
    ("head", {"name": "secret"}),
)  # fmt: skip


def price(ticker: str, key: str = "SENTINEL") -> float:
    """Return the price."""
    return float(len(ticker + key))


def inspected(is_readable: bool) -> ToolHarness:
    table = pd.DataFrame({"n": [1, 1, 2], "name": ["a", "b", "c"], "gap": [1.5, None, None]})
    wide = pd.DataFrame({f"c{number}": [number] for number in range(60)})
    names = {"t": table, "wide": wide, "f": price, "n": np.zeros(3), "o": [{"k": 1}, {"k": 1}]}
    harness = make_harness(inspection, notebook=names)
    for name in names:
        harness.runtime.variables.expose(name, readable=is_readable)
    return harness


def test_inspection(snapshot: SnapshotAssertion) -> None:
    assert answers(inspected(True), *INSPECTED) == snapshot


def test_inspection_by_reference_only(snapshot: SnapshotAssertion) -> None:
    assert (
        answers(inspected(False), ("describe", {"name": "t"}), ("head", {"name": "t"}), ("source", {"name": "f"}))
        == snapshot
    )


async def resolve_to_loopback(_host: str, _port: int) -> list[str]:
    return ["127.0.0.1"]


PAGES = {
    "a page with links": (200, b"<title>T</title><p>Text <a href='/b'>B</a>", "text/html"),
    "JSON": (200, b'{"a": 1}', "application/json"),
    "an image": (200, b"\x89PNG", "image/png"),
    "a page that is not there": (404, b"", "text/html"),
    "a long page": (200, b"<p>word " * (MAX_PAGE // 4), "text/html"),
}


def test_web_pages(snapshot: SnapshotAssertion, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    fetcher = Fetcher(
        resolve=resolve_to_loopback, is_allowed=lambda address: address == ipaddress.ip_address("127.0.0.1")
    )
    harness = make_harness(web(fetcher), approver=lambda _: Approved())
    texts = {}

    def fetch(title: str, status: int, body: bytes, kind: str) -> None:
        with serve(whole(status, body, kind)) as server:
            record = harness.run(ask_for("fetch_page", url=f"http://site.test:{server.port}/a", links=True))
            texts[title] = text_of(record).replace(str(server.port), "PORT")

    for title, page in PAGES.items():
        fetch(title, *page)
    (tmp_path / "greedy.py").write_text("raise MemoryError")
    monkeypatch.setattr(html_text, "__file__", str(tmp_path / "greedy.py"))
    fetch("a page that takes too much memory", *PAGES["a page with links"])
    alone = make_harness(web, approver=lambda _: Approved())
    texts |= answers(
        alone, ("fetch_page", {"url": "http://127.0.0.1:1/"}), ("fetch_page", {"url": "file:///etc/passwd"})
    )

    assert texts == snapshot


QUESTIONS: tuple[Call, ...] = (
    ("ask_person", {"question": "Which colour?", "choices": ["red", "blue"]}),
    ("ask_person", {"question": " "}),
    ("ask_person", {"question": "Which?", "choices": ["a", "a"]}),
    ("ask_person", {"question": "Which?", "choices": ["x" * 30_000]}),
)


def test_questions_to_the_person(snapshot: SnapshotAssertion) -> None:
    forms: list[str] = []

    def fill_in(question: Question) -> Decision:
        forms.append(question.notice)
        return Approved({"choice": "blue"}) if len(forms) == 1 else Denied("not now")

    answered = answers(make_harness(person, approver=fill_in), *QUESTIONS)
    declined = answers(make_harness(person, approver=fill_in), QUESTIONS[0])
    alone = answers(make_harness(person, approver=None), QUESTIONS[0])
    texts = {
        **answered,
        **{f"declined: {title}": text for title, text in declined.items()},
        **{f"nobody is there: {title}": text for title, text in alone.items()},
        "above the form": forms[0],
    }

    assert texts == snapshot
