from __future__ import annotations

import threading

from nbtool import Chat
from nbtool.wire.transport.traffic import HostTraffic, record, totals


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
