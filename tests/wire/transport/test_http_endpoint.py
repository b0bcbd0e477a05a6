from __future__ import annotations

import asyncio
import gzip
import time
import traceback
from collections.abc import Iterable
from dataclasses import replace
from typing import Any

import pytest

from nbtool.errors import (
    AuthenticationFailed,
    BadUsage,
    ConnectionFailed,
    ContextTooLong,
    IncompleteReply,
    InvalidReply,
    MissingKey,
    ModelNotFound,
    NbtoolError,
    ProviderError,
    RateLimited,
    ReplyTooLarge,
    ServerOverloaded,
    TimedOut,
    ToolsNotSupported,
    WireError,
)
from nbtool.events import Delta, ReplyEnd, Retrying, TextDelta, UsageDelta
from nbtool.messages import user
from nbtool.secret import Secret
from nbtool.wire import Prompt, find_wire
from nbtool.wire.providers.connection import Connection
from nbtool.wire.transport.http_endpoint import HttpEndpoint
from nbtool.wire.transport.retry import RetryPolicy, Timeouts
from tests.chaos import (
    DONE,
    AwaitFlag,
    ChaosServer,
    Pause,
    Repeat,
    Reset,
    Silence,
    Trickle,
    event,
    finish,
    head,
    serve,
    serve_each,
    text,
    whole,
)
from tests.wire.process_state import close_clients

KEY = "sk-secret-canary-0123456789"
SHORT = Timeouts(connect=1, first_token=0.4, idle=0.4, total=0.4, trailing=0.1)
GOOD = (head(), text("Hello"), finish(), DONE)
HELLO: dict[str, Any] = {"choices": [{"index": 0, "message": {"content": "Hello"}, "finish_reason": "stop"}]}


def endpoint(server: ChaosServer, **changes: Any) -> HttpEndpoint:
    plain = HttpEndpoint(
        find_wire("chat"), server.url, "m", provider="lab", key=Secret(KEY), retries=RetryPolicy(2, min_delay=0.01)
    )
    return replace(plain, **changes)


def ask(asked: HttpEndpoint, prompt: Prompt | None = None) -> list[Delta]:
    async def listen() -> list[Delta]:
        try:
            return [delta async for delta in asked.stream(prompt or Prompt((user("Hi"),)))]
        finally:
            await close_clients()

    return asyncio.run(listen())


def joined_text(deltas: Iterable[Delta]) -> str:
    return "".join(delta.text for delta in deltas if isinstance(delta, TextDelta))


def deltas_until(asked: HttpEndpoint, error: type[NbtoolError]) -> tuple[list[Delta], NbtoolError]:
    """What came before the error, and the error."""
    received: list[Delta] = []

    async def listen() -> NbtoolError:
        try:
            async for delta in asked.stream(Prompt((user("Hi"),))):
                received.append(delta)
        except error as caught:
            return caught
        finally:
            await close_clients()
        raise AssertionError(f"no {error.__name__} came")

    return received, asyncio.run(listen())


# --- a good reply ---------------------------------------------------------------------------------------------


def test_a_streamed_reply_comes_as_deltas_and_an_end() -> None:
    with serve(*GOOD) as server:
        deltas = ask(endpoint(server))

    assert joined_text(deltas) == "Hello"
    assert isinstance(deltas[-1], ReplyEnd)


def test_the_request_carries_the_prompt_and_the_key() -> None:
    with serve(*GOOD) as server:
        ask(endpoint(server))

    request = server.requests[0]
    assert (request.method, request.path) == ("POST", "/v1/chat/completions")
    assert request.headers["authorization"] == f"Bearer {KEY}"
    assert request.headers["user-agent"] == "nbtool"
    assert request.json["messages"] == [{"role": "user", "content": "Hi"}]


def test_the_key_is_in_the_header_that_the_provider_reads() -> None:
    with serve(*GOOD) as server:
        ask(endpoint(server, connection=Connection(auth="api-key")))

    assert server.requests[0].headers["api-key"] == KEY
    assert "authorization" not in server.requests[0].headers


def test_a_whole_reply_is_read_too() -> None:
    with serve(whole(200, HELLO)) as server:
        deltas = ask(endpoint(server), Prompt((user("Hi"),), stream=False))

    assert joined_text(deltas) == "Hello"
    assert server.requests[0].json.get("stream") is None


