from __future__ import annotations

import asyncio
import gc
import io
import os
import signal
import subprocess
import sys
import threading
import time
import weakref
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import fields
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from nbtool import Chat, tool
from nbtool.chain.hooks import StreamContext
from nbtool.chain.limits import Limits
from nbtool.chat.batch import Answer, Batch, MapSettings
from nbtool.chat.batch.progress import ProgressLine
from nbtool.chat.chat import TurnSettings
from nbtool.chat.journal import journal, queries
from nbtool.errors import BadUsage, Cancelled, InvalidAnswer, LimitReached, NotRecorded, RateLimited
from nbtool.events import ReplyEnd, Retrying, UsageDelta
from nbtool.messages import Usage
from nbtool.plugins.budget import Price
from nbtool.plugins.privacy import Privacy
from nbtool.testing import ScriptedWire, call, cut
from nbtool.wire.base import Prompt
from tests.chaos import AwaitFlag, Received, Step, finish, head, serve, serve_by, serve_each, text, whole


def echo(prompt: Prompt) -> str:
    return prompt.messages[-1].text.upper()


@tool(run="auto")
def double(n: int) -> int:
    "Twice a number."
    return 2 * n


def test_each_prompt_is_a_turn_of_its_own_and_the_conversation_is_left_alone() -> None:
    with ScriptedWire(["Hello.", echo, echo, echo]) as wire:
        chat = Chat(wire=wire, system="Be brief.")
        chat.send("Hi")
        batch = chat.map(["a", "b", "c"])

    assert batch.values == ["A", "B", "C"]
    assert [len(prompt.messages) for prompt in wire.prompts] == [1, 1, 1, 1]
    assert all("Be brief." in prompt.system for prompt in wire.prompts)
    assert len(chat.tree.active_path) == 1


def test_what_fails_is_a_value_and_stops_nothing() -> None:
    with ScriptedWire([echo, ["half", cut()], echo]) as wire:
        batch = Chat(wire=wire).map(["a", "b", "c", ""], concurrency=1)

    values = batch.values
    assert [values[0], values[2]] == ["A", "C"]
    assert [type(one).__name__ for one in (values[1], values[3])] == ["IncompleteReply", "BadUsage"]
    assert [one.index for one in batch.errors] == [1, 3]
    assert repr(batch).startswith("<Batch: 4 of 4 prompts, 2 failed (row 1: ")
    assert "; 1 with " in repr(batch)


def test_a_column_of_a_frame_gives_a_column_of_values_of_a_type() -> None:
    frame = pd.DataFrame({"text": ["1", "2", "x"]}, index=[30, 10, 20])
    with ScriptedWire([lambda p: p.messages[-1].text[-1]] * 5) as wire:
        batch = Chat(wire=wire).map("Give {text}", frame, as_=int, concurrency=1)
    values = batch.values

    assert list(values.index) == [30, 10, 20]
    assert list(values[:2]) == [1, 2]
    assert values[20] is pd.NA
    assert [(one.label, type(one.error)) for one in batch.errors] == [(20, InvalidAnswer)]
    assert list(frame.assign(answer=values).answer[:2]) == [1, 2]


def test_tools_and_exposed_objects_are_those_of_the_chat_and_results_stay_apart() -> None:
    stored: list[str] = []
    with ScriptedWire([call("double", n=1), "One.", call("double", n=2), "Two."]) as wire:
        chat = Chat(wire=wire, tools=[double])
        chat.expose(table=[1, 2])
        batch = chat.map(["a", "b"], concurrency=1)

    for answer in batch.answers:
        assert answer.turn
        stored += [one.reference for one in answer.turn.calls]
    assert stored == ["double_1_result"] * 2
    assert all("$VAR_REF{{table}}" in prompt.messages[0].text for prompt in wire.prompts)
    assert [entry.name for entry in chat.variables.list_entries()] == ["table"]


def test_no_more_are_asked_at_a_time_than_allowed() -> None:
    together = asyncio.Barrier(3)
    inside = most = 0

    @tool(run="auto")
    async def meet() -> str:
        "Wait for two others."
        nonlocal inside, most
        inside += 1
        most = max(most, inside)
        await together.wait()
        inside -= 1
        return "met"

    wire = ScriptedWire([lambda p: call("meet") if len(p.messages) == 1 else "Done."] * 12)
    batch = Chat(wire=wire, tools=[meet]).map([f"p{n}" for n in range(6)], concurrency=3)

    assert (most, batch.values) == (3, ["Done."] * 6)


