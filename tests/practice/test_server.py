from __future__ import annotations

import http.client
import json
import threading
import time
from typing import Any
from urllib.parse import urlsplit

import pytest

from nbtool import practice, wire
from nbtool.practice.chat_completions import MODELS
from tests.practice.asking import call_round, request, send_request


def chunks_of(body: bytes) -> list[dict[str, Any]]:
    events = body.decode().split("\n\n")
    assert events[-2:] == ["data: [DONE]", ""]
    return [json.loads(event.removeprefix("data: ")) for event in events[:-2]]


def test_a_stream_has_its_chunks_in_the_order_of_the_protocol() -> None:
    body = request("&`count` Adelie and Gentoo", stream=True, stream_options={"include_usage": True})

    with send_request("POST", "/chat/completions", body) as response:
        kind, chunks = response.headers["Content-Type"], chunks_of(response.read())

    deltas = [chunk["choices"][0]["delta"] for chunk in chunks[:-1]]
    calls = [part for delta in deltas for part in delta.get("tool_calls", ())]
    assert kind == "text/event-stream; charset=utf-8"
    assert deltas[0] == {"role": "assistant", "content": ""}
    assert [part["index"] for part in calls] == sorted(part["index"] for part in calls)
    assert [part["function"]["name"] for part in calls if "id" in part] == ["count", "count"]
    assert "".join(part["function"]["arguments"] for part in calls if part["index"] == 1) == '{"species": "Gentoo"}'
    assert len([part for part in calls if part["index"] == 1]) > 2
    assert [chunk["choices"][0]["finish_reason"] for chunk in chunks[:-1]][-1] == "tool_calls"
    assert chunks[-1]["choices"] == []
    assert chunks[-1]["usage"]["total_tokens"] > 0


def test_usage_comes_only_where_it_was_asked_for() -> None:
    with send_request("POST", "/chat/completions", request("Hello", stream=True)) as response:
        chunks = chunks_of(response.read())

    assert all("usage" not in chunk for chunk in chunks)


@pytest.mark.parametrize("stream", [True, False])
def test_our_own_wire_reads_the_reply(stream: bool) -> None:
    body = request("&`count` Adelie and Gentoo", stream=stream, model="fast")

    with send_request("POST", "/chat/completions", body) as response:
        reply = wire.decode("chat", response.read(), stream=stream)

    assert reply.complete
    assert reply.stop_reason == "tools"
    assert [(call.name, call.args) for call in reply.calls] == [
        ("count", {"species": "Adelie"}),
        ("count", {"species": "Gentoo"}),
    ]
    assert all(call.runnable for call in reply.calls)


def test_a_whole_reply_says_what_the_stream_says() -> None:
    said = []
    for stream in (True, False):
        with send_request("POST", "/chat/completions", request("Who are you?", stream=stream)) as response:
            said.append(wire.decode("chat", response.read(), stream=stream).text)

    assert said[0] == said[1]
    assert "not a language model" in said[0]


@pytest.mark.parametrize(
    ("model", "prompt", "thinks"),
    [
        ("default", "&`count` Adelie", True),
        ("default", "Hello", False),
        ("fast", "&`count` Adelie", False),
        ("thinking", "Hello", True),
    ],
)
def test_thinking_comes_before_what_the_model_does(model: str, prompt: str, thinks: bool) -> None:
    with send_request("POST", "/chat/completions", request(prompt, model=model, stream=False)) as response:
        message = json.load(response)["choices"][0]["message"]

    assert ("reasoning_content" in message) is thinks


def test_the_same_request_gets_the_same_bytes() -> None:
    body = request(
        "&`count` Adelie, then &`double` it", *call_round(("count", {"species": "Adelie"}, "152")), stream=True
    )

    answers = set()
    for _ in range(3):
        with send_request("POST", "/chat/completions", body) as response:
            answers.add(response.read())

    assert len(answers) == 1


def test_the_default_model_writes_at_a_human_pace_and_the_fast_one_at_once() -> None:
    seconds = {}
    for model in ("default", "fast"):
        began = time.monotonic()
        with send_request(
            "POST", "/chat/completions", request("&`count` Adelie", model=model, stream=True)
        ) as response:
            size = sum(
                len(str(delta.get("reasoning_content", "")))
                for chunk in chunks_of(response.read())
                for delta in [chunk["choices"][0]["delta"]]
            )
        seconds[model] = time.monotonic() - began
        if model == "default":
            assert seconds[model] > size / 120

    assert 60 <= MODELS["default"].chars_per_second <= 120
    assert seconds["fast"] < seconds["default"]


def test_the_models_are_listed() -> None:
    with send_request("GET", "/models") as response:
        listed = json.load(response)

    assert [model["id"] for model in listed["data"]] == ["default", "fast", "plain", "thinking", "image"]


