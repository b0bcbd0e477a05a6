"""Prompts from anything that yields them, answers to a file or a function, in constant memory."""

from __future__ import annotations

import os
import signal
import sqlite3
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pandas as pd
import polars
import pyarrow
import pytest
from pyarrow import ipc, parquet

from nbtool import Chat, tool
from nbtool.chain.limits import Limits
from nbtool.chat.batch import Answer
from nbtool.chat.batch.prompts import stream_prompts
from nbtool.chat.batch.sinks.columnar_export import COLUMNS, ROW_GROUP, export_answers
from nbtool.chat.batch.streamed_map import CHUNK
from nbtool.chat.turn_settings import TurnSettings
from nbtool.errors import BadUsage, LimitReached
from nbtool.events import UsageDelta
from nbtool.messages import Usage
from nbtool.testing import ScriptedWire, call, cut
from nbtool.wire.base import Prompt
from tests.chaos import Received, Step, finish, head, serve_by, text

HAS_BATCHES = hasattr(polars.LazyFrame, "collect_batches")
ROWS = [{"text": "a", "n": 1}, {"text": "b", "n": 2}]


def echo(prompt: Prompt) -> str:
    return prompt.messages[-1].text.upper()


def rows_of(path: Path, columns: str = "row, value, error") -> list[Any]:
    with sqlite3.connect(path) as connection:
        return connection.execute(f"SELECT {columns} FROM answers ORDER BY row").fetchall()


def test_answers_are_written_by_row_and_a_second_run_sends_only_what_failed(tmp_path: Path) -> None:
    path = tmp_path / "answers.sqlite"
    with ScriptedWire([echo, ["half", cut()], echo]) as wire:
        first = Chat(wire=wire).map_into(path, iter(["a", "b", "c"]), concurrency=1, retries=0)
    written = rows_of(path)
    with ScriptedWire([echo]) as again:
        second = Chat(wire=again).map_into(path, ["a", "b", "c"], concurrency=1)

    assert str(first).startswith("3 prompts, 1 failed (row 1: ")
    assert first.failure_rows == (("1",),)
    assert [count for _, count in first.failures] == [1]
    assert first.other_failures == 0
    assert [(row, value) for row, value, _ in written] == [(0, "A"), (1, None), (2, "C")]
    assert [error is None for *_, error in written] == [True, False, True]
    assert (second.answered, second.answered_before) == (1, 2)
    assert rows_of(path) == [(0, "A", None), (1, "B", None), (2, "C", None)]
    assert len(again.prompts) == 1


def test_the_totals_say_which_answers_a_limit_cut_short_and_what_went_over_the_budget(tmp_path: Path) -> None:
    @tool(run="auto")
    def look() -> str:
        "Look."
        return "nothing"

    with ScriptedWire(
        [[call("look"), UsageDelta(Usage(input_tokens=1))], ["Enough.", UsageDelta(Usage(input_tokens=3_000_000))]]
    ) as wire:
        settings = TurnSettings(limits=Limits(max_rounds=2))
        chat = Chat(wire=wire, tools=[look])
        totals = chat.map_into(tmp_path / "a.sqlite", ["a"], settings=settings, tokens=2_000_000)

    assert totals.cut == (("rounds", 1),)
    assert "`max_rounds`" in str(totals)
    assert str(totals).endswith(": 3,000,001 of 2,000,000 tokens, 3,000,001 tokens")


def test_other_values_than_texts_are_json_in_the_file(tmp_path: Path) -> None:
    with ScriptedWire(["true", "false"]) as wire:
        Chat(wire=wire).map_into(
            tmp_path / "a", "Is {text} kind?", [{"text": "a"}, {"text": "b"}], as_=bool, concurrency=1
        )

    assert rows_of(tmp_path / "a", "value") == [("true",), ("false",)]