def test_a_whole_reply_to_a_request_for_a_stream_is_read() -> None:
    with serve(whole(200, HELLO)) as server:
        assert joined_text(ask(endpoint(server))) == "Hello"


def test_a_connection_is_used_again() -> None:
    async def twice(asked: HttpEndpoint) -> None:
        for _ in range(2):
            _ = [delta async for delta in asked.stream(Prompt((user("Hi"),)))]
        await close_clients()

    body = text("Hello") + finish() + DONE
    with serve(whole(200, body, "text/event-stream")) as server:
        asyncio.run(twice(endpoint(server)))

    assert len(server.requests) == 2
    assert server.connections == 1


def test_a_packed_reply_is_unpacked() -> None:
    body = gzip.compress(text("Hello") + finish() + DONE)
    with serve(whole(200, body, "text/event-stream", content_encoding="gzip")) as server:
        assert joined_text(ask(endpoint(server))) == "Hello"


def test_a_reply_may_trickle() -> None:
    with serve(head(), Trickle(text("Hellö 🦉") + finish() + DONE)) as server:
        assert joined_text(ask(endpoint(server))) == "Hellö 🦉"


# --- the end of a reply ---------------------------------------------------------------------------------------


def test_the_end_mark_ends_the_reading_although_the_socket_stays_open() -> None:
    with serve(*GOOD, Silence()) as server:
        began = time.monotonic()
        deltas = ask(endpoint(server))

    assert isinstance(deltas[-1], ReplyEnd)
    assert time.monotonic() - began < 30


def test_a_finish_reason_ends_the_reading_a_moment_later() -> None:
    with serve(head(), text("Hello"), finish(), Silence()) as server:
        deltas = ask(endpoint(server, timeouts=SHORT))

    assert isinstance(deltas[-1], ReplyEnd)


def test_keep_alives_after_the_finish_reason_do_not_hold_the_reply() -> None:
    with serve(head(), text("Hello"), finish(), Repeat(b": ping\n\n")) as server:
        deltas = ask(endpoint(server, timeouts=SHORT))

    assert isinstance(deltas[-1], ReplyEnd)


def test_the_usage_after_the_finish_reason_is_waited_for() -> None:
    usage = event({"choices": [], "usage": {"prompt_tokens": 3, "completion_tokens": 4}})
    with serve(head(), text("Hello"), finish(), Pause(0.05), usage, Silence()) as server:
        deltas = ask(endpoint(server, timeouts=replace(SHORT, trailing=1.0)))

    assert [delta.usage.total_tokens for delta in deltas if isinstance(delta, UsageDelta)] == [7]


def test_a_reset_after_the_finish_reason_does_no_harm() -> None:
    with serve(head(), text("Hello"), finish(), Pause(0.05), Reset()) as server:
        deltas = ask(endpoint(server, timeouts=replace(SHORT, trailing=2.0)))

    assert isinstance(deltas[-1], ReplyEnd)


@pytest.mark.promise("positive-end")
def test_a_reply_that_ends_too_early_has_no_end() -> None:
    with serve(head(), text("Hello")) as server:
        deltas = ask(endpoint(server))

    assert joined_text(deltas) == "Hello"
    assert not any(isinstance(delta, ReplyEnd) for delta in deltas)


def test_a_reset_in_mid_reply_is_an_error_after_what_came() -> None:
    with serve(head(), text("Hello"), AwaitFlag(), Reset()) as server:
        received, error = reset_after_first(endpoint(server), server)

    assert joined_text(received) == "Hello"
    assert "broke" in str(error)
    assert len(server.requests) == 1


def reset_after_first(asked: HttpEndpoint, server: ChaosServer) -> tuple[list[Delta], NbtoolError]:
    received: list[Delta] = []

    async def listen() -> NbtoolError:
        try:
            async for delta in asked.stream(Prompt((user("Hi"),))):
                received.append(delta)
                server.flag.set()
        except ConnectionFailed as caught:
            return caught
        finally:
            await close_clients()
        raise AssertionError("no error came")

    return received, asyncio.run(listen())


