"""Calls in free text, in the rarer shapes in which models write them, and what only looks like one."""

# ruff: noqa: RUF001 - the marks are written with the very characters that the models use

from __future__ import annotations

import json
import re
from typing import Any

import pytest

from nbtool.errors import BadUsage, InvalidArguments
from nbtool.wire import parse_calls
from nbtool.wire.prompted.call_json import MAX_NESTING, ParsedCall, match_tool_name, match_tools, parse_call_value
from nbtool.wire.prompted.forms.marked_blocks import MAX_CALL_CHARS
from nbtool.wire.prompted.forms.searched_text import MAX_BARE_TRIES
from nbtool.wire.prompted.json_repair import MAX_GAPS, MAX_LIBRARY_CHARS, parse_object
from nbtool.wire.prompted.model_formats import DELIMITERS, parse_call_body

CALL = {"name": "look", "arguments": {"a": 1}}
WRITTEN = json.dumps(CALL)


def read(text: str) -> list[tuple[str, Any]]:
    return [(call.name, call.args) for call in parse_calls(text).calls]


def body(text: str, **how: Any) -> list[tuple[str, Any]] | None:
    found = parse_call_body(text, **how)
    return None if found is None else [(call.name, call.args) for call in found]


def shape(value: Any, *, marked: bool = True) -> list[tuple[str, Any]] | None:
    found = parse_call_value(value, is_delimited=marked)
    return None if found is None else [(call.name, call.args) for call in found]


# --- shapes ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "value",
    [
        CALL,
        {"tool_calls": [CALL]},
        {"function_call": WRITTEN},
        {"tool_call": {"function": CALL}},
        {"function": {"name": "look", "arguments": json.dumps({"a": 1})}},
        {"anything": CALL},
        {"tool": "look", "params": {"a": 1}, "thought": "Hm."},
    ],
)
def test_every_shape_of_a_call_between_marks_is_read(value: Any) -> None:
    assert shape(value) == [("look", {"a": 1})]


@pytest.mark.parametrize(
    "value",
    [
        {"tool_call": '{"name": '},
        {"name": "look", "arguments": "no JSON"},
        {"name": "look", "arguments": 7},
        {"name": "look", "arguments": ["a"]},
        {"name": "look", "arguments": {"a": 1}, "price": 3},
        {"name": "look", "arguments": {"a": 1}, "result": 3},
        {"name": "look", "arguments": {"type": "object", "properties": {}}},
        {"name": "no\nname", "arguments": {}},
        {"arguments": {"a": 1}},
        {"tool_calls": [CALL, {"price": 3}]},
        [],
        {},
        "look",
    ],
)
def test_what_is_no_call_is_none_of_any_shape(value: Any) -> None:
    assert not shape(value)


def test_a_call_within_as_many_lists_as_wrappers_is_read_and_no_deeper_one() -> None:
    nested: Any = CALL
    for _ in range(MAX_NESTING):
        nested = [nested]

    assert shape(nested) == [("look", {"a": 1})]
    assert shape([nested]) is None


def test_the_arguments_of_a_call_keep_the_letters_of_every_language() -> None:
    (call,) = parse_calls('<tool_call>{"name": "look", "arguments": {"at": "Köln"}}</tool_call>').calls

    assert call.arguments == '{"at": "Köln"}'


@pytest.mark.parametrize("empty", [None, "", "{}"])
def test_a_call_may_say_that_it_has_no_arguments(empty: Any) -> None:
    assert shape({"name": "look", "arguments": empty}, marked=False) == [("look", {})]


def test_a_wrapper_of_any_name_is_one_only_between_marks() -> None:
    assert not shape({"anything": CALL}, marked=False)
    assert not shape({"anything": {"anything": CALL}})


def test_a_call_in_too_many_wrappers_is_none() -> None:
    def wrapped(times: int) -> Any:
        return {"function_call": wrapped(times - 1)} if times else CALL

    assert shape(wrapped(MAX_NESTING)) == [("look", {"a": 1})]
    assert shape(wrapped(MAX_NESTING + 1)) is None


def test_a_name_means_the_only_tool_that_is_spelled_like_it() -> None:
    assert match_tool_name("functions.get-price", ["get_price", "look"]) == "get_price"
    assert match_tool_name("get price", ["get_price", "Get-Price"]) is None
    assert match_tool_name("unknown", ["get_price"]) is None
    assert match_tool_name("anything", None) == "anything"


def test_a_name_that_was_spelled_differently_is_reported_as_a_repair() -> None:
    assert match_tools([ParsedCall("Look", {})], ["look"]) == [ParsedCall("look", {}, ("name",))]
    assert match_tools([ParsedCall("look", {}), ParsedCall("sing", {})], ["look"]) == []


