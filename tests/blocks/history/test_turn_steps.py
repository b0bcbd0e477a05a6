from __future__ import annotations

import json
from typing import Any

import pytest

from nbtool import Chat, Released, Withheld, tool
from nbtool.blocks.history.protocol import Detail
from nbtool.blocks.history.turn_steps import detail
from nbtool.chat.turn import Turn
from nbtool.events import CallProgress
from nbtool.testing import ScriptedApprover, ScriptedWire, call
from tests.history_of_many import make_turn


def fold_steps(found: Detail) -> dict[str, Any]:
    """Fold steps as the page does."""
    head: dict[str, Any] = {}
    blocks: dict[str, dict[str, Any]] = {}
    for step in found["steps"]:
        for patch in step["patches"]:
            if patch["op"] == "head":
                head |= patch["set"]
            elif patch["op"] == "open":
                blocks[patch["block"]["id"]] = dict(patch["block"])
            elif patch["op"] == "update":
                blocks[patch["id"]] |= patch["set"]
            else:
                blocks[patch["id"]][patch["field"]] += patch["text"]
    return {"head": head, "blocks": list(blocks.values())}


def test_all_steps_folded_are_the_turn_as_the_live_view_shows_it() -> None:
    turn = make_turn(6, node="n")

    found = fold_steps(detail(turn))

    document = turn.transcript().document()
    assert found["blocks"] == document["blocks"]
    assert found["head"].items() <= document["head"].items()


def test_each_step_says_what_happened_and_when() -> None:
    found = detail(make_turn(8, node="n"))

    labels = [step["label"] for step in found["steps"]]
    assert labels[:4] == ["The turn started", "Round 1: request sent", "Round 1: reply complete", "price: requested"]
    assert "order denied" in labels
    assert "order: denied" in labels
    assert labels[-1] == "The turn ended: completed"
    times = [step["at"] for step in found["steps"]]
    assert times == sorted(times, key=lambda at: at or 0.0)


@tool(run="auto", result="always")
def secret() -> str:
    "Tell a secret."
    return "the password is swordfish"


@pytest.mark.parametrize("decision", [Withheld("no"), Released("the password is hidden")])
def test_what_a_person_kept_back_at_the_gate_of_a_result_is_in_no_step(decision: Any) -> None:
    wire = ScriptedWire([call("secret"), "Well."])
    turn = Chat(wire=wire, tools=[secret], approver=ScriptedApprover([decision])).send("Tell it")

    assert "swordfish" not in json.dumps(detail(turn))


def test_a_turn_that_ran_here_knows_its_times() -> None:
    turn = Chat(wire=ScriptedWire(["Hello."])).send("Hi")

    assert len(turn.event_times) == len(turn.log)
    assert all(step["at"] is not None for step in detail(turn)["steps"])


def test_what_one_call_prints_is_one_step() -> None:
    turn = make_turn(6, node="n")
    at = next(at for at, event in enumerate(turn.log) if event.kind == "call_started")
    prints = [CallProgress(turn.log[at].call_id, f"line {n}\n") for n in range(50)]  # type: ignore[union-attr]  # it has one
    turn.log[at + 1 : at + 1] = prints
    turn.event_times[at + 1 : at + 1] = [turn.event_times[at]] * 50

    found = detail(turn)

    assert [step["label"] for step in found["steps"]].count("price prints") == 1
    assert fold_steps(found)["blocks"] == turn.transcript().document()["blocks"]


def test_steps_are_bounded_and_what_is_over_is_one_more() -> None:
    turn = make_turn(6, node="n")

    found = detail(turn, max_steps=4)

    assert [step["label"] for step in found["steps"]][-1] == "All later steps"
    assert len(found["steps"]) == 5
    assert fold_steps(found)["blocks"] == turn.transcript().document()["blocks"]


def test_long_texts_are_cut_until_a_turn_fits_and_the_cut_is_marked() -> None:
    wire = ScriptedWire(["word " * 50_000])
    turn: Turn = Chat(wire=wire).send("Talk")

    found = detail(turn, max_bytes=20_000)

    assert len(json.dumps(found["steps"])) <= 20_000
    assert "characters more" in fold_steps(found)["blocks"][0]["text"]
