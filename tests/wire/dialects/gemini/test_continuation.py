"""A reply of Gemini that takes several requests: its parts are one reply, with the usage of all."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from nbtool import Chat, tool
from nbtool.errors import WireError
from nbtool.messages import user
from nbtool.testing import play
from nbtool.wire import Prompt, decode, find_wire
from nbtool.wire.dialects.gemini.decoder import CONTINUATION, MAX_CONTINUATIONS
from nbtool.wire.transport.http_endpoint import HttpEndpoint
from nbtool.wire.transport.retry import RetryPolicy
from tests.chaos import DONE, ChaosServer, Reset, Step, event, head, serve_each, whole
from tests.wire import geminis


def hop(*parts: dict[str, Any], token: str = "", reason: str = "STOP", tokens: int = 1) -> dict[str, Any]:
    more = {"continuationToken": token} if token else {}
    usage = {"promptTokenCount": 10, "candidatesTokenCount": tokens}
    return {**geminis.candidate(*parts, finishReason=reason, **more), "usageMetadata": usage}


FIRST = hop({"text": "first half "}, token="t1", reason=CONTINUATION)
REST = hop({"text": "second half"}, tokens=2)


def streamed(*values: dict[str, Any]) -> list[Step]:
    return [head(), b"".join(map(event, values))]


@contextmanager
def chat_with(*answers: list[Step], **more: Any) -> Iterator[tuple[Chat, ChaosServer]]:
    with serve_each(*answers) as server:
        yield Chat("google:m", base_url=f"{server.url}/v1beta", api_key="k", wire="gemini", **more), server


def tokens_in(server: ChaosServer) -> list[Any]:
    return [request.json.get("continuationToken") for request in server.requests]


@pytest.mark.parametrize("form", ["stream", "documents"])
def test_a_reply_goes_on_in_further_requests(form: str) -> None:
    values = FIRST, hop({"text": "and a "}, token="t2", reason=CONTINUATION), REST
    answers = [streamed(value) if form == "stream" else [whole(200, value)] for value in values]
    with chat_with(*answers) as (chat, server):
        turn = chat.send("Go")

    assert (turn.status, turn.text, len(turn.rounds)) == ("completed", "first half and a second half", 1)
    assert tokens_in(server) == [None, "t1", "t2"]
    assert len({str(request.json["contents"]) for request in server.requests}) == 1
    assert (turn.usage.input_tokens, turn.usage.output_tokens) == (30, 4)
    assert not turn.notices


def test_the_next_turn_gets_the_whole_reply_in_its_native_form() -> None:
    with chat_with(streamed(FIRST), streamed(REST), history="native") as (chat, server):
        chat.send("Go")
        chat.send("And now?")

    sent = server.requests[-1].json
    assert [part["text"] for part in sent["contents"][1]["parts"]] == ["first half second half"]
    assert "continuationToken" not in sent


def test_a_call_of_a_continued_reply_runs_once() -> None:
    runs: list[str] = []

    @tool(run="auto")
    def look(where: str) -> str:
        "Look somewhere."
        runs.append(where)
        return "seen"

    call = hop({"functionCall": {"name": "look", "args": {"where": "here"}}}, reason="STOP")
    with chat_with(streamed(FIRST), streamed(call), streamed(REST), tools=[look]) as (chat, server):
        turn = chat.send("Go")

    assert (runs, turn.text) == (["here"], "second half")
    assert tokens_in(server) == [None, "t1", None]


def test_a_stream_that_ends_with_a_checkpoint_is_continued() -> None:
    cut = hop({"text": "first half "}, token="t1", reason="")
    with chat_with(streamed(cut), streamed(REST)) as (chat, server):
        assert chat.send("Go").text == "first half second half"

    assert tokens_in(server) == [None, "t1"]


@pytest.mark.parametrize(
    "first",
    [
        hop({"text": "half"}, reason=CONTINUATION),
        {**hop({"text": "half"}, token="t1", reason=CONTINUATION), "promptFeedback": {"blockReason": "SAFETY"}},
        hop({"text": "half"}, token="t1", reason="MAX_TOKENS"),
    ],
    ids=["no token", "blocked", "its own limit"],
)
def test_what_cannot_be_continued_says_why_it_ended(first: dict[str, Any]) -> None:
    with serve_each(streamed(first)) as server:
        reply = play(endpoint(server), Prompt((user("Hi"),)))

    assert reply.text == "half"
    assert reply.stop_reason in ("length", "filtered")
    assert len(server.requests) == 1


def endpoint(server: ChaosServer) -> HttpEndpoint:
    return HttpEndpoint(find_wire("gemini"), server.url, "m", retries=RetryPolicy(2, min_delay=0.001))


def test_a_token_that_comes_again_is_not_sent_again() -> None:
    with serve_each(streamed(FIRST)) as server:
        reply = play(endpoint(server), Prompt((user("Hi"),)))

    assert (reply.text, reply.stop_reason) == ("first half first half ", "length")
    assert tokens_in(server) == [None, "t1"]


def test_one_reply_is_continued_a_limited_number_of_times() -> None:
    answers = [streamed(hop({"text": "x"}, token=f"t{at}", reason=CONTINUATION)) for at in range(MAX_CONTINUATIONS + 3)]
    with serve_each(*answers) as server:
        reply = play(endpoint(server), Prompt((user("Hi"),)))

    assert (len(reply.text), reply.stop_reason) == (MAX_CONTINUATIONS + 1, "length")
    assert len(server.requests) == MAX_CONTINUATIONS + 1


def test_a_failed_continuation_is_tried_again_with_its_token() -> None:
    busy = whole(503, {"error": {"message": "busy"}})
    with serve_each(streamed(FIRST), [busy], [Reset()], streamed(REST)) as server:
        reply = play(endpoint(server), Prompt((user("Hi"),)))

    assert (reply.text, reply.complete) == ("first half second half", True)
    assert [token for token in tokens_in(server) if token] == ["t1"] * 3


def test_a_refused_continuation_ends_the_turn_with_what_came() -> None:
    refusal = [whole(400, {"error": {"message": "bad token"}})]
    with serve_each(streamed(FIRST), refusal) as server, pytest.raises(WireError, match="bad token"):
        play(endpoint(server), Prompt((user("Hi"),)))

    assert len(server.requests) == 2


def test_a_recorded_half_is_a_paused_reply() -> None:
    reply = decode("gemini", event(FIRST))

    assert (reply.text, reply.stop_reason) == ("first half ", "paused")


@pytest.mark.parametrize(("reason", "says"), [("ESCALATION", ""), ("PUP_LIMITED_DISABLED", "account is limited")])
def test_refusals_of_the_provider_are_filtered(reason: str, says: str) -> None:
    reply = decode("gemini", event(hop({"text": "x"}, reason=reason)))

    assert reply.stop_reason == "filtered"
    assert says in reply.explanation


def test_an_end_mark_of_a_gateway_does_not_end_a_reply_that_goes_on() -> None:
    first = [head(), event(FIRST) + DONE]
    with serve_each(first, [head(), event(REST) + DONE]) as server:
        reply = play(endpoint(server), Prompt((user("Hi"),)))

    assert (reply.text, reply.complete) == ("first half second half", True)
    assert tokens_in(server) == [None, "t1"]
