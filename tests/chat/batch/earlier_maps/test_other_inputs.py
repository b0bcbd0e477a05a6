"""Maps of prompts whose calls ran in an earlier map with other inputs."""

from __future__ import annotations

import warnings
from typing import Any

import pytest

from nbtool import Chat, tool
from nbtool.testing import ScriptedWire, call
from nbtool.wire.base import Prompt

NAMES = ["a", "b"]


def new_chat(version: object, *, calls: bool = True, system: str = "") -> Chat:
    """Return a chat whose tool uses an object, which makes another tool of it."""

    @tool(run="auto")
    def pay(name: str) -> str:
        "Pay."
        return f"paid {name} {version}"

    def reply(prompt: Prompt) -> Any:
        last = prompt.messages[-1]
        return last.results[0].text if last.results else call("pay", name=last.text) if calls else "Done."

    return Chat(wire=ScriptedWire([reply] * 20), tools=[pay], system=system)


@pytest.mark.parametrize("change", [{"version": 2}, {"version": 1, "system": "Be brief."}])
def test_calls_that_run_again_because_the_inputs_changed_are_announced(change: dict[str, Any]) -> None:
    new_chat(1).map(NAMES)
    with pytest.warns(UserWarning, match="are run again: its model") as caught:
        new_chat(**change).map(["a", "c"])

    assert [one.filename for one in caught] == [__file__]


def test_nothing_is_announced_where_no_call_runs_again() -> None:
    new_chat(1).map(NAMES)
    new_chat(1, calls=False).map(["d"])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        new_chat(1).map(NAMES)  # answered
        new_chat(2).map(["c"])  # another prompt
        new_chat(3, calls=False).map(["d"])  # which called nothing