def test_answers_come_as_they_are_ready_and_in_order_at_the_end() -> None:
    release = threading.Event()

    @tool(run="auto")
    def hold() -> str:
        "Wait to be let go."
        assert release.wait(240)
        return "held"

    def reply(prompt: Prompt) -> Any:
        return call("hold") if prompt.messages[-1].text == "slow" else "Done."

    batch = Chat(wire=ScriptedWire([reply] * 3), tools=[hold]).start_map(["slow", "quick"], concurrency=2)
    arrived: list[Answer] = []
    for answer in batch:
        arrived.append(answer)
        release.set()

    assert [one.prompt for one in arrived] == ["quick", "slow"]
    assert [one.prompt for one in batch.answers] == ["slow", "quick"]
    assert [one.index for one in batch] == [1, 0]


def test_a_running_loop_iterates_and_awaits() -> None:
    async def main() -> tuple[list[str], Batch]:
        chat = Chat(wire=ScriptedWire([echo] * 5))
        arrived = [one.value async for one in chat.start_map(["a", "b"], concurrency=1)]
        return arrived, await chat.start_map(["c", "d", "e"])

    arrived, batch = asyncio.run(main())

    assert (arrived, batch.values) == (["A", "B"], ["C", "D", "E"])


def test_synchronous_tools_run_on_the_thread_that_waits() -> None:
    threads: list[str] = []

    @tool(run="auto")
    def where() -> str:
        "Say where this runs."
        threads.append(threading.current_thread().name)
        return "here"

    wire = ScriptedWire([lambda p: call("where") if len(p.messages) == 1 else "Done."] * 4)
    Chat(wire=wire, tools=[where]).map(["a", "b"])

    assert threads == [threading.current_thread().name] * 2


def test_with_an_executor_plain_tools_run_there() -> None:
    threads: list[str] = []

    @tool(run="auto")
    def where() -> str:
        "Say where this runs."
        threads.append(threading.current_thread().name)
        return "there"

    @tool(run="auto")
    async def stays() -> str:
        "Say where this runs."
        threads.append(threading.current_thread().name)
        return "here"

    wire = ScriptedWire([lambda p: [call("where"), call("stays")] if len(p.messages) == 1 else "Done."] * 2)
    with ThreadPoolExecutor(1, thread_name_prefix="cluster") as pool:
        Chat(wire=wire, tools=[where, stays]).map(["a"], executor=pool)

    assert sorted(threads) == ["cluster_0", "nbtool-async-tools"]


def test_an_answer_is_found_by_the_index_of_its_prompt() -> None:
    with ScriptedWire([echo] * 3) as wire:
        batch = Chat(wire=wire).start_map(["a", "b", "c"])

        assert [batch[index].value for index in (0, 1, -1)] == ["A", "B", "C"]
    with pytest.raises(IndexError):
        batch[3]


def reply_with_usage(tokens: int) -> list[Any]:
    return ["Done.", UsageDelta(Usage(tokens, 0))]


def test_a_budget_of_tokens_stops_and_keeps_what_came() -> None:
    with ScriptedWire([reply_with_usage(60), reply_with_usage(60)]) as wire:
        batch = Chat(wire=wire).map(list("abcde"), tokens=100, concurrency=1)

    assert batch.values[:2] == ["Done.", "Done."]
    assert all(isinstance(one, LimitReached) for one in batch.values[2:])
    assert "100 tokens" in str(batch.values[2])
    assert batch.usage.total_tokens == 120
    assert repr(batch) == "<Batch: 2 of 5 prompts, stopped, 3 not answered, 120 tokens>"


def test_a_batch_whose_last_answers_exceeded_its_budget_says_by_how_much() -> None:
    with ScriptedWire([reply_with_usage(60)] * 2) as wire:
        batch = Chat(wire=wire).map(list("ab"), tokens=100, concurrency=1)

    assert repr(batch).startswith("<Batch: 2 of 2 prompts, ")
    assert repr(batch).endswith(": 120 of 100 tokens, 120 tokens>")


def test_a_budget_of_dollars_counts_by_price() -> None:
    with ScriptedWire([reply_with_usage(1_000_000)]) as wire:
        batch = Chat(wire=wire).map(["a", "b"], usd=0.5, prices={"scripted": Price(1.0, 1.0)}, concurrency=1)

    assert [type(one).__name__ for one in batch.values] == ["str", "LimitReached"]


