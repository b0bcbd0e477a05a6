"""What clients read of a served tool follows from its own policy, and says no more than that."""

from __future__ import annotations

from dataclasses import replace

import pytest

from nbtool import Policy, tool
from nbtool.mcp_server.content import as_tool
from nbtool.tools.tool import Tool, as_tools
from nbtool.tools.variable_tools import variable_tools
from nbtool.tools.variables.store import Variables


def own(policy: Policy) -> Tool:
    def pay(amount: int) -> str:
        """Pay."""
        return f"paid {amount}"

    return replace(as_tools(tool(pay))[0], policy=policy)


@pytest.mark.parametrize(
    ("served", "hints"),
    [
        (own(Policy("auto")), {"read_only_hint": False}),
        (own(Policy("ask_always")), {"read_only_hint": False}),
        (own(Policy("ask_always", sensitive=True)), {"read_only_hint": False, "destructive_hint": True}),
        (replace(own(Policy()), sends_to="server"), {"read_only_hint": False, "open_world_hint": True}),
    ],
)
def test_a_function_is_called_destructive_if_it_is_sensitive_and_never_read_only(
    served: Tool, hints: dict[str, bool]
) -> None:
    annotations = as_tool(served).annotations

    assert annotations is not None
    assert annotations.model_dump(exclude_none=True) == hints


def test_the_tools_that_read_variables_are_read_only_and_those_that_write_them_are_not() -> None:
    reading = {"read_only_hint": True, "destructive_hint": False, "idempotent_hint": True, "open_world_hint": False}
    found = {}
    for name, one in variable_tools(Variables({})).tools().items():
        annotations = as_tool(one).annotations
        assert annotations is not None
        found[name] = annotations.model_dump(exclude_none=True)

    writing = {"read_only_hint": False}
    assert found == {"ListVars": reading, "ReadVar": reading, "WriteVar": writing, "RemoveVars": writing}
