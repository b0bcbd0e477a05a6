"""A question that is asked again replaces the former one in every view; after an edit every view shows what ran."""

from __future__ import annotations

import io
from typing import Any

import pytest

from nbtool.blocks.argument_targets import resolved_shapes
from nbtool.blocks.labels import call_facts, decision_line, decision_text
from nbtool.blocks.question import REASK_TITLES, format_remarks
from nbtool.blocks.render.static_html import to_html, to_text
from nbtool.blocks.render.terminal import Terminal
from nbtool.events import (
    CallAsked,
    CallDecided,
    CallFinished,
    CallReady,
    CallStarted,
    Difference,
    Event,
    RepeatedQuestion,
    RequestStarted,
)
from tests.blocks.turns import fold
from tests.resolved import plain, reference

WRITTEN = '{"df": "$VAR_REF{{df}}"}'
FORMER, NEWER = {"df": reference("df", "3 rows")}, {"df": reference("df", "1,000,000 rows with iban")}
PREVIEW = {"df": {"columns": ["a"], "rows": [["old"]]}}
CHANGED = RepeatedQuestion("changed", (Difference("the argument 'df'", str(FORMER["df"]), str(NEWER["df"])),))
NOTE = "$VAR_REF{{df}} cannot be watched for changes: a generator cannot be compared."
START: list[Event] = [RequestStarted(1), CallReady("c1", "send", 1, WRITTEN, FORMER, (), PREVIEW)]
QUESTION: list[Event] = [
    CallAsked("c1", "run", "d1", "send", WRITTEN, described=FORMER, glances=PREVIEW),
    CallDecided("c1", "run", "d1", "approved", "button"),
    CallAsked("c1", "run", "d2", "send", WRITTEN, described=NEWER, notes=(NOTE,), again=CHANGED),
]
EDITED = '{"df": "other"}'


def in_a_terminal(events: list[Event]) -> str:
    output = io.StringIO()
    terminal = Terminal(output)
    for event in events:
        terminal.feed(event)
    return output.getvalue()


VIEWS: dict[str, Any] = {
    "static page": lambda events: to_html(fold(*events).document()),
    "text": lambda events: to_text(fold(*events).document()),
    "terminal": in_a_terminal,
}


@pytest.mark.promise("shown-is-run")
@pytest.mark.parametrize("view", VIEWS)
def test_a_question_that_is_asked_again_says_why_and_what_changed(view: str) -> None:
    shown = VIEWS[view]([*START, *QUESTION])

    assert REASK_TITLES["changed"] in shown
    assert "1,000,000 rows with iban" in shown
    assert "cannot be watched for changes" in shown


def test_the_block_of_a_call_holds_the_newer_question_and_its_current_object() -> None:
    block: Any = fold(*START, *QUESTION).block("c1")

    assert block["question"]["digest"] == "d2"
    assert block["question"]["again"]["reason"] == "changed"
    assert block["resolved"] == resolved_shapes(NEWER)
    assert block["glances"] == {}  # those of the former object are gone


@pytest.mark.parametrize("reason", REASK_TITLES)
def test_every_reason_has_its_words(reason: Any) -> None:
    actual = format_remarks(RepeatedQuestion(reason, problem="'n' is missing", edited="{}"), [])

    assert actual.startswith(REASK_TITLES[reason])
    assert "'n' is missing" in actual


def test_after_an_edit_the_call_shows_what_ran_and_keeps_what_was_asked_for() -> None:
    transcript = fold(
        *START,
        QUESTION[0],
        CallDecided("c1", "run", "d1", "approved", "button", edited=True),
        CallStarted("c1", 1.0, "main", EDITED, described={"df": plain('"other"')}),
        CallFinished("c1", "send", 1, "ok", "sent"),
    )
    block: Any = transcript.block("c1")
    page, text = to_html(transcript.document()), to_text(transcript.document())

    assert (block["arguments"], block["asked_arguments"]) == (EDITED, WRITTEN)
    assert block["resolved"] == resolved_shapes({"df": plain('"other"')})
    assert 'send(df="other")' in text
    assert "approved with your edit" in text
    assert "edited by you" not in text.replace("Arguments, edited by you", "")
    assert "Requested by the model" in page
    assert "$VAR_REF{{df}}" in page


def test_a_call_that_is_replayed_from_the_record_shows_its_edited_arguments_too() -> None:
    block: Any = fold(RequestStarted(1), CallReady("c1", "send", 1, WRITTEN, edited=EDITED)).block("c1")

    assert (block["arguments"], block["asked_arguments"]) == (EDITED, WRITTEN)


def test_a_first_edit_that_did_not_fit_is_reported_with_why_and_the_second_as_approved() -> None:
    refused = RepeatedQuestion("invalid", problem="'n' is missing", edited="{}")
    transcript = fold(
        *START,
        QUESTION[0],
        CallDecided("c1", "run", "d1", "approved", "button", edited=True),
        CallAsked("c1", "run", "d2", "send", WRITTEN, described=FORMER, again=refused),
    )
    waiting: Any = transcript.block("c1")
    assert call_facts(waiting) == "waiting for a decision"

    transcript.feed(CallDecided("c1", "run", "d2", "approved", "button", edited=True))
    decided: Any = transcript.block("c1")

    assert [decision_line(one) for one in decided["decisions"]] == [
        "The call was approved with your edit, and asked about again, since the edited arguments did not fit:"
        " 'n' is missing",
        "The call was approved with your edit",
    ]
    assert call_facts(decided) == "not started yet · approved with your edit"


@pytest.mark.parametrize(
    ("verdict", "by", "words"),
    [
        ("approved", "button", "approved"),
        ("denied", "input", "denied"),
        ("denied", "expired", "denied: nobody answered in time"),
        ("denied", "policy", "denied without asking"),
        ("approved", "remembered", "approved as remembered"),
        ("denied", "my_rules", "denied by my_rules"),
    ],
)
def test_who_decided_is_reported_in_plain_words(verdict: str, by: str, words: str) -> None:
    assert decision_text(verdict, by) == words


@pytest.mark.parametrize(("scope", "words"), [("call", "these arguments"), ("tool", "the tool")])
def test_an_approval_that_is_remembered_says_for_what_unless_it_was_asked_about_again(scope: Any, words: str) -> None:
    decided = CallDecided("c1", "run", "d1", "approved", "button", remember=scope)
    once: Any = fold(*START, QUESTION[0], decided).block("c1")
    again: Any = fold(*START, QUESTION[0], decided, QUESTION[2]).block("c1")

    assert decision_line(once["decisions"][0]) == f"The call was approved, and {words} from now on"
    assert call_facts(once) == f"not started yet · approved, and {words} from now on"
    assert "from now on" not in decision_line(again["decisions"][0])


def test_a_call_whose_result_is_asked_about_says_what_waits_and_what_was_approved() -> None:
    transcript = fold(
        *START, QUESTION[0], CallDecided("c1", "run", "d1", "approved", "button"),
        CallAsked("c1", "result", "d2", "send", "the result"),
    )  # fmt: skip
    waiting: Any = transcript.block("c1")
    assert call_facts(waiting) == "result waits for a decision · call approved"

    transcript.feed(CallDecided("c1", "result", "d2", "released", "button"))
    decided: Any = transcript.block("c1")
    assert "call approved" not in call_facts(decided)
    assert "result released" in call_facts(decided)
