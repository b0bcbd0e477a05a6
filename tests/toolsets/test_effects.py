"""What a person is told that a change of a file will change, and that nothing else than this is done."""

from __future__ import annotations

from pathlib import Path

import pytest

from nbtool import Approved, Chat
from nbtool.testing import ScriptedWire, call
from nbtool.tools.approval import Decision, Question
from nbtool.toolsets.folder import MAX_DIFFED, files

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


def asked(folder: Path, name: str, person: Person, **arguments: object) -> Person:
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

    person = asked(tmp_path, name, Person(), **arguments)

    assert [question.effect for question in person.questions] == [DIFF]
    assert (tmp_path / "a.md").read_text() == "one\nthree\n"


def test_a_file_that_changed_after_it_was_shown_is_asked_about_again(tmp_path: Path) -> None:
    path = tmp_path / "a.md"
    path.write_text("one\ntwo\n")

    person = asked(tmp_path, "edit_file", Person((path, "zero\ntwo\n")), path="a.md", old="two", new="three")

    assert [question.effect.split("\n")[3] for question in person.questions] == [" one", " zero"]
    assert len({question.digest for question in person.questions}) == 2
    assert path.read_text() == "zero\nthree\n"


@pytest.mark.parametrize("text", ["", "x" * (MAX_DIFFED + 1)])
def test_what_is_new_or_too_long_to_compare_has_no_diff(tmp_path: Path, text: str) -> None:
    (tmp_path / "a.md").write_text(text)

    person = asked(tmp_path, "write_file", Person(), path="a.md", content="new", replace=True)

    assert [question.effect for question in person.questions] == [""]


def test_an_edit_that_cannot_be_made_is_asked_about_without_a_diff_and_says_why_when_it_runs(tmp_path: Path) -> None:
    (tmp_path / "a.md").write_text("one\n")

    person = asked(tmp_path, "edit_file", Person(), path="a.md", old="two", new="three")

    assert [question.effect for question in person.questions] == [""]
    assert (tmp_path / "a.md").read_text() == "one\n"