@pytest.mark.parametrize("how", [{}, {"tokens": 10_000_000}, {"usd": 5}])
def test_given_prices_count_the_cost_with_and_without_a_budget(how: dict[str, Any]) -> None:
    prices = {"scripted": Price(1.0, 1.0)}
    with ScriptedWire([reply_with_usage(1_000_000)] * 4) as wire:
        chat = Chat(wire=wire)
        batch = chat.map(["a", "b"], prices=prices, concurrency=1, **how)
        totals = chat.map_into(lambda _: None, ["c", "d"], prices=prices, concurrency=1, progress=False, **how)

    assert (batch.usage.cost, batch.usage.is_cost_unknown) == (2.0, False)
    assert repr(batch) == "<Batch: 2 of 2 prompts, 2,000,000 tokens, about $2.0000>"
    assert str(totals) == "2 prompts, 2,000,000 tokens, about $2.0000"


def test_prices_without_one_of_the_model_of_the_map_are_reported() -> None:
    with ScriptedWire(["Done."]) as wire, pytest.warns(UserWarning, match="no price for scripted") as caught:
        Chat(wire=wire).map(["a"], prices={"scribted": Price(1.0, 1.0)})

    assert caught[0].filename == __file__


OK = (head(), text("Done."), finish())
BUSY = (whole(429, {"error": {"message": "slow down"}}, retry_after="0"),)


class SetWhenRetrying:
    """Lets the server go on once a request has to wait."""

    def __init__(self, received: threading.Event) -> None:
        self._received = received

    def on_stream_data(self, stream: StreamContext) -> None:
        if isinstance(stream.delta, Retrying):
            self._received.set()


def test_a_request_to_wait_applies_to_all() -> None:
    actual = whole(429, {"error": {"message": "slow down"}}, retry_after="1")
    times: list[float] = []

    def respond(_: Received) -> Sequence[Step]:
        times.append(time.monotonic())
        return [(actual,), (AwaitFlag(), *OK), OK][min(len(times), 3) - 1]

    with serve_by(respond) as server:
        plugins = [SetWhenRetrying(server.flag)]
        values = Chat("tiny", base_url=server.url, plugins=plugins).map(list("abcd"), concurrency=2).values

    assert values == ["Done."] * 4
    assert times[2] - times[0] > 0.9


def test_a_prompt_is_asked_again_where_the_provider_was_busy() -> None:
    with serve_each(BUSY, BUSY, BUSY, OK) as server:
        batch = Chat("tiny", base_url=server.url).map(["a"], retries=3)

    assert batch.values == ["Done."]
    assert len(server.requests) == 4


def test_a_prompt_is_not_asked_again_more_often_than_allowed() -> None:
    with serve(*BUSY) as server:
        batch = Chat("tiny", base_url=server.url).map(["a"], retries=0)

    assert isinstance(batch.values[0], RateLimited)


def test_cancelling_keeps_what_came() -> None:
    with serve_each(OK, (AwaitFlag(), *OK)) as server:
        batch = Chat("tiny", base_url=server.url).start_map(list("abcd"), concurrency=1)
        for answer in batch:
            assert answer.index == len(batch.answers) - 1 or answer.error
            batch.cancel()

    values = batch.values
    assert values[0] == "Done."
    assert all(isinstance(one, Cancelled) for one in values[1:])
    assert repr(batch) == "<Batch: 1 of 4 prompts, stopped, 3 not answered>"


def test_an_interrupt_cancels_what_is_left_and_goes_on() -> None:
    @tool(run="auto")
    def interrupted() -> str:
        "Is interrupted by the person."
        raise KeyboardInterrupt

    wire = ScriptedWire(["Done.", call("interrupted"), "Never."])
    chat = Chat(wire=wire, tools=[interrupted])
    assert chat.interrupted_map is None
    with pytest.raises(KeyboardInterrupt) as raised:
        chat.map(["a", "b", "c"], concurrency=1)

    assert len(wire.prompts) == 2
    assert chat.interrupted_map is not None
    assert chat.interrupted_map.values[0] == "Done."
    assert len(raised.value._render_traceback_()) == 1  # type: ignore[attr-defined]  # of a map's own interrupt


def test_what_was_answered_before_is_not_asked_again() -> None:
    with ScriptedWire([echo, echo, echo]) as wire:
        chat = Chat(wire=wire)
        first = chat.map(["a", "b", "a"])
        again = chat.map(["b", "a", "a"])

    assert again.values == ["B", "A", "A"]
    assert (repr(first), repr(again)) == ("<Batch: 3 of 3 prompts>", "<Batch: 3 of 3 prompts, 3 answered before>")
    assert all(one.is_cached for one in again.answers)


