"""Gates in a replay: what asks is asked about again, and nothing withheld comes back."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from nbtool import Approved, Denied, Released, Withheld, tool
from nbtool.errors import NotRecorded
from nbtool.testing import ScriptedApprover, call
from nbtool.tools.approval import Undecided
from tests.chat.recording.making import ONLY, PROMPT, REPLIES, chat, frame
from tests.chat.recording.replaying import notices


def loader_for(**how: Any) -> Any:
    @tool(**how)
    def load(n: int) -> pd.DataFrame:
        "Load rows."
        return pd.DataFrame({"secret": ["SENTINEL"] * n})

    return load


LOADING = (call("load", n=2), "Done.")


def turn_with(path: Path, load: Any, decisions: list[Any], replies: Any = LOADING) -> Any:
    with ScriptedApprover(decisions) as approver:
        one = chat(path, list(replies), tools=[load], approver=approver)
        return one.send("Load", settings=ONLY if not replies else None), one


def test_a_call_that_asks_is_asked_about_again_before_it_runs_again(path: Path) -> None:
    turn_with(path, loader_for(), [Approved()])

    turn, fresh = turn_with(path, loader_for(), [Approved()], ())

    assert turn.calls[0].status == "ok"
    assert len(fresh.variables.value("load_1_result")) == 2
    assert [event.kind for event in turn.log].count("call_asked") == 1


@pytest.mark.parametrize("replies", [(), LOADING])
def test_where_it_is_denied_the_turn_is_replayed_and_the_object_is_missing(path: Path, replies: Any) -> None:
    turn_with(path, loader_for(), [Approved()])

    turn, fresh = turn_with(path, loader_for(), [Denied("not now")], replies)

    denied = turn.calls[0]
    assert (turn.status, turn.text, denied.status, denied.result) == ("completed", "Done.", "denied", None)
    assert "2 rows" not in denied.shown
    assert all(part in notices(turn)[-1] for part in ("`load`", "(not now)"))
    assert not any(entry.name == "load_1_result" for entry in fresh.variables.list_entries())


def test_where_nobody_can_approve_it_a_replay_without_a_model_fails_and_says_so(path: Path) -> None:
    turn_with(path, loader_for(), [Approved()])
    turn = chat(path, tools=[loader_for()]).send("Load", settings=ONLY)

    assert (turn.status, type(turn.error), turn.calls[0].status) == ("error", NotRecorded, "not_run")
    assert turn.calls[0].decisions[0].by == "nobody"
    assert "`load`" in str(turn.error)
    assert 'run="auto"' in str(turn.error)


def test_a_replay_that_waits_for_a_person_can_be_stopped(path: Path) -> None:
    turn_with(path, loader_for(), [Approved()])

    async def stopped() -> Any:
        asked = asyncio.Event()
        loop = asyncio.get_running_loop()

        async def leave(_: Any) -> Undecided:
            loop.call_soon_threadsafe(asked.set)
            return Undecided()

        turn = chat(path, tools=[loader_for()], approver=leave).start("Load")
        await asked.wait()
        turn.cancel()
        return await turn

    turn = asyncio.run(stopped())

    assert turn.status == "cancelled"
    assert turn.log[-1].kind == "turn_ended"


def test_a_released_result_of_a_tool_that_runs_unasked_is_released_as_recorded(path: Path) -> None:
    turn_with(path, loader_for(run="auto", result="always"), [Released()])

    turn, _ = turn_with(path, loader_for(run="auto", result="always"), [], ())

    assert turn.calls[0].decisions[0].by == "recording"
    assert len(turn.calls[0].result) == 2


def test_a_result_that_became_another_is_asked_about(path: Path) -> None:
    rows = [2]

    def growing() -> Any:
        @tool(run="auto", result="always")
        def load() -> pd.DataFrame:
            "Load rows."
            return pd.DataFrame({"a": range(len(rows))})

        return load

    turn_with(path, growing(), [Released()], [call("load"), "Done."])
    turn, _ = turn_with(path, growing(), [], ())
    assert notices(turn)[1:] == []

    text = path.read_text().replace("1 row by", "7 rows by")
    path.write_text(text)
    turn, _ = turn_with(path, growing(), [Released()], ())

    (notice,) = notices(turn)[1:]
    assert "`load`" in notice


@pytest.mark.parametrize("decision", [Withheld("private"), Released("Two rows.")])
def test_what_was_withheld_or_edited_is_not_in_the_file_and_does_not_come_back(path: Path, decision: Any) -> None:
    turn_with(path, loader_for(result="always"), [Approved(), decision])

    turn, fresh = turn_with(path, loader_for(result="always"), [], ())

    assert "SENTINEL" not in path.read_text()
    assert turn.status == "completed"
    assert all("SENTINEL" not in fresh.variables.text(entry.name) for entry in fresh.variables.list_entries())
    assert turn.calls[0].shown != ""


def test_store_as_holds_what_it_held(path: Path) -> None:
    def tools() -> list[Any]:
        @tool(run="auto", store_as="total")
        def total() -> int:
            "A number."
            return 3

        @tool(run="auto", store_as="rows")
        def rows() -> pd.DataFrame:
            "A frame."
            return frame()

        return [total, rows]

    chat(path, [[call("total"), call("rows")], "Done."], tools=tools()).send("Go")
    fresh = chat(path, tools=tools())
    fresh.send("Go")

    assert fresh.variables.value("total") == 3
    assert len(fresh.variables.value("rows")) == 2


def test_a_name_that_holds_another_result_here_is_not_overwritten(recorded_path: Path) -> None:
    fresh = chat(recorded_path, [call("price", ticker="A"), "Ten.", "Asked."])
    fresh.send("Something else first")
    fresh.branch()

    turn = fresh.send(PROMPT)

    assert turn.text == "Asked."
    assert "`price_1_result`" in notices(turn)[0]


def test_a_result_of_an_earlier_turn_matters_where_it_is_used(path: Path) -> None:
    replies = [*REPLIES, call("head", df="$VAR_REF{{head_1_result}}"), "Same."]
    first = chat(path, replies)
    first.send(PROMPT)
    first.send("Again?")

    second = chat(path)
    second.send(PROMPT)
    assert second.send("Again?", settings=ONLY).text == "Same."

    third = chat(path)
    third.send(PROMPT)
    third.variables.store_result("head_1_result", frame(9))
    assert "`head_1_result`" in str(third.send("Again?", settings=ONLY).error)
