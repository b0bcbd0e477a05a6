"""What other projects reported: many prompts at the limits of a provider, over a budget, or on workers that fail."""

from __future__ import annotations

import datetime as dt
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from nbtool import Chat
from nbtool.errors import LimitReached, RateLimited
from nbtool.plugins.budget import Price
from nbtool.settings import data_dir
from nbtool.testing import call
from nbtool.wire.providers.providers_toml import SETTINGS_FILE
from tests.chaos import DONE, Received, Step, event, finish, head, serve_by, text, whole
from tests.chat.batch.remote.far_tools import ask_for, note, prompt_of, result_in, say
from tests.hosts import two_hosts

PROMPTS = [f"p{n}" for n in range(8)]
REFUSED: dict[str, Any] = {"error": {"message": "Rate limit reached", "type": "requests"}}


@pytest.fixture(autouse=True)
def journal_of_test(own_journal: None) -> None:
    """Begin each test with a journal of its own."""


@pytest.fixture
def threads() -> Iterator[ThreadPoolExecutor]:
    with ThreadPoolExecutor(4) as pool:
        yield pool


class Minute:
    """A provider that answers so many requests, refuses all others until it has refused some, and then begins anew."""

    def __init__(self, room: int, refusals: int, **headers: str) -> None:
        self.room, self.refusals, self.headers = room, refusals, headers
        self.answered, self.refused = list[str](), list[str]()
        self._lock = threading.Lock()

    def respond(self, request: Received) -> Sequence[Step]:
        """Answer or refuse a request."""
        with self._lock:
            if len(self.answered) < self.room or len(self.refused) >= self.refusals:
                self.answered.append(prompt_of(request))
                return say(prompt_of(request))
            self.refused.append(prompt_of(request))
        return [whole(429, REFUSED, **self.headers)]


def test_the_rest_of_a_burst_waits_for_the_minute_in_place_of_failing_at_once() -> None:
    """PhonePe/thorfinn#2, juspay/xyne-spaces#1634: the first requests use up the minute, and all others fail within the
    same second.

    Right: they wait as long as the provider says, together, and are answered. Before: right.
    """
    minute = Minute(2, 6, **{"retry-after": "0.2"})
    with serve_by(minute.respond) as server:
        batch = Chat("tiny", base_url=server.url).map(PROMPTS, progress=False)

    assert batch.values == PROMPTS
    assert len(minute.refused) == 6


def test_only_what_was_refused_is_sent_again() -> None:
    """treosh/crux-api#4: whether a retry after 429 sends the whole batch again.

    Right: each answered prompt is sent once. Before: right.
    """
    minute = Minute(5, 3, **{"retry-after": "0.1"})
    with serve_by(minute.respond) as server:
        Chat("tiny", base_url=server.url).map(PROMPTS, progress=False)

    assert sorted(minute.answered) == PROMPTS


def test_a_refused_prompt_is_never_left_out_of_the_result() -> None:
    """NVIDIA/SkillSpector#303: batches that got 429 are logged and omitted, and the result looks complete.

    Right: an error in the place of each. Before: right.
    """
    with serve_by(Minute(5, 100).respond) as server:
        batch = Chat("tiny", base_url=server.url).map(PROMPTS, retries=0, concurrency=1, progress=False)

    assert len(batch.values) == 8
    assert [type(one.error) for one in batch.errors] == [RateLimited] * 3


def test_a_pause_of_hours_is_an_error_and_not_waited_for() -> None:
    """meta-llama/llama-models#354: after a limit every later request fails at once, and nothing says how long.

    Right: a Retry-After beyond ten minutes is the error, with its time, and a later map goes on. Before: right.
    """
    with serve_by(Minute(2, 6, **{"retry-after": "7200"}).respond) as server:
        chat = Chat("tiny", base_url=server.url)
        first = chat.map(PROMPTS, progress=False, concurrency=1)
        later = chat.map(PROMPTS, progress=False, concurrency=1)

    assert len(first.errors) == 6
    assert all(isinstance(one.error, RateLimited) and one.error.retry_after == 7200 for one in first.errors)
    assert later.values == PROMPTS
    assert sum(one.is_cached for one in later.answers) == 2


