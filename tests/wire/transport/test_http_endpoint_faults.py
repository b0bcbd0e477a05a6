"""A network that fails in every way, over and over, on one endpoint: a whole reply, half a one, or an error of ours."""

from __future__ import annotations

import asyncio
import gc
import random
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path

import pytest

from nbtool.errors import WireError
from nbtool.events import Delta, ReplyEnd, Retrying, TextDelta
from nbtool.messages import user
from nbtool.secret import Secret
from nbtool.wire import Prompt, find_wire
from nbtool.wire.transport.http_endpoint import HttpEndpoint
from nbtool.wire.transport.retry import RetryPolicy, Timeouts
from tests.chaos import DONE, Pause, Repeat, Reset, Silence, Step, Trickle, finish, head, serve_each, text, whole
from tests.wire.process_state import close_clients

TEXT = "The quick brown fox jumps over the lazy dog. " * 3
REPLY = b"".join(text(TEXT[at : at + 9]) for at in range(0, len(TEXT), 9))
GOOD: list[Step] = [head(), REPLY + finish() + DONE]
SHORT = Timeouts(connect=1, first_token=0.08, idle=0.08, total=0.08, trailing=0.03)
BUDGET = 20.0
"""Seconds that one question may take, tries and waits included."""
MOST_WAITED = 120.0
"""Seconds that all waits of one question may add up to."""
LATER = ("0", "0.01", "-5", "nan", "inf", "3600", "1e9", "soon", "", "Wed, 21 Oct 2015 07:28:00 GMT", "\u0663", "0x1")
"""What a server may say of when to come again; nothing that a test would really wait for."""

Chance = random.Random
Tell = Callable[[str, object], None]


def cut(chance: Chance) -> bytes:
    """Give the beginning of a reply, up to any byte before its end mark."""
    return REPLY[: chance.randrange(len(REPLY))]


KINDS: dict[str, Callable[[Chance], list[Step]]] = {
    "reset before the head": lambda _: [Reset()],
    "reset in the head": lambda chance: [head()[: chance.randrange(1, 40)], Reset()],
    "reset in the reply": lambda chance: [head(), cut(chance), Reset()],
    "end in the reply": lambda chance: [head(), cut(chance)],
    "silence": lambda chance: [head(), cut(chance), Silence()],
    "slow head": lambda chance: [Pause(chance.choice([0.01, 0.2])), *GOOD],
    "drip": lambda chance: [head(), Trickle(REPLY + finish() + DONE, size=chance.randrange(1, 40))],
    "pings only": lambda chance: [head(), cut(chance), Repeat(b": ping\n\n")],
    "later": lambda chance: [whole(chance.choice([408, 409, 429]), {"error": {}}, retry_after=chance.choice(LATER))],
    "outage": lambda chance: [whole(chance.choice([500, 502, 503, 504, 529]), cut(chance), "text/html")],
    "page in place of a reply": lambda chance: [whole(200, b"<html>" + cut(chance), "text/html")],
    "broken packing": lambda chance: [whole(200, cut(chance), "text/event-stream", content_encoding="gzip")],
    "redirect": lambda chance: [whole(chance.choice([301, 302, 303, 307, 308]), b"", location="http://127.0.0.1:9/")],
    "ends twice": lambda chance: [head(), REPLY + (finish() + DONE) * chance.randrange(2, 4), Reset()],
    "late end mark": lambda _: [head(), REPLY + finish(), Pause(0.06), DONE],
    "no reply at all": lambda chance: [head(chance.choice([200, 204])), b"\n" * chance.randrange(3)],
    "noise": lambda chance: [head(), chance.randbytes(chance.randrange(400)), *([Reset()] * chance.randrange(2))],
    "wrong length": lambda chance: [whole(200, REPLY + DONE, "text/event-stream")[: -chance.randrange(1, 200)]],
}
"""What can go wrong between a request and the end of its answer."""


@pytest.mark.sampled(1)
@pytest.mark.promise("typed-errors")
@pytest.mark.parametrize("kind", KINDS)
def test_a_failing_network_ends_in_a_reply_or_in_one_of_our_errors(kind: str, record_property: Tell) -> None:
    inject_faults(kind, 4, record_property)


@pytest.mark.nightly
@pytest.mark.timeout(900)
@pytest.mark.parametrize("kind", KINDS)
def test_two_hundred_faults_of_a_kind_end_in_a_reply_or_in_one_of_our_errors(kind: str, record_property: Tell) -> None:
    inject_faults(kind, 200, record_property)


