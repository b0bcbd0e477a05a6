from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from nbtool import Approved, Chat, Denied
from nbtool.chain.limits import Limits
from nbtool.chat.turn_settings import TurnSettings
from nbtool.errors import BadUsage, LimitReached
from nbtool.events import ReplyEnd, UsageDelta
from nbtool.messages import Usage
from nbtool.plugins.budget import Budget, Price
from nbtool.testing import ScriptedApprover, ScriptedWire, call, cut
from nbtool.wire.base import CHARGES_NOTHING
from tests.chain.running import run
from tests.chaos import event, finish, head, serve, text

END = ReplyEnd("end", "stop")


def reply(text: str, tokens: int, cost: float | None = None) -> list[Any]:
    return [text, UsageDelta(Usage(tokens, 0, cost=cost)), END]


def test_a_chat_that_has_spent_its_tokens_sends_nothing_more() -> None:
    with ScriptedWire([reply("One.", 100)]) as wire:
        chat = Chat(wire=wire, plugins=[Budget(tokens=100)])
        first, second = chat.send("Go."), chat.send("Go.")

    assert first.status == "completed"
    assert second.status == "error"
    assert isinstance(second.error, LimitReached)
    assert "The budget of 100 tokens is used up: 100 in total." in str(second.error)


def test_somebody_may_allow_as_much_again() -> None:
    approver = ScriptedApprover([("budget", Approved()), ("budget", Denied("enough"))])
    with ScriptedWire([reply("One.", 130), reply("Two.", 60), reply("Three.", 60)]) as wire, approver:
        chat = Chat(wire=wire, approver=approver, plugins=[Budget(tokens=100)])
        turns = [chat.send("Go.") for _ in range(4)]

    assert [turn.status for turn in turns] == ["completed", "completed", "completed", "error"]
    assert approver.questions[0].shown.startswith("The budget of 100 tokens is used up: 130 in total")
    assert approver.questions[0].sensitive
    assert approver.questions[1].shown.startswith("The budget of 100 tokens is used up: 250 in total")


def test_an_approver_of_its_own_is_asked_before_the_one_of_the_chat() -> None:
    with ScriptedWire([reply("One.", 1), reply("Two.", 1)]) as wire:
        chat = Chat(wire=wire, plugins=[Budget(tokens=1, ask=lambda _: Approved())])

        assert [chat.send("Go.").text for _ in range(2)] == ["One.", "Two."]


def test_the_question_and_its_decision_are_events_and_the_row_is_closed() -> None:
    with ScriptedWire([reply("One.", 1), reply("Two.", 1)]) as wire:
        chat = Chat(wire=wire, plugins=[Budget(tokens=1, ask=lambda _: Approved())])
        chat.send("Go.")
        turn = chat.send("Go.")

    actual = [(e.kind, getattr(e, "verdict", "") or getattr(e, "status", "")) for e in turn.log if "call" in e.kind]
    assert actual == [("call_asked", ""), ("call_decided", "approved"), ("call_finished", "ok")]
    assert turn.calls == []


def test_a_budget_holds_between_the_rounds_of_a_turn() -> None:
    with ScriptedWire([[call("nothing"), UsageDelta(Usage(50, 60)), ReplyEnd("tools", "tool_calls")]]) as wire:
        turn = Chat(wire=wire, plugins=[Budget(tokens=100)]).send("Go.")

    assert isinstance(turn.error, LimitReached)
    assert turn.calls[0].status == "not_found"


def test_a_cost_that_the_provider_names_counts() -> None:
    with ScriptedWire([reply("One.", 5, cost=0.02)]) as wire:
        chat = Chat(wire=wire, plugins=[budget := Budget(usd=0.01, prices={"scripted": Price(0, 0)})])
        chat.send("Go.")

        assert isinstance(chat.send("Go.").error, LimitReached)
    assert budget.cost == pytest.approx(0.02)


def test_where_it_names_none_the_price_of_the_model_does() -> None:
    usage = Usage(1_000_000, 500_000, cached_tokens=400_000)
    budget = Budget(usd=100, prices={"scripted": Price(1.0, 4.0, cached=0.5)})

    run([["Hi.", UsageDelta(usage), END]], budget)

    assert budget.cost == pytest.approx(0.6 + 0.2 + 2.0)
    assert budget.spent == replace(usage, cost=budget.cost, is_cost_estimated=True)


def test_the_price_of_a_budget_holds_for_the_dollars_that_one_turn_may_spend() -> None:
    asks = [call("nothing"), UsageDelta(Usage(600_000, 0)), ReplyEnd("tools", "tool_calls")]
    plugin = Budget(usd=100, prices={"scripted": Price(1.0, 4.0)})
    with ScriptedWire([asks, asks]) as wire:
        turn = Chat(wire=wire, plugins=[plugin]).send("Go.", settings=TurnSettings(limits=Limits(cost=1.0)))

    assert isinstance(turn.error, LimitReached)
    assert "used 1.2 USD of its budget of 1 USD" in str(turn.error)
    assert len(wire.prompts) == 2


