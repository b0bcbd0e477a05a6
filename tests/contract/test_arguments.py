"""A call runs only if its arguments are strict JSON that fits the tool; nothing of them is repaired.

What the author of a tool bound is not offered to a model, and cannot be set by one.
"""

from __future__ import annotations

import functools
import re
from dataclasses import dataclass

import pytest

from nbtool import Approved, tool, wire
from tests.contract.simulator import Provider, Refusal, Request, call, raw_call


@pytest.mark.promise("strict-arguments")
@pytest.mark.parametrize(
    "arguments",
    ['{"n": 1', "{'n': 1}", '{"n": 1,}', "n=1", '{"n": 1} {"n": 2}', "[1]", "1", "true", '{"n": NaN}', '"n"'],
)
def test_arguments_that_are_no_json_object_never_run(model: Provider, arguments: str) -> None:
    ran: list[int] = []

    @tool(run="auto")
    def double(n: int = 0) -> int:
        "Twice a number."
        ran.append(n)
        return 2 * n

    model.say(raw_call("double", arguments), "I made a mistake.")

    turn = model.chat(tools=[double]).send("Double it.")

    status = "not_run" if "NaN" in arguments else "invalid"
    assert (turn.calls[0].status, turn.calls[0].arguments, ran) == (status, arguments, [])
    assert turn.calls[0].shown in model.requests[1].text


@pytest.mark.promise("strict-arguments")
@pytest.mark.parametrize("arguments", [{"n": "one"}, {"n": None}, {}, {"n": 1, "m": 2}, {"n": [1]}, {"n": 1.5}])
def test_arguments_that_do_not_fit_the_annotations_never_run(model: Provider, arguments: dict[str, object]) -> None:
    ran: list[int] = []

    @tool(run="auto")
    def double(n: int) -> int:
        "Twice a number."
        ran.append(n)
        return 2 * n

    model.say(call("double", **arguments), "I made a mistake.")

    turn = model.chat(tools=[double]).send("Double it.")

    assert (turn.calls[0].status, ran) == ("invalid", [])
    assert "n" in turn.calls[0].shown


@pytest.mark.promise("strict-arguments")
def test_arguments_become_what_the_annotations_say(model: Provider) -> None:
    received: list[object] = []

    @dataclass
    class Order:
        item: str
        count: int = 1

    @tool(run="auto")
    def buy(orders: list[Order], price: float, fast: bool = False) -> str:
        "Buy."
        received.extend((orders, price, fast))
        return "bought"

    model.say(call("buy", orders=[{"item": "tea"}, {"item": "milk", "count": 2}], price=3), "Bought.")

    model.chat(tools=[buy]).send("Buy.")

    assert received == [[Order("tea"), Order("milk", 2)], 3.0, False]


def test_a_call_of_a_tool_that_does_not_exist_is_reported_to_the_model(model: Provider) -> None:
    model.say(call("nowhere"), "I made a mistake.")

    turn = model.chat().send("Call it.")

    assert (turn.status, turn.calls[0].status) == ("completed", "not_found")
    assert "nowhere" in model.requests[1].text


@pytest.mark.promise("author-bound")
def test_what_partial_has_bound_is_neither_offered_nor_taken(model: Provider) -> None:
    received: list[tuple[str, str]] = []

    def send(to: str, text: str) -> str:
        "Send a text."
        received.append((to, text))
        return "sent"

    bound = tool(functools.partial(send, to="ada"), run="auto", name="send")
    model.say(call("send", to="eve", text="hi"), call("send", text="hi"), "Sent.")

    turn = model.chat(tools=[bound]).send("Send it.")

    assert '"to"' not in model.requests[0].content.decode()
    assert [one.status for one in turn.calls] == ["invalid", "ok"]
    assert received == [("ada", "hi")]


@pytest.mark.promise("author-bound")
def test_the_object_of_a_method_is_not_offered(model: Provider) -> None:
    class Account:
        def __init__(self) -> None:
            self.paid: list[int] = []

        def pay(self, amount: int) -> str:
            "Pay an amount."
            self.paid.append(amount)
            return "paid"

    account = Account()
    model.say(call("pay", self="other", amount=1), call("pay", amount=2), "Paid.")

    turn = model.chat(tools=[account.pay], approver=lambda question: Approved()).send("Pay.")

    assert [one.status for one in turn.calls] == ["invalid", "ok"]
    assert account.paid == [2]


def test_calls_that_a_model_writes_as_text_are_parsed() -> None:
    parsed = wire.parse_calls('Let me see. <tool_call>{"name": "double", "arguments": {"n": 2}}</tool_call>')

    assert [(one.name, one.args, one.runnable) for one in parsed.calls] == [("double", {"n": 2}, True)]
    assert "Let me see." in parsed.text


def write_call(request: Request) -> str:
    """Write a call as the system text of the request says."""
    (fence,) = set(re.findall(r"^```(call-\w+)$", request.text, flags=re.MULTILINE))
    return f'```{fence}\n{{"name": "double", "arguments": {{"n": 21}}}}\n```'


@pytest.mark.feature("use a model without function calling")
def test_a_model_whose_server_refuses_tools_gets_them_in_the_prompt(model: Provider) -> None:
    @tool(run="auto")
    def double(n: int) -> int:
        "Twice a number."
        return 2 * n

    model.say(
        Refusal(400, "tiny does not support tools"),
        write_call,
        "42.",
    )

    turn = model.chat(tools=[double]).send("Double 21.")

    assert model.requests[0].tools[0] == "double"
    assert "tools" not in model.requests[1].json
    assert "double" in model.requests[1].text
    assert (turn.text, [one.result for one in turn.calls]) == ("42.", [42])


@pytest.mark.feature("use a model without function calling")
def test_the_description_of_tools_in_the_prompt_can_be_asked_for(model: Provider) -> None:
    @tool(run="auto")
    def double(n: int) -> int:
        "Twice a number."
        return 2 * n

    model.say("Well.")

    model.chat(tools=[double], tool_mode="prompted").send("Double 21.")

    assert "tools" not in model.requests[0].json
    assert "Twice a number." in model.requests[0].text
