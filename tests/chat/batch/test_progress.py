"""What a registered view is told of a map, and that nothing it does reaches the map."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from nbtool import Chat
from nbtool.chain.hooks import RequestContext
from nbtool.chat.batch import Answer
from nbtool.chat.batch.map_counts import MapCounts
from nbtool.chat.batch.progress import ProgressDisplay
from nbtool.chat.batch_builder import BEGIN_FIX
from nbtool.errors import BadUsage, Cancelled
from nbtool.map_progress import CONTINUE_FIX, MapProgress, MapState, get_progress_view, set_progress_view
from nbtool.messages import Usage
from nbtool.testing import ScriptedWire
from nbtool.wire.base import Prompt


class View:
    """Notes what it is told; `on_show` is called with each progress, on nbtool's loop."""

    def __init__(self, first: MapProgress, stop: Callable[[], object]) -> None:
        self.first, self.stop = first, stop
        self.thread = threading.current_thread()
        self.shown: list[MapProgress] = []
        self.ends: list[MapProgress] = []
        self.waits: list[bool] = []
        self.polls = 0
        self.on_poll: Callable[[], object] = lambda: None

    def show(self, progress: MapProgress) -> None:
        self.shown.append(progress)

    def poll(self) -> None:
        self.polls += 1
        self.on_poll()

    def set_waiting(self, *, is_waiting: bool) -> None:
        self.waits.append(is_waiting)

    def end(self, progress: MapProgress) -> None:
        self.ends.append(progress)


@pytest.fixture
def views() -> Iterator[list[View]]:
    """Give the views of the maps that are started, while a view is registered."""
    made: list[View] = []

    def make(first: MapProgress, stop: Callable[[], object]) -> View:
        made.append(View(first, stop))
        return made[-1]

    set_progress_view(make)
    yield made
    set_progress_view(None)


class Hold:
    """Holds the request of one prompt until its turn is stopped."""

    def __init__(self, prompt: str) -> None:
        self._prompt = prompt

    async def on_before_request(self, context: RequestContext) -> None:
        if context.messages[-1].text == self._prompt:
            await asyncio.Event().wait()


def echo(prompt: Prompt) -> str:
    return prompt.messages[-1].text.upper()


def wire(*answers: Any) -> ScriptedWire:
    return ScriptedWire(list(answers))


def test_a_map_is_shown_from_its_start_to_its_end(views: list[View], capsys: pytest.CaptureFixture[str]) -> None:
    batch = Chat(wire=wire(echo, echo)).map(["a", "b"])

    (view,) = views
    assert batch.values == ["A", "B"]
    assert view.thread is threading.current_thread()
    assert (view.first.total, view.first.done, view.first.state) == (2, 0, "running")
    (end,) = view.ends
    assert (end.total, end.answered, end.state, end.reason) == (2, 2, "completed", "")
    assert end.usage == batch.usage
    assert view.waits == [True, False]
    assert capsys.readouterr() == ("", "")


def test_without_progress_nothing_is_shown(views: list[View], tmp_path: Path) -> None:
    chat = Chat(wire=wire(echo, echo))
    chat.map(["a"], progress=False)
    chat.map_into(tmp_path / "a.sqlite", ["a"], progress=False)

    assert views == []


def test_while_it_runs_the_view_is_updated_and_can_stop_it_from_the_thread_that_waits(views: list[View]) -> None:
    batch = Chat(wire=wire(echo), plugins=[Hold("b")]).start_map(["a", "b", "c"], concurrency=1)
    (view,) = views

    def stop() -> None:
        if any(one.answered for one in view.shown):
            view.stop()

    view.on_poll = stop
    batch.wait()

    assert view.polls
    assert all(one.state == "running" for one in view.shown)
    (end,) = view.ends
    assert (end.state, end.reason, end.answered, end.failed, end.unsent) == ("stopped", "", 1, 0, 2)
    assert batch.values[0] == "A"
    assert [type(one) for one in batch.values[1:]] == [Cancelled, Cancelled]


def test_failures_are_counted_by_their_messages(views: list[View]) -> None:
    Chat(wire=wire(BadUsage("Bad."), BadUsage("Bad."), echo)).map(["a", "b", "c"], retries=0)

    (end,) = views[0].ends
    assert (end.answered, end.failed, end.failures) == (1, 2, (("Bad.", 2),))


def test_a_limit_of_all_prompts_is_the_reason(views: list[View]) -> None:
    Chat(wire=wire(*[echo] * 9)).map(list("abcdefghi"), tokens=1, concurrency=1)

    (end,) = views[0].ends
    assert end.state == "stopped"
    assert "budget" in end.reason
    assert (end.answered, end.failed, end.unsent) == (1, 0, 8)


def test_answers_from_the_journal_were_there_before(views: list[View]) -> None:
    chat = Chat(wire=wire(echo, echo))
    chat.map(["a"])
    chat.map(["a", "b"])

    assert [(view.ends[0].answered, view.ends[0].answered_before) for view in views] == [(1, 0), (1, 1)]


def test_a_streamed_map_has_no_total_and_one_view_for_all_of_its_chunks(views: list[View], tmp_path: Path) -> None:
    totals = Chat(wire=wire(*[echo] * 5)).map_into(tmp_path / "a.sqlite", (str(n) for n in range(5)))

    (view,) = views
    (end,) = view.ends
    assert (view.first.total, end.answered, end.state) == (None, 5, "completed")
    assert end.usage == totals.usage
    assert view.waits == [True, False]


