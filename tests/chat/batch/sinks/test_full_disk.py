"""A map whose file cannot be written: the error names the file, and no call runs again when there is space."""

from __future__ import annotations

import sqlite3
import threading
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any
from uuid import UUID

import pandas as pd
import pytest

from nbtool import Chat, tool
from nbtool.chat.batch import Answer, SqliteSink
from nbtool.chat.journal import journal
from nbtool.errors import AnswersNotWritten, JournalError
from nbtool.testing import ScriptedWire, call
from nbtool.wire.base import Prompt

NAMES = [f"p{n}" for n in range(12)]
FULL = Path("/dev/full")


class Shop:
    """Chats that pay once for each prompt, and answer with a long text; `effects` counts the payments."""

    def __init__(self) -> None:
        self.effects: Counter[str] = Counter()
        self.may_return = threading.Event()
        self.may_return.set()
        self.has_started = threading.Event()

        @tool(run="auto")
        def pay(name: str) -> str:
            "Pay."
            self.effects[name] += 1
            if self.effects.total() > 1:
                self.has_started.set()
                assert self.may_return.wait(240)
            return name * 2_000

        self.pay = pay

    def chat(self) -> Chat:
        def reply(prompt: Prompt) -> Any:
            last = prompt.messages[-1]
            return last.results[0].text if last.results else call("pay", name=last.text.splitlines()[0])

        return Chat(wire=ScriptedWire([reply] * 40), tools=[self.pay])


class FullSink(SqliteSink):
    """Has room for a few pages more."""

    def _opened(self) -> sqlite3.Connection:
        connection = super()._opened()
        if not hasattr(self, "bound"):
            self.bound = connection.execute("PRAGMA page_count").fetchone()[0] + 4
            connection.execute(f"PRAGMA max_page_count = {self.bound}")
        return connection


@pytest.mark.promise("maps-once")
def test_a_full_disk_ends_the_map_with_the_name_of_the_file_and_a_later_one_runs_no_call_again(tmp_path: Path) -> None:
    shop, path = Shop(), tmp_path / "answers.sqlite"
    with pytest.raises(AnswersNotWritten) as caught:
        shop.chat().map_into(FullSink(path), NAMES, concurrency=2)
    before = shop.effects.total()
    totals = shop.chat().map_into(path, NAMES)

    assert "answers.sqlite" in str(caught.value)
    assert 0 < before < len(NAMES)
    assert max(shop.effects.values()) == 1
    assert totals.answered + totals.answered_before + totals.failed == len(NAMES)
    assert totals.failed <= 2  # a call that was stopped: nobody knows what it did


@pytest.mark.skipif(not FULL.exists(), reason="there is no /dev/full")
@pytest.mark.parametrize("suffix", ["parquet", "arrow"])
def test_a_parquet_or_arrow_file_for_which_there_is_no_space_can_be_written_later(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, suffix: str
) -> None:
    shop, path = Shop(), tmp_path / f"answers.{suffix}"
    draft = UUID(int=0)
    path.with_name(f".{path.name}.{draft.hex[:8]}").symlink_to(FULL)
    monkeypatch.setattr("nbtool.files.uuid4", lambda: draft)
    with pytest.raises(AnswersNotWritten) as caught:
        shop.chat().map_into(path, NAMES)
    left = sorted(one.name for one in tmp_path.iterdir())
    totals = shop.chat().map_into(path, NAMES)

    assert all(f"{name} " in str(caught.value).replace(";", " ") for name in (path.name, f"{path.name}.sqlite"))
    assert left == [f"{path.name}.sqlite"]
    assert totals.answered_before == len(NAMES)
    assert set(shop.effects.values()) == {1}
    frame = pd.read_parquet(path) if suffix == "parquet" else pd.read_feather(path)
    assert len(frame) == len(NAMES)


@pytest.mark.promise("maps-once")
def test_answers_that_a_sink_did_not_take_are_found_in_the_journal_by_the_next_map(tmp_path: Path) -> None:
    class Broken(SqliteSink):
        def write(self, _: Sequence[Answer]) -> None:
            raise RuntimeError

    shop, path = Shop(), tmp_path / "a.sqlite"
    with pytest.raises(RuntimeError):
        shop.chat().map_into(Broken(path), NAMES, concurrency=1)
    totals = shop.chat().map_into(path, NAMES)

    assert max(shop.effects.values()) == 1
    assert totals.answered_before >= 1


@pytest.mark.promise("maps-once")
def test_a_map_that_begins_at_once_after_a_function_has_raised_runs_no_call_again_that_still_ran() -> None:
    shop = Shop()
    shop.may_return.clear()

    def fail(_: Sequence[Answer]) -> None:
        assert shop.has_started.wait(240)
        raise RuntimeError

    with pytest.raises(RuntimeError):
        shop.chat().map_into(fail, NAMES, concurrency=3)
    shop.may_return.set()
    totals = shop.chat().map_into(lambda _: None, NAMES)

    assert max(shop.effects.values()) == 1
    assert totals.answered + totals.answered_before + totals.failed == len(NAMES)


def test_a_journal_that_cannot_be_read_ends_a_map_into_a_function_with_that_error() -> None:
    shop = Shop()
    shop.chat().map_into(lambda _: None, NAMES[:1])
    path = journal().path
    assert path
    journal().close()
    path.write_bytes(b"no database" * 1_000)

    with pytest.raises(JournalError):
        shop.chat().map_into(lambda _: None, NAMES)

    assert shop.effects.total() == 1
