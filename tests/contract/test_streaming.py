"""A reply counts only with its provider's signal of the end: no call of another one runs, in any dialect.

Whatever a server sends is a reply or one of nbtool's errors.
"""

from __future__ import annotations

import asyncio
import re

import pytest

from nbtool import tool, wire
from nbtool.errors import (
    AuthenticationFailed,
    ConnectionFailed,
    ContextTooLong,
    IncompleteReply,
    ModelNotFound,
    NbtoolError,
    ProviderError,
    RateLimited,
)
from tests.contract.dialects import DIALECTS, Answer, encode
from tests.contract.notebook import Notebook
from tests.contract.simulator import Body, Provider, Refusal, call, cut, held, simulate

ran: list[int] = []


@pytest.fixture(autouse=True)
def nothing_ran() -> None:
    ran.clear()


@tool(run="auto")
def double(n: int) -> int:
    "Twice a number."
    ran.append(n)
    return 2 * n


@pytest.mark.parametrize("dialect", DIALECTS)
def test_a_reply_is_the_same_in_every_dialect(model: Provider, dialect: str) -> None:
    model.say(Answer("It is 42.", thinking="Let me see."))

    turn = model.chat(wire=dialect).send("What is it?")

    assert (turn.status, turn.text, turn.error) == ("completed", "It is 42.", None)
    assert turn.thinking == "Let me see."
    assert (turn.usage.input_tokens, turn.usage.output_tokens) == (10, 5)


@pytest.mark.parametrize("dialect", DIALECTS)
def test_a_call_and_its_result_go_through_every_dialect(model: Provider, dialect: str) -> None:
    model.say(call("double", n=21), "42.")

    turn = model.chat(wire=dialect, tools=[double]).send("Double 21.")

    assert (turn.status, turn.text, turn.calls[0].result) == ("completed", "42.", 42)
    assert "42" in model.requests[1].text


@pytest.mark.parametrize("dialect", DIALECTS)
def test_several_calls_of_one_reply_all_run(model: Provider, dialect: str) -> None:
    model.say([call("double", n=1), call("double", n=2)], "Done.")

    turn = model.chat(wire=dialect, tools=[double]).send("Double both.")

    assert sorted(ran) == [1, 2]
    assert [one.result for one in turn.calls] == [2, 4]
    assert turn.stats.rounds == 2


@pytest.mark.promise("positive-end")
@pytest.mark.parametrize("dialect", DIALECTS)
def test_a_reply_without_its_end_is_no_reply(model: Provider, dialect: str) -> None:
    model.always(cut("It costs 1"))

    turn = model.chat(wire=dialect).send("What does it cost?")

    assert turn.status == "error"
    assert isinstance(turn.error, IncompleteReply)


@pytest.mark.promise("positive-end")
@pytest.mark.parametrize("dialect", DIALECTS)
def test_no_call_of_a_reply_without_its_end_runs(model: Provider, dialect: str) -> None:
    model.always(cut("", call("double", n=1)))

    turn = model.chat(wire=dialect, tools=[double]).send("Double it.")

    assert (turn.status, ran) == ("error", [])
    assert [one.status for one in turn.calls if one.status == "ok"] == []


def cut_in_arguments(dialect: str, *, is_stream: bool, is_event_whole: bool = False) -> Body:
    """Give a reply that ends between the name and the value of an argument of its call."""
    content = b"".join(encode(dialect, Answer("Well.", (call("double", n=1),)), is_stream=is_stream))
    name = re.search(rb'n\\*": ', content[content.index(b"double") :])
    assert name
    end = content.index(b"double") + name.end()
    if is_event_whole:
        end = content.index(b"\n\n", end) + 2
    return Body(content[:end], content_type="text/event-stream" if is_stream else "application/json")


@pytest.mark.promise("positive-end")
@pytest.mark.parametrize("dialect", DIALECTS)
@pytest.mark.parametrize("is_event_whole", [False, True], ids=["in an event", "between events"])
def test_no_call_runs_whose_arguments_are_cut(model: Provider, dialect: str, is_event_whole: bool) -> None:
    model.always(cut_in_arguments(dialect, is_stream=True, is_event_whole=is_event_whole))

    turn = model.chat(wire=dialect, tools=[double]).send("Double it.")

    assert (turn.status, ran) == ("error", [])
    assert isinstance(turn.error, IncompleteReply)


@pytest.mark.promise("positive-end")
@pytest.mark.parametrize("dialect", DIALECTS)
@pytest.mark.parametrize("is_complete", [True, False], ids=["complete", "cut"])
def test_no_call_of_an_unstreamed_reply_that_is_cut_runs(
    notebook: Notebook, model: Provider, dialect: str, is_complete: bool
) -> None:
    notebook.names["lab"] = model.chat(wire=dialect, tools=[double])
    if is_complete:
        model.say(call("double", n=1), "2.")
    else:
        model.always(cut_in_arguments(dialect, is_stream=False))

    turn = notebook.ask("Double it.", "-c lab --set stream=false")

    assert not any(request.json.get("stream") or ":stream" in request.path for request in model.requests)
    assert (turn.status, ran) == (("completed", [1]) if is_complete else ("error", []))
    assert is_complete or isinstance(turn.error, NbtoolError)


