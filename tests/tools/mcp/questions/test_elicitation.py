"""A server asks for input during a call: a form in the same queue as approvals, over stdio and HTTP."""

from __future__ import annotations

import asyncio
import json
import re
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from mcp.types import ElicitRequest, ElicitRequestFormParams, ElicitResult, InputRequiredResult, ListRootsRequest

from nbtool import Approved, Chat, Denied, Policy
from nbtool.errors import McpFailed
from nbtool.events import CallAsked, Notice
from nbtool.testing import ScriptedWire, call
from nbtool.threads.loop import background_loop
from nbtool.tools.approval import Decision, Question, Undecided
from nbtool.tools.calls.call_run import run_call
from nbtool.tools.mcp import McpServers, mcp_servers
from nbtool.tools.mcp.connection.reconnection import _CallProgress
from nbtool.tools.mcp.questions.elicitation import MAX_INPUT_ROUNDS, MAX_QUESTIONS, complete_call, decline
from tests.tools.calling import ToolHarness, ask_for, make_harness
from tests.tools.mcp.eliciting_server import make_server as make_eliciting_server
from tests.tools.mcp.resolving_server import make_server
from tests.tools.mcp.serving import http_server

SERVERS = Path(__file__).parents[1]
SEAT = {"name": "Ada", "seats": 2}
PARAMS = ElicitRequestFormParams(message="Which?", requested_schema={"type": "object", "properties": {}})


def command(program: str) -> dict[str, Any]:
    return {"command": sys.executable, "args": [str(SERVERS / program)]}


@pytest.fixture(scope="module")
def older() -> Iterator[McpServers]:
    """Give a server that asks by a request of its own, as all did until 2025."""
    with mcp_servers({"mcpServers": {"lab": command("asking_server.py")}}) as servers:
        yield servers


@pytest.fixture(scope="module")
def newer() -> Iterator[McpServers]:
    """Give a server whose result says what it needs, as since 2026."""
    with mcp_servers({"mcpServers": {"lab": command("resolving_server.py")}}) as servers:
        yield servers


async def leave_forms(question: Question) -> Decision | Undecided:
    """Approve calls, and leave forms to somebody else."""
    return Undecided() if question.is_form else Approved()


def answering(*decisions: Decision) -> tuple[Callable[[Question], Decision], list[Question]]:
    """Return an approver that approves calls and answers forms in turn, and the forms that it gets."""
    forms: list[Question] = []
    remaining = list(decisions)

    def answer(question: Question) -> Decision:
        if not question.is_form:
            return Approved()
        forms.append(question)
        return remaining.pop(0)

    return answer, forms


def asked_by_older(servers: McpServers, what: str, *decisions: Decision) -> tuple[dict[str, Any], ToolHarness]:
    """Return what the older server received for its question."""
    harness = make_harness(servers, approver=answering(*decisions)[0])
    record = harness.run(ask_for("lab_book", what=what))
    return json.loads(record.result), harness


def test_a_person_fills_in_a_form_and_the_server_receives_it(older: McpServers) -> None:
    approver, forms = answering(Approved(SEAT))
    harness = make_harness(older, approver=approver)
    record = harness.run(ask_for("lab_book", what="form"))

    assert json.loads(record.result) == {"action": "accept", "content": SEAT}
    (form,) = forms
    assert (form.display_name, form.sensitive, form.can_remember) == ("lab asks", True, False)
    assert json.loads(form.shown) == {"name": "", "seats": None, "row": "back"}
    assert list(form.schema["properties"]) == ["name", "seats", "row", "window"]
    assert "'lab'" in form.notice
    assert "> Which seat?" in form.notice


def test_a_form_is_a_call_of_its_own_in_the_turn(older: McpServers) -> None:
    _, harness = asked_by_older(older, "form", Approved(SEAT))

    names = [(event.display_name, event.status) for event in harness.of("call_finished")]
    assert names == [("lab asks", "ok"), ("lab.book", "ok")]


@pytest.mark.parametrize("transport", ["stdio", "http"])
def test_a_server_of_the_newest_protocol_gets_the_input_that_its_call_needs(newer: McpServers, transport: str) -> None:
    def book(servers: McpServers) -> Any:
        harness = make_harness(servers, approver=answering(Approved(SEAT))[0])
        return harness.run(ask_for("lab_book"))

    if transport == "stdio":
        record = book(newer)
    else:
        with (
            http_server(lambda: make_server().streamable_http_app()) as server,
            mcp_servers({"mcpServers": {"lab": {"url": server.url}}}) as servers,
        ):
            record = book(servers)

    assert (record.status, record.result) == ("ok", "2 for Ada")