@pytest.mark.parametrize("left", ["-3", "0", "many"])
def test_a_room_below_zero_is_no_reason_to_wait_for_ever(left: str) -> None:
    """triggerdotdev/trigger.dev#2837: a bucket of tokens goes negative, and nothing is sent any more.

    Right: the requests go on after the time that the provider names. Before: right.
    """
    headers = {"x-ratelimit-limit-requests": "100", "x-ratelimit-remaining-requests": left,
               "x-ratelimit-reset-requests": "100ms"}  # fmt: skip

    def respond(request: Received) -> Sequence[Step]:
        return [head(**headers), text(prompt_of(request)), finish(), DONE]

    with serve_by(respond) as server:
        batch = Chat("tiny", base_url=server.url).map(PROMPTS, progress=False, concurrency=2)

    assert batch.values == PROMPTS


@pytest.mark.parametrize("is_on_workers", [False, True])
def test_requests_at_the_same_time_share_what_is_left_of_a_budget(
    threads: ThreadPoolExecutor, is_on_workers: bool
) -> None:
    """BerriAI/litellm#34732, BerriAI/litellm#26672: requests read the same sum below the budget, and all pass.

    Right: each takes its share before it is sent, on workers too; at most the last one goes beyond. Before: wrong.
    """
    used = event({"choices": [], "usage": {"prompt_tokens": 400, "completion_tokens": 100}})

    def respond(request: Received) -> Sequence[Step]:
        return [head(), text(prompt_of(request)), finish(), used, DONE]

    prices = {"tiny": Price(1.0, 1.0)}
    where: dict[str, Any] = {"on": threads, "chunk": 1} if is_on_workers else {}
    with serve_by(respond) as server:
        batch = Chat("tiny", base_url=server.url).map(
            PROMPTS, progress=False, concurrency=4, usd=0.0012, prices=prices, **where
        )

    assert batch.usage.cost is not None
    assert 0.0012 <= batch.usage.cost <= 0.0012 + 0.0005
    assert {type(one.error) for one in batch.errors} == {LimitReached}


def test_a_reply_without_usage_does_not_count_as_free(threads: ThreadPoolExecutor) -> None:
    """BerriAI/litellm#26672: spend is NULL in place of a number, and no limit holds.

    Right: without a usage the next request is not sent, and the reason is said. Before: wrong.
    """
    with serve_by(lambda request: say(prompt_of(request))) as server:
        batch = Chat("tiny", base_url=server.url).map(PROMPTS, on=threads, tokens=10_000, concurrency=1, progress=False)
        sent = len(server.requests)

    assert sent == 1
    assert isinstance(batch.stop_reason, LimitReached)


class Repeating(ThreadPoolExecutor):
    """A pool that runs each task twice: one after the other, or at the same time."""

    def __init__(self, at_once: bool) -> None:
        super().__init__(4)
        self._at_once = at_once

    def submit(self, function: Callable[..., Any], /, *arguments: Any, **options: Any) -> Future[Any]:
        """Run a task twice."""

        def run() -> Any:
            if not self._at_once:
                function(*arguments, **options)
                return function(*arguments, **options)
            with ThreadPoolExecutor(2) as both:
                runs = [both.submit(function, *arguments, **options) for _ in range(2)]
                return [one.result() for one in runs][-1]

        return super().submit(run)


@pytest.mark.promise("maps-once")
@pytest.mark.parametrize("at_once", [False, True])
def test_a_task_that_a_scheduler_runs_twice_has_its_effects_once(tmp_path: Path, at_once: bool) -> None:
    """dask/distributed#1305, PrefectHQ/prefect#5485, dask/distributed#847: a scheduler runs tasks twice now and then.

    Right: only one run gets a prompt, and no call of the other starts. Before: wrong.
    """
    notes = tmp_path / "notes"

    def respond(request: Received) -> Sequence[Step]:
        result = result_in(request)
        return say("done") if result else ask_for(call("note", path=str(notes), n=int(prompt_of(request)[1:])))

    with serve_by(respond) as server, Repeating(at_once) as on:
        batch = Chat("tiny", base_url=server.url, tools=[note]).map(PROMPTS, on=on, chunk=2, progress=False)

    lines = notes.read_text().split()
    assert sorted(lines) == sorted(set(lines))
    assert [one.value for one in batch.answers if not one.error] == ["done"] * (8 - len(batch.errors))
    if not at_once:
        assert batch.errors == []
    assert len(lines) == 8