def test_a_reply_without_any_usage_has_no_price_and_ends_a_turn_with_a_budget_of_dollars() -> None:
    plugin = Budget(usd=100, prices={"scripted": Price(1.0, 4.0)}, ask=lambda _: Approved())
    with ScriptedWire([call("nothing")]) as wire:
        turn = Chat(wire=wire, plugins=[plugin]).send("Go.", settings=TurnSettings(limits=Limits(cost=1.0)))

    assert "did not report its cost" in str(turn.error)


def test_dollars_for_a_model_of_unknown_price_are_refused_before_anything_is_sent() -> None:
    with ScriptedWire([]) as wire:
        turn = Chat(wire=wire, plugins=[Budget(usd=1, ask=lambda _: Approved())]).send("Go.")

    assert isinstance(turn.error, BadUsage)
    assert "the price of scripted is unknown. Nothing was sent." in str(turn.error)


@pytest.mark.parametrize(("address", "is_free"), [(None, True), ("http://127.0.0.1:9/v1", False)])
def test_a_server_of_ones_own_charges_nothing_at_its_usual_address_only(
    monkeypatch: pytest.MonkeyPatch, address: str | None, *, is_free: bool
) -> None:
    monkeypatch.delenv("OLLAMA_HOST", raising=False)

    endpoint: Any = Chat("ollama:m", base_url=address).model.endpoint()

    assert (CHARGES_NOTHING in endpoint.abilities) is is_free


def test_the_practice_model_charges_nothing_so_dollars_for_it_need_no_price() -> None:
    budget = Budget(usd=0.01)
    chat = Chat("practice:fast", plugins=[budget])
    turns = [chat.send("Hello.", settings=TurnSettings(limits=Limits(cost=0.01))) for _ in range(2)]
    batch = chat.map(["Hello."], usd=0.01, progress=False)

    assert [(turn.status, turn.cost) for turn in turns] == [("completed", None)] * 2
    assert budget.cost == 0.0
    assert [answer.error for answer in batch.answers] == [None]


@pytest.mark.parametrize(("budget", "said"), [(Budget(usd=1), reply("One.", 5)), (Budget(tokens=9), ["One."])])
def test_a_reply_whose_cost_is_unknown_is_asked_about(budget: Budget, said: list[Any]) -> None:
    with ScriptedWire([said], abilities=["reports_cost"]) as wire:
        chat = Chat(wire=wire, plugins=[budget])
        chat.send("Go.")
        turn = chat.send("Go.")

    assert "of the last reply is unknown" in str(turn.error)


def test_a_reply_that_breaks_off_counts_as_far_as_it_was_reported() -> None:
    budget = Budget(tokens=100)

    run([["One", UsageDelta(Usage(7, 1)), cut()]], budget)

    assert budget.spent.total_tokens == 8


@pytest.mark.parametrize("how", [{}, {"tokens": 0}, {"usd": -1}])
def test_a_budget_of_nothing_is_refused(how: dict[str, Any]) -> None:
    with pytest.raises(BadUsage, match=r"budget needs tokens or usd|greater than 0|at least 1"):
        Budget(**how)


@pytest.mark.parametrize(
    ("how", "said"),
    [
        ({"tokens": 1.5}, r"tokens cannot be 1\.5\. Pass a whole number"),
        ({"usd": "1"}, r"usd cannot be a str\. Pass a number .* usd=1"),
        ({"usd": 1, "prices": {"tiny": 1}}, r"prices cannot be a dict with 1 under 'tiny'\. Pass a dict of Price"),
    ],
)
def test_a_limit_or_a_price_of_another_type_is_refused_in_a_line(how: dict[str, Any], said: str) -> None:
    with pytest.raises(BadUsage, match=said):
        Budget(**how)


@pytest.mark.parametrize("how", [{"input": "1"}, {"input": -1}, {"cached": True}, {"output": None}])
def test_a_price_is_dollars_of_a_number(how: dict[str, Any]) -> None:
    with pytest.raises(BadUsage, match=f"{next(iter(how))} cannot be"):
        Price(**{"input": 1, "output": 1, **how})


def test_a_limit_may_be_a_number_of_numpy() -> None:
    assert Budget(tokens=np.int64(5), usd=np.float32(1.5)).tokens == 5


def many(count: int, usage: Usage) -> list[object]:
    return [["Well.", UsageDelta(usage), END] for _ in range(count)]


@pytest.mark.parametrize("limit", [{"tokens": 5_000}, {"usd": 0.005, "prices": {"scripted": Price(1.0, 1.0)}}])
def test_requests_at_the_same_time_do_not_exceed_a_budget_together(limit: dict[str, Any]) -> None:
    with ScriptedWire(many(5, Usage(10, 1_000))) as wire:
        batch = Chat(wire=wire).map(
            [f"Prompt {at}" for at in range(8)], concurrency=8, progress=False, resume=False, **limit
        )

    assert len(wire.prompts) == 5
    assert len(batch.errors) == 3
    assert batch.usage.total_tokens == 5_050


