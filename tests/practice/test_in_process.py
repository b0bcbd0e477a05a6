from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from typing import Any

import pytest

from nbtool import practice
from nbtool.practice.replies import JsonReply, StreamReply, reply_to
from nbtool.wire.transport.socketless.in_process_servers import find_application
from tests.one_thread import one_thread


@pytest.fixture(autouse=True)
def one_thread_only() -> Iterator[None]:
    with one_thread():
        yield


def answer(method: str, path: str, body: object = None, *, key: str = "") -> tuple[int, str, bytes]:
    server = practice.start()
    application = find_application("127.0.0.1", 1)
    assert application
    headers = {"authorization": f"Bearer {key or server.key.get_secret_value()}"}
    reply = application(method, path, headers, json.dumps(body).encode() if body is not None else b"")

    async def read() -> bytes:
        return b"".join([part async for part in reply.body])

    return reply.status, reply.content_type, asyncio.run(read())


def request(**fields: Any) -> dict[str, Any]:
    return {"model": "fast", "messages": [{"role": "user", "content": "Hello"}], **fields}


def test_it_streams_what_the_server_on_a_socket_would() -> None:
    status, kind, body = answer("POST", "/v1/chat/completions", request(stream=True))
    reply = reply_to("POST", "/v1/chat/completions", json.dumps(request(stream=True)).encode())

    assert (status, kind) == (200, "text/event-stream; charset=utf-8")
    assert isinstance(reply, StreamReply)
    assert body.count(b"data: ") == len(list(reply.events))
    assert body.endswith(b"data: [DONE]\n\n")


def test_it_answers_whole_and_lists_its_models() -> None:
    status, kind, body = answer("POST", "/v1/chat/completions", request())
    assert (status, kind) == (200, "application/json")
    assert json.loads(body)["choices"][0]["finish_reason"] == "stop"

    models = json.loads(answer("GET", "/v1/models")[2])["data"]
    assert "fast" in [model["id"] for model in models]


def test_another_key_is_refused() -> None:
    status, _, body = answer("POST", "/v1/chat/completions", request(), key="another")

    assert status == 401
    assert json.loads(body)["error"]["code"] == "invalid_api_key"


def test_a_bad_request_is_an_error_as_on_a_socket() -> None:
    reply = reply_to("POST", "/v1/unknown", b"")

    assert isinstance(reply, JsonReply)
    assert reply.status == 404


def test_nothing_answers_once_it_is_stopped() -> None:
    practice.start()
    practice.stop()

    assert find_application("127.0.0.1", 1) is None
