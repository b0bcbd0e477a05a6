from __future__ import annotations

import pytest

from nbtool import Chat, Policy, Toolset, tool
from nbtool.errors import BadUsage
from nbtool.testing import ScriptedWire, call
from nbtool.tools.tool_views import Rule
from nbtool.tools.toolset import toolset_factory
from nbtool.tools.variables.store import Variables
from tests.tools.calling import ask_for, make_harness

LONG = Rule("Rule/market/orders", "An order | has a side.\n" * 400, "how orders are written", "before placing an order")


@tool(run="auto")
def price(ticker: str) -> int:
    "The price of a ticker."
    return {"A": 10}[ticker]


def market() -> Toolset:
    return Toolset("market", [price], rules="Prices are in USD.", on_demand=[LONG])


def test_the_prompt_names_a_rule_and_does_not_hold_it() -> None:
    assert market().rules() == (
        "Prices are in USD.\n\n"
        "More rules are kept as variables; read one with ReadVar when it applies:\n"
        "| variable | content | when to read it |\n"
        "|---|---|---|\n"
        "| `Rule/market/orders` | how orders are written | before placing an order |"
    )


def test_a_row_of_the_index_stays_one_row() -> None:
    assert Rule("r", "", "a | b\n| c |", "now\x1b[1m").row == "| `r` | a / b / c / | now |"


def test_the_model_reads_a_rule_as_a_variable() -> None:
    replies = [call("ReadVar", name=LONG.name), call("RemoveVars", names=[LONG.name]), "Understood."]
    with ScriptedWire(replies) as wire:
        chat = Chat(wire=wire, tools=[market()])
        turn = chat.send("Place an order.")

    assert turn.calls[0].status == "ok"
    assert turn.calls[0].shown.startswith("An order | has a side.\n")
    assert LONG.name in wire.prompts[0].system
    assert "has a side" not in wire.prompts[0].system
    assert [(e.name, e.kind, e.is_pinned) for e in chat.variables.list_entries()] == [(LONG.name, "rule", True)]


def test_a_rule_can_be_neither_written_nor_removed() -> None:
    variables = Variables()
    variables.set_rules([("Rule/a/b", "text", "said")])

    with pytest.raises(BadUsage, match="it is a rule"):
        variables.store_note("Rule/a/b", "mine")
    assert not variables.remove("Rule/a/b")
    assert variables.text("Rule/a/b") == "text"


def test_a_rule_stays_while_results_go_and_takes_its_name_back_from_a_note() -> None:
    variables = Variables(max_entries=2)
    variables.store_note("Rule/a/b", "forged by the model")
    variables.set_rules([("Rule/a/b", "text", "said")])
    for number in range(5):
        variables.store_result(f"r{number}", number)

    assert variables.text("Rule/a/b") == "text"
    assert sorted(entry.name for entry in variables.list_entries()) == ["Rule/a/b", "r4"]


def test_rules_that_are_no_longer_offered_are_gone_and_others_stay_where_they_are() -> None:
    variables = Variables()
    variables.set_rules([("a", "1", ""), ("b", "2", "")])
    variables.store_result("r", 0)
    stored = variables.get("b")
    variables.set_rules([("b", "2", ""), ("c", "3", "")])

    assert sorted(entry.name for entry in variables.list_entries()) == ["b", "c", "r"]
    assert variables.get("b") is stored


def test_rules_follow_a_set_through_its_wrappers_and_go_with_its_tools() -> None:
    for view in (market().prefixed("m_"), market().approved(Policy("auto")), market().filtered(["price"])):
        assert Toolset("all", [view]).on_demand() == (LONG,)
    assert Toolset("all", [market().filtered([])]).on_demand() == ()
    off = market()
    off.disable("price")
    assert (off.rules(), off.on_demand()) == ("", ())


def test_the_name_of_a_factory_means_what_it_makes() -> None:
    made = toolset_factory(market)

    assert list(Toolset("all", [made]).tools()) == ["price"]
    assert make_harness(made).run(ask_for("price", ticker="A")).result == 10