def test_a_function_gets_each_answer_once_and_what_it_raises_ends_the_map() -> None:
    received: list[Answer] = []

    def fail(_: Sequence[Answer]) -> None:
        raise OSError("disk full")

    with ScriptedWire([echo] * 5) as wire:
        totals = Chat(wire=wire).map_into(received.extend, (f"p{n}" for n in range(5)))
    with pytest.raises(OSError, match="disk full"):
        Chat(wire=ScriptedWire([echo])).map_into(fail, ["a"])

    assert sorted((one.index, one.value) for one in received) == [(n, f"P{n}") for n in range(5)]
    assert totals.answered == 5


def test_prompts_are_read_only_as_far_as_they_are_sent() -> None:
    read: list[int] = []

    def prompts() -> Iterator[str]:
        for number in range(CHUNK * 3):
            read.append(number)
            yield f"p{number}"

    most: list[int] = []

    def stop(_: Sequence[Answer]) -> None:
        most.append(len(read))
        raise StopMap

    with pytest.raises(StopMap):
        Chat(wire=ScriptedWire([echo] * CHUNK)).map_into(stop, prompts())

    assert most == [CHUNK]


class StopMap(Exception):
    pass


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"prompts": ["other", "b"]}, "Row 0 of a.sqlite has the answer to another prompt"),
        ({"system": "Be brief."}, "a map with another model, tools, options or objects"),
    ],
)
def test_a_file_with_other_answers_is_not_continued(tmp_path: Path, change: dict[str, Any], message: str) -> None:
    path = tmp_path / "a.sqlite"
    with ScriptedWire([echo, echo]) as wire:
        Chat(wire=wire).map_into(path, ["a", "b"])
    before = rows_of(path)
    wire = ScriptedWire([echo, echo])
    with pytest.raises(BadUsage, match=message):
        Chat(wire=wire, system=change.get("system", "")).map_into(path, change.get("prompts", ["a", "b"]))

    assert rows_of(path) == before
    assert wire.prompts == []


def test_a_file_is_not_continued_where_an_object_cannot_be_compared(tmp_path: Path) -> None:
    path = tmp_path / "a.sqlite"
    first, second = Chat(wire=ScriptedWire(["Yes."])), Chat(wire=ScriptedWire([]))
    for chat in (first, second):
        chat.expose(lock=threading.Lock())
    first.map_into(path, ["a"])

    with pytest.raises(BadUsage, match="or with some that cannot be compared"):
        second.map_into(path, ["a"])

    assert rows_of(path) == [(0, "Yes.", None)]


def test_a_file_of_something_else_is_left_alone(tmp_path: Path) -> None:
    other, text = tmp_path / "other.sqlite", tmp_path / "notes"
    with sqlite3.connect(other) as connection:
        connection.execute("CREATE TABLE birds (name)")
    text.write_text("no database at all, but a text of some length" * 10)
    before = [other.read_bytes(), text.read_bytes()]
    with ScriptedWire([]) as wire:
        with pytest.raises(BadUsage, match="a database of something else"):
            Chat(wire=wire).map_into(other, ["a"])
        with pytest.raises(BadUsage, match=r"notes cannot be used for answers"):
            Chat(wire=wire).map_into(text, ["a"])
        with pytest.raises(BadUsage, match="3 cannot receive answers"):
            Chat(wire=wire).map_into(3, ["a"])

    assert [other.read_bytes(), text.read_bytes()] == before


def test_a_failed_row_takes_a_corrected_prompt(tmp_path: Path) -> None:
    path = tmp_path / "a.sqlite"
    with ScriptedWire([echo, echo]) as wire:
        chat = Chat(wire=wire)
        chat.map_into(path, "{text}?", [{"text": "a"}, {"txt": "b"}])
        totals = chat.map_into(path, "{text}?", [{"text": "a"}, {"text": "b"}])

    assert (totals.answered, totals.answered_before) == (1, 1)
    assert rows_of(path) == [(0, "A?", None), (1, "B?", None)]