# --- time-outs ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "steps",
    [
        pytest.param([Silence()], id="no head"),
        pytest.param([head(), Silence()], id="no byte"),
        pytest.param([head(), Repeat(b": OPENROUTER PROCESSING\n\n")], id="keep-alives only"),
        pytest.param([head(), Repeat(event({"choices": [{"index": 0, "delta": {}}]}))], id="empty deltas only"),
        pytest.param([head(), text("Hello"), Silence()], id="silent in the middle"),
        pytest.param([head(), text("Hello"), Repeat(b": ping\n\n")], id="keep-alives in the middle"),
    ],
)
def test_what_does_not_move_times_out(steps: list[Any]) -> None:
    with serve(*steps) as server:
        _, error = deltas_until(endpoint(server, timeouts=SHORT), TimedOut)
        assert server.left.wait(240)

    assert "lab (127.0.0.1" in str(error)
    assert len(server.requests) == 1


def test_the_time_that_the_listener_takes_is_not_the_providers() -> None:
    async def listen_slowly(asked: HttpEndpoint) -> str:
        received = []
        async for delta in asked.stream(Prompt((user("Hi"),))):
            received.append(delta)
            await asyncio.sleep(0.3)
        await close_clients()
        return joined_text(received)

    with serve(head(), text("a"), text("b"), text("c"), finish(), DONE) as server:
        assert asyncio.run(listen_slowly(endpoint(server, timeouts=SHORT))) == "abc"


# --- cancelling -----------------------------------------------------------------------------------------------


def test_closing_the_iterator_closes_the_socket() -> None:
    async def leave(asked: HttpEndpoint) -> None:
        deltas = asked.stream(Prompt((user("Hi"),)))
        await anext(deltas)
        await deltas.aclose()
        await close_clients()

    with serve(head(), text("Hello"), Silence()) as server:
        asyncio.run(leave(endpoint(server)))
        assert server.left.wait(240)


def test_cancelling_the_task_closes_the_socket() -> None:
    async def cancel(asked: HttpEndpoint) -> None:
        started = asyncio.Event()

        async def listen() -> None:
            async for _ in asked.stream(Prompt((user("Hi"),))):
                started.set()

        task = asyncio.create_task(listen())
        await started.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        await close_clients()

    with serve(head(), text("Hello"), Silence()) as server:
        asyncio.run(cancel(endpoint(server)))
        assert server.left.wait(240)


# --- refusals -------------------------------------------------------------------------------------------------


@pytest.mark.promise("typed-errors")
@pytest.mark.parametrize(
    ("status", "body", "kind"),
    [
        (401, {"error": {"message": "bad key"}}, AuthenticationFailed),
        (403, {"error": {"message": "no"}}, AuthenticationFailed),
        (400, {"code": "invalid-argument", "error": "Incorrect API key provided."}, AuthenticationFailed),
        (404, {"error": {"message": "model `x` does not exist", "code": "model_not_found"}}, ModelNotFound),
        (404, {"error": {"message": "no such route"}}, ProviderError),
        (400, {"error": {"message": "prompt is too long: 9 > 8"}}, ContextTooLong),
        (400, {"error": {"code": "context_length_exceeded", "message": "too much"}}, ContextTooLong),
        (400, {"error": {"message": "registry.ollama.ai/library/x does not support tools"}}, ToolsNotSupported),
        (404, {"error": {"message": "No endpoints found that support tool use."}}, ToolsNotSupported),
        (400, {"detail": [{"msg": "field required", "type": "missing"}]}, ProviderError),
        (400, {"object": "error", "message": "Invalid model: x", "code": "1500"}, ModelNotFound),
        (402, {"error": {"message": "pay"}}, ProviderError),
    ],
)
def test_a_refusal_is_the_error_it_means(status: int, body: dict[str, Any], kind: type[ProviderError]) -> None:
    with serve(whole(status, body)) as server:
        _, error = deltas_until(endpoint(server), ProviderError)

    assert type(error) is kind
    assert str(error).startswith(f"lab (127.0.0.1:{server.port}) answered {status}: ")
    assert [request.method for request in server.requests].count("POST") == 1


