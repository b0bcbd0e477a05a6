"""What a map keeps in memory: of a streamed one nothing that was written, of another the results up to a bound."""

from __future__ import annotations

import gc
import threading
import weakref
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy
import pytest

from nbtool import Chat, tool
from nbtool.chat.batch import Answer
from nbtool.chat.batch.prompts import prompt_bytes
from nbtool.chat.batch.streamed_map import CHUNK_BYTES, GARBAGE_BYTES
from nbtool.messages import Media, Message, Text
from nbtool.testing import ScriptedWire, call
from nbtool.tools.variables.eviction import EvictedResult
from nbtool.wire.base import Prompt

MEGABYTE = 1_000_000


@pytest.fixture
def no_collector() -> Iterator[None]:
    """Leave only what is freed at once, or by nbtool itself."""
    gc.collect()
    gc.disable()
    yield
    gc.enable()


class Results:
    """A tool with results of a megabyte, and which of these are in memory."""

    def __init__(self) -> None:
        self.made: list[weakref.ref[Any]] = []
        self.most = 0
        self.are_made = threading.Event()
        """There are twenty."""
        self.slots = threading.Semaphore(1_000)
        """One is taken by each call."""
        self.may_go_on = threading.Event()
        """The second call may run."""
        self.may_go_on.set()

        @tool(run="auto")
        def measure(number: int) -> numpy.ndarray:
            "Measure."
            assert number != 1 or self.may_go_on.wait(240)
            assert self.slots.acquire(timeout=240)
            self.most = max(self.most, self.live)
            result = numpy.full(MEGABYTE // 8, float(number))
            self.made.append(weakref.ref(result))
            if len(self.made) == 20:
                self.are_made.set()
            return result

        self.tool = measure

    @property
    def live(self) -> int:
        return sum(one() is not None for one in self.made)

    def chat(self, **options: Any) -> Chat:
        def reply(prompt: Prompt) -> Any:
            last = prompt.messages[-1]
            return "Done." if last.results else call("measure", number=int(last.text.split()[0]))

        return Chat(wire=ScriptedWire([reply] * 100), tools=[self.tool], **options)


def prompts(count: int) -> Iterator[str]:
    return (str(number) for number in range(count))


@pytest.mark.sampled(1)
@pytest.mark.usefixtures("no_collector")
@pytest.mark.parametrize("kind", ["file", "function"])
def test_results_are_freed_as_soon_as_an_answer_is_written(tmp_path: Path, kind: str) -> None:
    results, seen = Results(), list[bool]()
    if kind == "function":
        results.slots = threading.Semaphore(4)

    def note(answers: Sequence[Answer]) -> None:
        turns = [one.turn for one in answers if one.turn]
        seen.extend(isinstance(turn.calls[0].result, numpy.ndarray) for turn in turns)
        results.slots.release(len(answers))

    sink: str | Callable[..., None] = str(tmp_path / "a.sqlite") if kind == "file" else note
    totals = results.chat().map_into(sink, prompts(30), concurrency=2)

    assert totals.answered == len(results.made) == 30
    assert seen == ([] if kind == "file" else [True] * 30)
    assert results.most <= 8  # those of running turns, of answers on their way, and of the function's last ones
    assert results.live <= 1


@pytest.mark.usefixtures("no_collector")
def test_results_that_a_slow_function_has_not_had_yet_are_bounded_too() -> None:
    results, own = Results(), list[Any]()
    results.may_go_on.clear()

    def wait_for_all(answers: Sequence[Answer]) -> None:
        results.may_go_on.set()
        assert results.are_made.wait(240)
        own.extend(one.turn.calls[0].result[0] for one in answers[:1] if one.turn and not own)

    results.chat(result_bytes=3 * MEGABYTE).map_into(wait_for_all, prompts(20), concurrency=1)

    assert own == [0.0]  # not dropped while the function has it
    assert results.most <= 6


def test_a_map_that_keeps_turns_keeps_the_latest_results_up_to_the_bound_and_says_what_is_gone() -> None:
    results = Results()
    batch = results.chat(result_bytes=3 * MEGABYTE + 100_000).map(prompts(6), concurrency=1)

    values = [one.turn.calls[0].result for one in batch.answers if one.turn]
    assert [isinstance(one, EvictedResult) for one in values] == [True] * 3 + [False] * 3
    assert values[5][0] == 5.0


@pytest.mark.usefixtures("no_collector")
def test_a_map_that_keeps_values_keeps_no_results() -> None:
    results = Results()
    batch = results.chat().map(prompts(6), concurrency=1, keep="values")

    assert len(batch.values) == len(results.made) == 6
    assert results.most <= 2
    assert results.live <= 1


def long_prompts(read: list[int]) -> Iterator[str]:
    for number in range(3 * CHUNK_BYTES // MEGABYTE):
        read.append(number)
        yield f"{number} {'x' * MEGABYTE}"


@pytest.mark.nightly
def test_of_long_prompts_fewer_are_read_ahead() -> None:
    read: list[int] = []

    def stop(_: Sequence[Answer]) -> None:
        raise InterruptedError

    with pytest.raises(InterruptedError):
        Chat(wire=ScriptedWire(["Done."] * 100)).map_into(stop, long_prompts(read))

    assert len(read) == CHUNK_BYTES // MEGABYTE + 1


def test_a_prompt_that_is_longer_than_what_may_be_read_is_sent_alone() -> None:
    image = Message("user", (Text("Look."), Media("image/png", b"x" * MEGABYTE)))

    assert MEGABYTE <= prompt_bytes(image) < 1.01 * MEGABYTE
    assert MEGABYTE <= prompt_bytes("x" * MEGABYTE) < 1.01 * MEGABYTE


@pytest.mark.nightly
@pytest.mark.usefixtures("no_collector")
def test_turns_of_long_prompts_that_were_written_are_freed() -> None:
    turns: list[weakref.ref[Any]] = []

    def note(answers: Sequence[Answer]) -> None:
        turns.extend(weakref.ref(one.turn) for one in answers if one.turn)

    Chat(wire=ScriptedWire(["Done."] * 100)).map_into(note, long_prompts([]), concurrency=1)

    live = sum(one() is not None for one in turns)
    assert len(turns) == 3 * CHUNK_BYTES // MEGABYTE
    assert live <= GARBAGE_BYTES // MEGABYTE + 2
