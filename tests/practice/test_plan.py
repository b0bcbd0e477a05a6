from __future__ import annotations

import json
from typing import Any

import pytest

from nbtool.practice.plan import Plan, make_plan
from nbtool.practice.request import parse_request
from nbtool.tools.calls.result import EDITED_NOTICE
from tests.cpu_time import run_within
from tests.practice.asking import REAL, TEXT, TOOLS, call_round, request, tool

PENGUINS = "$VAR_REF{{penguins}}"

CALLS: list[tuple[str, list[tuple[str, dict[str, Any]]]]] = [
    # how a tool is named
    ("Use &`price` for AAPL.", [("price", {"ticker": "AAPL"})]),
    ("Please use `price` with `AAPL`.", [("price", {"ticker": "AAPL"})]),
    ("What is the price of AAPL?", [("price", {"ticker": "AAPL"})]),
    ('price(ticker="A")', [("price", {"ticker": "A"})]),
    ("add(2, 3)", [("add", {"a": 2, "b": 3})]),
    ("Please call list_species.", [("list_species", {})]),
    ("The weather does not count here, use &`price` for AAPL.", [("price", {"ticker": "AAPL"})]),
    # where the arguments stand
    ("How many Adelie penguins are there? Use &`count`.", [("count", {"species": "Adelie"})]),
    ("&`count` the gentoo ones", [("count", {"species": "Gentoo"})]),
    ("&`add` 2 and 3.5", [("add", {"a": 2, "b": 3.5})]),
    ("&`double` -4", [("double", {"x": -4})]),
    ("Use the weather in New York, in fahrenheit.", [("weather", {"city": "New York", "unit": "fahrenheit"})]),
    ("The city is paris; use &`weather`.", [("weather", {"city": "paris"})]),
    ("weather: city=paris", [("weather", {"city": "paris"})]),
    ("&`weather` with city=../x.txt unit=celsius.", [("weather", {"city": "../x.txt", "unit": "celsius"})]),
    ("&`weather` with city=https://a.example/b?c=1.", [("weather", {"city": "https://a.example/b?c=1"})]),
    ("&`weather` with city=C:\\rain, unit=celsius", [("weather", {"city": "C:\\rain", "unit": "celsius"})]),
    ("&`mean` with values=[1, 2.5]", [("mean", {"values": [1, 2.5]})]),
    ("&`mean` with values=1,2", [("mean", {"values": [1, 2]})]),
    ("&`since` 2014-03-05", [("since", {"day": "2014-03-05"})]),
    ("The mean of 1, 2 and 3.", [("mean", {"values": [1, 2, 3]})]),
    ("The distance between Paris and London.", [("distance", {"start": "Paris", "end": "London"})]),
    # of an argument that is named more than once, the one behind the tool, up to the next tool
    ("&`add` with a=1, b=2. And &`add` with a=3. And b=4.", [("add", {"a": 1, "b": 2}), ("add", {"a": 3, "b": 4})]),
    ("&`heaviest` df=a and &`describe` df=b", [("heaviest", {"df": "a"}), ("describe", {"df": "b"})]),
    ("With x=5 use &`double`.", [("double", {"x": 5})]),
    (
        "&`tidy` $`penguins` strict and &`tidy` $`a` without strict",
        [("tidy", {"df": PENGUINS, "strict": True}), ("tidy", {"df": "$VAR_REF{{a}}", "strict": False})],
    ),
    # references, defaults, flags
    ("&`describe` $`penguins`", [("describe", {"df": PENGUINS})]),
    ("&`describe` $VAR_REF{{other}}", [("describe", {"df": "$VAR_REF{{other}}"})]),
    ("Please &`describe` the penguins.", [("describe", {"df": PENGUINS})]),
    ("Show the &`heaviest` of $`penguins`.", [("heaviest", {"df": PENGUINS})]),
    ("The 5 &`heaviest` of $`penguins`", [("heaviest", {"df": PENGUINS, "n": 5})]),
    ("The two &`heaviest` of $`penguins`", [("heaviest", {"df": PENGUINS, "n": 2})]),
    ("&`tidy` $`penguins` without strict", [("tidy", {"df": PENGUINS, "strict": False})]),
    ("&`tidy` $`penguins`, strict", [("tidy", {"df": PENGUINS, "strict": True})]),
    ("&`plot` $`penguins` as a bar chart", [("plot", {"df": PENGUINS, "kind": "bar"})]),
    # several calls
    ("Compare the price of AAPL and MSFT.", [("price", {"ticker": "AAPL"}), ("price", {"ticker": "MSFT"})]),
    (
        "How many Adelie and how many Gentoo are there (&`count`), which 3 of $`penguins` are heaviest (&`heaviest`)?",
        [
            ("count", {"species": "Adelie"}),
            ("count", {"species": "Gentoo"}),
            ("heaviest", {"df": PENGUINS, "n": 3}),
        ],
    ),
    ("&`price` of AAPL. I do like &`price`.", [("price", {"ticker": "AAPL"})]),
    ("&`price` of AAPL, then &`price` of MSFT", [("price", {"ticker": "AAPL"})]),
]