@pytest.mark.parametrize("transport", ["stdio", "http"])
def test_a_server_that_knows_both_protocols_asks_in_the_middle_of_its_work(transport: str) -> None:
    """A server of the newest protocol cannot: it has to say before what it needs."""
    with (
        http_server(lambda: make_eliciting_server().streamable_http_app()) as server,
        mcp_servers(
            {"mcpServers": {"lab": {"url": server.url} if transport == "http" else command("eliciting_server.py")}}
        ) as servers,
    ):
        harness = make_harness(servers, approver=answering(Approved({"city": "Rome", "days": 4}))[0])
        record = harness.run(ask_for("lab_travel"))

    assert (record.status, record.result) == ("ok", "accept: city='Rome' days=4")


def test_a_server_that_knows_the_newest_protocol_alone_gets_the_input_that_its_call_needs() -> None:
    program = command("newest_only.py")
    program["args"].append(str(SERVERS / "resolving_server.py"))
    with mcp_servers({"mcpServers": {"lab": program}}) as servers:
        harness = make_harness(servers, approver=answering(Approved(SEAT))[0])

        assert harness.run(ask_for("lab_book")).result == "2 for Ada"


def test_a_form_of_a_chat_that_was_approved_unfilled_is_one_record_that_says_so() -> None:
    with (
        mcp_servers({"mcpServers": {"lab": command("eliciting_server.py")}}) as servers,
        ScriptedWire([call("lab_travel"), "Done."]) as wire,
    ):
        turn = Chat(wire=wire, tools=[servers], approver=lambda _: Approved()).send("Go.")

    travel, form = turn.calls
    assert (travel.status, travel.result) == ("ok", "decline: None")
    assert (form.display_name, form.status, form.result) == ("lab asks", "denied", None)
    assert "'city'" in form.reason


@pytest.mark.promise("forms")
def test_a_declined_form_is_declined_and_nothing_of_it_is_sent(older: McpServers) -> None:
    received, harness = asked_by_older(older, "form", Denied("not today"))

    assert received == {"action": "decline"}
    assert [event.reason for event in harness.of("call_decided")] == ["", "not today"]


@pytest.mark.promise("forms")
def test_a_form_is_declined_where_nobody_can_be_asked(older: McpServers) -> None:
    auto = make_harness(older.approved(Policy("auto")), approver=None)
    record = auto.run(ask_for("lab_book", what="form"))

    assert json.loads(record.result) == {"action": "decline"}
    assert [(event.verdict, "`approver=`" in event.reason) for event in auto.of("call_decided")] == [("denied", True)]


@pytest.mark.promise("forms")
def test_a_cancelled_form_is_cancelled_and_the_call_goes_on(older: McpServers) -> None:
    harness = make_harness(older, approver=leave_forms)

    def cancel() -> None:
        (question,) = harness.runtime.approvals.pending()
        stop = harness.runtime.stops.stop
        background_loop().call_soon(lambda: stop(question.call_id))

    def listen(change: Any) -> None:
        if change.kind == "asked" and change.question.is_form:
            threading.Thread(target=cancel).start()

    harness.runtime.approvals.add_listener(listen)
    record = harness.submit(_run(harness, ask_for("lab_book", what="form"))).result(240)

    assert json.loads(record.result) == {"action": "cancel"}


def test_a_form_of_a_chat_is_a_call_of_its_turn(older: McpServers) -> None:
    with ScriptedWire([call("lab_book", what="form"), "Done."]) as wire:
        turn = Chat(wire=wire, tools=[older], approver=answering(Approved(SEAT))[0]).send("Book.")

    assert {record.status for record in turn.calls} == {"ok"}
    assert {"action": "accept", "content": SEAT} in [
        json.loads(record.result) for record in turn.calls if isinstance(record.result, str)
    ]


@pytest.mark.promise("forms")
def test_a_question_outside_of_a_call_is_declined_with_a_notice(older: McpServers) -> None:
    lab = older["lab"]
    before = lab.notices
    answered = background_loop().submit(lab._connection._on_asked(PARAMS)).result(240)

    assert answered.action == "decline"
    (notice,) = lab.notices[len(before) :]
    assert "'lab'" in notice


@pytest.mark.promise("forms")
def test_a_question_above_the_limit_is_declined_and_the_end_of_the_call_withdraws_the_others() -> None:
    async def leave_open(_: Any) -> ElicitResult:
        return await asyncio.get_running_loop().create_future()

    async def ask() -> list[str]:
        progress = _CallProgress(lambda _: None, leave_open)
        opened = [asyncio.ensure_future(progress.answer(PARAMS)) for _ in range(MAX_QUESTIONS)]
        await asyncio.sleep(0)
        further = await progress.answer(PARAMS)
        progress.close()
        return [further.action, *[result.action for result in await asyncio.gather(*opened)]]

    assert asyncio.run(ask()) == ["decline", *["cancel"] * MAX_QUESTIONS]