# --- marks ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "text",
    [
        "<function=look><parameter=a>1</parameter></function>",
        '<function=look>{"a": 1}</function>',
        '<invoke name="look"><parameter name="a">1</parameter></invoke>',
        '<｜DSML｜invoke name="look"><｜DSML｜parameter name="a" string="false">1</｜DSML｜parameter></｜DSML｜invoke>',
        "look<arg_key>a</arg_key><arg_value>1</arg_value>",
        'functions.look:0 {"a": 1}',
        'look[ARGS]{"a": 1}',
        "[look(a=1)]",
        "look(a=1)",
        f"```json\n{WRITTEN}\n```",
        f"{WRITTEN}<|eot_id|>",
    ],
)
def test_every_way_to_write_a_call_between_marks_is_read(text: str) -> None:
    assert body(text) == [("look", {"a": 1})]


@pytest.mark.parametrize(
    "text",
    [
        "<function=look>{'a': </function>",
        "<function=look>[1]</function>",
        "<function=look>words</function>",
        "<function=look><parameter=a>1</parameter></function> and more",
        'look {"a": 1, } b {',
        'look[ARGS]{"a": 1 2}',
        "look<arg_key>a</arg_key>",
        "<arg_key>a</arg_key><arg_value>1</arg_value>",
        "words, more words",
        "[1 2",
    ],
)
def test_what_cannot_be_read_between_marks_is_reported(text: str) -> None:
    assert body(text) is None


@pytest.mark.parametrize(
    ("written", "value"),
    [
        ("1", 1),
        ("text", "text"),
        ("\ntwo\nlines\n", "two\nlines"),
        ('{"k": [1]}', {"k": [1]}),
        ("<![CDATA[<b> & 1]]>", "<b> & 1"),
        ("a &lt; b", "a &lt; b"),
        ("[" * 100_000, "[" * 100_000),
    ],
)
def test_a_tag_that_does_not_say_its_type_is_json_or_text(written: str, value: Any) -> None:
    assert body(f"<function=look><parameter=a>{written}</parameter></function>") == [("look", {"a": value})]


def test_a_tag_that_says_that_it_is_text_is_text() -> None:
    text = '<invoke name="look"><parameter name="a" string="true">{}</parameter></invoke>'

    assert body(text.format("1")) == [("look", {"a": "1"})]
    assert body(text.format("a &amp; b")) == [("look", {"a": "a & b"})]


def test_a_block_that_is_too_long_is_text_and_a_call_behind_it_is_read() -> None:
    too_long = '<tool_call>{"name": "' + "x" * MAX_CALL_CHARS

    assert parse_calls(too_long).text == too_long
    assert read(f"{too_long}<tool_call>{WRITTEN}</tool_call>") == [("look", {"a": 1})]


def test_without_a_closing_mark_nothing_is_added_to_what_was_cut_off() -> None:
    assert body('{"name": "look", "arguments": {"a": 1}', is_closed=True) == [("look", {"a": 1})]
    assert body('{"name": "look", "arguments": {"a": 1}', is_closed=False) is None
    assert body(WRITTEN, is_closed=False) == [("look", {"a": 1})]


# --- without marks --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "text",
    [
        f"Let me look.\n{WRITTEN}",
        f"```json\n{WRITTEN}\n```",
        "I look.\n[look(a=1)]\nNow I wait.",
        '<|im_start|>{"name": "look", "arguments": {"a": 1}}<|im_start|>',
        'Thought: hm\nAction: look\nAction Input: {"a": 1}\nObservation: {"a": 2}',
        'look\n{"a": 1}',
        f"{WRITTEN}\n\nThat is:\n```json\n{WRITTEN}\n```".replace("That is:", "So:"),
    ],
)
def test_one_call_without_marks_is_read(text: str) -> None:
    assert read(text) == [("look", {"a": 1})]


@pytest.mark.parametrize(
    "text",
    [
        'Action: look\nAction Input: {"a": }\n',
        'Action: look\nAction Input: {"a": 1} or so\n',
        "Action: look\nAction Input: the table\n",
        '<|im_start|>{"name": "look", "arguments": {"a": 1}}<|eot_id|>',
        '<|im_start|>{"price": 1}<|im_start|>',
        'look\n{"a": 1}\nand so on.',
        'look\n{"a": }',
        "First [look(a=1)], then [look(a=2)].",
        "See:\n```python\nprint(1)\n```\nand:\n```\n1\n```\nDone.",
        "I call [look(a=b)] so.",
        "I call [look(a=1",
        'Use:\n{"name": "look", "arguments": {"a": nonsense}}\n',
        'Use:\n{"name": "look", "arguments": {"a": 1\n',
        'A:\n{"name": "look", "arguments": {"a": 1}}\nB:\n{"name": "look", "arguments": {"a": 2}}',
    ],
)
def test_what_may_be_an_example_calls_nothing_and_stays_as_it_is(text: str) -> None:
    parsed = parse_calls(text)

    assert parsed.calls == ()
    assert parsed.text == text


def test_a_call_is_read_where_something_else_begins_behind_it() -> None:
    assert read(f'{WRITTEN} {{"price": 3') == [("look", {"a": 1})]