@pytest.mark.parametrize("name", ["a.sqlite", "a.parquet"])
def test_one_map_at_a_time_writes_a_file(tmp_path: Path, name: str) -> None:
    refused: list[str] = []

    def overlap(_: Prompt) -> str:
        with ScriptedWire([]) as second, pytest.raises(BadUsage) as caught:
            Chat(wire=second).map_into(tmp_path / name, ["a"])
        refused.append(str(caught.value))
        return "A"

    with ScriptedWire([overlap]) as wire:
        Chat(wire=wire).map_into(tmp_path / name, ["a"])

    assert [name in line for line in refused] == [True]
    assert not list(tmp_path.glob("*-running"))


def test_the_lock_of_a_map_that_was_killed_does_not_stay(tmp_path: Path) -> None:
    path = tmp_path / "a.sqlite"
    kill = (
        "import os, signal, sys\nfrom pathlib import Path\nfrom nbtool.chat.batch.sinks.file_lock import SinkLock\n"
        "SinkLock(Path(sys.argv[1])).acquire()\nos.kill(os.getpid(), signal.SIGKILL)"
    )
    ended = subprocess.run([sys.executable, "-c", kill, str(path)], check=False)
    with ScriptedWire([echo]) as wire:
        totals = Chat(wire=wire).map_into(path, ["a"])

    assert ended.returncode == -signal.SIGKILL
    assert totals.answered == 1


@pytest.mark.parametrize(
    ("sink", "named"),
    [
        ("folder", "folder"),
        ("missing/a.sqlite", "missing"),
        ("a.csv", ".csv"),
        ("a.csv", "`.sqlite`, `.parquet` or `.arrow`"),
        ("a.JSONL", ".jsonl"),
    ],
)
def test_a_place_that_no_file_of_answers_can_have_is_refused_with_why(tmp_path: Path, sink: str, named: str) -> None:
    (tmp_path / "folder").mkdir()
    with ScriptedWire([]) as wire, pytest.raises(BadUsage) as caught:
        Chat(wire=wire).map_into(tmp_path / sink, ["a"])

    assert named in str(caught.value)
    assert [one.name for one in tmp_path.iterdir()] == ["folder"]


def test_a_parquet_file_that_no_map_is_known_to_have_written_is_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "customers.parquet"
    pd.DataFrame({"customer": range(3)}).to_parquet(path)
    before = path.read_bytes()
    with ScriptedWire([]) as wire, pytest.raises(BadUsage, match=r"is there without customers.parquet.sqlite"):
        Chat(wire=wire).map_into(path, ["a"])

    assert path.read_bytes() == before
    assert [one.name for one in tmp_path.iterdir()] == ["customers.parquet"]


def test_a_budget_ends_the_map_and_what_was_not_sent_has_no_row(tmp_path: Path) -> None:
    path = tmp_path / "a.sqlite"
    spent = [["yes", UsageDelta(Usage(60, 0))]] * 20
    wire = ScriptedWire(spent)
    with pytest.raises(LimitReached):
        Chat(wire=wire).map_into(path, [f"p{n}" for n in range(20)], tokens=100, concurrency=1)

    rows = rows_of(path)
    assert [value for _, value, _ in rows] == ["yes", "yes", None]  # the third met the limit; no other was begun
    assert "100 tokens" in rows[2][2]
    assert len(wire.prompts) == 2


def cursor() -> sqlite3.Cursor:
    connection = sqlite3.connect(":memory:")
    connection.execute("CREATE TABLE reviews (text, n)")
    connection.executemany("INSERT INTO reviews VALUES (:text, :n)", ROWS)
    return connection.execute("SELECT text, n FROM reviews")


def dask_frame() -> Any:
    dataframe = pytest.importorskip("dask.dataframe", reason="not with the oldest packages: nbtool does not import it")
    return dataframe.from_pandas(pd.DataFrame(ROWS), npartitions=2)


