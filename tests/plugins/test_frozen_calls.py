"""Plugins that look at calls get copies: nothing that they do to them changes what runs."""

from __future__ import annotations

from typing import Any

import pytest

from nbtool import Approved, Chat, tool
from nbtool.chain.hooks import CallContext, CallsContext
from nbtool.testing import ScriptedWire, call


def spoil(arguments: Any) -> None:
    arguments["items"].append(99)
    arguments["more"] = 1


class BeforeCalls:
    def on_before_calls(self, context: CallsContext) -> None:
        """Change what was asked for."""
        for one in context.calls:
            spoil(one.args)


class CallStart:
    def on_call_start(self, context: CallContext) -> None:
        """Change what was asked for, and put another call in its place."""
        spoil(context.call.args)
        context.call = call("take", items=[7])


@pytest.mark.promise("shown-is-run")
@pytest.mark.parametrize("plugin", [BeforeCalls, CallStart])
def test_a_plugin_cannot_change_what_runs(plugin: Any) -> None:
    seen: list[Any] = []

    @tool
    def take(items: list[int]) -> int:
        "Take items."
        seen.append(items)
        return len(items)

    with ScriptedWire([call_of([1]), "Done."]) as wire:
        Chat(wire=wire, tools=[take], plugins=[plugin()], approver=lambda _: Approved()).send("Go")

    assert seen == [[1]]


def call_of(items: list[int]) -> Any:
    return [call("take", items=items)]
