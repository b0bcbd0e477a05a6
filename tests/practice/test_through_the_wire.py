"""The practice model as a notebook meets it: our wire, our engine, real tools, a person who decides."""

from __future__ import annotations

import asyncio
from typing import Literal

import pytest

from nbtool import practice
from nbtool.chain.cancel_signal import CancelSignal
from nbtool.chain.engine import Engine
from nbtool.chain.hooks import TurnContext
from nbtool.chain.limits import Limits
from nbtool.chain.request import Outcome
from nbtool.chain.usage_meter import Meter
from nbtool.chat.prompt_context import with_context
from nbtool.errors import ModelNotFound, ToolsNotSupported
from nbtool.events import Event
from nbtool.messages import user
from nbtool.testing import ScriptedApprover, play
from nbtool.tools import Toolset, tool
from nbtool.tools.approval import Approved, Denied
from nbtool.tools.calls.runtime import ToolRuntime
from nbtool.tools.calls.tool_calling import ToolCalling
from nbtool.tools.variables.store import Variables
from nbtool.turn_state import TurnState
from nbtool.wire.base import Prompt, ToolSpec
from nbtool.wire.registry import find_wire
from nbtool.wire.transport.http_endpoint import HttpEndpoint


class Flock:
    """What the notebook holds: an object that JSON cannot say."""

    def __init__(self, *weights: int) -> None:
        self.weights = weights


@tool(run="auto")
def count(species: Literal["Adelie", "Gentoo"]) -> int:
    """How many were measured."""
    return {"Adelie": 152, "Gentoo": 124}[species]


@tool
def heaviest(flock: Flock, n: int = 3) -> list[int]:
    """The heaviest weights of a flock."""
    return sorted(flock.weights)[-n:]


FLOCK = Flock(3, 1, 4, 1, 5, 9)
PROMPT = "How many Adelie and how many Gentoo are there? Use &`count`. And which 2 of $`flock` are the &`heaviest`?"


def endpoint(model: str = "fast") -> HttpEndpoint:
    server = practice.start()
    return HttpEndpoint(find_wire("chat"), server.base_url, model, key=server.key)


def turn_of(prompt: str, approver: ScriptedApprover, limits: Limits) -> tuple[Outcome, ToolCalling]:
    async def emit(event: Event) -> None:
        """Nobody listens."""

    variables = Variables()
    variables.expose("flock", FLOCK)
    state = TurnState()
    emit_applied = state.recorded(emit)
    runtime = ToolRuntime(Toolset("tools", [count, heaviest]), variables, emit_applied, state, approver=approver)
    calling = ToolCalling(runtime)
    message = with_context(user(prompt), {"flock": "Flock"})
    turn = TurnContext("turn_1", message, (), limits, emit_applied, CancelSignal(), Meter(limits))
    engine = Engine(turn, endpoint(), [calling], system="Be brief.")
    return asyncio.run(engine.run()), calling


def test_an_approved_call_gets_the_very_object_and_its_result_is_sent() -> None:
    with ScriptedApprover([("heaviest", Approved())]) as approver:
        outcome, calling = turn_of(PROMPT, approver, Limits())

    assert outcome.error is None
    assert [(record.name, record.status, record.result) for record in calling.runtime.state.calls] == [
        ("count", "ok", 152),
        ("count", "ok", 124),
        ("heaviest", "ok", [5, 9]),
    ]
    assert len(outcome.rounds) == 2
    assert '| `count("Gentoo")` | 124 |' in outcome.text
    assert "`heaviest(flock, 2)`" in outcome.text


def test_a_denied_call_is_reported_as_denied_with_its_reason() -> None:
    with ScriptedApprover([("heaviest", Denied("they sleep"))]) as approver:
        outcome, calling = turn_of(PROMPT, approver, Limits())

    assert [record.status for record in calling.runtime.state.calls] == ["ok", "ok", "denied"]
    assert "did not approve this call. Reason: they sleep" in outcome.text
    assert "152" in outcome.text


def test_when_the_rounds_run_out_it_gives_a_final_reply() -> None:
    with ScriptedApprover([]) as approver:
        outcome, _ = turn_of("&`count` Adelie, then &`count` Gentoo", approver, Limits(max_rounds=2))

    assert "**152**" in outcome.text
    assert [len(reply.calls) for reply in outcome.rounds] == [1, 0]


def test_the_refusals_are_known_to_our_wire() -> None:
    spec = ToolSpec("count", "", {"type": "object", "properties": {}})

    with pytest.raises(ModelNotFound):
        play(endpoint("gpt-5"), Prompt((user("Hello"),)))
    with pytest.raises(ToolsNotSupported):
        play(endpoint("plain"), Prompt((user("Hello"),), tools=(spec,)))


def test_the_thinking_model_thinks_before_it_answers() -> None:
    reply = play(endpoint("thinking"), Prompt((user("Hello"),), stream=False))

    assert reply.thinking
    assert [part.kind for part in reply.message.parts] == ["thinking", "text"]
    assert reply.usage.thinking_tokens > 0
