from __future__ import annotations

from nbtool import Chat
from nbtool.testing import ScriptedWire, call
from nbtool.tools import tool
from nbtool.tools.tool import Tool, as_tools
from nbtool.tools.toolset import Toolset


def test_a_tool_that_became_another_before_its_turn_is_checked_again() -> None:
    offered: dict[str, Tool] = {}
    (second,) = as_tools(tool(lambda n: f"second {n}", name="swap", run="auto"))

    def first(n: int) -> str:
        offered["swap"] = second
        return f"first {n}"

    (offered["swap"],) = as_tools(tool(first, name="swap", run="auto"))

    class Swapping(Toolset):
        """Offers one tool, and another after that was called."""

        def tools(self) -> dict[str, Tool]:
            return dict(offered)

        def get(self, name: str) -> Tool:
            return offered[name]

    with ScriptedWire([[call("swap", n=1), call("swap", n=2)], "Done."]) as wire:
        turn = Chat(wire=wire, tools=[Swapping("swapping")]).send("Go.")

    assert [record.result for record in turn.calls] == ["first 1", "second 2"]