@pytest.mark.parametrize(
    "make_rows",
    [
        lambda: iter(ROWS),
        lambda: pd.DataFrame(ROWS),
        lambda: polars.DataFrame(ROWS),
        pytest.param(
            lambda: polars.LazyFrame(ROWS),
            marks=pytest.mark.skipif(not HAS_BATCHES, reason="refused with this polars: the next test"),
        ),
        cursor,
        lambda: pyarrow.Table.from_pylist(ROWS).to_reader(max_chunksize=1),
        dask_frame,
    ],
    ids=["dicts", "pandas", "polars", "polars query", "cursor", "arrow", "dask"],
)
def test_rows_come_from_anything_that_yields_them(make_rows: Callable[[], Any]) -> None:
    rows = make_rows()

    items = list(stream_prompts("{n}: {text}", rows))

    assert [(one.index, one.prompt) for one in items] == [(0, "1: a"), (1, "2: b")]


@pytest.mark.skipif(HAS_BATCHES, reason="this polars computes a query a batch at a time: the test before")
def test_a_query_of_an_older_polars_is_refused() -> None:
    with pytest.raises(BadUsage, match=r"cannot compute a query .*`query\.collect\(\)`"):
        stream_prompts("{n}: {text}", polars.LazyFrame(ROWS))


@pytest.mark.parametrize(
    ("prompts", "rows", "message"),
    [
        ("one text", None, "many prompts, not a str"),
        (3, None, "many prompts, not an int"),
        (["a"], ROWS, "the prompt is one text"),
        ("no column", ROWS, "The template has no"),
    ],
)
def test_input_that_cannot_be_sent_is_refused(prompts: Any, rows: Any, message: str) -> None:
    with ScriptedWire([]) as wire, pytest.raises(BadUsage, match=message):
        Chat(wire=wire).map_into([].append, prompts, rows)


KILLED = """
import sys
from nbtool import Chat

Chat("tiny", base_url=sys.argv[1]).map_into(sys.argv[2], (f"prompt {n}" for n in range(60)), progress=False)
"""
OK = (head(), text("Done."), finish())


def test_a_killed_process_is_continued_and_no_written_answer_is_asked_again(tmp_path: Path) -> None:
    path = tmp_path / "answers.sqlite"
    is_half = threading.Event()

    def respond(_: Received) -> Sequence[Step]:
        if len(server.requests) == 30:
            is_half.set()
        return OK

    with serve_by(respond) as server:
        process = subprocess.Popen([sys.executable, "-c", KILLED, server.url, str(path)], env=os.environ)
        assert is_half.wait(240)
        process.kill()
        process.wait()
        written, before = rows_of(path), len(server.requests)
        totals = Chat("tiny", base_url=server.url).map_into(path, (f"prompt {n}" for n in range(60)))
        sent = {one.json["messages"][-1]["content"].partition("\n")[0] for one in server.requests[before:]}

    assert 0 < len(written) <= before < 60
    assert {value for _, value, _ in written} == {"Done."}
    assert totals.answered + totals.answered_before == 60
    assert totals.answered_before >= len(written)  # and what the journal has of prompts that were not written
    assert len(sent) == totals.answered
    assert sent <= {f"prompt {n}" for n in range(60)} - {f"prompt {row}" for row, *_ in written}
    assert rows_of(path) == [(row, "Done.", None) for row in range(60)]


def test_an_interrupt_writes_what_was_answered_and_is_raised(tmp_path: Path) -> None:
    path = tmp_path / "answers.sqlite"

    def interrupt(prompt: Prompt) -> str:
        if prompt.messages[-1].text == "p3":
            signal.raise_signal(signal.SIGINT)
        return echo(prompt)

    with pytest.raises(KeyboardInterrupt):
        Chat(wire=ScriptedWire([interrupt] * 20)).map_into(path, [f"p{n}" for n in range(20)], concurrency=1)

    answered = [row for row, value, _ in rows_of(path) if value]
    assert answered[:3] == [0, 1, 2]
    assert len(answered) < 20