def test_several_actions_are_read_in_their_order() -> None:
    text = 'Action: look\nAction Input: {"a": 1}\nAction: look\nAction Input: {"a": 2}'

    assert read(text) == [("look", {"a": 1}), ("look", {"a": 2})]


def test_names_inside_the_object_of_another_name_are_no_calls() -> None:
    assert read('look\n{"a": "x.\nsay\n{"}') == [("look", {"a": "x.\nsay\n{"})]


def test_so_many_lists_and_no_more_are_looked_at() -> None:
    assert read("Look: " + "[look(a=1)] " * (2 * MAX_BARE_TRIES)) == [("look", {"a": 1})]


# --- arguments ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "value"),
    [
        (r"{'a': '\u00e9\n'}", "\u00e9\n"),
        (r"{'a': '\x41'}", "A"),
        ("{'a': 'x\\\ny'}", "xy"),
        ("{'a': true}", True),
        ("{'a': null}", None),
    ],
)
def test_escapes_and_constants_of_a_repaired_text_keep_their_meaning(text: str, value: Any) -> None:
    assert parse_object(text).value == {"a": value}


@pytest.mark.parametrize("text", ['{"a": 1 2 3}', '{"a": -1 0}', "{'a': 1 2}", '{"a": true false}', '{"a": 1 x}'])
def test_values_that_meet_are_never_made_one(text: str) -> None:
    with pytest.raises(InvalidArguments):
        parse_object(text)


@pytest.mark.parametrize("text", ['{"a": }', '{"a": , "b": 1}', '{"a": 1, "b"}', '{"a": [1 , , 2] "b": }'])
def test_a_value_that_is_missing_is_not_made_up(text: str) -> None:
    with pytest.raises(InvalidArguments):
        parse_object(text)


def test_an_empty_text_that_was_written_stays_one() -> None:
    assert parse_object('{"a": "" "b": 1}').value == {"a": "", "b": 1}


def test_an_object_that_is_broken_in_many_places_is_not_repaired() -> None:
    def broken(gaps: int) -> str:
        return "{" + " ".join(f'"k{number}": {number}' for number in range(gaps + 1)) + "}"

    assert parse_object(broken(MAX_GAPS)).value["k1"] == 1
    with pytest.raises(InvalidArguments, match="too many places"):
        parse_object(broken(MAX_GAPS + 1))


def test_an_object_that_is_broken_and_long_is_not_repaired() -> None:
    with pytest.raises(InvalidArguments, match="too long"):
        parse_object('{"a": "' + "x" * MAX_LIBRARY_CHARS + '" "b": 1}')


def test_a_repair_that_would_change_a_letter_is_refused() -> None:
    with pytest.raises(InvalidArguments, match="without guessing"):
        parse_object('{"a": "one" two "b": 2}')


# --- every mark, every word -----------------------------------------------------------------------------------


def test_what_is_after_the_closer_of_a_tag_is_prose() -> None:
    tags = [mark.opener for mark in DELIMITERS if re.fullmatch(r"<[^|=▁]+>", mark.opener)]
    found = [parse_calls(f"Before. {tag}{WRITTEN}</{tag[1:]} Behind.") for tag in tags]

    assert len(tags) > 7
    assert [[call.name for call in parsed.calls] for parsed in found] == [["look"]] * len(tags)
    assert [parsed.text.split() for parsed in found] == [["Before.", "Behind."]] * len(tags)


def test_a_call_with_its_result_is_a_record_and_no_call() -> None:
    words = """
    response result results output observation tool_response tool_result function_response function_call_record
    function_call_result tool_call_record tool_call_result
    """
    records = words.split()

    assert shape({"function_call": CALL, "id": 3}) == [("look", {"a": 1})]
    assert [key for key in records if shape({"function_call": CALL, key: {"price": 3}})] == []


def test_many_brackets_that_do_not_nest_are_not_deep() -> None:
    assert parse_object("{'a': [" + "[1], " * 300 + "]}").value["a"] == [[1]] * 300
    with pytest.raises(InvalidArguments, match="nest deeper"):
        parse_object("{'a': " + "[" * 300 + "]" * 300 + "}")


def test_what_is_no_text_is_refused() -> None:
    with pytest.raises(BadUsage, match="bytes came"):
        parse_calls(b"[look(a=1)]")  # type: ignore[arg-type]  # the mistake that is told
    with pytest.raises(BadUsage, match=r"Write `\['look'\]`"):
        parse_calls("[look(a=1)]", "look")


@pytest.mark.parametrize(
    "text",
    [
        "<tool_call>get_weather <arg_key>city</arg_key> <arg_value>Beijing</arg_value>",
        "<tool_call>get_weather\n<arg_key>city</arg_key>\n<arg_value>Bei",
        '<tool_call>{"name": "get_weather", "arguments": {"city": "Bei',
        '<function_calls>\n<invoke name="get_weather">\n<parameter name="city">Beijing</parameter>\n</invoke>',
    ],
)
def test_a_call_without_an_end_of_its_own_is_none(text: str) -> None:
    parsed = parse_calls(text)

    assert (parsed.calls, parsed.text) == ((), text)
