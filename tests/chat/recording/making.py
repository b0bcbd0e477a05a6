from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from nbtool import Chat, tool
from nbtool.chat.chat import TurnSettings
from nbtool.testing import ScriptedWire, call

ONLY = TurnSettings(replay="only")
PROMPT = "What is cheapest in $VAR_REF{{df}}?"
REPLIES = [[call("price", ticker="A"), call("head", df="$VAR_REF{{df}}")], "It costs 10."]


class Shop:
    """Two tools, and how often each of them ran."""

    def __init__(self) -> None:
        self.ran: list[str] = []

    def tools(self) -> list[Any]:
        @tool(run="auto")
        def price(ticker: str) -> int:
            "The price of a ticker."
            self.ran.append("price")
            return {"A": 10}[ticker]

        @tool(run="auto")
        def head(df: pd.DataFrame) -> pd.DataFrame:
            "The first row."
            self.ran.append("head")
            return df.head(1)

        return [price, head]


def frame(last: int = 2) -> pd.DataFrame:
    return pd.DataFrame({"ticker": ["A", "B"], "close": [1, last]})


def chat(path: Path, replies: Sequence[Any] = (), *, shop: Shop | None = None, writes: bool = True, **how: Any) -> Chat:
    """Give a chat as a fresh kernel would make it; without replies, whatever reaches its model fails."""
    made = Chat(wire=ScriptedWire(replies), **{"tools": (shop or Shop()).tools(), **how})
    made.expose(df=frame())
    made.recorder.open(path, writes=writes)
    return made