def test_a_page_in_place_of_a_reply_is_shown_in_a_line() -> None:
    page = b"<!doctype html><html><style>x{}</style><title>Portal</title><body><h1>Log in</h1>" + b"x" * 9999
    with serve(whole(200, page, "text/html")) as server:
        _, error = deltas_until(endpoint(server), InvalidReply)

    assert "Portal Log in" in str(error)
    assert "<" not in str(error)
    assert len(str(error)) < 400


def test_a_page_with_a_bad_status_is_an_outage() -> None:
    with serve(whole(502, b"<html><body>Bad gateway</body></html>", "text/html")) as server:
        _, error = deltas_until(endpoint(server, retries=RetryPolicy(0)), ServerOverloaded)

    assert "502: Bad gateway" in str(error)


def test_an_empty_refusal_still_says_its_status() -> None:
    with serve(whole(500, b"")) as server:
        _, error = deltas_until(endpoint(server, retries=RetryPolicy(0)), ServerOverloaded)

    assert "500: no reason given" in str(error)


def test_a_body_that_is_not_what_its_head_says_is_no_reply() -> None:
    with serve(whole(200, b"not packed", content_encoding="gzip")) as server:
        _, error = deltas_until(endpoint(server), InvalidReply)

    assert "decompressed" in str(error)


def test_words_in_place_of_a_reply_are_no_reply() -> None:
    with serve(whole(200, b"upstream connect error", "text/plain")) as server:
        _, error = deltas_until(endpoint(server), InvalidReply)

    assert "upstream connect error" in str(error)


@pytest.mark.promise("own-host")
def test_a_redirect_is_not_followed_and_the_key_stays() -> None:
    with serve(*GOOD) as other, serve(whole(307, b"", location=other.url)) as server:
        _, error = deltas_until(endpoint(server), ProviderError)

    assert "307" in str(error)
    assert other.requests == []


@pytest.mark.promise("own-host")
def test_a_cookie_of_one_server_goes_to_no_other() -> None:
    cookie = f"repeated={KEY}; Path=/"
    with serve(whole(200, HELLO, set_cookie=cookie)) as first, serve(whole(200, HELLO)) as second:

        async def ask_both() -> None:
            for asked in (endpoint(first), endpoint(second, key=None), endpoint(first)):
                async for _ in asked.stream(Prompt((user("Hi"),))):
                    pass
            await close_clients()

        asyncio.run(ask_both())

    assert [request.headers.get("cookie") for request in (*first.requests, *second.requests)] == [None] * 3


@pytest.mark.promise("own-host")
@pytest.mark.parametrize("scheme", ["http", "https", "socks5", "socks5h"])
@pytest.mark.parametrize(
    "access",
    [{"key": Secret(KEY)}, {"headers": {"X-A": Secret(KEY)}}, {"query": {"a": Secret(KEY)}}],
    ids=["key", "header", "query"],
)
def test_plain_http_to_this_machine_does_not_leave_it_through_a_proxy(scheme: str, access: dict[str, Any]) -> None:
    settings = {name: value for name, value in access.items() if name != "key"}

    def make(proxy_host: str) -> HttpEndpoint:
        proxy = Secret(f"{scheme}://ada:p@{proxy_host}:3128")
        connection = Connection(proxy=proxy, **settings)
        return HttpEndpoint(
            find_wire("chat"), "http://127.0.0.1:8000/v1", "m", key=access.get("key"), connection=connection
        )

    with pytest.raises(MissingKey, match="plain HTTP through a proxy on another machine"):
        make("proxy.example")
    assert make("127.0.0.1").host == "127.0.0.1:8000"


def test_a_host_that_is_no_international_name_is_one_of_our_errors() -> None:
    asked = HttpEndpoint(find_wire("chat"), "https://xn--a.example/v1", "m")

    with pytest.raises(BadUsage, match="host of the address is invalid"):
        ask(asked)
    with pytest.raises(BadUsage, match="host of the address is invalid"):
        asyncio.run(asked.list_models())


def test_a_redirect_to_what_is_no_web_server_is_reported_without_its_address() -> None:
    with serve(whole(307, b"", location="ftp://files.example/secret")) as server:
        _, error = deltas_until(endpoint(server), ProviderError)

    assert "answered 307, a redirect to elsewhere; redirects are not followed" in str(error)


