from __future__ import annotations

import socket
import threading

import pytest

from nbtool import Chat
from nbtool.wire.transport.traffic import HostTraffic, record, totals
from tests.chaos import Reset, serve


def test_every_request_of_a_turn_is_counted_with_its_bytes() -> None:
    chat = Chat("practice:fast")
    chat.send("Hello")
    before = totals()
    request = chat.rehearse("Hello again")
    turn = chat.send("Hello again")
    after = totals()
    (host,) = [name for name, counted in after.items() if counted != before.get(name)]

    assert turn.status == "completed"
    assert after[host].requests - before[host].requests == 1
    assert after[host].size - before[host].size >= len(str(request.body["messages"][-1]["content"]))


def test_requests_from_many_threads_are_all_counted() -> None:
    threads = [threading.Thread(target=lambda: [record("many.example", 2) for _ in range(500)]) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert totals()["many.example"] == HostTraffic(2_000, 4_000)


def refused_port() -> int:
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        return int(unused.getsockname()[1])


@pytest.mark.parametrize("name", ["refused", "a name that does not resolve", "a proxy that refuses"])
def test_a_request_that_never_reached_a_server_is_not_counted(name: str) -> None:
    port = refused_port()
    settings = {
        "refused": {"base_url": f"http://127.0.0.1:{port}/v1"},
        "a name that does not resolve": {"base_url": "https://no-such-host.invalid/v1"},
        "a proxy that refuses": {"base_url": "https://far.example/v1", "proxy": f"http://127.0.0.1:{port}"},
    }[name]

    host = str(settings["base_url"]).split("/")[2]
    before = totals().get(host)  # a test before may have had the same port

    turn = Chat("openai:m", api_key="k", wire="chat", **settings).send("Hello")

    assert turn.status == "error"
    assert totals().get(host) == before


def test_a_request_that_breaks_after_it_was_sent_is_counted() -> None:
    with serve(Reset()) as server:
        turn = Chat("openai:m", api_key="k", wire="chat", base_url=server.url).send("Hello")

    host = server.url.split("/")[2]
    assert turn.status == "error"
    assert totals()[host].requests >= len(server.requests) >= 1  # a server may reset before it has read one
