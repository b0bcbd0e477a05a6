from __future__ import annotations

import copy
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, get_args, get_type_hints

import jsonschema
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nbtool.blocks import protocol
from nbtool.blocks.argument_targets import resolved_shapes
from nbtool.blocks.labels import END_REASONS
from nbtool.blocks.protocol_schema import (
    CALL_BLOCK,
    DATA_LIMIT,
    DECISION,
    HEAD,
    NOTICE_BLOCK,
    PROSE_BLOCK,
    SCHEMA,
    USAGE,
)
from nbtool.blocks.render.mimebundle import TURN_MIME, turn_data, turn_mimebundle
from nbtool.blocks.render.static_html import COLLAPSED_QUESTION, COLLAPSED_TURN
from nbtool.events import (
    CallAsked,
    CallDecided,
    CallDelta,
    CallFinished,
    CallProgress,
    CallReady,
    CallStarted,
    EndReason,
    Event,
    Notice,
    ReplyFinished,
    RequestStarted,
    TextDelta,
    ThinkingDelta,
    TurnEnded,
    TurnStarted,
    TurnStatus,
)
from nbtool.messages import Usage, assistant, user
from tests.blocks.turns import RECORDS, make_document, scenes
from tests.resolved import plain, reference

SCHEMA_FILE = Path(__file__).parents[3] / "js" / "src" / "saved" / "schema.json"
VALID = jsonschema.Draft202012Validator(SCHEMA)
TEXTS = st.text(st.characters(codec="utf-8"), max_size=40)


def finished_data() -> Any:
    return turn_mimebundle(make_document(*scenes()["finished"]))[TURN_MIME]


def test_the_page_reads_the_schema_of_the_package() -> None:
    written = json.dumps(SCHEMA, indent=1) + "\n"
    if RECORDS:
        SCHEMA_FILE.write_text(written, encoding="utf-8")

    jsonschema.Draft202012Validator.check_schema(SCHEMA)
    assert SCHEMA_FILE.read_text(encoding="utf-8") == written


@pytest.mark.parametrize(
    ("schema", "shape", "live"),
    [
        (SCHEMA, protocol.Document, set()),
        (HEAD, protocol.Head, {"acts", "answer_by", "adds", "prompt_line"}),
        (USAGE, protocol.UsageData, set()),
        (DECISION, protocol.DecisionData, set()),
        (PROSE_BLOCK, protocol.ProseBlock, set()),
        (CALL_BLOCK, protocol.CallBlock, set()),
        (NOTICE_BLOCK, protocol.NoticeBlock, set()),
    ],
)
def test_the_schema_knows_every_key_of_a_document_but_the_live_ones(
    schema: dict[str, Any], shape: Any, live: set[str]
) -> None:
    assert set(schema["properties"]) == set(get_type_hints(shape)) - live
    assert schema["additionalProperties"] is False


@st.composite
def turns(draw: st.DrawFn) -> list[Event]:
    """Any turn, with any text wherever a model, a tool, a server or a person may write one."""
    text = st.one_of(TEXTS, st.sampled_from(["\ud800", "\x00", "x" * 5_000, "$VAR_REF{{df}}", '{"a": 1}']))
    actual = st.one_of(st.builds(plain, text), st.builds(reference, text, text, text))
    names = st.dictionaries(TEXTS, actual, max_size=3)
    events: list[Event] = [TurnStarted(draw(text), draw(text), user(draw(text)), 1.0), RequestStarted(1)]
    events += [draw(st.sampled_from([TextDelta, ThinkingDelta]))(draw(text)) for _ in range(draw(st.integers(0, 3)))]
    for number in range(draw(st.integers(0, 3))):
        call_id = f"{draw(TEXTS)}{number}"
        events += [
            CallDelta("0", name=draw(text), arguments=draw(text), call_id=call_id),
            CallReady(call_id, draw(text), 1, draw(text), draw(names), (draw(text),)),
            CallAsked(call_id, "run", "d", draw(TEXTS), draw(TEXTS), draw(TEXTS)),
        ]
        if draw(st.booleans()):
            events += [
                CallDecided(call_id, "run", "d", "approved", draw(TEXTS), draw(TEXTS)),
                CallStarted(call_id, 1.0),
            ]
            events += [CallProgress(call_id, draw(text), draw(st.none() | st.floats()))]
        if draw(st.booleans()):
            events += [CallFinished(call_id, "n", 1, "ok", draw(text), draw(text), draw(text), 0.1)]
    events += [Notice(draw(text), "info"), ReplyFinished(1, assistant(""), "end", Usage(1, 2), True)]
    status = draw(st.sampled_from(["completed", "cancelled", "error", "timeout", "parked"]))
    reason = draw(st.sampled_from(get_args(EndReason)))
    return [*events, TurnEnded(status, "", Usage(1, 2), 1, 1, 0.5, draw(text), reason)]


@settings(max_examples=60, deadline=None)
@given(turns())
def test_any_turn_is_saved_as_data_of_the_schema_and_read_back_as_it_was(events: list[Event]) -> None:
    data = turn_mimebundle(make_document(*events))[TURN_MIME]

    VALID.validate(data)
    assert json.loads(json.dumps(data, allow_nan=False)) == data
    assert turn_data(data) == data


def set_in(*path: Any, to: Any) -> Callable[[Any], None]:
    def change(data: Any) -> None:
        for step in path[:-1]:
            data = data[step]
        data[path[-1]] = to

    return change


