from __future__ import annotations

import sys
from types import ModuleType
from typing import Any

import pytest

from nbtool.tools.content_hash.change_token import tool_change_token
from nbtool.tools.tool import as_tools

SOURCE = """
def recipient():
    return "alice"
def pay():
    "Pay."
    return recipient()
"""


def module_of(source: str, name: str) -> Any:
    module = ModuleType(name)
    exec(source, vars(module))
    return module


@pytest.mark.parametrize("is_registered", [True, False])
def test_a_helper_that_is_rebound_in_a_module_created_at_run_time_changes_the_tool(
    is_registered: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    module = module_of(SOURCE, f"created_at_run_time_{is_registered}")
    if is_registered:
        monkeypatch.setitem(sys.modules, module.__name__, module)
    (tool,) = as_tools(module.pay)
    before = tool_change_token(tool.function)

    assert tool_change_token(tool.function) == before
    module.recipient = lambda: "mallory"
    assert tool_change_token(tool.function) != before
