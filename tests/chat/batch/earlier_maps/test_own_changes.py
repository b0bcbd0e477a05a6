"""Maps whose tools change what they use: they are the same tools to a later map of the process."""

from __future__ import annotations

import signal
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from nbtool import Chat, tool
from nbtool.chat.batch.earlier_maps.own_changes import MAX_CHANGES, find_original, record_change
from nbtool.testing import ScriptedWire, call
from nbtool.wire.base import Prompt

NAMES = [f"p{n}" for n in range(8)]

RunMap = Callable[..., Any]


class Shop:
    """Chats whose tool notes its calls in a list that it uses, as a function of a notebook does in a global."""

    def __init__(self) -> None:
        self.done: list[str] = []
        self.interrupt_at = 0
        done, interrupt = self.done, self.interrupt

        @tool(run="auto")
        def pay(name: str) -> str:
            "Pay."
            done.append(name)
            interrupt()
            return f"paid {name}"

        self.pay = pay

    def interrupt(self) -> None:
        if len(self.done) == self.interrupt_at:
            signal.raise_signal(signal.SIGINT)

    def chat(self) -> Chat:
        return Chat(wire=ScriptedWire([reply] * 40), tools=[self.pay])


def reply(prompt: Prompt) -> Any:
    last = prompt.messages[-1]
    return last.results[0].text if last.results else call("pay", name=last.text)


@pytest.fixture
def shop() -> Shop:
    return Shop()


@pytest.fixture(params=["map", "iterated", "map_into"])
def run_map(request: pytest.FixtureRequest, shop: Shop, tmp_path: Path) -> RunMap:
    """Run a map, and return its answers or totals."""

    def run(**options: Any) -> Any:
        if request.param == "map_into":
            return shop.chat().map_into(tmp_path / "a.sqlite", NAMES, progress=False, **options)
        if request.param == "iterated":
            batch = shop.chat().start_map(NAMES, **options)
            return list(batch) and batch
        return shop.chat().map(NAMES, **options)

    return run


@pytest.mark.promise("maps-once")
def test_a_tool_that_changed_what_it_uses_is_the_same_to_a_later_map(shop: Shop, run_map: RunMap) -> None:
    run_map()
    again, third = run_map(), run_map()

    assert Counter(shop.done) == dict.fromkeys(NAMES, 1)
    assert "8 answered before" in str(again)
    assert "8 answered before" in str(third)


@pytest.mark.promise("maps-once")
@pytest.mark.parametrize("into", [False, True])
def test_an_interrupted_map_goes_on_although_its_tool_changed_what_it_uses(
    shop: Shop, tmp_path: Path, into: bool
) -> None:
    def run() -> object:
        if into:
            return shop.chat().map_into(tmp_path / "a.sqlite", NAMES, concurrency=1, progress=False)
        return shop.chat().map(NAMES, concurrency=1)

    shop.interrupt_at = 4
    with pytest.raises(KeyboardInterrupt):
        run()
    run()

    assert Counter(shop.done) == dict.fromkeys(NAMES, 1)


def test_what_the_person_changed_makes_the_answers_new(shop: Shop) -> None:
    shop.chat().map(["x"])
    shop.done.append("something else")
    with pytest.warns(UserWarning, match="are run again: its model"):
        shop.chat().map(["x"])

    assert shop.done.count("x") == 2


def test_the_oldest_changes_are_forgotten() -> None:
    for number in range(MAX_CHANGES + 1):
        record_change(f"before {number}", f"after {number}")

    assert find_original("after 0") == "after 0"
    assert find_original(f"after {MAX_CHANGES}") == f"before {MAX_CHANGES}"
