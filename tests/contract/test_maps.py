"""A map sends one prompt for each row and gives its answers in their order, into a list, a file or a function."""

from __future__ import annotations

import asyncio
import pickle
import sqlite3
import sys
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import closing
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from nbtool.errors import BadUsage
from tests.contract.notebook import Kernel
from tests.contract.simulator import KEY, Provider, Refusal, Request

FEATURE = "run one prompt over a table, with a progress bar and a *Stop* button"
FILE_FEATURE = "run a prompt over more rows than fit in memory, and continue after a crash"
CLUSTER_FEATURE = "run the turns of a map on a cluster"
ROWS = [{"text": f"review {number}"} for number in range(4)]

pytestmark = pytest.mark.usefixtures("home")


def echo(request: Request) -> str:
    """Answer with the number of the review."""
    return f"answer {request.text.split('review ')[1][0]}"


@pytest.mark.feature(FEATURE)
def test_the_answers_are_in_the_order_of_the_rows(model: Provider) -> None:
    model.always(echo)

    batch = model.chat().map("Is it kind? {text}", ROWS, progress=False)

    assert batch.values == ["answer 0", "answer 1", "answer 2", "answer 3"]
    assert len(model.requests) == 4


@pytest.mark.feature(FEATURE)
def test_a_frame_is_a_table_of_rows(model: Provider) -> None:
    model.always(echo)

    batch = model.chat().map("Is it kind? {text}", pd.DataFrame(ROWS), progress=False)

    assert list(batch.values) == ["answer 0", "answer 1", "answer 2", "answer 3"]


@pytest.mark.feature(FEATURE)
def test_answers_have_the_type_that_was_asked_for(model: Provider) -> None:
    model.always(lambda request: '{"value": true}' if "review 0" in request.text else '{"value": false}')

    values = model.chat().map("Is it kind? {text}", ROWS[:2], as_=bool, progress=False).values

    assert values == [True, False]


@pytest.mark.feature(FEATURE)
def test_a_prompt_that_fails_is_an_error_in_its_place_and_stops_no_other(model: Provider) -> None:
    model.always(lambda request: Refusal(400, "no") if "review 1" in request.text else echo(request))

    batch = model.chat().map("Is it kind? {text}", ROWS, progress=False)

    assert [answer.index for answer in batch.errors] == [1]
    assert isinstance(batch.values[1], Exception)
    assert batch.values[2] == "answer 2"


@pytest.mark.feature(FEATURE)
def test_a_map_shows_its_progress_in_a_notebook(kernel: Kernel, kernel_model: Provider) -> None:
    kernel_model.say(*[echo] * len(ROWS))

    output = kernel.run(
        f"from nbtool import Chat\nvalues = Chat('ollama:tiny').map('Is it kind? {{text}}', {ROWS!r}).values"
    )

    assert not output.error
    assert any("application/vnd.jupyter.widget-view+json" in bundle for bundle in output.bundles)
    assert "4 of 4" in output.everything


def test_a_map_sends_nothing_of_the_history_of_its_chat(model: Provider) -> None:
    model.say("Noted.")
    model.always(echo)
    chat = model.chat()
    chat.send("The secret is 7.")

    chat.map("Is it kind? {text}", ROWS, progress=False)

    assert not any("The secret is 7." in request.text for request in model.requests[1:])


def test_answers_can_be_read_as_they_arrive(model: Provider) -> None:
    model.always(echo)

    batch = model.chat().start_map("Is it kind? {text}", ROWS, progress=False)

    assert sorted(answer.index for answer in batch) == [0, 1, 2, 3]


def test_a_map_can_be_awaited(model: Provider) -> None:
    model.always(echo)

    async def ask() -> Any:
        return (await model.chat().start_map("Is it kind? {text}", ROWS, progress=False)).values

    assert asyncio.run(ask())[3] == "answer 3"


@pytest.mark.feature(FILE_FEATURE)
@pytest.mark.parametrize("name", ["answers.sqlite", "answers.parquet", "answers.arrow"])
def test_answers_are_written_to_a_file(model: Provider, tmp_path: Path, name: str) -> None:
    model.always(echo)

    totals = model.chat().map_into(str(tmp_path / name), "Is it kind? {text}", iter(ROWS), progress=False)

    assert (totals.answered, totals.failed) == (4, 0)
    if name.endswith("sqlite"):
        with closing(sqlite3.connect(tmp_path / name)) as answers:
            values = [value for (value,) in answers.execute("SELECT value FROM answers ORDER BY row")]
    else:
        read = pd.read_parquet if name.endswith("parquet") else pd.read_feather
        values = list(read(tmp_path / name).sort_values("row")["value"])
    assert values == ["answer 0", "answer 1", "answer 2", "answer 3"]


@pytest.mark.feature(FILE_FEATURE)
def test_rows_that_are_answered_in_the_file_are_not_sent_again(model: Provider, tmp_path: Path) -> None:
    model.always(echo)
    path = str(tmp_path / "answers.sqlite")
    model.chat().map_into(path, "Is it kind? {text}", ROWS[:2], progress=False)

    totals = model.chat().map_into(path, "Is it kind? {text}", ROWS, progress=False)

    assert (totals.answered, totals.answered_before, len(model.requests)) == (2, 2, 4)


