"""A conversation of many turns, made at once: with branches, versions, parallel calls, a person's decisions, and times.

The browser tests run this file's text in a kernel, so it needs nothing of the tests.
"""

from __future__ import annotations

from typing import Any

from nbtool.chat.conversation.restore import restore_turn as recalled
from nbtool.chat.conversation.tree import Tree
from nbtool.chat.turn import Turn
from nbtool.events import (
    CallAsked,
    CallDecided,
    CallFinished,
    CallReady,
    CallStarted,
    Event,
    MessageAppended,
    ReplyFinished,
    RequestStarted,
    TurnEnded,
    TurnStarted,
)
from nbtool.messages import Text, Thinking, ToolCall, Usage, assistant, user
from tests.resolved import plain, reference

BEGAN = 1_795_000_000.0
TICKERS = ("AAA", "BBB", "CCC", "DDD")
TOPICS = ("the cheapest ticker", "a chart of the closes", "what changed since Monday", "an order for ten shares")


def grow(tree: Tree[Turn], count: int) -> None:
    """Grow a conversation by so many turns: three of fifty are a side branch, every seventh is said again."""
    line, side = [""], [""]
    for number in range(count):
        is_aside = number % 50 in (46, 47, 48)
        if number % 50 == 46:
            side = [line[-9]]
        path = side if is_aside else line
        if number % 7 == 6 and len(path) > 1:
            add_turn(tree, make_turn(number, node=path[-1], parent=path[-2]))
        else:
            path.append(f"n_{number}")
            add_turn(tree, make_turn(number, node=path[-1], parent=path[-2]))


def add_turn(tree: Tree[Turn], turn: Turn) -> None:
    """Put a turn where its own first event says."""
    began = turn.log[0]
    assert isinstance(began, TurnStarted)
    tree.add_version(tree.node_from_event(began), turn)


def make_turn(number: int, *, node: str, parent: str = "") -> Turn:
    """Give one turn: two rounds, of which the first asks for two calls, one of them of a person too."""
    times: list[float] = []
    events: list[Event] = []
    now = BEGAN + number * 60

    def then(seconds: float, event: Event) -> None:
        nonlocal now
        now += seconds
        times.append(now)
        events.append(event)

    turn_id, ticker = f"turn_{number:020x}", TICKERS[number % 4]
    prompt = user(f"Question {number}: please find {TOPICS[number % 4]} for {ticker}")
    then(0, TurnStarted(turn_id, "scripted:tiny", prompt, now, node_id=node, parent_id=parent))
    _first_round(then, number, turn_id, ticker, lambda: now)
    then(0.05, RequestStarted(2))
    reply = assistant(f"{ticker} closed at **{10 + number % 90}**. This is the answer to question {number}.")
    usage = Usage(420 + number % 100, 60, cost=0.0021)
    then(1.1 + number % 3, ReplyFinished(2, reply, "end", usage, complete=True, seconds=1.1 + number % 3))
    then(0, MessageAppended(reply))
    failed = number % 23 == 5
    end = TurnEnded("error" if failed else "completed", reply.text, usage + Usage(300, 40), 2, 2, now - times[0])
    end.error = "The server closed the connection." if failed else ""
    then(0, end)
    turn = recalled(events)
    turn.log, turn.event_times = events, times
    return turn


def _first_round(then: Any, number: int, turn_id: str, ticker: str, clock: Any) -> None:
    price, order = f"call_p{turn_id[-12:]}", f"call_o{turn_id[-12:]}"
    asked = assistant(
        Thinking("I should look at the price first."),
        Text("Let me look. "),
        ToolCall("price", f'{{"ticker": "{ticker}"}}', call_id=price, runnable=True),
        ToolCall("order", f'{{"rows": "$VAR_REF{{{{df}}}}", "n": {number % 20}}}', call_id=order, runnable=True),
    )
    then(0.1, RequestStarted(1))
    then(1.5 + number % 2, ReplyFinished(1, asked, "tools", Usage(300, 40), complete=True, seconds=1.5 + number % 2))
    then(0, MessageAppended(asked))
    then(0.01, CallReady(price, "price", 1, asked.calls[0].arguments, {"ticker": plain(f'"{ticker}"')}))
    then(0.01, CallStarted(price, clock()))
    resolved = {"rows": reference("df", "DataFrame, 120 rows by 3 columns"), "n": plain(str(number % 20))}
    then(0.01, CallReady(order, "order", 1, asked.calls[1].arguments, resolved))
    then(0.01, CallAsked(order, "run", "d" * 64, "order", asked.calls[1].arguments))
    then(0.8, CallFinished(price, "price", 1, "ok", str(10 + number % 90), reference=f"price_{number}", seconds=0.83))
    denied = number % 5 == 3
    then(2.4, CallDecided(order, "run", "d" * 64, "denied" if denied else "approved", "button", "Too many." * denied))
    if denied:
        then(
            0.01,
            CallFinished(order, "order", 1, "denied", "The person denied this call: Too many.", reason="Too many."),
        )
        return
    then(0.01, CallStarted(order, clock()))
    text = f'{{"ordered": {number % 20}, "note": "<img src=x onerror=window.hacked=1>"}}'
    then(0.6, CallFinished(order, "order", 1, "ok", text, seconds=0.6))