def planned(*messages: Any, **fields: Any) -> Plan:
    return make_plan(parse_request(request(*messages, **fields)))


def calls_of(reply: Plan) -> list[tuple[str, dict[str, Any]]]:
    return [(call.name, json.loads(call.arguments)) for call in reply.calls]


@pytest.mark.parametrize(("prompt", "calls"), CALLS, ids=[prompt[:40] for prompt, _ in CALLS])
def test_a_prompt_that_names_tools_gets_its_calls(prompt: str, calls: list[tuple[str, dict[str, Any]]]) -> None:
    assert calls_of(planned(prompt)) == calls


def test_an_argument_that_two_tools_have_is_the_one_behind_each() -> None:
    tools = [tool("read_table", "name", name=TEXT), tool("drop_table", "name", name=TEXT)]
    plan = planned("Use &`read_table` with name=orders and &`drop_table` with name=customers.", tools=tools)

    assert calls_of(plan) == [("read_table", {"name": "orders"}), ("drop_table", {"name": "customers"})]


@pytest.mark.parametrize(
    ("prompt", "parameter"),
    [
        ("Use &`price`.", "`ticker`"),
        ("Use &`weather` for paris.", "`city`"),
        ("&`tidy` $`penguins`", "`strict`"),
        ("&`add` 2 to it", "`b`"),
        ("&`count` the emperors", "`Adelie`, `Chinstrap`, `Gentoo`"),
    ],
)
def test_what_the_prompt_does_not_say_is_asked_for_and_not_invented(prompt: str, parameter: str) -> None:
    reply = planned(prompt)

    assert not reply.calls
    assert parameter in reply.text
    assert "not a language model" in reply.text


@pytest.mark.parametrize("kind", [{"type": "array"}, {"type": "array", "items": TEXT}, {"type": "object"}, REAL, TEXT])
def test_a_named_variable_is_the_value_of_the_only_parameter(kind: dict[str, Any]) -> None:
    plan = planned("Use &`pay` with $`basket`.", tools=[tool("pay", "items", items=kind)])

    assert calls_of(plan) == [("pay", {"items": "$VAR_REF{{basket}}"})]


@pytest.mark.parametrize(
    ("prompt", "arguments"),
    [
        ('Use &`pay` with $`basket` and the note "for Ada".', {"items": "$VAR_REF{{basket}}", "note": "for Ada"}),
        ('Use &`pay` for "tea", "milk", note="for Ada".', {"items": ["tea", "milk"], "note": "for Ada"}),
        ("Use &`pay` with $VAR_REF{{basket['a']}}, note=Ada.", {"items": "$VAR_REF{{basket['a']}}", "note": "Ada"}),
    ],
)
def test_a_list_is_the_nearest_variable_or_the_nearest_values(prompt: str, arguments: dict[str, Any]) -> None:
    pay = tool("pay", "items", "note", items={"type": "array", "items": TEXT}, note=TEXT)

    assert calls_of(planned(prompt, tools=[pay])) == [("pay", arguments)]


def test_without_a_tool_it_says_what_it_is_and_what_it_was_offered() -> None:
    reply = planned("Good morning!")

    assert not reply.calls
    assert "**not a language model**" in reply.text
    assert "`heaviest`" in reply.text
    assert "`penguins`" in reply.text
    assert "%%chat -m openai:gpt-6.1-terra" in reply.text


def test_asked_who_it_is_it_says_so_beside_the_results() -> None:
    prompt = "Who are you? Use &`count` for Adelie."

    reply = planned(prompt, *call_round(("count", {"species": "Adelie"}, "152")))

    assert "not a language model" in reply.text
    assert "152" in reply.text


