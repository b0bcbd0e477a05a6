"""Gateways of others between a chat and a provider: what of a turn comes through them, by every wire."""

from __future__ import annotations

import asyncio
import json
import threading
from dataclasses import dataclass
from typing import Any

import pytest

from nbtool import Chat, Turn, tool
from nbtool.chat.chat import TurnSettings
from nbtool.errors import AuthenticationFailed, ContextTooLong, ModelNotFound, RateLimited
from nbtool.events import TextDelta
from tests.servers.gateways import GATEWAYS, Gateway
from tests.servers.process import STOP_SECONDS
from tests.servers.upstream import CALL, LAST, TOKENS

pytestmark = pytest.mark.nightly

ROUTES = [(kind.NAME, *route) for kind in GATEWAYS for route in kind.ROUTES]
STREAMED, WHOLE = TurnSettings(stream=True), TurnSettings(stream=False)


@dataclass
class Way:
    """A route: a gateway, the wire to it, and the kind of provider behind it."""

    gateway: Gateway
    wire: str
    provider: str

    def __call__(self, model: str = "steady", **settings: Any) -> Chat:
        """Open a chat by this route."""
        return self.gateway.chat(self.wire, self.provider, model, **settings)


@pytest.fixture
def way(request: pytest.FixtureRequest, gateways: dict[str, Gateway]) -> Way:
    name, wire, provider = request.param
    return Way(find_gateway(gateways, name), wire, provider)


by_every_route = pytest.mark.parametrize("way", ROUTES, indirect=True, ids=[" ".join(route) for route in ROUTES])


def find_gateway(gateways: dict[str, Gateway], name: str) -> Gateway:
    if name not in gateways:
        pytest.skip(f"{name} is not installed; `make lane LANE=gateways` installs it.")
    return gateways[name]


class Doubling:
    """A tool, and the arguments of every call that ran."""

    def __init__(self) -> None:
        self.numbers: list[int] = []

    @tool(run="auto", name="double")
    def double(self, n: int) -> int:
        "Double a number."
        self.numbers.append(n)
        return 2 * n


def stream_texts(chat: Chat, prompt: str) -> tuple[Turn, list[str]]:
    async def listen() -> tuple[Turn, list[str]]:
        turn = chat.start(prompt)
        return turn, [event.text async for event in turn if isinstance(event, TextDelta)]

    return asyncio.run(listen())


@by_every_route
def test_a_streamed_reply_comes_whole_with_its_tokens(way: Way) -> None:
    turn, pieces = stream_texts(way(), "Say something.")

    assert (turn.status, turn.error, turn.text) == ("completed", None, LAST.text)
    assert "".join(pieces) == LAST.text
    assert (turn.usage.input_tokens, turn.usage.output_tokens) == TOKENS


@pytest.mark.parametrize("settings", [STREAMED, WHOLE], ids=["streamed", "whole"])
@by_every_route
def test_a_call_runs_once_and_its_result_reaches_the_provider(way: Way, settings: TurnSettings) -> None:
    doubling = Doubling()

    turn = way(tools=[doubling.double]).send("Double 21.", settings=settings)

    assert (turn.status, turn.error) == ("completed", None)
    assert [(call.name, json.loads(call.arguments), call.status, call.result) for call in turn.calls] == [
        ("double", {"n": 21}, "ok", 42)
    ]
    assert doubling.numbers == [21]
    assert [one.text for one in turn.rounds] == [CALL.text, LAST.text]
    assert (turn.usage.input_tokens, turn.usage.output_tokens) == tuple(2 * tokens for tokens in TOKENS)


@by_every_route
def test_a_chat_goes_on_after_a_turn_with_calls(way: Way) -> None:
    chat = way(tools=[Doubling().double], history="native")

    turns = [chat.send("Double 21."), chat.send("And again.")]

    assert [(turn.status, turn.error) for turn in turns] == [("completed", None)] * 2
    assert [turn.stats.calls for turn in turns] == [1, 1]


