"""What a model reads where tools are searched: the list, what a search returns, and what a wrong call is answered."""

from __future__ import annotations

from typing import Any

from syrupy.assertion import SnapshotAssertion

from nbtool import Chat, Toolset, tool
from nbtool.errors import ToolFailed
from nbtool.testing import ScriptedWire, call
from nbtool.tools.tool import Tool
from nbtool.tools.tool_search import MAX_FOUND, ToolSearch


def make_tool(number: int, text: str) -> Tool:
    def work(identifier: str) -> str:
        return identifier

    work.__name__, work.__doc__ = f"open_drawer_{number}", text
    (made,) = Toolset("one", [tool(run="auto")(work)])
    return made


def search_among(count: int, text: str = "Open a drawer. And close it.") -> ToolSearch:
    search = ToolSearch(is_on=True)
    search.refresh({f"open_drawer_{number}": make_tool(number, text) for number in range(count)})
    return search


def refusal(search: ToolSearch, *arguments: Any) -> str:
    try:
        return search.find_tools(*arguments)
    except ToolFailed as error:
        return str(error)


def test_the_list_of_tools(snapshot: SnapshotAssertion) -> None:
    texts = {
        "two tools": search_among(2).listing(),
        "what the status says of 60 tools": search_among(60, "Open a drawer. " * 20).describe(),
        "a long line": search_among(2, "Open " + "very " * 40).listing(),
        "more tools than have a line each": search_among(600, "Open " + "very " * 40).listing()[:500],
    }

    assert texts == snapshot


def test_what_a_search_says_beside_definitions(snapshot: SnapshotAssertion) -> None:
    search = search_among(MAX_FOUND + 3)
    found = search.find_tools("drawer", ["open_drawer_1", "drawer_1"])
    texts = {
        "more matches, and a name that is not in the list": "\n".join(
            line for line in found.splitlines() if not line.startswith("{")
        ),
        "no match": refusal(search, "telescope"),
        "no such names": refusal(search, "", ["drawer_1", "drawer_2"]),
        "nothing to search for": refusal(search),
    }

    assert texts == snapshot


def test_what_a_wrong_call_is_answered(snapshot: SnapshotAssertion) -> None:
    wrong = [{"name": "open_drawer_99", "arguments": {}}, {"name": "call_tool", "arguments": {}}, {"arguments": {}}]
    with ScriptedWire([[call("call_tool", **one) for one in wrong], "Well."]) as wire:
        tools = [make_tool(number, "Open a drawer.") for number in range(3)]
        turn = Chat(wire=wire, tools=tools, search_tools=True).send("Open it.")

    assert {str(one): done.shown for one, done in zip(wrong, turn.calls, strict=True)} == snapshot