@pytest.mark.parametrize(
    ("status", "text", "body"),
    [
        (404, "The model `gpt-5` does not exist", request("Hello", model="gpt-5")),
        (400, "plain does not support tools", request("Hello", model="plain")),
        (400, "'messages' must be a list with at least one message", {"model": "fast", "messages": []}),
        (400, "'messages' must be a list with at least one message", {"model": "fast"}),
        (400, "could not parse the JSON body", b'{"model": '),
        (400, "could not parse the JSON body", b"[" * 100_000),
        (400, "The body must be a JSON object", b"[]"),
        (400, "A field is missing or of the wrong type", {"model": "fast", "messages": ["Hello"]}),
        (400, "A field is missing or of the wrong type", request("Hello", tools=[{"type": "function"}])),
        (400, "role' must be one of", {"model": "fast", "messages": [{"role": "robot", "content": "Hello"}]}),
        (400, "'function.name' must be", request("Hello", tools=[{"type": "function", "function": {"name": "a b"}}])),
        (
            400,
            "must be followed by tool messages",
            request("Hello", call_round(("count", {"species": "Adelie"}, ""))[0]),
        ),
        (400, "must be a response to a preceding message", request("Hello", call_round(("count", {}, "1"))[1])),
    ],
)
def test_what_a_real_server_refuses_is_refused_in_its_shape(status: int, text: str, body: object) -> None:
    with send_request("POST", "/chat/completions", body) as response:
        arrived, error = response.status, json.load(response)["error"]

    assert arrived == status
    assert text in error["message"]
    assert error.keys() == {"message", "type", "param", "code"}


def test_an_unknown_model_is_named_by_its_code() -> None:
    with send_request("POST", "/chat/completions", request("Hello", model="gpt-5")) as response:
        assert json.load(response)["error"]["code"] == "model_not_found"


@pytest.mark.parametrize(
    ("status", "headers"),
    [
        (401, {"Authorization": ""}),
        (401, {"Authorization": "Bearer wrong"}),
        (401, {"Authorization": "Bearer schlüssel".encode().decode("latin-1")}),
        (403, {"Host": "evil.example:80"}),
        (403, {"Host": "evil.example"}),
    ],
)
@pytest.mark.parametrize(("method", "path"), [("GET", "/models"), ("POST", "/chat/completions")])
def test_nobody_without_the_key_and_the_address_comes_in(
    method: str, path: str, status: int, headers: dict[str, str]
) -> None:
    with send_request(method, path, request("Hello"), headers=headers) as response:
        arrived, error = response.status, json.load(response)["error"]

    assert arrived == status
    assert error["code"] in ("invalid_api_key", "invalid_host")


def test_a_path_that_is_not_served_is_not_found() -> None:
    with send_request("GET", "/files") as response:
        assert response.status == 404


def test_a_body_over_the_bound_is_refused_unread() -> None:
    with send_request("POST", "/chat/completions", headers={"Content-Length": "32000001"}) as response:
        arrived, error = response.status, json.load(response)["error"]

    assert arrived == 413
    assert "32000000 bytes" in error["message"]


def test_starting_twice_gives_the_same_server_and_a_new_one_has_a_new_key() -> None:
    first, again = practice.start(), practice.start()
    practice.stop()
    later = practice.start()

    assert first == again
    assert later.key != first.key


def test_the_key_is_not_in_the_repr() -> None:
    server = practice.start()

    assert server.key.get_secret_value() not in repr(server)


def test_it_listens_on_loopback_only_and_not_after_it_was_stopped() -> None:
    address = urlsplit(practice.start().base_url)
    practice.stop()

    assert address.hostname == "127.0.0.1"
    with pytest.raises(ConnectionRefusedError):
        http.client.HTTPConnection("127.0.0.1", address.port, timeout=5).connect()


def test_stopping_breaks_a_stream_off_without_its_end() -> None:
    body = request("Hello", model="thinking", stream=True)

    with send_request("POST", "/chat/completions", body) as response:
        first = response.read(20)
        practice.stop()
        with pytest.raises(http.client.IncompleteRead) as broken:
            response.read()

    assert first.startswith(b"data: ")
    assert b"[DONE]" not in broken.value.partial


def test_a_client_that_goes_away_in_mid_stream_leaves_no_thread_and_no_word(capfd: pytest.CaptureFixture[str]) -> None:
    practice.start()
    before = set(threading.enumerate())  # those of other tests' connections among them
    with send_request("POST", "/chat/completions", request("Hello", model="thinking", stream=True)) as response:
        response.read(20)
    practice.stop()
    for thread in set(threading.enumerate()) - before:
        thread.join(240)

    assert set(threading.enumerate()) <= before
    assert capfd.readouterr() == ("", "")


def test_a_connection_serves_one_request_after_the_other() -> None:
    server = practice.start()
    address = urlsplit(server.base_url)
    connection = http.client.HTTPConnection("127.0.0.1", address.port, timeout=240)
    headers = {"Authorization": f"Bearer {server.key.get_secret_value()}"}

    answers = []
    for stream in (True, False, True):
        connection.request("POST", "/v1/chat/completions", json.dumps(request("Hi", stream=stream)), headers)
        response = connection.getresponse()
        answers.append(wire.decode("chat", response.read(), stream=stream).complete)
    connection.close()

    assert answers == [True, True, True]