@pytest.mark.sampled(1)
@pytest.mark.parametrize(
    "address", ["https://no-such-host.invalid/v1", "https://127.0.0.1:{}/v1", "http://127.0.0.1:1/v1"]
)
def test_a_server_that_cannot_be_reached_leaves_nothing_behind(address: str, record_property: Tell) -> None:
    record_property("injected", 20)
    before = left_over()
    with no_tls() as port:
        results = asyncio.run(questions(endpoint(address.format(port)), lambda asked: asked < 20))

    assert len(results) == 20
    assert all(isinstance(result, WireError) for result in results)
    assert not has_leaked(before)


@contextmanager
def no_tls() -> Iterator[int]:
    """Answer every connection with words in place of a handshake; gives the port."""
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def answer() -> None:
            with suppress(OSError):
                while True:
                    connection, _ = listener.accept()
                    with connection:
                        connection.sendall(b"HTTP/1.1 400 No TLS here\r\n\r\n")

        thread = threading.Thread(target=answer)
        thread.start()
        yield listener.getsockname()[1]
        listener.shutdown(socket.SHUT_RDWR)
        thread.join()


def inject_faults(kind: str, count: int, tell: Tell) -> None:
    """Ask until a fault was injected so many times, every second or so followed by a good answer."""
    chance = random.Random(kind)
    answers = [KINDS[kind](chance) if chance.random() < 0.7 else GOOD for _ in range(4 * count)]
    before = left_over()
    with serve_each(*answers) as server:
        results = asyncio.run(
            questions(endpoint(server.url), lambda _: count_faults(answers, len(server.requests)) < count)
        )
    injected = count_faults(answers, len(server.requests))
    tell("injected", injected)

    assert injected >= count
    if count > 100:  # so many that good answers came among them
        assert any(isinstance(result, list) and is_whole(result) for result in results)
    for result in results:
        if isinstance(result, list):
            check(result)
        else:
            assert isinstance(result, WireError), repr(result)
    assert not has_leaked(before)


def count_faults(answers: list[list[Step]], requests: int) -> int:
    return sum(answer is not GOOD for answer in answers[:requests])


def endpoint(url: str) -> HttpEndpoint:
    key, retries = Secret("sk-secret-canary-0123456789"), RetryPolicy(2, min_delay=0.001)
    plain = HttpEndpoint(find_wire("chat"), url, "m", provider="lab", key=key, retries=retries)
    return replace(plain, timeouts=SHORT)


async def questions(asked: HttpEndpoint, go_on: Callable[[int], bool]) -> list[list[Delta] | Exception]:
    """Ask again and again on one loop, and give what came of each question."""
    results: list[list[Delta] | Exception] = []
    try:
        while go_on(len(results)):
            began, waited = time.monotonic(), 0.0
            received: list[Delta] = []
            try:
                async for delta in asked.stream(Prompt((user("Hi"),))):
                    received.append(delta)
            except Exception as error:  # noqa: BLE001 - which kinds may come is what is tested
                results.append(error)
            else:
                results.append(received)
            waited = sum(delta.seconds for delta in received if isinstance(delta, Retrying))
            assert time.monotonic() - began < BUDGET
            assert waited <= MOST_WAITED
            assert "sk-secret" not in repr(results[-1])
    finally:
        await close_clients()
        await asyncio.sleep(0)
    assert asyncio.all_tasks() == {asyncio.current_task()}
    return results


def joined_text(deltas: list[Delta]) -> str:
    return "".join(delta.text for delta in deltas if isinstance(delta, TextDelta))


def is_whole(deltas: list[Delta]) -> bool:
    return any(isinstance(delta, ReplyEnd) for delta in deltas)


def check(deltas: list[Delta]) -> None:
    """Check that nothing was said twice, and that an end is the end of the whole."""
    assert TEXT.startswith(joined_text(deltas))
    if is_whole(deltas):
        assert joined_text(deltas) == TEXT
        assert isinstance(deltas[-1], ReplyEnd)


def has_leaked(before: tuple[int, int]) -> bool:
    """Tell whether more threads or files stay than before; fewer are what an earlier test had left.

    What has ended may take a moment to be closed, on a busy machine.
    """
    until = time.monotonic() + BUDGET
    while any(now > then for now, then in zip(left_over(), before, strict=True)):
        if time.monotonic() > until:
            return True
        time.sleep(0.05)
    return False


def left_over() -> tuple[int, int]:
    """Count the threads and the open files of this process."""
    gc.collect()
    return threading.active_count(), len(list(Path("/proc/self/fd").iterdir()))
