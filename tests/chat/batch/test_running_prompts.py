"""Two maps of the same prompts at the same time."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from filelock import FileLock

from nbtool import Chat, tool
from nbtool.chat.batch.batch import Batch
from nbtool.chat.batch.running_prompts import FOLDER
from nbtool.chat.journal import journal
from nbtool.errors import BadUsage, NotRepeated
from nbtool.testing import ScriptedWire, call
from nbtool.wire.base import Prompt

NAMES = ["a", "b"]


def reply(prompt: Prompt) -> Any:
    last = prompt.messages[-1]
    return last.results[0].text if last.results else call("pay", name=last.text)


class Payments:
    """Chats whose tool counts its effects, and waits until it is released."""

    def __init__(self) -> None:
        self.effects: Counter[str] = Counter()
        self.started, self.released = threading.Event(), threading.Event()

        @tool(run="auto", thread=True)
        def pay(name: str) -> str:
            "Pay."
            self.effects[name] += 1
            self.started.set()
            assert self.released.wait(240)
            return f"paid {name}"

        self.pay = pay

    def chat(self) -> Chat:
        return Chat(wire=ScriptedWire([reply] * 20), tools=[self.pay])


@pytest.mark.promise("maps-once")
@pytest.mark.parametrize(
    "run",
    [
        lambda chat: chat.map(NAMES),
        lambda chat: list(chat.start_map(["b", "c"])),
        lambda chat: chat.start_map(NAMES).values,
    ],
)
def test_prompts_that_another_map_is_sending_are_refused_until_it_ends(run: Callable[[Chat], object]) -> None:
    shop = Payments()
    first = shop.chat().start_map(NAMES)
    assert shop.started.wait(240)
    with pytest.raises(BadUsage, match="of these prompts now, so none was sent"):
        run(shop.chat())
    shop.released.set()
    first.wait()
    run(shop.chat())

    assert set(shop.effects.values()) == {1}


@pytest.mark.promise("maps-once")
def test_a_map_whose_answers_are_no_longer_read_still_runs_and_says_so_to_a_second_one() -> None:
    shop = Payments()
    shop.released.set()
    first = shop.chat().start_map(["a", *(f"p{n}" for n in range(200))], concurrency=1)
    for _ in first:
        break
    try:
        again: Batch | BadUsage = shop.chat().map(["a"])
    except BadUsage as error:
        again = error
    first.wait()

    assert isinstance(again, BadUsage)
    assert "batch.cancel()" in again.fix
    assert set(shop.effects.values()) == {1}


HELD = "HELD"
"""The setting of a process whose calls do not end."""

SCRIPT = "from tests.chat.batch.test_running_prompts import holding_chat; holding_chat().map(['a', 'b'], concurrency=1)"


@tool(run="auto")
def pay_once(name: str) -> str:
    "Pay, and say so."
    print("started", flush=True)  # noqa: T201 - read by the test
    if HELD in os.environ:
        sys.stdin.readline()
    return f"paid {name}"


def holding_chat() -> Chat:
    def hold(prompt: Prompt) -> Any:
        last = prompt.messages[-1]
        return last.results[0].text if last.results else call("pay_once", name=last.text)

    return Chat(wire=ScriptedWire([hold] * 20), tools=[pay_once])


@pytest.mark.sampled(1)
@pytest.mark.promise("maps-once")
@pytest.mark.parametrize(
    "run",
    [
        lambda chat, _: chat.map(NAMES),
        lambda chat, _: chat.map(["c", "b"]),
        lambda chat, folder: chat.map_into(folder / "a.sqlite", ["b", "c"]),
        lambda chat, _: chat.map_into(lambda _: None, ["b"]),
    ],
)
def test_prompts_that_another_process_is_sending_are_refused_until_it_ends(
    run: Callable[[Chat, Path], object], tmp_path: Path
) -> None:
    environment = {**os.environ, HELD: "1"}
    command = [sys.executable, "-c", SCRIPT]
    with subprocess.Popen(command, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as other:
        assert other.stdout
        assert other.stdout.readline() == "started\n"
        with pytest.raises(BadUsage, match=r"A map of another process is sending \d of these prompts now"):
            run(holding_chat(), tmp_path)
        others = holding_chat().map(["c", "d"])
        other.kill()
    later = holding_chat().map(NAMES)
    path = journal().path

    assert others.values == ["paid c", "paid d"]
    assert [type(one.error) for one in later.errors] == [NotRepeated]  # whose call had started
    assert later.answers[1].value == "paid b"
    assert path
    assert [one.name for one in (path.parent / FOLDER).iterdir() if one.name != "mutex"] == []


def test_prompts_are_sent_twice_at_once_where_no_answers_are_reused() -> None:
    shop = Payments()
    first = shop.chat().start_map(NAMES)
    assert shop.started.wait(240)
    second = shop.chat().start_map(NAMES, resume=False)
    shop.released.set()

    assert first.values == second.values == ["paid a", "paid b"]
    assert shop.effects == {"a": 2, "b": 2}


def test_a_process_that_stopped_while_it_claimed_prompts_is_waited_for_a_short_time_only() -> None:
    path = journal().path
    assert path
    folder = path.parent / FOLDER
    folder.mkdir(exist_ok=True)
    with FileLock(folder / "mutex"), pytest.raises(BadUsage, match="does not go on, so no prompt was sent"):
        holding_chat().map(NAMES)

    assert holding_chat().map(NAMES).values == ["paid a", "paid b"]