ONE = {"a": ElicitRequest(params=PARAMS)}


@pytest.mark.parametrize(
    ("requests", "words"),
    [
        ({"a": ListRootsRequest()}, "something else than input of a form"),
        ({}, "asked 0 questions at once"),
        ({str(number): ONE["a"] for number in range(MAX_QUESTIONS + 1)}, f"1 to {MAX_QUESTIONS} are possible"),
        (ONE, f"asked for input more than {MAX_INPUT_ROUNDS} times"),
    ],
)
def test_a_result_that_needs_what_cannot_be_given_ends_the_call(requests: dict[str, Any], words: str) -> None:
    sent: list[Any] = []

    async def send(**arguments: Any) -> InputRequiredResult:
        sent.append(arguments.get("input_responses"))
        return InputRequiredResult(input_requests=requests, request_state="state")

    async def answer(_: Any) -> ElicitResult:
        return decline()

    with pytest.raises(McpFailed, match=words):
        asyncio.run(complete_call(send, answer))
    assert len(sent) == (MAX_INPUT_ROUNDS + 1 if requests is ONE else 1)


def test_what_does_not_fit_a_form_is_asked_again_and_never_sent(older: McpServers) -> None:
    wrong = {"name": "Ada", "seats": 20, "colour": "red"}
    approver, forms = answering(Approved(), Approved(wrong), Approved(SEAT))
    harness = make_harness(older, approver=approver)
    record = harness.run(ask_for("lab_book", what="form"))

    assert json.loads(record.result) == {"action": "accept", "content": SEAT}
    assert forms[1].again is not None
    assert re.findall("'(\\w+)'", forms[1].again.problem) == ["name", "seats"]
    assert forms[2].again is not None
    assert re.findall("'(\\w+)'", forms[2].again.problem) == ["seats", "colour"]


def test_a_form_that_stays_incomplete_is_declined(older: McpServers) -> None:
    received, harness = asked_by_older(older, "form", Approved(), Approved(), Approved())

    assert received == {"action": "decline"}
    form, booking = harness.of("call_finished")
    assert (form.display_name, form.status, booking.status) == ("lab asks", "denied", "ok")
    assert "'name'" in form.reason


@pytest.mark.promise("forms")
def test_a_page_is_never_opened_and_its_host_is_shown(older: McpServers) -> None:
    received, harness = asked_by_older(older, "page")

    assert received == {"action": "decline"}
    (notice,) = harness.of("notice")
    assert "'lab'" in notice.text
    assert "pay.example" in notice.text
    assert "token" not in notice.text


def test_a_form_that_is_not_flat_is_declined_with_its_reason(older: McpServers) -> None:
    received, harness = asked_by_older(older, "nested")

    assert received == {"action": "decline"}
    (notice,) = harness.of("notice")
    assert "'a'" in notice.text
    assert "'object'" in notice.text


def test_a_form_that_asks_for_a_secret_is_shown_with_a_warning(older: McpServers) -> None:
    approver, forms = answering(Denied())
    make_harness(older, approver=approver).run(ask_for("lab_book", what="secret"))

    assert "(password)" in forms[0].notice


def test_a_call_that_is_stopped_withdraws_its_form(older: McpServers) -> None:
    harness = make_harness(older, approver=leave_forms)
    asked = threading.Event()
    harness.runtime.approvals.add_listener(lambda change: asked.set() if change.question.is_form else None)
    booking = ask_for("lab_book", what="form")
    running = harness.submit(_run(harness, booking))
    assert asked.wait(240)
    background_loop().call_soon(lambda: harness.runtime.stops.stop(booking.call_id))

    assert running.result(240).status == "stopped"
    assert harness.runtime.approvals.pending() == ()
    again, _ = asked_by_older(older, "form", Approved(SEAT))
    assert again["action"] == "accept"


def test_a_policy_that_never_asks_does_not_answer_forms(older: McpServers) -> None:
    approver, forms = answering(Denied())
    harness = make_harness(older.approved(Policy("auto")), approver=approver)
    record = harness.run(ask_for("lab_book", what="form"))

    assert json.loads(record.result)["action"] == "decline"
    assert len(forms) == 1
    assert [type(event) for event in harness.events if isinstance(event, CallAsked | Notice)] == [CallAsked]


async def _run(harness: ToolHarness, asked: Any) -> Any:
    return await run_call(asked, harness.runtime, round=1)