def test_requests_at_the_same_time_all_go_where_the_budget_suffices() -> None:
    with ScriptedWire(many(8, Usage(10, 100))) as wire:
        batch = Chat(wire=wire).map(
            [f"Prompt {at}" for at in range(8)], concurrency=8, progress=False, resume=False, tokens=100_000
        )

    assert len(wire.prompts) == 8
    assert batch.errors == []


@pytest.mark.parametrize("name", ["lab:large", "large"])
def test_a_price_is_found_by_the_model_with_its_provider_or_without(
    name: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    usage = event({"choices": [], "usage": {"prompt_tokens": 1_000_000, "completion_tokens": 0}})
    budget = Budget(usd=10, prices={name: Price(2, 8)})
    monkeypatch.setenv("NBTOOL_HOME", str(tmp_path))
    with serve(head(), text("Well."), finish(), usage) as server:
        (tmp_path / "providers.toml").write_text(f'[lab]\nbase_url = "{server.url}"\n')
        turn = Chat("lab:large", plugins=[budget]).send("Hi")

    assert (turn.status, turn.cost, budget.cost) == ("completed", 2.0, 2.0)
    assert not turn.usage.is_cost_unknown


def test_a_budget_without_a_price_names_the_unit_the_import_and_the_model_with_its_provider(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("NBTOOL_HOME", str(tmp_path))
    (tmp_path / "providers.toml").write_text('[lab]\nbase_url = "http://127.0.0.1:9"\n')
    turn = Chat("lab:large", plugins=[Budget(usd=0.05)]).send("Hi")

    assert isinstance(turn.error, BadUsage)
    assert "US dollars per million tokens" in turn.error.fix
    assert "from nbtool.plugins import Budget, Price" in turn.error.fix
    assert "{'lab:large': Price(input=0.25, output=2.00)}" in turn.error.fix


def test_a_budget_that_nobody_could_be_asked_about_names_an_approver_and_a_new_budget() -> None:
    with ScriptedWire([reply("One.", 100)]) as wire:
        chat = Chat(wire=wire, plugins=[Budget(tokens=10)])
        chat.send("Go.")
        unasked = str(chat.send("Go.").error)
        chat.approver = lambda _: Denied("no")
        refused = str(chat.send("Go.").error)

    assert "asked" not in unasked
    assert "Pass `approver=` to the chat. Or give the chat a new budget with a larger amount." in unasked
    assert refused.endswith("Approve more when asked.")


@pytest.mark.parametrize(
    ("amounts", "expected"),
    [
        ({"tokens": "$1"}, "Dollars are `Budget(usd=1)`."),
        ({"tokens": 0.5}, "Dollars are `Budget(usd=0.5)`."),
        ({"usd": "$1,200.50"}, "Dollars are `Budget(usd=1200.5)`."),
        ({"tokens": "20000"}, "without quotes: tokens=20000."),
        ({"usd": "0.5"}, "without quotes: usd=0.5."),
        ({"tokens": "$"}, "Pass a whole number of at least 1 or None."),
        ({"tokens": "$nan"}, "Pass a whole number of at least 1 or None."),
        ({"usd": "$-1"}, "Pass a number greater than 0 or None."),
        ({"tokens": 2.0}, "Pass a whole number of at least 1 or None."),
        ({"tokens": True}, "Pass a whole number of at least 1 or None."),
    ],
)
def test_an_amount_of_another_form_is_refused_with_the_right_form(amounts: dict[str, Any], expected: str) -> None:
    with pytest.raises(BadUsage) as refused:
        Budget(**amounts)

    assert expected in str(refused.value)


@pytest.mark.parametrize(
    ("amounts", "replies", "expected"),
    [
        ({"tokens": 10}, [["One.", END]], "The usage of the last reply is unknown (the server did not report it), so"),
        ({"usd": 1}, [["One.", END]], "The cost of the last reply is unknown (no usage or no price), so"),
        ({"usd": 1e-5}, [reply("One.", 20)], "The budget of 1e-05 USD is used up: 2e-05 USD in total."),
        ({"usd": 0.01}, [reply("One.", 20_000)], "The budget of 0.01 USD is used up: 0.0200 USD in total."),
    ],
)
def test_the_reason_of_a_budget_is_in_its_own_unit(amounts: dict[str, Any], replies: list[Any], expected: str) -> None:
    prices = {"scripted": Price(1, 1)}
    with ScriptedWire(replies) as wire:
        chat = Chat(wire=wire, plugins=[Budget(**amounts, prices=prices)])
        turns = [chat.send("Go.") for _ in range(2)]

    assert expected in str(turns[1].error)
