from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

import pytest

from nbtool import Chat, Turn, tool
from nbtool.chain.hooks import RequestContext
from nbtool.chat.chat import TurnSettings
from nbtool.errors import AuthenticationFailed, ContextTooLong, ToolsNotSupported
from nbtool.events import Event, Notice, TextDelta
from nbtool.wire.endpoints.model_endpoint import list_models
from tests.servers.server import CONTEXT, MODELS, Server

pytestmark = pytest.mark.nightly

WHOLE = TurnSettings(stream=False)
TOO_LONG = "a" * (CONTEXT + 1000)


@dataclass(frozen=True)
class AtFirst:
    """Forces a tool, or sets options, in the first request of each turn, and leaves the others free."""

    tool_choice: str = "auto"
    options: Mapping[str, Any] | None = None

    def on_before_request(self, request: RequestContext) -> None:
        if request.round == 1:
            request.tool_choice = self.tool_choice
            request.options |= self.options or {}


@dataclass(frozen=True)
class Always:
    """Forces a tool in every request but the final one."""

    tool_choice: str

    def on_before_request(self, request: RequestContext) -> None:
        request.tool_choice = self.tool_choice


class Coin:
    """A tool, and the arguments of every call that ran."""

    def __init__(self) -> None:
        self.flips: list[tuple[str, bool, int]] = []

    @tool(run="auto", name="flip")
    def flip(self, side: Literal["heads", "tails"], fair: bool, times: int) -> str:
        "Flip a coin."
        self.flips.append((side, fair, times))
        return "It fell on its edge."


def stream_events(chat: Chat, prompt: str, **how: Any) -> tuple[Turn, list[Event]]:
    async def listen() -> tuple[Turn, list[Event]]:
        turn = chat.start(prompt, **how)
        events = [event async for event in turn]
        return turn, events

    return asyncio.run(listen())


def test_a_reply_comes_in_many_pieces_and_says_why_it_ended(server: Server) -> None:
    turn, events = stream_events(server.chat("tiny"), "Say something.")

    pieces = [event.text for event in events if isinstance(event, TextDelta)]
    assert len(pieces) > 10
    assert "".join(pieces) == turn.text
    assert (turn.status, turn.error, turn.rounds[0].stop_reason) == ("completed", None, "length")


def test_a_whole_reply_says_the_same_as_a_streamed_one_and_what_it_cost(server: Server) -> None:
    streamed = server.chat("tiny").send("Say something.")
    whole = server.chat("tiny").send("Say something.", settings=WHOLE)

    assert whole.text == streamed.text != ""
    assert whole.usage.output_tokens == 40
    assert whole.usage.input_tokens > 0


@pytest.mark.parametrize("stream", [True, False])
@pytest.mark.parametrize("model", ["tiny", "functions", "plain"])
def test_a_call_that_the_grammar_forces_runs_once_and_its_result_is_answered(
    server: Server, model: str, stream: bool
) -> None:
    coin = Coin()
    forced = AtFirst("flip", {"max_tokens": 400})
    chat = server.chat(model, tools=[coin.flip], plugins=[forced], tool_mode="native")

    turn = chat.send("Flip a coin.", settings=TurnSettings(stream=stream))

    assert (turn.status, turn.error) == ("completed", None)
    assert [(call.name, call.status, call.result) for call in turn.calls] == [("flip", "ok", "It fell on its edge.")]
    assert coin.flips == [tuple(json.loads(turn.calls[0].arguments).values())]
    assert [message.role for message in turn.messages.complete] == ["user", "assistant", "tool", "assistant"]
    assert turn.text


def test_a_tool_round_is_sent_to_the_model_again_in_the_next_turn(server: Server) -> None:
    forced = AtFirst("flip", {"max_tokens": 400})
    chat = server.chat("tiny", tools=[Coin().flip], plugins=[forced], history="native")

    turns = [chat.send("Flip a coin."), chat.send("Once more.")]

    assert [turn.status for turn in turns] == ["completed", "completed"]
    assert [message.role for message in turns[1].messages.context] == ["user", "assistant", "tool", "assistant", "user"]


def test_a_call_that_was_cut_by_the_limit_of_tokens_does_not_run(server: Server) -> None:
    coin = Coin()
    chat = server.chat("tiny", tools=[coin.flip], plugins=[AtFirst("flip", {"max_tokens": 6})])

    turn = chat.send("Flip a coin.")

    assert coin.flips == []
    assert [call.status for call in turn.calls] == ["invalid"]
    assert turn.rounds[0].finish_reason == "tool_calls"


