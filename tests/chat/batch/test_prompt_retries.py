"""Which requests of a map are sent again, how often, and who waits meanwhile."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

import pytest

from nbtool import Chat, tool
from nbtool.chat import batch_maker
from nbtool.chat.batch.prompts import parse_prompts
from nbtool.chat.batch.shared_backoff import SharedBackoff
from nbtool.chat.batch_maker import BatchMaker
from nbtool.chat.subchat import subchat
from nbtool.errors import RateLimited, ServerOverloaded, WireError
from nbtool.testing import ScriptedWire, call
from nbtool.wire.transport.retry import RetryPolicy
from tests.chaos import Received, Step, event, finish, head, serve, serve_by, serve_each, text, whole
from tests.chat.batch.remote import far_tools
from tests.chat.batch.remote.far_tools import prompt_of, result_in
from tests.chat.batch.test_shared_backoff import BackoffClock

OK = (head(), text("Done."), finish())
BUSY = (whole(429, {"error": {"message": "slow down"}}, retry_after="0"),)
FAILED = (whole(500, {"error": {"message": "internal error"}}),)
BROKEN_OFF = (head(), text("Hel"), event({"error": {"message": "The server is overloaded"}}))


@pytest.fixture(autouse=True)
def read_annotations() -> None:
    """Make a map, so that the annotations which name a class are read before a test replaces it."""
    Chat(wire=ScriptedWire(["Done."])).map(["Read the annotations."], progress=False)


def set_delays(monkeypatch: pytest.MonkeyPatch, delays: RetryPolicy) -> None:
    monkeypatch.setattr(batch_maker, "SharedBackoff", partial(SharedBackoff, delays=delays))


@pytest.fixture
def short_delays(monkeypatch: pytest.MonkeyPatch) -> None:
    set_delays(monkeypatch, RetryPolicy(min_delay=0.001))


def asks_for_double(request: Received) -> Sequence[Step]:
    result = result_in(request)
    return far_tools.ask_for(call("double", n=2)) if result is None else far_tools.say(result)


@pytest.mark.usefixtures("short_delays")
@pytest.mark.parametrize("retries", [0, 1, 3])
@pytest.mark.parametrize("answer", [FAILED, BUSY, BROKEN_OFF])
def test_a_reply_takes_one_request_and_the_retries(answer: tuple[Step, ...], retries: int) -> None:
    with serve(*answer) as server:
        batch = Chat("tiny", base_url=server.url).map(["a"], retries=retries)

    assert isinstance(batch.values[0], ServerOverloaded | RateLimited)
    assert len(server.requests) == retries + 1


@pytest.mark.usefixtures("short_delays")
def test_refused_requests_and_replies_that_broke_off_count_together() -> None:
    with serve_each(BUSY, BROKEN_OFF, BUSY, OK) as server:
        chat = Chat("tiny", base_url=server.url)
        batch = chat.map(["a"], retries=2)
        later = chat.map(["a"], retries=2)

    assert isinstance(batch.values[0], RateLimited)
    assert later.values == ["Done."]
    assert len(server.requests) == 4


@pytest.mark.usefixtures("short_delays")
def test_an_endpoint_of_the_user_is_asked_as_often() -> None:
    with ScriptedWire([RateLimited("wait"), RateLimited("wait"), "Done.", RateLimited("wait")]) as wire:
        chat = Chat(wire=wire)
        batches = [chat.map(["a"], retries=2), chat.map(["b"], retries=0)]

    assert [type(batch.values[0]) for batch in batches] == [str, RateLimited]


def test_an_account_without_credit_is_not_asked_again() -> None:
    with serve(whole(429, {"error": {"message": "quota", "code": "insufficient_quota"}})) as server:
        batch = Chat("tiny", base_url=server.url).map(["a"])

    assert isinstance(batch.values[0], RateLimited)
    assert len(server.requests) == 1


def test_a_prompt_that_fails_waits_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    set_delays(monkeypatch, RetryPolicy(min_delay=3_000, max_delay=3_000))
    prompts = ["bad", *(f"p{n}" for n in range(12))]
    with serve_by(lambda request: FAILED if prompt_of(request) == "bad" else OK) as server:
        batch, arrived = Chat("tiny", base_url=server.url).start_map(prompts, concurrency=2), list[Any]()
        for answer in batch:
            arrived.append(answer.prompt)
            if len(arrived) == 12:
                batch.cancel()

    assert arrived == [*prompts[1:], "bad"]
    assert sum(prompt_of(request) == "bad" for request in server.requests) == 1


@pytest.mark.usefixtures("short_delays")
@pytest.mark.parametrize("answer", [BUSY, FAILED])
def test_the_request_after_a_tool_is_sent_again_and_the_tool_does_not_run_again(answer: tuple[Step, ...]) -> None:
    ran: list[int] = []

    @tool(run="auto")
    def double(n: int) -> int:
        "Twice a number."
        ran.append(n)
        return 2 * n

    def respond(request: Received) -> Sequence[Step]:
        return answer if len(server.requests) in (1, 2) else asks_for_double(request)

    with serve_by(respond) as server:
        batch = Chat("tiny", base_url=server.url, tools=[double]).map(["a"], retries=2)

    bodies = [request.json for request in server.requests]
    assert (batch.values, ran) == (["4"], [2])
    assert bodies[1] == bodies[2] == bodies[3] != bodies[0]


@pytest.mark.usefixtures("short_delays")
def test_each_reply_of_a_turn_has_all_the_retries() -> None:
    @tool(run="auto")
    def double(n: int) -> int:
        "Twice a number."
        return 2 * n

    def respond(request: Received) -> Sequence[Step]:
        return BUSY if len(server.requests) in (0, 2) else asks_for_double(request)

    with serve_by(respond) as server:
        batch = Chat("tiny", base_url=server.url, tools=[double]).map(["a"], retries=1)

    assert batch.values == ["4"]
    assert len(server.requests) == 4


@pytest.mark.usefixtures("short_delays")
def test_the_requests_of_a_sub_chat_have_the_retries_of_the_map() -> None:
    def respond(request: Received) -> Sequence[Step]:
        if prompt_of(request) == "Why?":
            return FAILED
        return far_tools.say("Done.") if result_in(request) else far_tools.ask_for(call("ask", question="Why?"))

    with serve_by(respond) as server:
        chat = Chat("tiny", base_url=server.url)
        chat.tools.add(subchat(Chat("tiny", base_url=server.url)))
        chat.map(["a"], retries=1)

    assert sum(prompt_of(request) == "Why?" for request in server.requests) == 2


class CountedWaits:
    """Retries that note how long they waited, and after which errors."""

    max_delay = 1.0

    def __init__(self) -> None:
        self.waits: list[float] = []
        self.errors: list[tuple[WireError, int]] = []

    def delay_after(self, error: WireError, attempt: int) -> float | None:
        self.errors.append((error, attempt))
        return None

    async def wait(self, seconds: float) -> None:
        self.waits.append(seconds)


def test_a_request_that_is_changed_after_a_refusal_waits_too() -> None:
    @tool(run="auto")
    def double(n: int) -> int:
        "Twice a number."
        return 2 * n

    refused = (whole(400, {"error": {"message": "this model does not support tools"}}),)
    counted = CountedWaits()
    with serve_each(refused, OK) as server:
        Chat("tiny", base_url=server.url, tools=[double], plugins=[counted]).send("a")

    assert (counted.waits, counted.errors) == ([0.0], [])


def test_every_request_counts_for_the_limit_of_a_minute() -> None:
    @tool(run="auto")
    def double(n: int) -> int:
        "Twice a number."
        return 2 * n

    clock = BackoffClock()

    def respond(request: Received) -> Sequence[Step]:
        return FAILED if not server.requests else asks_for_double(request)

    with serve_by(respond) as server:
        chat = Chat("tiny", base_url=server.url, tools=[double])
        maker = BatchMaker(chat, backoff=clock.backoff(per_minute=2), progress=False)
        batch = maker.batch(parse_prompts(["a", "b"], None)).wait()

    assert batch.values == ["4", "4"]
    assert len(server.requests) == 5
    assert clock.now >= 1_000 + 4 * 30


def test_the_limit_of_a_minute_is_a_setting_of_the_map(monkeypatch: pytest.MonkeyPatch) -> None:
    limits: list[float | None] = []

    def make(per_minute: float | None = None, **_: object) -> SharedBackoff:
        limits.append(per_minute)
        return SharedBackoff()

    monkeypatch.setattr(batch_maker, "SharedBackoff", make)
    Chat(wire=ScriptedWire(["Done."])).map(["a"], per_minute=30)
    Chat(wire=ScriptedWire(["Done."])).map_into(lambda _: None, ["a"], progress=False)

    assert limits == [30, None]