@pytest.mark.feature(FILE_FEATURE)
def test_answers_can_be_given_to_a_function(model: Provider) -> None:
    model.always(echo)
    received: list[Any] = []

    def rows() -> Iterator[dict[str, str]]:
        yield from ROWS

    model.chat().map_into(received.extend, "Is it kind? {text}", rows(), progress=False)

    assert sorted(answer.index for answer in received) == [0, 1, 2, 3]


class Table:
    """A sink of a person's own: the answers of a database, by row."""

    def __init__(self) -> None:
        self.rows: dict[int, Any] = {}
        self.inputs, self.is_open = "", False

    def open(self, inputs: str) -> None:
        """Refuse another map than the first one."""
        self.inputs, self.is_open = self.inputs or inputs, True
        if self.inputs != inputs:
            raise BadUsage("These are the answers of another map.")

    def unanswered(self, items: Any) -> Any:
        """Return the prompts without a row."""
        return [item for item in items if item.index not in self.rows]

    def write(self, answers: Any) -> None:
        """Store what was answered."""
        self.rows |= {answer.index: answer.value for answer in answers if answer.error is None}

    def close(self) -> None:
        """Close the table."""
        self.is_open = False


@pytest.mark.feature(FILE_FEATURE)
def test_answers_can_be_given_to_a_table_of_a_persons_own_which_later_maps_continue(model: Provider) -> None:
    model.always(echo)
    table = Table()
    model.chat().map_into(table, "Is it kind? {text}", ROWS[:2], progress=False)

    totals = model.chat().map_into(table, "Is it kind? {text}", ROWS, progress=False)

    assert (totals.answered, totals.answered_before, len(model.requests)) == (2, 2, 4)
    assert table.rows == {n: f"answer {n}" for n in range(4)}
    assert not table.is_open
    with pytest.raises(BadUsage, match="another map"):
        model.chat(system="Be brief.").map_into(table, "Is it kind? {text}", ROWS, progress=False)


def test_equal_prompts_in_one_map_are_sent_each(model: Provider) -> None:
    model.say("One.", "Two.")

    values = model.chat().map(["Tell me a word."] * 2, concurrency=1, progress=False).values

    assert sorted(values) == ["One.", "Two."]


def test_a_request_that_was_refused_for_its_rate_is_sent_again(model: Provider) -> None:
    model.say(Refusal(429, "slow down", {"Retry-After": "0"}))
    model.always(echo)

    values = model.chat().map("Is it kind? {text}", ROWS[:2], progress=False).values

    assert values == ["answer 0", "answer 1"]


def test_a_template_with_an_unknown_column_sends_nothing(model: Provider) -> None:
    batch = model.chat().map("Is it kind? {nothing}", ROWS, progress=False)

    assert all(isinstance(error, BadUsage) for error in batch.values)
    assert model.requests == []


@pytest.mark.feature(CLUSTER_FEATURE)
def test_a_pool_of_processes_runs_the_turns_of_a_map(model: Provider) -> None:
    model.always(echo)

    with ProcessPoolExecutor(1) as pool:
        chat = model.chat()
        values = chat.map("Is it kind? {text}", ROWS, on=pool, send_key=True, progress=False).values

    assert values == ["answer 0", "answer 1", "answer 2", "answer 3"]


class ReadPool(ProcessPoolExecutor):
    """A pool of processes that keeps what is sent to it."""

    def __init__(self) -> None:
        super().__init__(1)
        self.sent: list[bytes] = []

    def submit(self, work: Any, /, *args: Any, **kwargs: Any) -> Any:
        self.sent.append(pickle.dumps((work, args, kwargs)))
        return super().submit(work, *args, **kwargs)


@pytest.mark.promise("own-host")
@pytest.mark.feature(CLUSTER_FEATURE)
def test_a_key_that_is_written_in_the_chat_is_sent_to_no_pool_unless_the_person_says_so(model: Provider) -> None:
    model.always(echo)

    with ReadPool() as pool:
        with pytest.raises(BadUsage, match="send_key=True"):
            model.chat().map("Is it kind? {text}", ROWS, on=pool, progress=False)
        assert (pool.sent, model.requests) == ([], [])
        model.chat().map("Is it kind? {text}", ROWS, on=pool, send_key=True, progress=False)

    assert any(KEY.encode() in content for content in pool.sent)


@pytest.mark.promise("own-host")
@pytest.mark.feature(CLUSTER_FEATURE)
def test_a_pool_gets_the_command_of_a_key_and_each_worker_runs_it(model: Provider) -> None:
    model.always(echo)
    command = [sys.executable, "-c", f"print({KEY[:9]!r} + {KEY[9:]!r})"]

    with ReadPool() as pool:
        chat = model.chat(api_key=None, key_command=command)
        values = chat.map("Is it kind? {text}", ROWS, on=pool, progress=False).values

    assert values == ["answer 0", "answer 1", "answer 2", "answer 3"]
    assert all(f"Bearer {KEY}" in request.everything for request in model.requests)
    assert pool.sent
    assert not any(KEY.encode() in content for content in pool.sent)
