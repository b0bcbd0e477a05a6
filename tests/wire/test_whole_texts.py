"""Whole texts of models: calls in every shape, and what is none."""

from __future__ import annotations

import json

import pytest

from nbtool.wire.prompted.prompted_wire import parse_calls


@pytest.mark.parametrize(
    "text",
    [
        '{"tool_name": "price", "parameters": {"ticker": "A"}}',
        'Sure. { "parameters" : {"ticker":"A"} , "tool_name": "price" }\nOne moment.',
        '{"name": "price", "arguments": "{\\"ticker\\": \\"A\\"}"}',
        '{"function": {"name": "price", "arguments": {"ticker": "A"}}}',
        '{"function": "price", "args": {"ticker": "A"}}',
        '{"tool": "price", "input": {"ticker": "A"}}',
        '{"function_call": {"name": "price", "arguments": {"ticker": "A"}}}',
        '{"tool_calls": [{"id": "1", "function": {"name": "price", "arguments": {"ticker": "A"}}}]}',
        '[{"name": "price", "params": {"ticker": "A"}}]',
        '```json\n[{"name": "price", "arguments": {"ticker": "A"}}]\n```',
        '<tool_call>\n{"name": "price", "arguments": {"ticker": "A"}}\n</tool_call>',
        '<tool_call>```json\n{"name": "price", "arguments": {"ticker": "A"}}\n```</tool_call>',
        "<tool_call>\n<function=price>\n<parameter=ticker>\nA\n</parameter>\n</function>\n</tool_call>",
        "<tool_call>price\n<arg_key>ticker</arg_key>\n<arg_value>A</arg_value>\n</tool_call>",
        '<function_call>{"function_call": {"name": "price", "arguments": {"ticker": "A"}}}</function_call>',
        '<|tool_call|>[{"name": "price", "arguments": {"ticker": "A"}}]',
        '<|python_tag|>{"name": "price", "parameters": {"ticker": "A"}}<|eom_id|>',
        '<function=price>{"ticker": "A"}</function>',
        '[TOOL_CALLS] [{"name": "price", "arguments": {"ticker": "A"}}]',
        '[TOOL_CALLS]price[ARGS]{"ticker": "A"}',
        "<\uff5ctool\u2581calls\u2581begin\uff5c><\uff5ctool\u2581call\u2581begin\uff5c>function<\uff5ctool\u2581sep\uff5c>price\n"
        '```json\n{"ticker": "A"}\n```<\uff5ctool\u2581call\u2581end\uff5c><\uff5ctool\u2581calls\u2581end\uff5c>',
        '[price(ticker="A")]',
        'Here it is: [price(ticker="A")] as asked.',
        "```python\nprice(ticker='A')\n```",
        "[\"price(ticker='A')\"]",
        'Thought: look.\nAction: price\nAction Input: {"ticker": "A"}\nObservation: 3\nAction: sell\nAction Input: {}',
        'I will look.price\n{"ticker": "A"}',
        '<|im_start|>\n{"name": "price", "arguments": {"ticker": "A"}}\n<|im_start|>',
    ],
)
def test_a_call_is_read_in_every_shape_that_models_write(text: str) -> None:
    parsed = parse_calls(text)

    assert [(call.name, call.args, call.runnable) for call in parsed.calls] == [("price", {"ticker": "A"}, True)]
    assert json.loads(parsed.calls[0].arguments) == {"ticker": "A"}


@pytest.mark.parametrize(
    "text",
    [
        "Use price(ticker) to get the price of a ticker.",
        "You could call `price` with {'ticker': 'A'}.",
        "[price(ticker=name)]",
        "[price(ticker='A' + 'B')]",
        "[price('A')]",
        "[price(ticker=open('x').read())]",
        "x = price(ticker='A')",
        '{"name": "A", "ticker": "B"}',
        '{"name": "price", "parameters": {"type": "object", "properties": {"ticker": {}}}}',
        '<tool_call>{"name": "price", "arguments": {"ticker": "A"}, "response": 3}</tool_call>',
        '<function_call>{"function_call_record": {"name": "price", "arguments": {}}}</function_call>',
        '<tool_call>{"name": "price", "arguments": {"n": 2 * 3}}</tool_call>',
        '<tool_call>{"name": "price", "arguments": {"ticker": "A"}} is what I would write.',
        'First:\n```\n{"name": "price", "arguments": {}}\n```\nor:\n```\n{"name": "sell", "arguments": {}}\n```',
        "One: [price(ticker='A')]\nTwo: [price(ticker='B')]",
        'Is this right?price\n{"ticker": "A"}',
        '<tool_call>{"name": "price", "arguments": {"ti',
        "Action: price\nAction Input: the first",
        'So I write:\n{"name": "price", "arguments": {}}\n</think>Hm.',
        '<tool_call>{"name": "price", "arguments": {}}</tool_call> would do.\n</think>Hm.',
        "I'll call: <function=price>",
    ],
)
def test_no_call_is_made_of_what_is_none_and_the_text_is_kept(text: str) -> None:
    parsed = parse_calls(text)

    assert parsed.calls == ()
    assert parsed.text == text


def test_half_of_a_plan_is_no_plan() -> None:
    good = '<tool_call>{"name": "price", "arguments": {}}</tool_call>'

    assert parse_calls(f"{good}<tool_call>{{1}}</tool_call>").calls == ()
    assert len(parse_calls(f"{good}{good}").calls) == 2


def test_only_known_tools_are_called() -> None:
    text = '<tool_call>{"name": "Get-Price", "arguments": {}}</tool_call>'

    assert [call.name for call in parse_calls(text, ["get_price"]).calls] == ["get_price"]
    assert parse_calls(text, ["get_price", "getPrice", "get-price"]).calls == ()
    assert parse_calls(text, []).text == text


def test_a_call_without_arguments_is_believed_only_of_a_known_tool() -> None:
    text = '<tool_call>{"name": "now"}</tool_call>'

    assert parse_calls(text).calls == ()
    assert [(call.name, call.args) for call in parse_calls(text, ["now"]).calls] == [("now", {})]


def test_calls_of_a_text_that_was_cut_short_do_not_run() -> None:
    good = '<tool_call>{"name": "price", "arguments": {}}</tool_call>'
    parsed = parse_calls(good + '<tool_call>{"name": "price"', complete=False)

    assert [(call.runnable, call.args) for call in parsed.calls] == [(False, None)]
    assert parsed.calls[0].error
