"""Chat Completions: calls, as servers write them."""

from __future__ import annotations

from typing import Any

import pytest

from tests.wire.chatting import call, calls, chunk, native, read, whole


def test_arguments_come_in_fragments() -> None:
    reply = read(
        chunk(call(0, "c1", "f", "")), chunk(call(0, None, None, '{"x"')), chunk(call(0, "", "", ": 1}"), "tool_calls")
    )

    assert calls(reply) == [("f", '{"x": 1}')]
    assert (reply.calls[0].id, reply.calls[0].args) == ("c1", {"x": 1})


def test_parallel_calls_are_distinguished_by_index_also_interleaved() -> None:
    reply = read(
        chunk(call(0, "a", "f", '{"x"')),
        chunk(call(1, "b", "g", '{"y"')),
        chunk(call(0, None, None, ":1}")),
        chunk(call(1, None, None, ":2}"), "tool_calls"),
    )

    assert calls(reply) == [("f", '{"x":1}'), ("g", '{"y":2}')]


@pytest.mark.parametrize("index", [1, 7, "0", "3", 2.0])
def test_an_index_is_a_key_and_no_place(index: Any) -> None:
    reply = read(chunk(call(index, "a", "f", "{")), chunk(call(index, None, None, "}"), "tool_calls"))

    assert calls(reply) == [("f", "{}")]


@pytest.mark.parametrize("index", [None, -1, 0.5, "x", True, [], {}])
def test_without_an_index_the_id_distinguishes_calls(index: Any) -> None:
    reply = read(
        chunk(call(index, "a", "f", '{"x"')),
        chunk(call(index, "a", None, ":1}")),
        chunk(call(index, "b", "f", "{")),
        chunk(call(index, None, None, "}"), "tool_calls"),
    )

    assert calls(reply) == [("f", '{"x":1}'), ("f", "{}")]


def test_without_an_index_and_an_id_the_name_distinguishes_calls() -> None:
    reply = read(chunk(call(None, "", "f", '{"x":1}')), chunk(call(None, "", "f", '{"x":2}'), "stop"))

    assert calls(reply) == [("f", '{"x":1}'), ("f", '{"x":2}')]
    assert len({made.id for made in reply.calls}) == 2


def test_several_calls_in_one_delta_without_an_index_are_several() -> None:
    both = {"tool_calls": [{"function": {"name": "f", "arguments": ""}}, {"function": {"name": "f", "arguments": ""}}]}

    assert calls(read(chunk(both, "tool_calls"))) == [("f", ""), ("f", "")]


def test_the_same_index_with_another_id_is_another_call() -> None:
    reply = read(
        chunk(call(0, "a", "f", "{}")), chunk(call(0, "b", "g", "{")), chunk(call(0, None, None, "}"), "tool_calls")
    )

    assert calls(reply) == [("f", "{}"), ("g", "{}")]


def test_the_same_index_and_no_ids_are_distinguished_by_whole_arguments() -> None:
    reply = read(chunk(call(0, None, "f", '{"x":1}')), chunk(call(0, None, "f", '{"x":2}'), "tool_calls"))

    assert calls(reply) == [("f", '{"x":1}'), ("f", '{"x":2}')]


def test_another_index_with_the_same_id_is_another_call() -> None:
    reply = read(chunk(call(0, "a", "f", "{}")), chunk(call(1, "a", "g", "{}"), "tool_calls"))

    assert calls(reply) == [("f", "{}"), ("g", "{}")]
    assert len({made.id for made in reply.calls}) == 2


def test_an_id_and_a_name_that_are_repeated_are_not_appended() -> None:
    reply = read(
        chunk(call(0, "0", "f", "")), chunk(call(0, "0", "f", "{")), chunk(call(0, "0", "f", "}"), "tool_calls")
    )

    assert calls(reply) == [("f", "{}")]
    assert reply.calls[0].id == "0"


def test_a_name_that_is_repeated_without_an_id_is_not_another_call() -> None:
    reply = read(
        chunk(call(0, None, "f", '{"x":')), chunk(call(0, None, "f", "{}")), chunk(call(0, None, "f", "}"), "stop")
    )

    assert calls(reply) == [("f", '{"x":{}}')]


def test_an_id_that_comes_late_is_the_calls() -> None:
    reply = read(chunk(call(0, None, "f", "{")), chunk(call(0, "late", None, "}"), "tool_calls"))

    assert [made.id for made in reply.calls] == ["late"]
    assert calls(reply) == [("f", "{}")]


@pytest.mark.parametrize("arguments", [None, "", "null"])
def test_no_arguments_are_an_empty_object(arguments: str | None) -> None:
    reply = read(chunk(call(0, "a", "f", arguments), "tool_calls"))

    assert reply.calls[0].args == {}
    assert reply.calls[0].runnable


def test_arguments_may_be_an_object() -> None:
    reply = read(chunk(call(0, "a", "f", {"x": "ä"}), "tool_calls"))

    assert reply.calls[0].arguments == '{"x": "ä"}'


def test_arguments_that_are_repeated_whole_each_time_count_once() -> None:
    parts = ['{"x"', '{"x": 1', '{"x": 1}', '{"x": 1}']
    reply = read(*(chunk(call(0, "a", "f", part)) for part in parts), chunk(finish="tool_calls"))

    assert reply.calls[0].args == {"x": 1}
    assert native(reply)["tool_calls"][0]["function"]["arguments"] == '{"x": 1}'


def test_fragments_that_cannot_be_distinguished_never_run() -> None:
    reply = read(
        chunk(call(0, None, "f", '{"x"')), chunk(call(0, None, "f", '{"y"')), chunk(call(0, None, None, ":1}"), "stop")
    )

    assert not any(made.runnable for made in reply.calls)