def test_an_error_inside_a_stream_comes_after_the_text_and_names_the_provider() -> None:
    failed = event({"error": {"message": "tool call failed", "code": "tool_use_failed"}}, "error")
    with serve(head(), text("Hello") + failed, Silence()) as server:
        received, error = deltas_until(endpoint(server), ProviderError)

    assert joined_text(received) == "Hello"
    assert "lab (127.0.0.1" in str(error)
    assert len(server.requests) == 1


def test_a_line_without_end_is_too_large() -> None:
    with serve(head(), b"data: ", Repeat(b"x" * 500_000, every=0)) as server:
        _, error = deltas_until(endpoint(server), ReplyTooLarge)
        assert server.left.wait(240)

    assert "larger than" in str(error)


@pytest.mark.promise("bounded")
def test_a_reply_without_end_is_too_large() -> None:
    with serve(head(), Repeat(text("x" * 500_000), every=0)) as server:
        _, error = deltas_until(endpoint(server), ReplyTooLarge)
        assert server.left.wait(240)

    assert "lab" in str(error)


# --- trying again ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("status", [408, 409, 429, 500, 502, 503, 529])
def test_a_passing_failure_is_tried_again(status: int) -> None:
    with serve_each([whole(status, {"error": {"message": "later"}})], GOOD) as server:
        deltas = ask(endpoint(server))

    assert [type(delta) for delta in deltas] == [Retrying, TextDelta, ReplyEnd]
    assert len(server.requests) == 2


def test_a_reset_before_the_first_byte_is_tried_again() -> None:
    with serve_each([Reset()], [head(), Reset()], GOOD) as server:
        deltas = ask(endpoint(server))

    assert joined_text(deltas) == "Hello"
    assert [delta.attempt for delta in deltas if isinstance(delta, Retrying)] == [1, 2]


def test_an_answer_with_nothing_in_it_is_tried_again() -> None:
    with serve(head()) as server:
        received, error = deltas_until(endpoint(server), IncompleteReply)

    assert [type(delta) for delta in received] == [Retrying, Retrying]
    assert "without a reply" in str(error)


def test_after_a_stream_with_nothing_in_it_the_reply_is_asked_for_whole_and_says_why() -> None:
    too_long = {"error": {"message": "This model's maximum context length is 8 tokens."}}
    with serve_each([head()], [whole(400, too_long)]) as server:
        received, error = deltas_until(endpoint(server), ContextTooLong)

    assert [request.json.get("stream") for request in server.requests] == [True, None]
    assert len(received) == 1
    assert "8 tokens" in str(error)


def test_a_no_that_will_stay_one_is_not_tried_again_whatever_its_status() -> None:
    with serve(whole(500, {"error": {"message": "This model does not support tools."}})) as server:
        received, _ = deltas_until(endpoint(server), ToolsNotSupported)

    assert received == []
    assert len(server.requests) == 1


def test_an_overload_inside_a_stream_is_tried_again_while_nothing_was_received() -> None:
    busy = event({"error": {"message": "ServerOverloaded", "type": "overloaded_error"}})
    with serve_each([head(), busy], GOOD) as server:
        deltas = ask(endpoint(server))

    assert [type(delta) for delta in deltas] == [Retrying, TextDelta, ReplyEnd]


def test_a_server_that_is_not_there_is_tried_again_and_then_reported() -> None:
    with serve(*GOOD) as server:
        pass
    received, error = deltas_until(endpoint(server), ConnectionFailed)

    assert len(received) == 2
    assert "cannot be reached" in str(error)
    assert "Start the server" in str(error)


def test_the_provider_says_when_to_come_again() -> None:
    busy = whole(429, {"error": {"message": "slow down"}}, retry_after="9", retry_after_ms="40")
    with serve_each([busy], GOOD) as server:
        deltas = ask(endpoint(server))

    assert [delta.seconds for delta in deltas if isinstance(delta, Retrying)] == [0.04]


def test_a_wait_of_nothing_has_a_floor() -> None:
    with serve_each([whole(429, {}, retry_after="0")], GOOD) as server:
        deltas = ask(endpoint(server, retries=RetryPolicy(2, min_delay=0.05)))

    assert [delta.seconds for delta in deltas if isinstance(delta, Retrying)] == [0.05]