def test_rounds_without_end_are_ended_by_a_final_reply(server: Server) -> None:
    coin = Coin()
    chat = server.chat("tiny", tools=[coin.flip], plugins=[Always("flip")], options={"max_tokens": 400}, max_rounds=2)

    turn = chat.send("Flip coins.")

    assert len(coin.flips) == 1
    assert (turn.stats.rounds, turn.stats.calls) == (2, 1)


def test_tools_that_a_format_does_not_know_are_passed_over(server: Server) -> None:
    turn = server.chat("functions", tools=[Coin().flip]).send("Flip a coin.")

    assert (turn.status, turn.calls, turn.stats.rounds) == ("completed", [], 1)
    assert turn.text


def test_a_template_that_refuses_tools_gets_them_through_the_prompt_from_then_on(server: Server) -> None:
    turns = [stream_events(server.chat("toolless", tools=[Coin().flip]), "Flip a coin.") for _ in range(2)]

    refusals = [
        [event for event in events if isinstance(event, Notice) and "does not support native tools" in event.text]
        for _, events in turns
    ]
    assert [(turn.status, turn.error) for turn, _ in turns] == [("completed", None)] * 2
    assert [len(actual) for actual in refusals] == [1, 0]


@pytest.mark.parametrize("stream", [True, False])
def test_a_refusal_of_tools_is_an_error_where_they_are_required(server: Server, stream: bool) -> None:
    chat = server.chat("toolless", tools=[Coin().flip], tool_mode="native")

    turn = chat.send("Flip a coin.", settings=TurnSettings(stream=stream))

    assert isinstance(turn.error, ToolsNotSupported)
    assert "This model does not support tools." in turn.error.message


def test_a_call_written_as_text_runs_in_prompted_mode(server: Server) -> None:
    coin = Coin()
    chat = server.chat("toolless", tools=[coin.flip], tool_mode="prompted")
    chat.plugins = [AtFirst(options={"grammar": written_call(chat.model.fence), "max_tokens": 400})]

    turn = chat.send("Flip a coin.")

    assert (turn.status, turn.error) == ("completed", None)
    assert coin.flips in ([("heads", True, 3)], [("tails", True, 3)])
    assert turn.text


def written_call(fence: str) -> str:
    """Give a grammar of one call in our own form, with a free choice in it."""
    before = f'```call-{fence}\n{{"name": "flip", "arguments": {{"side": '
    after = ', "fair": true, "times": 3}}\n```'
    return f'root ::= {json.dumps(before)} ("\\"heads\\"" | "\\"tails\\"") {json.dumps(after)}'


@pytest.mark.parametrize("stream", [True, False])
def test_a_conversation_that_does_not_fit_is_distinguished_from_a_broken_line(server: Server, stream: bool) -> None:
    turn = server.chat("tiny").send(TOO_LONG, settings=TurnSettings(stream=stream))

    assert isinstance(turn.error, ContextTooLong)
    assert str(CONTEXT) in turn.error.message
    assert "\n" not in str(turn.error)


def test_a_wrong_key_is_refused_and_never_shown(server: Server) -> None:
    chat = Chat("llamacpp:tiny", base_url=server.url, api_key="sk-wrong-wrong-wrong")

    turn = chat.send("Hello")

    assert isinstance(turn.error, AuthenticationFailed)
    assert turn.error.status == 401
    assert "sk-wrong" not in str(turn.error)


def test_a_model_that_is_not_there_is_answered_by_the_first_one(server: Server) -> None:
    turn = server.chat("nobody").send("Say something.")

    assert turn.text == server.chat("tiny").send("Say something.").text != ""


def test_the_models_are_listed_with_the_key(server: Server) -> None:
    listed = asyncio.run(list_models("llamacpp", base_url=server.url, api_key=server.key))

    assert listed == sorted(f"llamacpp:{name}" for name in MODELS)
    with pytest.raises(AuthenticationFailed):
        asyncio.run(list_models("llamacpp", base_url=server.url, api_key="wrong"))


def test_a_cancelled_reply_frees_the_server_for_the_next(server: Server) -> None:
    async def cancel_in_the_middle() -> Turn:
        turn = server.chat("tiny", options={"max_tokens": CONTEXT}).start("Say much.")
        async for event in turn:
            if isinstance(event, TextDelta):
                turn.cancel()
        return turn

    before = server.log.read_text().count("Disconnected from client")
    cancelled = asyncio.run(cancel_in_the_middle())
    following = server.chat("tiny").send("Say something.")

    assert (cancelled.status, following.status) == ("cancelled", "completed")
    assert 0 < len(cancelled.rounds[0].text) < CONTEXT // 2
    assert server.log.read_text().count("Disconnected from client") == before + 1
