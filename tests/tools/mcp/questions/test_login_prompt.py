from __future__ import annotations

import asyncio
import itertools
import threading
from collections.abc import Callable
from concurrent.futures import Future
from typing import Any

import pytest

from nbtool.errors import McpFailed
from nbtool.sign_in import LoginRequest, set_login_asker
from nbtool.tools.mcp.questions import login_prompt
from nbtool.tools.mcp.questions.login_prompt import CALLBACK_PATH, MAX_REQUEST, BrowserReturn, LoginPrompt

REQUEST = LoginRequest("lab", "login.example", "https://login.example/authorize")


class Watched(Future[bool]):
    """A future that says when somebody looks whether it is done."""

    def __init__(self) -> None:
        super().__init__()
        self.is_looked_at = threading.Event()

    def done(self) -> bool:
        self.is_looked_at.set()
        return super().done()


def attend_once(ask: Any) -> Future[bool]:
    """Attend on this thread while another one asks; return the answer that the other one gets."""
    prompt, answer = LoginPrompt(ask), Watched()

    def request() -> None:
        assert answer.is_looked_at.wait(240)
        answer.set_result(asyncio.run(prompt.ask(REQUEST)))

    asking = threading.Thread(target=request)
    asking.start()
    try:
        prompt.attend(answer, 20)
    finally:
        asking.join(240)
    return answer


def test_a_login_that_cannot_be_asked_about_is_not_agreed_to() -> None:
    def ask(_: LoginRequest) -> bool:
        raise RuntimeError("no screen")

    assert attend_once(ask).result(0) is False


def test_an_interrupt_of_the_question_ends_the_cell_and_the_login() -> None:
    answers: list[bool] = []

    def ask(_: LoginRequest) -> bool:
        answers.append(True)
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        attend_once(ask)
    assert answers == [True]


def test_attending_ends_after_its_time_and_nobody_is_asked_then() -> None:
    prompt = LoginPrompt(lambda _: True)
    prompt.attend(Future(), 0.0)

    assert asyncio.run(prompt.ask(REQUEST)) is False


def test_a_port_that_another_login_uses_is_an_error() -> None:
    async def receive_twice() -> None:
        browser = BrowserReturn()
        server = await asyncio.start_server(lambda _, __: None, "127.0.0.1", browser.port)
        async with server:
            await browser.listen("state")

    with pytest.raises(McpFailed, match="Another login on this machine uses the port"):
        asyncio.run(receive_twice())


def test_a_login_that_nobody_completes_in_time_is_an_error() -> None:
    async def receive() -> None:
        browser = BrowserReturn()
        await browser.listen("state")
        await browser.receive(0)

    with pytest.raises(McpFailed, match=r"Nobody logged in within 0 s\."):
        asyncio.run(receive())


@pytest.mark.parametrize("head", [b"GET / HTTP", b"x" * (MAX_REQUEST + 1), b"\xff\r\n\r\n"])
def test_what_is_no_request_of_a_browser_gets_no_answer_and_the_login_goes_on(head: bytes) -> None:
    browser = BrowserReturn()

    async def send(data: bytes) -> bytes:
        reader, writer = await asyncio.open_connection("127.0.0.1", browser.port)
        writer.write(data)
        writer.write_eof()
        try:
            return await reader.read()
        except ConnectionResetError:
            return b""
        finally:
            writer.close()

    async def log_in() -> tuple[bytes, bytes, dict[str, str]]:
        await browser.listen("s")
        receiving = asyncio.ensure_future(browser.receive(20))
        refused = await send(head)
        target = f"GET {CALLBACK_PATH}?code=c&state=s HTTP/1.1\r\nHost: 127.0.0.1:{browser.port}\r\n\r\n"
        return refused, await send(target.encode()), await receiving

    refused, answered, found = asyncio.run(log_in())
    assert refused == b""
    assert answered.startswith(b"HTTP/1.1 200 OK")
    assert found == {"code": "c", "state": "s"}


VERBS = ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE", "X")
HOSTS = ("127.0.0.1:{port}", "rebound.example:{port}", "rebound.example", "127.0.0.1", "localhost:{port}", "")
TARGETS = (
    f"{CALLBACK_PATH}?code=c&state=s", f"{CALLBACK_PATH}?code=c&state=guessed", f"{CALLBACK_PATH}?code=c",
    f"{CALLBACK_PATH}?code=c&state=s&state=s", CALLBACK_PATH, f"{CALLBACK_PATH}/?code=c&state=s", "/?code=c&state=s",
    f"/{CALLBACK_PATH}?code=c&state=s", "/nbtool%2dlogin?code=c&state=s", "*",
)  # fmt: skip