def test_a_wait_that_is_too_long_is_reported_instead_of_waited_for() -> None:
    with serve(whole(429, {"error": {"message": "slow down"}}, retry_after="3600")) as server:
        received, error = deltas_until(endpoint(server), RateLimited)

    assert received == []
    assert "60 minutes" in str(error)


def test_the_provider_can_forbid_to_try_again() -> None:
    with serve(whole(500, {"error": {"message": "no"}}, x_should_retry="false")) as server:
        received, _ = deltas_until(endpoint(server), ServerOverloaded)

    assert received == []


def test_spent_money_is_not_tried_again() -> None:
    with serve(whole(429, {"error": {"message": "quota", "code": "insufficient_quota"}})) as server:
        received, _ = deltas_until(endpoint(server), RateLimited)

    assert received == []


def test_who_asks_can_forbid_to_try_again() -> None:
    with serve(whole(503, {})) as server:
        received, _ = deltas_until(endpoint(server, retries=RetryPolicy(attempts=0)), ServerOverloaded)

    assert received == []
    assert len(server.requests) == 1


def test_nothing_is_tried_again_once_something_was_received() -> None:
    busy = event({"error": {"message": "ServerOverloaded"}})
    with serve(head(), text("Hello"), Pause(0.05), busy) as server:
        received, _ = deltas_until(endpoint(server), ServerOverloaded)

    assert joined_text(received) == "Hello"
    assert len(server.requests) == 1


# --- keys and addresses ---------------------------------------------------------------------------------------


@pytest.mark.promise("no-secret-told")
@pytest.mark.parametrize(
    "steps",
    [
        [whole(401, {"error": {"message": f"Incorrect API key provided: {KEY}"}})],
        [whole(500, f"<html><body>{KEY}".encode(), "text/html", x_should_retry="false")],
        [whole(200, f"key was {KEY}".encode(), "text/plain")],
        [head(), event({"error": {"message": f"Bearer {KEY} refused"}})],
    ],
)
def test_no_error_shows_the_key(steps: list[Any]) -> None:
    with serve(*steps) as server:
        _, error = deltas_until(endpoint(server), WireError)

    assert KEY not in str(error)
    assert KEY not in repr(error)
    assert KEY not in repr(error.args)


@pytest.mark.promise("no-secret-told")
def test_an_endpoint_does_not_show_its_key() -> None:
    asked = HttpEndpoint(find_wire("chat"), "https://host.example/v1", "m", key=Secret(KEY))

    assert KEY not in repr(asked)


@pytest.mark.parametrize("address", ["", "host.example", "ftp://host.example", "https://"])
def test_an_address_must_be_one_of_a_server(address: str) -> None:
    with pytest.raises(BadUsage, match="Invalid server address"):
        HttpEndpoint(find_wire("chat"), address, "m")


def test_a_key_with_a_line_break_is_refused_and_not_shown() -> None:
    with pytest.raises(MissingKey) as caught:
        HttpEndpoint(find_wire("chat"), "https://host.example/v1", "m", key=Secret("sk-1\nsk-2"))

    assert "sk-1" not in str(caught.value)
    frames = [dict(frame.f_locals) for frame, _ in traceback.walk_tb(caught.tb.tb_next)]
    assert frames
    assert "sk-1" not in repr(frames)


def test_a_proxy_is_not_asked_for_this_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:9")
    with serve(*GOOD) as server:
        assert joined_text(ask(endpoint(server))) == "Hello"


def test_options_that_are_no_json_are_refused_before_anything_leaves() -> None:
    with serve(*GOOD) as server, pytest.raises(BadUsage, match="JSON"):
        ask(endpoint(server), Prompt((user("Hi"),), options={"temperature": float("nan")}))

    assert server.requests == []


def test_of_a_refusal_that_never_ends_only_the_beginning_is_read() -> None:
    with serve(head(400), Repeat(b"no " * 10_000)) as server, pytest.raises(ProviderError) as caught:
        ask(endpoint(server))

    assert len(str(caught.value)) < 1_000
    assert "no no no" in str(caught.value)