def test_a_streamed_map_that_is_stopped_has_written_what_came(views: list[View]) -> None:
    written: list[Answer] = []

    def sink(answers: list[Answer]) -> None:
        written.extend(answers)
        views[0].stop()

    with pytest.raises(Cancelled):
        Chat(wire=wire(*[echo] * 9)).map_into(sink, (str(n) for n in range(9)), concurrency=1)

    (end,) = views[0].ends
    assert (end.state, end.reason, end.failed) == ("stopped", "", 0)
    assert 1 <= len([one for one in written if not one.error]) == end.answered < 9


def test_a_streamed_map_is_stopped_between_two_chunks_too(views: list[View]) -> None:
    def prompts() -> Iterator[str]:
        yield "a"
        views[0].stop()

    with pytest.raises(Cancelled):
        Chat(wire=wire(echo)).map_into(lambda _: None, prompts())

    assert views[0].ends[0].unsent == 1


def test_an_error_of_the_sink_is_the_reason(views: list[View]) -> None:
    def sink(_: list[Answer]) -> None:
        raise ValueError("full")

    with pytest.raises(ValueError, match="full"):
        Chat(wire=wire(echo)).map_into(sink, ["a"])

    assert (views[0].ends[0].state, views[0].ends[0].reason) == ("stopped", "ValueError: full")


def test_on_another_thread_the_messages_of_the_page_are_not_read(views: list[View]) -> None:
    chat = Chat(wire=wire(echo))
    with ThreadPoolExecutor(1) as pool:
        assert pool.submit(lambda: chat.map(["a"]).values).result() == ["A"]

    assert (views[0].polls, views[0].waits, len(views[0].ends)) == (0, [], 1)


class Broken(View):
    """Fails at everything."""

    def __getattribute__(self, name: str) -> Any:
        if name in ("show", "poll", "set_waiting", "end"):
            raise ValueError("broken")
        return super().__getattribute__(name)


def test_a_view_that_fails_does_not_reach_the_map(tmp_path: Path) -> None:
    set_progress_view(Broken)
    try:
        assert Chat(wire=wire(echo)).map(["a"]).values == ["A"]
        assert Chat(wire=wire(echo)).map_into(tmp_path / "a.sqlite", ["b"]).answered == 1
    finally:
        set_progress_view(None)


def test_below_a_view_a_batch_shows_what_it_contains_and_without_one_what_came_of_it(views: list[View]) -> None:
    below = Chat(wire=wire(echo)).map(["a"])._repr_mimebundle_()["text/html"]
    set_progress_view(None)
    alone = Chat(wire=wire(echo)).map(["a"])._repr_mimebundle_()["text/html"]

    assert [one.ends[-1].answered for one in views] == [1]
    assert below == "<div>1 prompt: <code>.values</code>, <code>.answers</code></div>"
    assert alone == "<div>1 of 1 prompt, 1 answered before</div>"


def test_a_view_of_a_stopped_map_that_nothing_remembers_does_not_say_that_it_goes_on(views: list[View]) -> None:
    def stop(_: Sequence[Answer]) -> None:
        raise RuntimeError

    for options, fix in (({}, CONTINUE_FIX), ({"resume": False}, BEGIN_FIX)):
        with pytest.raises(RuntimeError):
            Chat(wire=wire(echo)).map_into(stop, ["a"], **options)
        assert views[-1].ends[-1].continue_fix == fix


@pytest.mark.parametrize("is_raised", [True, False])
def test_without_a_view_there_is_the_line(*, is_raised: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    def make(_: MapProgress, __: Callable[[], object]) -> None:
        if is_raised:
            raise ImportError("no widgets")

    lines: list[str] = []
    monkeypatch.setattr("sys.stderr.isatty", lambda: True)
    monkeypatch.setattr("sys.stderr.write", lines.append)
    set_progress_view(make)
    try:
        Chat(wire=wire(echo)).map(["a"])
    finally:
        set_progress_view(None)

    assert lines[-1].strip() == "nbtool: 1 of 1 prompt"
    assert get_progress_view() is None


def measured(counts: MapCounts) -> Callable[[MapState, str], MapProgress]:
    return lambda state, reason: counts.progress(Usage(), state=state, reason=reason)


def test_no_text_is_made_for_each_answer() -> None:
    texts: list[str] = []

    def line(_: MapProgress) -> str:
        texts.append("nbtool: …")
        return texts[-1]

    display = ProgressDisplay(measured(MapCounts(None)), lambda: None, is_shown=True, line=line)
    display.open()
    for _ in range(10_000):
        display.update()
    display.close()

    assert len(texts) < 100


def test_an_interrupted_map_without_progress_says_how_far_it_came(capsys: pytest.CaptureFixture[str]) -> None:
    counts = MapCounts(3)
    counts.add_answer(Answer(0, None, "a"))
    for row in (1, 2):
        counts.add_answer(Answer(row, None, "b", error=Cancelled("No."), has_unknown_calls=row == 1), is_unsent=True)
    for error in (KeyboardInterrupt(), Cancelled("No."), None):
        ProgressDisplay(measured(counts), lambda: None, is_shown=False).close(error)

    line = "1 of 3 prompts, stopped, 2 not answered (1 with a call of unknown outcome) (map again to go on)"
    assert capsys.readouterr().err == f"nbtool: {line}\n"