def test_a_call_may_be_in_the_way_of_2023() -> None:
    reply = read(
        chunk({"function_call": {"name": "f", "arguments": "{"}}),
        chunk({"function_call": {"arguments": "}"}}, "function_call"),
    )

    assert calls(reply) == [("f", "{}")]
    assert reply.calls[0].runnable


def test_an_empty_call_in_the_way_of_2023_is_none() -> None:
    assert whole({"content": "Hi", "function_call": {"name": "", "arguments": ""}}).calls == ()


def test_a_call_that_is_written_in_both_ways_is_one_call() -> None:
    def actual(arguments: str) -> dict[str, Any]:
        return {"function_call": {"name": "f", "arguments": arguments}, **call(0, "c1", "f", arguments)}

    assert calls(read(chunk(actual("{")), chunk(actual("}")), chunk(finish="tool_calls"))) == [("f", "{}")]
    assert calls(whole(actual("{}"), "tool_calls")) == [("f", "{}")]


def test_a_free_form_call_is_read_and_does_not_run() -> None:
    reply = whole(
        {"tool_calls": [{"id": "a", "type": "custom", "custom": {"name": "f", "input": "4 + 4"}}]}, "tool_calls"
    )

    assert calls(reply) == [("f", "4 + 4")]
    assert not reply.calls[0].runnable


def test_calls_at_the_root_of_a_chunk_are_taken() -> None:
    reply = read({"choices": [], **call(0, "a", "f", "{}")}, chunk(finish="tool_calls"))

    assert calls(reply) == [("f", "{}")]


def test_text_before_and_after_calls_is_kept() -> None:
    reply = read(chunk({"content": "One "}), chunk(call(0, "a", "f", "{}")), chunk({"content": "two"}, "tool_calls"))

    assert reply.text == "One two"
    assert [part.kind for part in reply.message.parts] == ["text", "call", "text"]


# --- one call under several keys ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("index", "call_id"),
    [(0, "B"), (None, "B"), (1, "B"), (1, ""), (0, "")],
    ids=["another id", "an id, no index", "another index and id", "another index", "nothing new"],
)
def test_arguments_without_a_name_continue_the_call(index: Any, call_id: str) -> None:
    reply = read(
        chunk(call(0, "A", "f", "")),
        chunk(call(index, call_id, None, '{"x":')),
        chunk(call(index if index != 1 else 2, call_id, None, "1}")),
        chunk({}, "tool_calls"),
    )

    assert calls(reply) == [("f", '{"x":1}')]
    assert reply.calls[0].id == "A"


def test_calls_with_another_id_in_their_later_fragments_are_still_two() -> None:
    reply = read(
        *(
            chunk(fragment)
            for index, name in enumerate(("f", "g"))
            for fragment in (
                call(index, f"first-{index}", name, ""),
                call(index, f"later-{index}", None, '{"x":'),
                call(index, f"later-{index}", None, f"{index}}}"),
            )
        ),
        chunk({}, "tool_calls"),
    )

    assert calls(reply) == [("f", '{"x":0}'), ("g", '{"x":1}')]


def test_arguments_after_a_complete_call_without_a_name_are_a_call_without_a_name() -> None:
    reply = read(chunk(call(0, "A", "f", '{"x":1}')), chunk(call(1, "B", None, '{"x":2}')), chunk({}, "tool_calls"))

    assert calls(reply) == [("f", '{"x":1}'), ("", '{"x":2}')]
    assert [made.runnable for made in reply.calls] == [True, False]


# --- a name in pieces --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "pieces",
    [("wea", "ther"), ("wea", "weather"), ("weather", "weather"), ("w", "e", "a", "ther"), ("wea", "ther", "weather")],
    ids=["in pieces", "growing", "repeated", "in many pieces", "in pieces, then whole"],
)
@pytest.mark.parametrize("call_id", ["A", ""])
def test_a_name_is_joined(pieces: tuple[str, ...], call_id: str) -> None:
    fragments = [call(0, call_id, piece, "") for piece in pieces]
    reply = read(*map(chunk, fragments), chunk(call(0, None, None, '{"x":1}'), "tool_calls"))

    assert calls(reply) == [("weather", '{"x":1}')]
    assert native(reply)["tool_calls"][0]["function"]["name"] == "weather"


# --- arguments that are sent twice --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "fragments",
    [
        ("{}", '{"x":1}'),
        ("{}", '{"x"', ":1}"),
        ("{ }", '\n{"x":1}'),
        ("null", '{"x":1}'),
        ('""', '{"x":1}'),
        ('{"x"', ":1}", '{"x":1}'),
        ("{}", '{"x":1}', '{"x":1}'),
        ('{}{"x":1}',),
    ],
)
def test_the_empty_start_and_the_repetition_of_arguments_are_left_out(fragments: tuple[str, ...]) -> None:
    reply = read(
        chunk(call(0, "A", "f", fragments[0])),
        *(chunk(call(0, None, None, fragment)) for fragment in fragments[1:]),
        chunk({}, "tool_calls"),
    )

    assert [(made.args, made.runnable) for made in reply.calls] == [({"x": 1}, True)]
    assert calls(reply) == [("f", '{"x":1}')]


@pytest.mark.parametrize("arguments", ['{"x":1}{"x":2}', '{"x":1}{}', '{}[{"x":1}]', '{}{"x":', "{}1"])
def test_two_values_that_differ_are_no_arguments(arguments: str) -> None:
    reply = read(chunk(call(0, "A", "f", arguments)), chunk({}, "tool_calls"))

    assert [made.runnable for made in reply.calls] == [False]
    assert calls(reply) == [("f", arguments)]
