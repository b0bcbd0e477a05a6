"""What a person is told that a change of a file will change, and that nothing else than this is done."""

from __future__ import annotations

import time
from dataclasses import replace
from pathlib import Path

import pytest

from nbtool import Approved, Chat
from nbtool.testing import ScriptedWire, call
from nbtool.tools.approval import Decision, Question
from nbtool.tools.tool import as_tools
from nbtool.tools.values.line_diff import ONLY_LINE_ENDS, TOO_DIFFERENT
from nbtool.toolsets.file_tools import MAX_DIFF_BYTES, files
from tests.cpu_time import run_within

DIFF = "--- a.md\n+++ a.md\n@@ -1,2 +1,2 @@\n one\n-two\n+three"


class Person:
    """Approves everything, remembers what was asked, and may do something before the first answer."""

    name = "person"

    def __init__(self, before: tuple[Path, str] | None = None) -> None:
        self.questions: list[Question] = []
        self.before = before

    def ask(self, question: Question) -> Decision:
        """Approve."""
        self.questions.append(question)
        if self.before:
            path, text = self.before
            path.write_text(text)
            self.before = None
        return Approved()


def run_with_approver(folder: Path, name: str, person: Person, **arguments: object) -> Person:
    with ScriptedWire([call(name, **arguments), "Done."]) as wire:
        Chat(wire=wire, tools=[files(folder)], approver=person).send("Go")
    return person


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("write_file", {"path": "a.md", "content": "one\nthree\n", "replace": True}),
        ("edit_file", {"path": "a.md", "old": "two", "new": "three"}),
    ],
)
def test_a_change_of_a_file_is_asked_about_with_its_diff(
    tmp_path: Path, name: str, arguments: dict[str, object]
) -> None:
    (tmp_path / "a.md").write_text("one\ntwo\n")

    person = run_with_approver(tmp_path, name, Person(), **arguments)

    assert [question.effect for question in person.questions] == [DIFF]
    assert (tmp_path / "a.md").read_text() == "one\nthree\n"


def test_a_file_that_changed_after_it_was_shown_is_asked_about_again(tmp_path: Path) -> None:
    path = tmp_path / "a.md"
    path.write_text("one\ntwo\n")

    person = run_with_approver(
        tmp_path, "edit_file", Person((path, "zero\ntwo\n")), path="a.md", old="two", new="three"
    )

    assert [question.effect.split("\n")[3] for question in person.questions] == [" one", " zero"]
    assert len({question.digest for question in person.questions}) == 2
    assert path.read_text() == "zero\nthree\n"


def test_what_is_new_has_no_diff(tmp_path: Path) -> None:
    (tmp_path / "a.md").write_text("")

    person = run_with_approver(tmp_path, "write_file", Person(), path="a.md", content="new", replace=True)

    assert [question.effect for question in person.questions] == [""]


@pytest.mark.parametrize(
    ("name", "old_size", "arguments"),
    [
        ("write_file", MAX_DIFF_BYTES + 1, {"content": "new", "replace": True}),
        ("write_file", 10, {"content": "y" * (MAX_DIFF_BYTES + 1), "replace": True}),
        ("edit_file", MAX_DIFF_BYTES + 1, {"old": "end", "new": "start"}),
    ],
)
def test_what_is_too_long_to_compare_says_so(
    tmp_path: Path, name: str, old_size: int, arguments: dict[str, object]
) -> None:
    (tmp_path / "a.md").write_text("x" * (old_size - 3) + "end")

    person = run_with_approver(tmp_path, name, Person(), path="a.md", **arguments)

    assert [question.effect.startswith("a.md ") and "\n@@" not in question.effect for question in person.questions] == [
        True
    ]


def test_shuffled_lines_are_asked_about_with_the_old_and_the_new_text(tmp_path: Path) -> None:
    lines = [f"{number * 7919 % 30_011:x}" for number in range(1_200)]
    (tmp_path / "a.md").write_text("\n".join(lines))

    person = run_with_approver(
        tmp_path, "write_file", Person(), path="a.md", content="\n".join(sorted(lines)), replace=True
    )

    effect = person.questions[0].effect.split("\n")
    assert effect[2] == TOO_DIFFERENT
    assert [line[1:] for line in effect[3:]] == [*lines, *sorted(lines)]


def test_a_hundred_kilobytes_of_shuffled_lines_are_asked_about_at_once(tmp_path: Path) -> None:
    lines = [f"{number * 7919 % 30_011:x}" for number in range(20_000)]
    (tmp_path / "a.md").write_text("\n".join(lines))

    def write() -> Person:
        return run_with_approver(
            tmp_path, "write_file", Person(), path="a.md", content="\n".join(sorted(lines)), replace=True
        )

    person = run_within(10, write, time.process_time)

    assert TOO_DIFFERENT in person.questions[0].effect


def test_a_change_of_line_ends_alone_is_reported(tmp_path: Path) -> None:
    (tmp_path / "a.md").write_bytes(b"one\r\ntwo\r\n")

    person = run_with_approver(tmp_path, "write_file", Person(), path="a.md", content="one\ntwo\n", replace=True)

    assert [question.effect for question in person.questions] == [ONLY_LINE_ENDS]


def test_an_edit_that_cannot_be_made_is_asked_about_with_the_reason_for_the_person_only(tmp_path: Path) -> None:
    (tmp_path / "a.md").write_text("one\n")

    person = run_with_approver(tmp_path, "edit_file", Person(), path="a.md", old="two", new="three")

    (question,) = person.questions
    assert "@@" not in question.effect
    assert "occur" in question.effect
    assert (tmp_path / "a.md").read_text() == "one\n"


def test_a_preview_that_raises_is_named_on_the_card() -> None:
    person = Person()

    def preview(n: int) -> str:
        raise ValueError(n)

    def change(n: int) -> int:
        """Change."""
        return n

    (plain,) = as_tools(change)
    previewed = replace(plain, preview_effect=preview)
    Chat(wire=ScriptedWire([call("change", n=1), "Done."]), tools=[previewed], approver=person).send("Go.")

    assert ["(ValueError)" in question.effect for question in person.questions] == [True]
