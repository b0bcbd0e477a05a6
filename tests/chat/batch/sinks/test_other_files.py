"""Maps into files of prompts that earlier maps answered elsewhere: in a list, another file, or a file that is lost."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from nbtool import Approved, Chat, tool
from nbtool.testing import ScriptedApprover, ScriptedWire, call, cut
from nbtool.wire.base import Prompt
from tests.chat.batch.earlier_maps.test_killed_map import NAMES, chat_of, kill_map, read

pytestmark = pytest.mark.promise("maps-once")

FORMATS = ("sqlite", "parquet", "arrow")


def runs(log: Path) -> Counter[str]:
    return Counter(log.read_text(encoding="utf-8").split())


@pytest.mark.parametrize("suffix", FORMATS)
@pytest.mark.parametrize(
    "earlier",
    [
        lambda chat, _: chat.map(NAMES),
        lambda chat, folder: chat.map_into(folder / "other.sqlite", NAMES),
        lambda chat, folder: chat.map_into(folder / "other.parquet", NAMES),
        lambda chat, _: chat.map_into(lambda _: None, NAMES),
    ],
)
def test_a_file_gets_the_answers_of_earlier_maps_and_no_call_runs_again(
    tmp_path: Path, earlier: Callable[[Chat, Path], object], suffix: str
) -> None:
    log = tmp_path / "log"
    earlier(chat_of(str(log)), tmp_path)
    totals = chat_of(str(log)).map_into(tmp_path / f"a.{suffix}", [*NAMES, "p9"])

    assert runs(log) == Counter([*NAMES, "p9"])
    assert (totals.answered, totals.answered_before) == (1, len(NAMES))


def test_a_file_that_was_deleted_is_written_again_from_the_journal(tmp_path: Path) -> None:
    path, log = tmp_path / "a.sqlite", tmp_path / "log"
    chat_of(str(log)).map_into(path, NAMES)
    before = read(path, "SELECT row, value FROM answers ORDER BY row")
    path.unlink()
    chat_of(str(log)).map_into(path, NAMES)

    assert runs(log) == Counter(NAMES)
    assert read(path, "SELECT row, value FROM answers ORDER BY row") == before


@pytest.mark.sampled(0)
def test_a_row_whose_call_ran_before_a_kill_is_refused_in_another_file_too(tmp_path: Path) -> None:
    log = tmp_path / "log"
    kill_map("into", tmp_path / "a.sqlite", log, at="p3")
    totals = chat_of(str(log)).map_into(tmp_path / "b.sqlite", NAMES)

    assert runs(log) == Counter(NAMES)
    assert (totals.answered, totals.answered_before, totals.failed) == (2, 3, 1)
    assert read(tmp_path / "b.sqlite", "SELECT row FROM answers WHERE error IS NOT NULL") == [(3,)]


def test_without_resume_another_file_gets_new_answers(tmp_path: Path) -> None:
    log = tmp_path / "log"
    chat_of(str(log)).map(NAMES)
    totals = chat_of(str(log)).map_into(tmp_path / "a.sqlite", NAMES, resume=False)

    assert runs(log) == Counter(NAMES * 2)
    assert (totals.answered, totals.answered_before) == (len(NAMES), 0)


class Shop:
    """Chats whose tool counts its effects; the reply after a call fails until the service is back."""

    def __init__(self) -> None:
        self.effects: Counter[str] = Counter()
        self.is_up = False

    def chat(self, system: str = "") -> Chat:
        @tool(run="auto")
        def pay(name: str) -> str:
            "Pay."
            effects[name] += 1
            return f"paid {name}"

        effects = self.effects

        def reply(prompt: Prompt) -> Any:
            last = prompt.messages[-1]
            if not last.results:
                return call("pay", name=last.text)
            return last.results[0].text if self.is_up else ["half", cut()]

        return Chat(wire=ScriptedWire([reply] * 20), tools=[pay], system=system)


def test_a_turn_whose_calls_ran_goes_on_in_another_file(tmp_path: Path) -> None:
    shop = Shop()
    first = shop.chat().map_into(tmp_path / "a.sqlite", ["a", "b"], retries=0)
    shop.is_up = True
    second = shop.chat().map_into(tmp_path / "b.sqlite", ["a", "b"])

    assert (first.failed, second.answered, second.failed) == (2, 2, 0)
    assert shop.effects == {"a": 1, "b": 1}
    assert read(tmp_path / "b.sqlite", "SELECT value FROM answers ORDER BY row") == [("paid a",), ("paid b",)]


def test_calls_that_run_again_in_another_file_because_the_inputs_changed_are_announced(tmp_path: Path) -> None:
    shop = Shop()
    shop.is_up = True
    shop.chat().map_into(tmp_path / "a.sqlite", ["a"])
    with pytest.warns(UserWarning, match="are run again"):
        shop.chat("Be brief.").map_into(tmp_path / "b.sqlite", ["a"])

    assert shop.effects == {"a": 2}


def test_calls_that_were_approved_are_in_another_file_without_a_question(tmp_path: Path) -> None:
    effects: Counter[str] = Counter()

    @tool
    def pay(name: str) -> str:
        "Pay."
        effects[name] += 1
        return f"paid {name}"

    def reply(prompt: Prompt) -> Any:
        last = prompt.messages[-1]
        return last.results[0].text if last.results else call("pay", name=last.text)

    def new_chat(**options: Any) -> Chat:
        return Chat(wire=ScriptedWire([reply] * 20), tools=[pay], **options)

    first = new_chat(approver=ScriptedApprover([Approved(), Approved()])).map(["a", "b"])
    second = new_chat().map_into(tmp_path / "a.sqlite", ["a", "b"])

    assert first.values == ["paid a", "paid b"]
    assert (second.answered, second.answered_before, second.undecided) == (0, 2, 0)
    assert effects == {"a": 1, "b": 1}
