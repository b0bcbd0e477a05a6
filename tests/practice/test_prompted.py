"""The practice model where tools are told of in the prompt, as models without function calling get them."""

from __future__ import annotations

import pytest

from nbtool import Chat, tool
from nbtool.testing import ScriptedApprover
from nbtool.tools.approval import Denied
from nbtool.wire.prompted.prompted_wire import parse_calls


@tool(run="auto")
def double(n: int) -> int:
    """Twice a number."""
    return 2 * n


@tool
def wipe(path: str) -> str:
    """Remove a file."""
    raise AssertionError(path)


@pytest.fixture(params=["practice:plain", "practice:fast"])
def chat(request: pytest.FixtureRequest) -> Chat:
    """Give a chat of a model that refuses tools, and of one that never hears of them."""
    mode = "auto" if request.param == "practice:plain" else "prompted"
    return Chat(request.param, tools=[double, wipe], tool_mode=mode)


def test_it_calls_what_the_prompt_names_and_answers_with_what_came(chat: Chat) -> None:
    turn = chat.send("Use &`double` with 21.")

    assert [(call.name, call.arguments, call.result) for call in turn.calls] == [("double", '{"n": 21}', 42)]
    assert "**42**" in turn.text
    assert parse_calls(turn.text, ["double"]).calls == ()


def test_several_calls_and_a_later_turn_go_the_same_way(chat: Chat) -> None:
    first = chat.send("Use &`double` with 1 and &`double` with 2.")
    second = chat.send("Use &`double` with 3.")

    assert [call.result for call in first.calls] == [2, 4]
    assert [call.result for call in second.calls] == [6]


def test_a_denial_is_read_as_one(chat: Chat) -> None:
    chat.approver = ScriptedApprover([Denied("not that one")])
    turn = chat.send('Use &`wipe` on the path "x.txt".')

    assert [call.status for call in turn.calls] == ["denied"]
    assert "not that one" in turn.text