@pytest.mark.promise("logins")
def test_of_all_requests_of_a_web_page_only_the_browser_after_this_very_login_is_received(
    record_property: Callable[[str, object], None],
) -> None:
    """A page of a stranger does not know the state, and under a name of its own sends another Host."""
    browser, statuses = BrowserReturn(), []

    async def send(verb: str, target: str, host: str) -> bytes:
        reader, writer = await asyncio.open_connection("127.0.0.1", browser.port)
        headers = f"Host: {host.format(port=browser.port)}\r\nOrigin: https://rebound.example\r\n\r\n"
        writer.write(f"{verb} {target} HTTP/1.1\r\n{headers}".encode())
        status = (await reader.read()).partition(b"\r\n")[0]
        writer.close()
        return status

    async def log_in() -> dict[str, str]:
        await browser.listen("s")
        receiving = asyncio.ensure_future(browser.receive(60))
        *others, right = reversed(list(itertools.product(VERBS, TARGETS, HOSTS)))
        for request in others:
            statuses.append(await send(*request))
            assert not receiving.done(), request
        assert (await send(*right)).startswith(b"HTTP/1.1 200")
        return await receiving

    assert asyncio.run(log_in()) == {"code": "c", "state": "s"}
    assert set(statuses) == {b"HTTP/1.1 404 Not Found"}
    record_property("injected", len(statuses))


def test_a_person_who_does_not_answer_in_time_has_not_agreed() -> None:
    prompt = LoginPrompt(lambda _: True, seconds=0.01)

    async def never(_: LoginRequest) -> bool:
        await asyncio.Event().wait()
        return True

    with prompt.during_call(never):
        assert asyncio.run(prompt.ask(REQUEST)) is False
    assert not prompt.can_ask


def test_a_thread_that_comes_to_the_question_too_late_does_not_ask_it() -> None:
    asked: list[LoginRequest] = []
    prompt, done = LoginPrompt(lambda request: not asked.append(request)), Future[None]()
    prompt.is_attended = True

    async def give_up() -> None:
        asking = asyncio.ensure_future(prompt.ask(REQUEST))
        await asyncio.wait({asking}, timeout=0)  # it has asked now, and waits
        assert prompt._requests.qsize() == 1
        asking.cancel()
        await asyncio.wait({asking})

    asyncio.run(give_up())
    prompt.attend(done, 0.1)
    assert asked == []
    assert prompt._requests.empty()


def test_the_time_of_a_login_does_not_count_for_what_waits_for_it() -> None:
    prompt = LoginPrompt(lambda _: True)

    async def agree(_: LoginRequest) -> bool:
        return True

    async def work() -> float | None:
        async with prompt.within(0.5):
            await prompt.ask(REQUEST)
            (timeout,) = prompt._timeouts
            return timeout.when()

    async def run() -> bool:
        before = asyncio.get_running_loop().time()
        return (await work() or 0) - before >= login_prompt.LOGIN_SECONDS

    with prompt.during_call(agree):
        assert asyncio.run(run())


def test_without_nbtool_in_a_notebook_a_person_is_asked_by_a_line_and_else_by_what_it_registered(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("builtins.input", lambda _: "no")
    assert login_prompt.ask_person(REQUEST) is False
    set_login_asker(lambda request: request is REQUEST)
    try:
        assert login_prompt.ask_person(REQUEST) is True
    finally:
        set_login_asker(None)


def test_a_way_back_that_was_never_opened_can_be_closed() -> None:
    browser = BrowserReturn()

    browser.close()

    assert asyncio.run(browser.receive()) == {}


def test_of_two_calls_the_one_that_still_runs_can_ask() -> None:
    prompt = LoginPrompt(lambda _: False)

    with prompt.during_call(lambda *_: None):  # type: ignore[arg-type,return-value]  # is not called
        with prompt.during_call(lambda *_: None):  # type: ignore[arg-type,return-value]  # the same
            pass
        assert prompt.can_ask
    assert not prompt.can_ask
