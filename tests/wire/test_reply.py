"""A complete reply whose calls cannot be read: what came is kept as it came, and nothing of it is repaired or run."""

from __future__ import annotations

import pytest

from nbtool.events import CallDelta, ReplyEnd
from nbtool.wire.reply import ReplyBuilder

BROKEN = [
    '{"path": "/',
    "{'path': '/tmp'}",
    '{"path": "/tmp",}',
    '{"n": NaN}',
    '["/tmp"]',
    '"{}"',
    '{"a": 1}{"a": 2}',
    "```json\n{}\n```",
    "{" * 100_000,
]


@pytest.mark.promise("strict-arguments")
@pytest.mark.parametrize("arguments", BROKEN, ids=range(len(BROKEN)))
def test_a_native_call_whose_arguments_are_not_strict_json_does_not_run(arguments: str) -> None:
    builder = ReplyBuilder(wire="chat")
    builder.add(CallDelta("0", "c1", "remove", arguments))
    builder.add(ReplyEnd("tools", "tool_calls"))
    (call,) = builder.reply().calls

    assert builder.reply().complete
    assert (call.runnable, call.args, call.arguments) == (False, None, arguments)
    assert call.error
