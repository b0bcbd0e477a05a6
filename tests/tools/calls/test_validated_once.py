"""The arguments of a call are validated once, before anybody is asked; those values are shown, run and kept."""

# ruff: noqa: ARG001 - tools under test have parameters that they do not need

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial
from typing import Annotated, Any
from uuid import uuid4

import pytest
from pydantic import AfterValidator, Field

from nbtool import Approved, tool
from nbtool.testing import ScriptedApprover
from nbtool.tools.approval import Policy
from nbtool.tools.builtin import builtin_tool
from tests.tools.calling import ask_for, make_harness

seen: list[Any] = []


@pytest.fixture(autouse=True)
def _forget() -> None:
    seen.clear()


def note(value: Any) -> Any:
    seen.append(value)
    return value


Noted = Annotated[str, AfterValidator(note)]


@tool
def send(to: Noted, number: str = Field(default_factory=lambda: note(uuid4().hex)), data: Any = None) -> str:
    "Send."
    return f"{to} {number}"


@pytest.mark.promise("shown-is-run")
def test_a_check_of_the_author_runs_once_for_a_call_that_asks() -> None:
    harness = make_harness(send, approver=ScriptedApprover([Approved()]))

    record = harness.run(ask_for("send", to="me"))

    assert len(seen) == 2
    assert record.result == f"me {seen[1]}"


def test_a_default_that_was_made_is_in_the_question_in_the_events_and_in_the_record() -> None:
    harness = make_harness(send, approver=ScriptedApprover([Approved()]))

    record = harness.run(ask_for("send", to="me"))

    texts = {
        *(event.resolved["number"].text for event in harness.of("call_ready") + harness.of("call_asked")),
        record.resolved["number"].text,
    }
    assert texts == {f'"{seen[1]}"'}
    assert harness.of("call_started")[0].described == {}  # as in the event before


def test_a_default_without_a_form_in_json_is_described() -> None:
    @tool(run="auto")
    def use(it: Any = Field(default=object())) -> str:  # noqa: B008 - what is tested
        "Use."
        return "used"

    assert make_harness(use).run(ask_for("use")).resolved["it"].text == "object"


def test_edited_arguments_are_validated_once_more_and_the_first_values_do_not_run() -> None:
    # the check changes data of the tool's module after the first question, so that there is a second one
    harness = make_harness(send, approver=ScriptedApprover([Approved(arguments={"to": "you"}), Approved()]))

    record = harness.run(ask_for("send", to="me"))

    assert [value for value in seen if value in ("me", "you")] == ["me", "you"]
    assert record.result == f"you {seen[3]}"


def test_a_check_of_the_author_runs_once_for_a_call_with_an_object_that_stays_as_it_is() -> None:
    harness = make_harness(send, notebook={"rows": [1, 2]}, expose=["rows"], approver=ScriptedApprover([Approved()]))

    record = harness.run(ask_for("send", to="me", data="$VAR_REF{{rows}}"))

    assert record.status == "ok"
    assert len(seen) == 2


def test_arguments_are_validated_again_if_the_object_of_a_reference_changed() -> None:
    rows = [1, 2]

    def change(_: Any) -> Approved:
        rows.append(3)
        return Approved()

    approver = ScriptedApprover([change, Approved()])
    harness = make_harness(send, notebook={"rows": rows}, expose=["rows"], approver=approver)

    assert harness.run(ask_for("send", to="me", data="$VAR_REF{{rows}}")).status == "ok"
    assert seen.count("me") == 2


def test_a_preview_of_an_effect_gets_a_copy_of_the_values_that_run() -> None:
    previewed: list[Any] = []

    def preview(numbers: list[int]) -> str:
        previewed.append([*numbers])
        numbers.clear()
        return f"{len(previewed[-1])} numbers"

    def total(numbers: Annotated[list[int], AfterValidator(note)]) -> int:
        "Total."
        return sum(numbers)

    made = builtin_tool(total, "here", Policy("ask_always"), preview_effect=preview)
    record = make_harness(made, approver=ScriptedApprover([Approved()])).run(ask_for("total", numbers=[1, 2]))

    assert record.result == 3
    assert previewed == [[1, 2], [1, 2]]
    assert len(seen) == 1


@pytest.mark.promise("shown-is-run")
def test_an_invalid_item_is_refused_before_anybody_is_asked_and_before_any_effect() -> None:
    @tool
    def mail(to: Iterable[str]) -> str:
        "Mail."
        for one in to:
            seen.append(one)
        return f"{len([*to])} of {len(seen)}"

    harness = make_harness(mail, approver=ScriptedApprover([Approved()]))

    assert harness.run(ask_for("mail", to=["a", "b", 3])).status == "invalid"
    assert (seen, harness.of("call_asked")) == ([], [])
    assert harness.run(ask_for("mail", to=["a", "b"])).result == "2 of 2"


@pytest.mark.promise("author-bound")
def test_what_the_author_bound_is_not_taken_from_a_model_and_nothing_runs() -> None:
    def read(name: str, folder: str) -> str:
        "Read."
        seen.append(folder)
        return name

    for bound in (partial(read, folder="public"), partial(partial(read, folder="public"))):
        harness = make_harness(tool(run="auto", name="read")(bound))

        assert harness.run(ask_for("read", name="a", folder="/etc")).status == "invalid"
        assert seen == []
        assert harness.run(ask_for("read", name="a")).result == "a"
        assert seen.pop() == "public"


@pytest.mark.parametrize("make", [list, lambda: Field(default_factory=list), lambda: Field(default=[])])
def test_a_call_does_not_see_what_an_earlier_one_did_to_a_default(make: Callable[[], Any]) -> None:
    @tool(run="auto")
    def collect(item: str, into: list[str] = make()) -> int:  # noqa: B008 - what is tested
        "Collect."
        into.append(item)
        return len(into)

    harness = make_harness(collect)

    assert [harness.run(ask_for("collect", item=item)).result for item in "abc"] == [1, 1, 1]