@by_every_route
def test_a_wrong_key_is_refused_and_never_shown(way: Way) -> None:
    turn = way(api_key="sk-wrong-0123456789").send("Hi")

    assert isinstance(turn.error, AuthenticationFailed)
    assert turn.error.fix == "Check the key (the one passed as api_key)."
    assert "sk-wrong" not in f"{turn.error} {turn.log!r}"


@by_every_route
def test_a_key_of_a_function_is_fetched_again_where_the_status_says_so(way: Way) -> None:
    keys = iter(["sk-wrong-0123456789", way().model.api_key.get_secret_value()])

    turn = way(api_key=lambda: (next(keys), 3600)).send("Hi")

    if way.gateway.WRONG_KEY_STATUS == 401:
        assert (turn.text, turn.error) == (LAST.text, None)
    else:
        assert isinstance(turn.error, AuthenticationFailed)


@by_every_route
def test_a_stopped_turn_ends_and_the_provider_is_stopped_where_the_gateway_passes_it_on(way: Way) -> None:
    assert way.gateway.upstream.server
    missing = way.gateway.upstream.server.left = threading.Event()

    async def stop_in_the_middle() -> Turn:
        turn = way("endless").start("Say much.")
        async for event in turn:
            if isinstance(event, TextDelta):
                turn.cancel()
        return turn

    cancelled = asyncio.run(stop_in_the_middle())

    assert cancelled.status == "cancelled"
    assert cancelled.rounds[0].text.startswith("word ")
    if way.gateway.STOPS_UPSTREAM:
        assert missing.wait(STOP_SECONDS)
    assert way().send("Hi").text == LAST.text


@by_every_route
def test_no_call_of_a_reply_that_breaks_off_runs_even_where_the_gateway_adds_an_end(way: Way) -> None:
    doubling = Doubling()

    turn = way("broken", tools=[doubling.double]).send("Double 21.")

    assert doubling.numbers == []
    if turn.error is None:
        assert {call.status for call in turn.calls} == {"invalid"}
        assert turn.end_reason


@by_every_route
def test_a_rate_limit_has_its_time_where_the_gateway_passes_it_on(way: Way) -> None:
    turn = way("busy").send("Hi")

    assert isinstance(turn.error, RateLimited)
    is_lost = way.gateway.NAME == "litellm" and way.wire == "anthropic"
    assert turn.error.retry_after == (None if is_lost else 7200)


@by_every_route
def test_a_prompt_that_does_not_fit_has_an_error_of_its_own(way: Way) -> None:
    turn = way("short").send("Hi")

    assert isinstance(turn.error, ContextTooLong)


# --- LiteLLM alone --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("wire", ["chat", "responses", "anthropic"])
def test_the_error_for_a_model_that_litellm_does_not_have_names_those_that_it_has(
    gateways: dict[str, Gateway], wire: str
) -> None:
    turn = find_gateway(gateways, "litellm").chat(wire, "openai", "nobody").send("Hi")

    assert isinstance(turn.error, ModelNotFound)
    assert "litellm:openai-steady" in turn.error.fix


def test_litellm_lists_its_models(gateways: dict[str, Gateway]) -> None:
    gateway = find_gateway(gateways, "litellm")

    assert "litellm:openai-steady" in gateway.chat("chat", "openai").model.list_models()
    with pytest.raises(AuthenticationFailed):
        gateway.chat("chat", "openai", api_key="sk-wrong-0123456789").model.list_models()


# --- Portkey alone --------------------------------------------------------------------------------------------


def test_without_its_headers_portkey_says_which_are_missing(gateways: dict[str, Gateway]) -> None:
    turn = find_gateway(gateways, "portkey").chat("chat", "openai", headers={}).send("Hi")

    assert "x-portkey-provider" in str(turn.error)