@pytest.mark.parametrize(
    "forge",
    [
        set_in("v", to=2),
        set_in("more", to=1),
        set_in("head", "status", to="running"),
        set_in("head", "turn_id", to="t\n!ls"),
        set_in("head", "acts", to=["rerun"]),
        set_in("head", "prompt", to="x"),
        set_in("blocks", 0, "kind", to="html"),
        set_in("blocks", 0, "dangerouslySetInnerHTML", to={"__html": "<b>"}),
        set_in("blocks", 0, "text", to={"type": "script"}),
        set_in("blocks", 0, "text", to="x" * (DATA_LIMIT + 1)),
        set_in("blocks", 2, "question", to={"gate": "run"}),
        set_in("blocks", 2, "resolved", to={"a": {"b": "c"}}),
        set_in("blocks", 2, "fraction", to=2),
        set_in("blocks", 2, "decisions", 0, "digest", to="d1"),
        set_in("blocks", to=[{"kind": "notice"}]),
    ],
)
def test_a_forged_document_is_refused(forge: Callable[[Any], None]) -> None:
    data = copy.deepcopy(finished_data())
    VALID.validate(data)

    forge(data)

    assert not VALID.is_valid(data)


@pytest.mark.parametrize(
    ("chat", "stored"),
    [("side", ("turn_1", "side")), ("it's mine", ("", "")), ("-c x", ("", "")), ("a\n!ls", ("", ""))],
)
def test_a_turn_is_named_only_where_a_cell_can_name_it(chat: str, stored: tuple[str, str]) -> None:
    document = make_document(*scenes()["finished"])
    document["head"] |= {"turn_id": "turn_1", "chat": chat}

    data = turn_mimebundle(document)[TURN_MIME]

    VALID.validate(data)
    assert (data["head"]["turn_id"], data["head"].get("chat", "")) == stored


def test_a_turn_that_goes_on_is_no_data() -> None:
    assert set(turn_mimebundle(make_document(*scenes()["running"]))) == {"text/html", "text/plain"}


def test_a_question_that_waits_is_reported_and_its_text_is_not_kept() -> None:
    gate = [*scenes()["result_gate"], TurnEnded("parked", "", Usage(), 1, 1, 1.0)]

    data = turn_mimebundle(make_document(*gate))[TURN_MIME]

    assert "jane@example.com" not in json.dumps(data)
    assert [block["text"][:60] for block in data["blocks"] if block["kind"] == "notice"] == [
        'Approval needed: Send the result of price(ticker="ACME", tab'
    ]


def test_a_turn_that_was_replayed_contains_no_time_and_its_file_changes_in_its_id_alone() -> None:
    def replayed(turn_id: str, at: float) -> str:
        first, *rest = scenes()["finished"]
        assert isinstance(first, TurnStarted)
        start = TurnStarted(turn_id, first.model, first.prompt, at, replayed="2026-01-01")
        end = TurnEnded("completed", "", Usage(2013, 260), 2, 2, at / 7)
        return json.dumps(turn_mimebundle(make_document(start, *rest[:-1], end)))

    one, other = replayed("turn_1", 5.0), replayed("turn_2", 9.0)

    assert one.replace("turn_1", "turn_2") == other
    assert "0.3 s" not in one


def test_a_huge_turn_is_shortened_where_it_is_longest_and_says_so() -> None:
    huge = "ein schönes Wort " * 100_000
    events: list[Event] = [RequestStarted(1), TextDelta(huge)]
    for number in range(30):
        call_id = f"c{number}"
        events += [
            CallDelta("0", name="read", arguments="{}", call_id=call_id),
            CallFinished(call_id, "read", 1, "ok", huge[:60_000], traceback=huge[:50_000]),
        ]

    bundle = turn_mimebundle(make_document(*events, TurnEnded("completed", "", Usage(), 1, 30, 1.0)))
    data = bundle[TURN_MIME]

    VALID.validate(data)
    assert len(json.dumps(data, ensure_ascii=False, separators=(",", ":")).encode()) <= DATA_LIMIT
    assert data["blocks"][0]["more"]["text"] > 1_000_000
    assert data["blocks"][1]["more"].keys() == {"result", "traceback"}


def test_what_cannot_be_made_small_enough_is_no_data() -> None:
    document = make_document(*scenes()["finished"])
    call = next(block for block in document["blocks"] if block["kind"] == "call")
    call["resolved"] = resolved_shapes({f"name {number}": plain("x" * 4_000) for number in range(100)})
    document["blocks"] = [call]

    assert set(turn_mimebundle(document)) == {"text/html", "text/plain"}


@pytest.mark.parametrize("reason", [one for one in get_args(EndReason) if one])
def test_a_saved_turn_says_why_it_ended_without_a_finished_answer(reason: EndReason) -> None:
    ended = TurnEnded("completed", "", Usage(1, 2), 1, 0, 0.5, end_reason=reason)
    data = turn_mimebundle(make_document(TurnStarted("t", "m", user("p"), 1.0), ended))

    VALID.validate(data[TURN_MIME])
    assert data[TURN_MIME]["head"]["end_reason"] == reason
    assert END_REASONS[reason] in data["text/plain"]
    assert END_REASONS[reason] in data["text/html"]


def test_a_turn_that_was_saved_without_an_end_reason_is_read() -> None:
    data = finished_data()

    assert "end_reason" not in data["head"]
    VALID.validate(data)


@pytest.mark.parametrize(
    ("status", "line"),
    [
        ("completed", COLLAPSED_TURN),
        ("error", COLLAPSED_TURN),
        ("parked", COLLAPSED_QUESTION),
        ("running", COLLAPSED_QUESTION),
    ],
)
def test_a_collapsed_output_begins_with_what_it_is(status: TurnStatus, line: str) -> None:
    """JupyterLab shows the source of its HTML in one line."""
    document = make_document(*scenes()["finished"])
    document["head"]["status"] = status

    assert turn_mimebundle(document)["text/html"].startswith(f"<!-- {line} -->")
