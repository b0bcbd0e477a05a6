from __future__ import annotations

import pytest

from nbtool.messages import Message, ToolCall, ToolResult
from nbtool.wire.dialects.call_ids import CallIds, safe_tool_name


def call(call_id: str = "", ours: str = "") -> ToolCall:
    return ToolCall("look", "{}", id=call_id, call_id=ours, runnable=True)


def answer(call_id: str = "", ours: str = "") -> ToolResult:
    return ToolResult("look", "12", id=call_id, call_id=ours)


@pytest.mark.parametrize(
    ("name", "fitting"), [("look", "look"), ("a.b c/d", "a_b_c_d"), ("x" * 65, "x" * 64), ("", "unnamed")]
)
def test_a_name_is_written_as_every_dialect_takes_it(name: str, fitting: str) -> None:
    assert safe_tool_name(name) == fitting


def test_a_call_has_the_providers_id_where_it_fits_and_is_free() -> None:
    ids = CallIds()

    assert [
        ids.id_for_call(call("a", "ours_1")),
        ids.id_for_call(call("a", "ours_2")),
        ids.id_for_call(call("b!", "ours_3")),
    ] == [
        "a",
        "ours_2",
        "ours_3",
    ]


def test_a_call_that_no_id_fits_has_a_number_that_is_free() -> None:
    ids = CallIds()

    assert [ids.id_for_call(call("call_3")), ids.id_for_call(call("")), ids.id_for_call(call("?"))] == [
        "call_3",
        "call_2",
        "call_4",
    ]


def test_a_result_has_the_id_of_its_call() -> None:
    ids = CallIds()
    for one in (call("a", "ours_1"), call("a", "ours_2"), call("?")):
        ids.id_for_call(one)

    assert ids.id_for_result(answer("a", "ours_1")) == "a"
    assert ids.id_for_result(answer("a", "ours_2")) == "ours_2"
    assert ids.id_for_result(answer("a")) == "ours_2"
    assert ids.id_for_result(answer("?")) == "call_3"
    assert ids.id_for_result(answer("nobody", "ours_9")) == "nobody"
    assert ids.id_for_result(answer("", "ours_9")) == "ours_9"


@pytest.mark.parametrize(("wanted", "stored"), [(["a", "b"], True), (["a", "a"], False), (["a", ""], False)])
def test_the_ids_of_a_message_are_kept_where_each_is_there_once(wanted: list[str], stored: bool) -> None:
    assert CallIds().reserve(Message("assistant", tuple(call(one) for one in wanted))) is stored


def test_the_ids_of_a_message_are_not_kept_where_one_was_taken_before() -> None:
    ids = CallIds()
    ids.id_for_call(call("b", "ours_1"))

    assert not ids.reserve(Message("assistant", (call("a"), call("b"))))
    assert ids.reserve(Message("assistant", (call("a"), call("c"))))