def test_answers_of_a_task_that_fails_at_its_end_are_not_computed_again() -> None:
    """PrefectHQ/prefect#15442, dask/distributed#7870: a worker dies, and what it had completed is run again.

    Right: answers are at home as soon as they are there; only prompts without one are lost. Before: wrong.
    """

    class Dying(ThreadPoolExecutor):
        def submit(self, function: Callable[..., Any], /, *arguments: Any, **options: Any) -> Future[Any]:
            def run() -> Any:
                function(*arguments, **options)
                raise MemoryError("killed")

            return super().submit(run)

    with serve_by(lambda request: say(prompt_of(request))) as server, Dying(2) as on:
        batch = Chat("tiny", base_url=server.url).map(PROMPTS, on=on, chunk=4, progress=False)
        sent = len(server.requests)

    assert batch.values == PROMPTS
    assert sent == 8


class Windows:
    """A provider that answers so many requests a second, says in its headers what is left, and refuses the others."""

    def __init__(self, room: int) -> None:
        self.room, self.left, self.ends = room, room, 0.0
        self.refused: list[int] = []
        self._served = 0
        self._lock = threading.Lock()

    def respond(self, request: Received) -> Sequence[Step]:
        """Answer or refuse a request."""
        with self._lock:
            if (now := time.monotonic()) >= self.ends:
                self.left, self.ends = self.room, now + 1.0
            self._served += 1
            if not self.left:
                self.refused.append(self._served)
                return [whole(429, REFUSED, **{"retry-after": "1"})]
            self.left -= 1
            headers = {"limit": f"{self.room}", "remaining": f"{self.left}", "reset": f"{self.ends - now:.3f}s"}
        named = {f"x-ratelimit-{name}-requests": value for name, value in headers.items()}
        return [head(**named), text(prompt_of(request)), finish(), DONE]


def test_workers_that_each_count_a_limit_do_not_multiply_it(threads: ThreadPoolExecutor) -> None:
    """laurentS/slowapi#226, BerriAI/litellm#16011, octos-org/octos#227: a limit that each worker counts by itself is
    multiplied by their number, and refused workers try again one by one.

    Right: they share what the provider reports, so hardly any is refused after the first answers. Before: wrong.
    """
    windows = Windows(3)
    with serve_by(windows.respond) as server:
        batch = Chat("tiny", base_url=server.url).map(PROMPTS, on=threads, concurrency=4, chunk=1, progress=False)

    assert batch.values == PROMPTS
    assert len([number for number in windows.refused if number > 4]) <= 1  # of 5


def test_times_with_and_without_a_zone_are_a_column_of_polars_and_no_answer_is_lost() -> None:
    """pola-rs/polars#6827, pola-rs/polars#10557: times of which only some have a zone panic, or are converted silently.

    Right: a column with the times as they came. Before: wrong.
    """
    times = ["2026-01-02T10:00:00Z", "2026-01-02T10:00:00"]
    with serve_by(lambda request: say(f'"{prompt_of(request)}"')) as server:
        batch = Chat("tiny", base_url=server.url).map(times, as_=dt.datetime, progress=False)

    assert list(batch.to_frame("polars")["answer"]) == batch.values
    assert [value.tzinfo is None for value in batch.values] == [False, True]


@pytest.mark.parametrize("mode", ["only", "auto"])
@pytest.mark.parametrize("bounds", [{}, {"prices": {"alpha:m": Price(1.0, 2.0)}}])
def test_a_map_is_replayed_where_a_single_prompt_is(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, mode: str, bounds: Any
) -> None:
    """safety-research/safety-tooling#43: an answer that is kept for one way of asking is not found by the other.

    Right: where `send` is replayed without the provider, its key and its settings, `map` is too. Before: wrong.
    """
    monkeypatch.setenv("NBTOOL_RECORDING", str(tmp_path / "all.nbtool.json"))
    with two_hosts(monkeypatch) as hosts:
        hosts.set_keys("alpha")
        Chat("alpha:m").send("Hello?")
        Chat("alpha:m").map("{t}", [{"t": "a"}, {"t": "b"}], **bounds)
        sent = hosts.asked
    (data_dir() / SETTINGS_FILE).unlink()
    hosts.set_keys()
    monkeypatch.setenv("NBTOOL_REPLAY", mode)

    single = Chat("alpha:m").send("Hello?")
    batch = Chat("alpha:m").map("{t}", [{"t": "a"}, {"t": "b"}], **bounds)

    assert sent == (3, 0)
    assert (single.text, list(batch.values), batch.failures) == ("Hello", ["Hello", "Hello"], {})
