from __future__ import annotations

import dataclasses

import pytest

from nbtool.blocks.history.conversation_search import MAX_HITS, search
from nbtool.blocks.history.static_history import total_cost
from nbtool.blocks.history.usage_totals import line_totals, totals
from nbtool.blocks.labels import COST_UNKNOWN
from nbtool.events import CallFinished, ReplyFinished, RequestStarted, TurnEnded, TurnStarted
from nbtool.messages import Usage
from tests.history_of_many import make_turn

TURNS = [make_turn(number, node=f"n_{number}") for number in range(10)]


def test_calls_are_summed_by_tool_and_requests_by_round_and_model() -> None:
    found = totals(TURNS)

    assert found["turns"] == 10
    assert found["all"]["count"] == 20
    assert found["all"]["cost"] == pytest.approx(0.021)
    assert [(one["name"], one["count"], one["failed"]) for one in found["tools"]] == [
        ("price", 10, 0),
        ("order", 10, 2),
    ]
    assert [(one["name"], one["count"]) for one in found["rounds"]] == [("round 1", 10), ("round 2", 10)]
    assert [one["name"] for one in found["models"]] == ["scripted:tiny"]
    assert found["waited"]["person"] == pytest.approx(32.0, abs=0.1)


def test_the_totals_of_a_line_are_what_the_footers_of_its_turns_say() -> None:
    heads = [turn.transcript().document()["head"] for turn in TURNS]
    running = make_turn(11, node="n_11")
    running.log = [event for event in running.log if not isinstance(event, TurnEnded)]

    found = line_totals([*TURNS, running])

    assert (found["turns"], found["calls"]) == (11, sum(head["calls"] for head in heads))
    assert found["tokens"] == sum(head["usage"]["input_tokens"] + head["usage"]["output_tokens"] for head in heads)
    assert found["cost"] == pytest.approx(sum(head["usage"]["cost"] or 0.0 for head in heads))
    assert found["seconds"] == pytest.approx(sum(head["seconds"] or 0.0 for head in heads))
    assert found["waited"] == pytest.approx(sum(head.get("waited", 0.0) for head in heads))


@pytest.mark.parametrize("mark", ["is_cost_estimated", "is_cost_unknown", "lacks_tool_cost"])
def test_the_cost_of_a_line_has_the_marks_of_its_turns(mark: str) -> None:
    found = []
    for usage in (Usage(10, 5, cost=0.1), Usage(10, 5, cost=0.1, **{mark: True})):  # type: ignore[arg-type]  # each of them is a flag
        turn = make_turn(1, node="n")
        turn.log = [dataclasses.replace(one, usage=usage) if isinstance(one, TurnEnded) else one for one in turn.log]
        found.append(line_totals([turn]))

    assert [mark in one for one in found] == [False, True]


def test_a_round_that_was_replayed_from_the_record_costs_nothing_again() -> None:
    turn = make_turn(1, node="n")
    turn.log = [dataclasses.replace(one, given=True) if isinstance(one, RequestStarted) else one for one in turn.log]
    replayed = make_turn(2, node="n")
    began = replayed.log[0]
    assert isinstance(began, TurnStarted)
    replayed.log[0] = dataclasses.replace(began, replayed="2026-11-21")

    found = totals([turn, replayed])

    assert found["all"]["count"] == 0
    assert found["all"]["cost"] is None
    assert found["rounds"] == []
    assert found["tools"][0]["count"] == 2


def test_many_tools_are_reported_as_the_longest_and_the_others() -> None:
    turn = make_turn(1, node="n")
    turn.log = [*turn.log, *(CallFinished(f"c{n}", f"tool{n}", 1, "ok", "", seconds=n) for n in range(9))]

    found = totals([turn], max_rows=3)["tools"]

    assert [one["name"] for one in found] == ["tool8", "tool7", "tool6", "8 others"]
    assert sum(one["count"] for one in found) == 11


def test_a_search_finds_words_of_prompts_replies_calls_and_results_whatever_their_case() -> None:
    assert [one["turn_id"][-2:] for one in search(TURNS, "QUESTION 7:")] == ["07"]
    assert [one["turn_id"][-2:] for one in search(TURNS, "answer 3.")] == ["03"]
    assert len(search(TURNS, "$VAR_REF{{df}}")) == 10
    assert [one["turn_id"][-2:] for one in search(TURNS, "Too many")] == ["03", "08"]
    assert search(TURNS, "nowhere at all") == []
    assert search(TURNS, "  ") == []


def test_what_surrounds_the_words_is_shown_on_one_line() -> None:
    (found,) = search(TURNS, "answer to question 7.")

    assert "\n" not in found["snippet"]
    assert len(found["snippet"]) <= 120


@pytest.mark.parametrize(
    ("text", "beginning"),
    [("question 7:", ""), ("answer to question 7.", "reply: "), ("price DDD", "call: price "), ("000007", "turn: ")],
)
def test_the_snippet_is_what_the_prompt_lacks_and_says_where_it_is(text: str, beginning: str) -> None:
    snippet = search(TURNS[7:8], text)[0]["snippet"]

    assert snippet.startswith(beginning)
    assert bool(snippet) == bool(beginning)


def test_a_cost_says_whether_it_is_an_estimate_or_unknown() -> None:
    turn = make_turn(1, node="n")
    turn.log = [
        dataclasses.replace(one, usage=Usage(5, 5, is_cost_unknown=True)) if isinstance(one, ReplyFinished) else one
        for one in turn.log
    ]

    assert total_cost(totals([make_turn(2, node="n")])["all"]).startswith("about $0.")
    assert total_cost(totals([turn])["all"]) == COST_UNKNOWN
    assert total_cost(totals([turn])["models"][0]) == COST_UNKNOWN


def test_a_search_gives_only_so_many() -> None:
    assert len(search([TURNS[0]] * (MAX_HITS + 5), "question")) == MAX_HITS