@pytest.mark.promise("positive-end")
@pytest.mark.parametrize("dialect", DIALECTS)
def test_a_recorded_body_that_is_cut_anywhere_is_never_complete(dialect: str) -> None:
    whole = b"".join(encode(dialect, Answer("Well.", (call("double", n=1),)), is_stream=True))
    assert wire.decode(dialect, whole).complete

    end = len(b"".join(encode(dialect, Answer("Well.", (call("double", n=1),), is_complete=False), is_stream=True)))
    for length in range(0, end, 7):
        try:
            reply = wire.decode(dialect, whole[:length])
        except NbtoolError:
            continue
        assert not reply.complete
        assert not any(one.runnable for one in reply.calls)


@pytest.mark.promise("positive-end")
def test_a_recorded_body_gives_its_text_and_calls() -> None:
    body = b"".join(encode("chat", Answer("Well.", (call("double", n=1),)), is_stream=True))

    reply = wire.decode("chat", body)

    assert (reply.text, reply.complete) == ("Well.", True)
    assert [(one.name, one.args, one.runnable) for one in reply.calls] == [("double", {"n": 1}, True)]


@pytest.mark.promise("typed-errors")
@pytest.mark.parametrize(
    ("status", "message", "kind"),
    [
        (401, "bad key", AuthenticationFailed),
        (404, "the model `tiny` does not exist", ModelNotFound),
        (400, "This model's maximum context length is 8192 tokens", ContextTooLong),
        (418, "teapot", ProviderError),
    ],
)
def test_an_error_of_a_provider_has_a_type(model: Provider, status: int, message: str, kind: type[NbtoolError]) -> None:
    model.say(Refusal(status, message))

    turn = model.chat().send("Hello?")

    assert (turn.status, turn.text) == ("error", "")
    assert isinstance(turn.error, kind)
    assert isinstance(turn.error, ProviderError)
    assert turn.error.status == status


@pytest.mark.promise("typed-errors")
@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"hello",
        b"data: {not json}\n\n",
        b"\xff\xfe\x00",
        b"data: []\n\n",
        b"data: 1\n\ndata: [DONE]\n\n",
        b"<html>",
    ],
    ids=repr,
)
def test_whatever_a_server_sends_is_an_error_of_nbtool(model: Provider, content: bytes) -> None:
    model.always(Body(content))

    turn = model.chat(tools=[double]).send("Hello?")

    assert turn.status == "error"
    assert isinstance(turn.error, NbtoolError)


@pytest.mark.promise("typed-errors")
def test_a_server_that_is_not_there_is_an_error_of_nbtool() -> None:
    with simulate() as provider:
        chat = provider.chat()

    turn = chat.send("Hello?")

    assert (turn.status, turn.text) == ("error", "")
    assert isinstance(turn.error, ConnectionFailed)


@pytest.mark.promise("typed-errors")
def test_a_rate_limit_is_waited_for_and_the_request_is_sent_again(model: Provider) -> None:
    model.say(Refusal(429, "slow down", {"Retry-After": "0"}), "Hello.")

    turn = model.chat().send("Hello?")

    assert (turn.status, turn.text, len(model.requests)) == ("completed", "Hello.", 2)


@pytest.mark.promise("typed-errors")
def test_a_rate_limit_that_would_take_too_long_is_an_error_that_says_how_long(model: Provider) -> None:
    model.say(Refusal(429, "slow down", {"Retry-After": "86400"}))

    turn = model.chat().send("Hello?")

    assert isinstance(turn.error, RateLimited)
    assert turn.error.retry_after == 86400


def test_a_reply_can_be_read_while_it_is_streamed(model: Provider) -> None:
    reply = held("The first half and the second half.")
    model.say(reply)

    async def read() -> tuple[str, str]:
        turn = model.chat().start("Tell me.")
        async for event in turn:
            if event.kind == "text_delta" and not reply.is_open.is_set():
                early = event.text
                reply.open()
        return early, (await turn).text

    early, text = asyncio.run(read())

    assert text == "The first half and the second half."
    assert early
    assert text.startswith(early)


def test_a_turn_can_be_awaited_in_a_running_loop(model: Provider) -> None:
    model.say("Hello.")

    async def ask() -> str:
        return (await model.chat().start("Hello?")).text

    assert asyncio.run(ask()) == "Hello."


def test_send_works_inside_a_running_loop(model: Provider) -> None:
    model.say("Hello.")

    async def ask() -> str:
        return model.chat().send("Hello?").text

    assert asyncio.run(ask()) == "Hello."


def test_a_reply_can_come_as_a_whole(notebook: Notebook, model: Provider) -> None:
    model.say(call("double", n=21), "42.")
    notebook.names["double"] = double

    turn = notebook.ask("Double 21.", "-t double --set stream=false")

    assert not model.requests[0].json.get("stream")
    assert (turn.text, turn.calls[0].result) == ("42.", 42)