def test_with_a_recording_answers_are_recorded_even_if_the_journal_has_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with ScriptedWire([echo, echo]) as wire:
        chat = Chat(wire=wire)
        chat.map(["a"])
        chat.record(tmp_path / "map.nbtool.json")
        chat.map(["a"])
    monkeypatch.setenv("NBTOOL_REPLAY", "only")
    unreachable = Chat(wire=ScriptedWire([]))
    unreachable.replay(tmp_path / "map.nbtool.json")

    batch = unreachable.map(["a"])

    assert batch.values == ["A"]
    assert not batch.answers[0].is_cached


def test_a_budget_needs_no_key_where_nothing_is_sent(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NBTOOL_REPLAY", "only")

    batch = Chat("openai:gpt-6.1-terra").map(["a"], tokens=1_000)

    assert [type(answer.error) for answer in batch.answers] == [NotRecorded]


def test_it_is_asked_again_where_something_that_matters_is_different() -> None:
    with ScriptedWire([echo] * 7) as wire:
        chat = Chat(wire=wire)
        chat.map(["a"])
        chat.map(["a"], resume=False)
        chat.system = "Other."
        chat.map(["a"])
        chat.map(["a"], options={"temperature": 0})
        chat.map(["a"], tools=[double])
        chat.expose(n=1)
        chat.map(["a"])
        chat.expose(n=2)
        chat.map(["a"])


def test_types_of_answers_are_read_out_of_the_journal_too() -> None:
    with ScriptedWire(["[1, 2]"]) as wire:
        chat = Chat(wire=wire)

        assert [chat.map(["a"], as_=list[int]).values for _ in range(2)] == [[[1, 2]]] * 2


def test_nothing_is_taken_from_a_journal_that_keeps_masks() -> None:
    with ScriptedWire([echo, echo]) as wire:
        chat = Chat(wire=wire, plugins=[Privacy(["email"])])

        assert [chat.map(["ada@example.org"]).values for _ in range(2)] == [["ada@example.org"]] * 2


CRASHES = """
import os, signal, sys
from nbtool import Chat
chat = Chat("tiny", base_url=sys.argv[1])
for number, answer in enumerate(chat.start_map([f"prompt {n}" for n in range(8)], concurrency=2), 1):
    assert answer.value == "Done.", answer
    if number == 3:
        os.kill(os.getpid(), signal.SIGKILL)
"""


def test_after_a_killed_process_only_what_is_missing_is_asked() -> None:
    with serve(*OK) as server:
        killed = subprocess.run([sys.executable, "-c", CRASHES, server.url], env=os.environ, timeout=240, check=False)
        before = [one.json["messages"][-1]["content"] for one in server.requests]
        batch = Chat("tiny", base_url=server.url).map([f"prompt {n}" for n in range(8)])
        after = [one.json["messages"][-1]["content"] for one in server.requests[len(before) :]]

    assert killed.returncode == -signal.SIGKILL
    assert batch.values == ["Done."] * 8
    assert sum(one.is_cached for one in batch.answers) >= 3
    assert len(after) == sum(not one.is_cached for one in batch.answers) <= 5
    assert {text.partition("\n")[0] for text in (*before, *after)} == {f"prompt {n}" for n in range(8)}


@pytest.mark.parametrize(
    ("how", "said"),
    [
        ({"concurrency": 0}, "expected 1 to 64"),
        ({"concurrency": 65}, "expected 1 to 64"),
        ({"retries": 11}, "expected 0 to 10"),
        ({"concurrency": "8"}, "concurrency cannot be a str"),
        ({"retries": 1.5}, "retries cannot be"),
        ({"per_minute": 0}, "per_minute=0: expected 1 to 1000000, as a whole number"),
        ({"per_minute": 1.5}, "per_minute cannot be"),
        ({"per_minute": "60"}, "per_minute cannot be"),
        ({"tokens": 0}, "tokens cannot be"),
        ({"tokens": 1.5}, "tokens cannot be"),
        ({"tokens": True}, "tokens cannot be"),
        ({"usd": "1"}, "usd cannot be"),
        ({"usd": float("nan")}, "usd cannot be"),
        ({"usd": 1, "prices": {"practice:fast": 1}}, "prices cannot be"),
        ({"prices": {"practice:fast": 1}}, "prices cannot be"),
        ({"usd": 1, "prices": [1]}, "prices cannot be"),
        ({"executor": "dask"}, "executor cannot be a str"),
        ({"keep": "all"}, "keep cannot be 'all'. Pass one of 'turns', 'values'"),
        ({"speed": 3}, "chat.map has no option 'speed'"),
    ],
)
def test_settings_that_make_no_sense_are_reported_in_a_line(how: dict[str, Any], said: str) -> None:
    with pytest.raises(BadUsage, match=said):
        Chat(wire=ScriptedWire([])).map(["a"], **how)


def test_with_keep_values_no_turn_is_held_and_each_is_found_by_its_id() -> None:
    with ScriptedWire([echo, ["half", cut()], echo]) as wire:
        chat = Chat(wire=wire)
        whole = chat.map(["a", "b"], concurrency=1, retries=0)
        turns = [weakref.ref(one.turn) for one in whole.answers if one.turn]
        bare = chat.map(["a", "c"], concurrency=1, keep="values")

    assert [one.turn_id for one in whole.answers] == [one.turn.turn_id for one in whole.answers if one.turn]
    assert bare.values == ["A", "C"]
    assert [one.turn for one in bare.answers] == [None, None]
    assert [one.is_cached for one in bare.answers] == [True, False]
    assert bare.answers[0].turn_id == whole.answers[0].turn_id
    assert all(journal().read(lambda db, key=one.turn_id: queries.events(db, key)) for one in bare.answers)
    del whole
    gc.collect()
    assert [one() for one in turns] == [None, None]


def test_no_prompts_are_no_work() -> None:
    assert Chat(wire=ScriptedWire([])).map([]).values == []


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_a_line_says_how_far_it_is_where_a_person_looks(monkeypatch: pytest.MonkeyPatch) -> None:
    seen, unseen = Terminal(), io.StringIO()
    for stream in (seen, unseen):
        monkeypatch.setattr(sys, "stderr", stream)
        Chat(wire=ScriptedWire([echo, echo])).map(["a", "b"], resume=False)
    ProgressLine(is_shown=False).end("hidden", is_needed=True)

    assert seen.getvalue().endswith("\rnbtool: 2 of 2 prompts\n")
    assert unseen.getvalue() == ""


@pytest.mark.nightly
def test_the_tools_of_a_map_run_on_a_dask_cluster(tmp_path: Path) -> None:
    from distributed import Client, LocalCluster

    names: dict[str, Any] = {"__name__": "__main__"}
    exec(
        "import os\ndef where() -> int:\n    'Say where this runs.'\n    return os.getpid()", names
    )  # pickled by value
    where = tool(run="auto")(names["where"])
    wire = ScriptedWire([lambda p: call("where") if len(p.messages) == 1 else "Done."] * 8)
    with (
        LocalCluster(
            n_workers=2, threads_per_worker=1, dashboard_address=None, local_directory=str(tmp_path)
        ) as cluster,
        Client(cluster) as client,
        client.get_executor(pure=False) as pool,
    ):
        batch = Chat(wire=wire, tools=[where]).map(list("abcd"), executor=pool)

    pids = {one.turn.calls[0].result for one in batch.answers if one.turn}
    assert pids
    assert os.getpid() not in pids


def test_a_row_that_spent_the_budget_of_its_own_turn_does_not_stop_the_others() -> None:
    asks = [call("nothing"), UsageDelta(Usage(60, 0)), ReplyEnd("tools", "tool_calls")]
    with ScriptedWire([asks, "Done."]) as wire:
        settings = TurnSettings(limits=Limits(tokens=50))
        batch = Chat(wire=wire).map(["a", "b"], concurrency=1, settings=settings)

    assert [type(one).__name__ for one in batch.values] == ["LimitReached", "str"]


def test_dollars_without_a_price_are_refused_before_any_row_is_asked() -> None:
    unpriced = pytest.raises(BadUsage, match=r"0\.5 USD cannot be checked.*Nothing was sent")
    with ScriptedWire([]) as wire, unpriced as caught:
        Chat(wire=wire).map(["a", "b"], usd=0.5, concurrency=1)

    assert wire.prompts == []
    assert all(part in caught.value.fix for part in ("`tokens=20_000`", "`prices={'scripted': Price("))
    assert not any(part in caught.value.fix for part in ("--budget", "plugins=["))


def test_help_names_every_setting_of_a_map() -> None:
    shown = {f"`{one.name}=" for one in fields(MapSettings)}

    assert {name for name in shown if name in str(Chat.start_map.__doc__)} == shown
