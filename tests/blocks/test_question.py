from __future__ import annotations

import json
from typing import Any

import pytest

from nbtool.blocks.fold.turn_events import Transcript
from nbtool.blocks.protocol import CallBlock
from nbtool.blocks.question import question_summary
from nbtool.blocks.render.static_html import to_html, to_text
from nbtool.events import CallAsked, CallReady, ResolvedArgument, TurnEnded, TurnStarted
from nbtool.messages import Usage, user
from tests.resolved import plain, reference


def make_question(
    shown: str, resolved: dict[str, ResolvedArgument] | None = None, *, gate: Any = "run", tool: str = "save"
) -> Transcript:
    transcript = Transcript()
    transcript.feed(TurnStarted("t", "m", user("Go"), 1.0))
    transcript.feed(CallReady("c1", tool, 1, shown if gate == "run" else "{}", resolved or {}))
    transcript.feed(CallAsked("c1", gate, "d1", tool, shown, described=resolved or {}))
    return transcript


def block_of(transcript: Transcript) -> CallBlock:
    block = transcript.block("c1")
    assert block["kind"] == "call"
    return block


def test_a_question_about_a_result_has_its_table_and_one_about_a_call_has_none() -> None:
    table = {"columns": ["a"], "rows": [[1], ["<b>"]], "more_rows": 3, "more_columns": "x"}
    questions = []
    for gate in ("result", "run"):
        transcript = make_question("{}", gate=gate)
        transcript.feed(CallAsked("c1", gate, "d2", "save", "{}", glances={"result": table}))
        questions.append(block_of(transcript)["question"] or {})

    assert questions[0].get("table") == {"columns": ["a"], "rows": [["1"], ["<b>"]], "more_rows": 3}
    assert "table" not in questions[1]


@pytest.mark.parametrize(
    ("shown", "resolved", "said"),
    [
        ("{}", {}, "Run save()?"),
        (
            '{"rows": "$VAR_REF{{df}}", "path": "out.csv"}',
            {"rows": reference("df", "DataFrame, 344 rows by 7 columns", "a (int64)"), "path": plain('"out.csv"')},
            'Run save(rows=df, path="out.csv")? df: DataFrame, 344 rows by 7 columns.',
        ),
        ('{"code": "a\\nb\\n"}', {"code": plain('"a\\nb\\n"')}, "Run save(code=… 2 lines)?"),
        ('{"a": "x\\u202ey"}', {"a": plain('"x\u202ey"')}, 'Run save(a="x\\u{202e}y")?'),
        (
            '{"n": 12345678901234567890}',
            {"n": plain("12345678901234567890")},
            "Run save(n=12345678901234567890)?",
        ),
        (
            json.dumps({str(n): n for n in range(8)}),
            {str(n): plain(str(n)) for n in range(8)},
            "Run save(0=0, 1=1, 2=2, 3=3, 4=4, 5=5, … 2 arguments more)?",
        ),
        ("Allow as much again?", {}, "save asks: Allow as much again?"),
    ],
)
def test_one_sentence_says_what_will_happen(shown: str, resolved: dict[str, ResolvedArgument], said: str) -> None:
    assert question_summary(block_of(make_question(shown, resolved))) == said


def test_a_result_is_reported_by_its_length() -> None:
    said = question_summary(block_of(make_question("owner: jane", gate="result")))

    assert said == "Send the result of save() to the model (11 characters)?"


def test_a_result_is_asked_about_with_its_call_in_one_bounded_line() -> None:
    arguments = '{"df": "$VAR_REF{{birds}}", "query": "mass > 3\\u202e"}'
    said = []
    for text in (arguments, arguments.replace("mass", "m" * 500)):
        transcript = Transcript()
        transcript.feed(TurnStarted("t", "m", user("Go"), 1.0))
        transcript.feed(CallReady("c1", "select", 1, text, {}))
        transcript.feed(CallAsked("c1", "result", "d1", "select", "owner: jane"))
        said.append(question_summary(block_of(transcript)))

    assert said[0] == 'Send the result of select(df=birds, query="mass > 3\\u202e") to the model (11 characters)?'
    assert said[1].startswith('Send the result of select(df=birds, query="mmm')
    assert said[1].endswith("m…) to the model (11 characters)?")
    assert len(said[1]) < 150


def test_a_result_for_a_client_names_it_in_one_line() -> None:
    transcript = make_question("{}", gate="result")
    transcript.feed(CallAsked("c1", "result", "d2", "save", "owner: jane", recipient="agent\n\u202e1.0"))

    said = question_summary(block_of(transcript))

    assert said == "Send the result of save() to agent \\u{202e}1.0 (11 characters)?"


def test_a_saved_turn_shows_its_question_and_nothing_to_press() -> None:
    transcript = make_question('{"path": "<b>out</b>"}', {"path": plain('"<b>out</b>"')})
    transcript.feed(TurnEnded("parked", "", Usage(), 1, 1, 1.0))
    html, text = to_html(transcript.document()), to_text(transcript.document())

    assert "Approval needed" in html
    assert "Run save(path=&quot;&lt;b&gt;out&lt;/b&gt;&quot;)?" in html
    assert "<button" not in html
    assert 'Approval needed: Run save(path="<b>out</b>")?' in text


def test_a_result_that_waits_is_not_saved() -> None:
    transcript = make_question("SENTINEL", gate="result")
    transcript.feed(TurnEnded("parked", "", Usage(), 1, 1, 1.0))

    assert "SENTINEL" not in to_html(transcript.document()) + to_text(transcript.document())


def test_a_question_that_was_decided_leaves_no_card() -> None:
    transcript = make_question("{}")
    transcript.feed(TurnEnded("cancelled", "", Usage(), 1, 1, 1.0))

    assert question_summary(block_of(transcript)) == ""
    assert "Approval needed" not in to_html(transcript.document())