def test_what_comes_after_then_is_called_in_a_later_round_with_the_earlier_result() -> None:
    prompt = "Take the &`heaviest` of $`penguins`, then &`describe` them."
    heaviest = call_round(("heaviest", {"df": PENGUINS}, "3 rows\nKept as $VAR_REF{{heaviest_1}}."))
    describe = call_round(("describe", {"df": "$VAR_REF{{heaviest_1}}"}, "count 3"))

    first = planned(prompt)
    second = planned(prompt, *heaviest)
    third = planned(prompt, *heaviest, *describe)

    assert calls_of(first) == [("heaviest", {"df": PENGUINS})]
    assert calls_of(second) == [("describe", {"df": "$VAR_REF{{heaviest_1}}"})]
    assert not third.calls


def test_an_earlier_result_without_a_reference_is_passed_on_as_its_value() -> None:
    prompt = "&`count` Adelie and then &`double` it"

    reply = planned(prompt, *call_round(("count", {"species": "Adelie"}, "152")))

    assert calls_of(reply) == [("double", {"x": 152})]


def test_after_a_denied_call_it_does_not_go_on_and_reports_the_reason() -> None:
    prompt = "Take the &`heaviest` of $`penguins`, then &`describe` them."

    denied = "The user did not approve this call. Reason: not today"
    reply = planned(prompt, *call_round(("heaviest", {"df": PENGUINS}, denied)))

    assert not reply.calls
    assert f"`heaviest(penguins)` gave no result: {denied}" in reply.text
    assert "did not go on to `describe`" in reply.text


def test_one_result_is_reported_in_a_sentence_and_several_in_a_table() -> None:
    adelie, gentoo = ("count", {"species": "Adelie"}, "152"), ("count", {"species": "Gentoo"}, "a|b")

    one = planned("&`count` Adelie", *call_round(adelie))
    two = planned("&`count` Adelie and Gentoo", *call_round(adelie, gentoo))

    assert one.text == '`count("Adelie")` gives **152**.'
    assert two.text.splitlines() == [
        "| call | result |",
        "|---|---|",
        '| `count("Adelie")` | 152 |',
        '| `count("Gentoo")` | a\\|b |',
    ]


def test_a_result_that_is_a_sentence_keeps_its_own_full_stop() -> None:
    reply = planned("&`count` Adelie", *call_round(("count", {"species": "Adelie"}, "Counted 152.")))

    assert reply.text == '`count("Adelie")` gives **Counted 152.**'


def test_a_result_of_changed_arguments_is_not_reported_for_those_that_were_asked_for() -> None:
    reply = planned("&`count` Adelie", *call_round(("count", {"species": "Adelie"}, f"{EDITED_NOTICE}\n124")))

    assert reply.text == "`count`, with the arguments that you changed, gives **124**."


def test_an_error_is_reported_beside_what_succeeded() -> None:
    done = call_round(("count", {"species": "Adelie"}, "152"), ("price", {"ticker": "A"}, "Error: no such ticker"))

    reply = planned("&`count` Adelie and &`price` of A", *done)

    assert "gives **152**" in reply.text
    assert '`price("A")` gave no result: Error: no such ticker' in reply.text


def test_a_long_result_is_shown_fenced_and_cut_with_the_rest_counted() -> None:
    reply = planned("&`list_species`", *call_round(("list_species", {}, "```\n" + "x" * 2000)))

    assert "804 more characters" in reply.text
    assert reply.text.count("```") == 2


@pytest.mark.parametrize(
    ("closing", "fields"),
    [
        ([{"role": "user", "content": "[nbtool] No more tool calls are possible. Answer now, without tools."}], {}),
        ([], {"tool_choice": "none"}),
    ],
)
def test_asked_for_a_final_answer_it_answers_from_what_is_there(
    closing: list[dict[str, Any]], fields: dict[str, Any]
) -> None:
    prompt = "&`count` Adelie, then &`double` it"

    reply = planned(prompt, *call_round(("count", {"species": "Adelie"}, "152")), *closing, **fields)

    assert not reply.calls
    assert "**152**" in reply.text


def test_a_new_message_of_the_person_is_answered_without_the_earlier_results() -> None:
    later = {"role": "user", "content": "And &`count` the Gentoo ones?"}

    reply = planned("&`count` Adelie", *call_round(("count", {"species": "Adelie"}, "152")), later)

    assert calls_of(reply) == [("count", {"species": "Gentoo"})]


def test_calls_come_one_by_one_where_they_may_not_be_parallel() -> None:
    prompt = "&`count` Adelie and Gentoo"
    adelie = ("count", {"species": "Adelie"})

    first = planned(prompt, parallel_tool_calls=False)
    second = planned(prompt, *call_round((*adelie, "152")), parallel_tool_calls=False)

    assert calls_of(first) == [adelie]
    assert calls_of(second) == [("count", {"species": "Gentoo"})]


