"""An error that a server reports inside of a successful response: tried again as after its status, and said alike."""

from __future__ import annotations

import json
from typing import Any

import pytest

from nbtool.errors import AuthenticationFailed, ProviderError, RateLimited, ServerOverloaded, WireError
from nbtool.messages import user
from nbtool.secret import Secret
from nbtool.testing import play
from nbtool.wire import Prompt, find_wire
from nbtool.wire.transport.http_endpoint import HttpEndpoint
from nbtool.wire.transport.retry import RetryPolicy
from tests.chaos import DONE, ChaosServer, event, finish, head, serve_each, text, whole

GOOD = [head(), text("Hello") + finish() + DONE]

TEMPORARY: list[dict[str, Any]] = [
    {"error": {"code": 503, "message": "no capacity for now"}},
    {"error": {"code": "502", "message": "Provider returned error"}},
    {"error": {"code": 429, "message": "slow down"}},
    {"error": {"code": 408, "message": "too slow"}},
    {"error": "x", "status": 529},
    {"error": {"message": "x", "type": "server_error", "code": None}},
    {"error": {"message": "x", "type": "service_unavailable_error"}},
    {"error": {"message": "x", "type": "overloaded_error"}},
    {"error": {"message": "x", "type": "rate_limit_error"}},
    {"error": {"message": "x", "status": "UNAVAILABLE"}},
    {"error": {"message": "x", "status": "RESOURCE_EXHAUSTED"}},
    {"error": {"message": "x", "status": "INTERNAL"}},
    {"error": {"message": "x", "code": "InternalServerException"}},
    {"error": {"message": "x", "code": "ThrottlingException"}},
    {"error": {"message": "x", "code": "ServerBusy"}},
    {"error": {"message": "no healthy upstream"}},
    {"error": "upstream connect error or disconnect/reset before headers"},
    {"message": "Service Unavailable", "code": 503},
    {"error": {"message": "502 Bad Gateway"}},
]

FINAL: list[dict[str, Any]] = [
    {"error": {"code": 400, "message": "bad request"}},
    {"error": {"code": 401, "message": "no"}},
    {"error": {"code": 429, "type": "insufficient_quota", "message": "no credit"}},
    {"error": {"code": 501, "message": "not here"}},
    {"error": {"code": 503, "message": "maximum context length is 8192 tokens"}},
    {"error": {"code": 1503, "message": "x"}},
    {"error": {"type": "invalid_request_error", "message": "x"}},
]


def endpoint(server: ChaosServer, attempts: int = 2) -> HttpEndpoint:
    retries = RetryPolicy(attempts, min_delay=0.001)
    return HttpEndpoint(find_wire("chat"), server.url, "m", provider="lab", key=Secret("k"), retries=retries)


FORMS = {
    "event": lambda error: [head(), event(error)],
    "event with a name": lambda error: [head(), event(error, "error")],
    "event after an empty delta": lambda error: [head(), text("") + event(error)],
    "document": lambda error: [whole(200, error)],
    "line": lambda error: [whole(200, json.dumps(error).encode() + b"\n", "application/x-ndjson")],
}


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("error", TEMPORARY, ids=lambda error: json.dumps(error)[:60])
def test_a_temporary_error_in_a_reply_is_tried_again(error: dict[str, Any], form: str) -> None:
    with serve_each(FORMS[form](error), GOOD) as server:
        reply = play(endpoint(server), Prompt((user("Hi"),)))

    assert (reply.text, reply.complete) == ("Hello", True)
    assert len(server.requests) == 2


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("error", FINAL, ids=lambda error: json.dumps(error)[:60])
def test_any_other_error_in_a_reply_is_not(error: dict[str, Any], form: str) -> None:
    with serve_each(FORMS[form](error), GOOD) as server, pytest.raises(ProviderError):
        play(endpoint(server), Prompt((user("Hi"),)))

    assert len(server.requests) == 1


def test_nothing_is_sent_again_after_the_beginning_of_a_reply() -> None:
    with serve_each([head(), text("Hel") + event(TEMPORARY[0])], GOOD) as server, pytest.raises(WireError):
        play(endpoint(server), Prompt((user("Hi"),)))

    assert len(server.requests) == 1


def test_the_delay_in_an_error_is_kept() -> None:
    info = {"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": "7200s"}
    error = {"error": {"code": 429, "message": "slow down", "details": [info]}}
    with serve_each([head(), event(error)], GOOD) as server, pytest.raises(ProviderError) as raised:
        play(endpoint(server), Prompt((user("Hi"),)))

    assert raised.value.retry_after == 7200
    assert len(server.requests) == 1


@pytest.mark.parametrize(
    ("code", "kind"), [(401, AuthenticationFailed), (429, RateLimited), (503, ServerOverloaded), (418, ProviderError)]
)
def test_an_error_is_of_the_class_of_its_status(code: int, kind: type[ProviderError]) -> None:
    error = event({"error": {"code": code, "message": "x"}})
    with serve_each([head(), error]) as server, pytest.raises(ProviderError) as raised:
        play(endpoint(server, attempts=0), Prompt((user("Hi"),)))

    assert type(raised.value) is kind
