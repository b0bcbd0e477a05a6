"""What the tests of the verbs share: a turn with two calls, and what becomes of it."""

from __future__ import annotations

from typing import ClassVar

from nbtool import Chat, tool
from nbtool.chat.turn import Turn
from nbtool.events import Notice
from nbtool.testing import ScriptedWire, call, thinking

PRICES = {"A": 10, "B": 20}


class Market:
    """The world outside."""

    asked: ClassVar[list[str]] = []
    prices: ClassVar[dict[str, int]] = dict(PRICES)


@tool(run="auto")
def price(ticker: str) -> int:
    "The price of a ticker."
    Market.asked.append(ticker)
    return Market.prices[ticker]


@tool
def sell(ticker: str) -> str:
    "Sell all of it."
    Market.asked.append(f"sell {ticker}")
    return f"sold {ticker}"


TEXT = [[thinking("Hm."), call("price", ticker="A")], call("price", ticker="B"), "10 and 20."]


def make_chat(*replies: object) -> tuple[Chat, ScriptedWire, Turn]:
    """Give a chat in which two prices were asked for, one after the other."""
    wire = ScriptedWire([*TEXT, *replies])  # type: ignore[list-item]  # whatever a script may hold
    chat = Chat(wire=wire, tools=[price, sell])
    return chat, wire, chat.send("What do they cost?")


def outcomes(turn: Turn) -> list[tuple[str, str, str]]:
    return [(record.name, record.status, record.shown) for record in turn.calls]


def notices(turn: Turn) -> list[str]:
    return [event.text for event in turn.log if isinstance(event, Notice)]


def results(wire: ScriptedWire) -> list[str]:
    """Give the results that the last request told."""
    return [result.text for message in wire.prompts[-1].messages for result in message.results]