def test_a_parquet_file_has_all_rows_and_a_map_that_ended_early_is_continued(tmp_path: Path) -> None:
    path = tmp_path / "answers.parquet"
    with ScriptedWire([echo, ["half", cut()], echo]) as wire:
        Chat(wire=wire).map_into(path, ["a", "b", "c"], concurrency=1, retries=0)
    first = pd.read_parquet(path)
    with ScriptedWire([echo]) as again:
        Chat(wire=again).map_into(path, ["a", "b", "c"])
    second = polars.read_parquet(path)

    assert tuple(first.columns) == COLUMNS
    assert first["value"].fillna("").tolist() == ["A", "", "C"]
    assert first["error"].notna().tolist() == [False, True, False]
    assert second["value"].to_list() == ["A", "B", "C"]
    assert second["error"].to_list() == [None] * 3
    assert all(one.startswith("turn_") for one in second["turn_id"])
    assert len(again.prompts) == 1
    assert sorted(one.name for one in tmp_path.iterdir()) == ["answers.parquet", "answers.parquet.sqlite"]


@pytest.mark.parametrize("suffix", ["arrow", "feather", "ARROW"])
def test_an_arrow_file_is_written_and_continued_as_a_parquet_file_is(tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"answers.{suffix}"
    with ScriptedWire([echo, ["half", cut()], echo]) as wire:
        Chat(wire=wire).map_into(path, ["a", "b", "c"], concurrency=1, retries=0)
    first = pd.read_feather(path)
    with ScriptedWire([echo]) as again:
        Chat(wire=again).map_into(path, ["a", "b", "c"])
    reader = ipc.open_file(str(path))

    assert tuple(first.columns) == COLUMNS
    assert first["value"].fillna("").tolist() == ["A", "", "C"]
    assert reader.read_all()["value"].to_pylist() == ["A", "B", "C"]
    assert len(again.prompts) == 1
    assert sorted(one.name for one in tmp_path.iterdir()) == [f"answers.{suffix}", f"answers.{suffix}.sqlite"]


def test_an_arrow_file_is_written_a_batch_of_rows_at_a_time(tmp_path: Path) -> None:
    path = tmp_path / "a.arrow"
    export_answers(((n, str(n), None, None, False, False) for n in range(ROW_GROUP + 1)), path)

    reader = ipc.open_file(str(path))
    assert [reader.get_batch(n).num_rows for n in range(reader.num_record_batches)] == [ROW_GROUP, 1]


def test_a_parquet_file_is_written_a_group_of_rows_at_a_time(tmp_path: Path) -> None:
    path = tmp_path / "a.parquet"
    count = ROW_GROUP * 2 + 1
    export_answers(((n, str(n), None, None, False, False) for n in range(count)), path)

    written = parquet.ParquetFile(path)
    assert [written.metadata.row_group(n).num_rows for n in range(written.num_row_groups)] == [ROW_GROUP, ROW_GROUP, 1]
    assert written.read()["value"].to_pylist() == [str(n) for n in range(count)]


def test_a_parquet_file_that_cannot_be_written_is_refused_before_anything_is_sent(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "folder.parquet").mkdir()
    with ScriptedWire([]) as wire:
        with pytest.raises(BadUsage, match=r"folder.parquet is a folder"):
            Chat(wire=wire).map_into(tmp_path / "folder.parquet", ["a"])
        monkeypatch.setitem(sys.modules, "pyarrow.parquet", None)
        with pytest.raises(BadUsage, match="needs pyarrow") as caught:
            Chat(wire=wire).map_into(tmp_path / "a.parquet", ["a"])
        monkeypatch.setitem(sys.modules, "pyarrow.ipc", None)
        with pytest.raises(BadUsage, match="An Arrow file needs pyarrow"):
            Chat(wire=wire).map_into(tmp_path / "a.arrow", ["a"])

    assert "%pip install pyarrow" in str(caught.value)
    assert [one.name for one in tmp_path.iterdir()] == ["folder.parquet"]