def test_a_tool_that_must_be_called_is_called_though_the_prompt_does_not_name_it() -> None:
    choice = {"type": "function", "function": {"name": "describe"}}

    assert calls_of(planned("Look at the penguins.", tool_choice=choice)) == [("describe", {"df": PENGUINS})]


def test_no_more_than_eight_calls_come_in_one_round() -> None:
    prompt = " ".join(f"&`double` {n}." for n in range(12))

    assert calls_of(planned(prompt)) == [("double", {"x": n}) for n in range(8)]


def test_a_union_and_a_definition_are_followed_to_their_choices() -> None:
    kind = {"$defs": {"Kind": {"enum": ["bar", "line"], "type": "string"}}}
    offered = [*TOOLS]
    parameters = {"type": "object", "properties": {"kind": {"$ref": "#/$defs/Kind"}}, "required": ["kind"], **kind}
    offered.append({"type": "function", "function": {"name": "draw", "parameters": parameters}})

    assert calls_of(planned("&`draw` a line", tools=offered)) == [("draw", {"kind": "line"})]


@pytest.mark.parametrize(
    "text",
    [
        "The user withheld its result.",
        "Nobody could be asked to approve this call.",
        "ValueError: no such ticker",
        "The call timed out after 5 s and was stopped.",
        "This call did not run: the turn's limit of 3 tool calls was reached.",
        "Error: no such ticker",
        '{"error": "no such ticker"}',
    ],
)
def test_what_reads_as_a_failure_is_not_reported_as_a_result(text: str) -> None:
    reply = planned("&`price` of A", *call_round(("price", {"ticker": "A"}, text)))

    assert f"gave no result: {text}" in reply.text


def test_the_reason_why_nobody_could_be_asked_is_left_to_the_cell() -> None:
    text = "Nobody could be asked to approve this call. Reason: No approver is available."
    reply = planned("&`price` of A", *call_round(("price", {"ticker": "A"}, text)))

    assert reply.text.endswith("gave no result: Nobody could be asked to approve this call.")


@pytest.mark.parametrize("text", ["152", "0.3 % errors", "Not today", "terror", "nothing"])
def test_what_reads_as_a_result_is_reported_as_one(text: str) -> None:
    reply = planned("&`price` of A", *call_round(("price", {"ticker": "A"}, text)))

    assert f"gives **{text}**" in reply.text


def test_a_frame_keeps_its_columns_in_line_and_loses_the_note_on_where_it_is_kept() -> None:
    text = "    species  n\n0  Gentoo  1\n[Whole result: $VAR_REF{{heaviest_1}}]"

    reply = planned("&`list_species`", *call_round(("list_species", {}, text)))

    assert reply.text == "`list_species()` gives:\n\n```text\n    species  n\n0  Gentoo  1\n```"


def test_arguments_that_are_no_json_are_left_out_of_the_answer() -> None:
    done = call_round(("count", {}, "Error: the arguments are not JSON"))
    done[0]["tool_calls"][0]["function"]["arguments"] = "{"

    assert planned("&`count` Adelie", *done).text == "`count` gave no result: Error: the arguments are not JSON"


def test_an_empty_result_is_reported_as_nothing() -> None:
    reply = planned("&`price` of A", *call_round(("price", {"ticker": "A"}, "")))

    assert reply.text == '`price("A")` gives **nothing**.'


def test_the_objects_that_nbtool_lists_are_known_but_not_read_as_words_of_the_person() -> None:
    listed = "\n\n<notebook-objects>\n- $VAR_REF{{islands}}: DataFrame, 344 rows, 8 columns\n</notebook-objects>"

    known, missing = planned(f"&`describe` the islands{listed}"), planned(f"&`double` it{listed}")

    assert calls_of(known) == [("describe", {"df": "$VAR_REF{{islands}}"})]
    assert "`x`" in missing.text


@pytest.mark.parametrize(
    "noise", ["Aa. 1 `x` ", "price() ", "then &`double` ", "$VAR_REF{{a ", "<notebook-objects> ", '" ']
)
def test_a_prompt_of_a_million_characters_is_planned_within_two_seconds(noise: str) -> None:
    prompt = "&`count` Adelie. " + noise * (1_000_000 // len(noise))

    reply = run_within(2, lambda: planned(prompt))

    assert ("count", {"species": "Adelie"}) in calls_of(reply)


def test_hostile_text_is_only_text() -> None:
    prompt = "$VAR_REF{{__class__}} {0.__class__} `price`(__import__('os')) \0 \ud800 %s"

    assert calls_of(planned(prompt)) == [("price", {"ticker": "os"})]
