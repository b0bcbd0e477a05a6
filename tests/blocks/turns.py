"""What the tests of blocks share: turns in each state, as events, and transcripts folded from events."""

from __future__ import annotations

import json
import os
from typing import Any

from nbtool.blocks.fold.turn_events import Transcript
from nbtool.events import (
    CallAsked,
    CallDecided,
    CallDelta,
    CallFinished,
    CallProgress,
    CallReady,
    CallStarted,
    ErrorRaised,
    Event,
    Notice,
    ReplyFinished,
    RequestStarted,
    ResolvedArgument,
    TextDelta,
    ThinkingDelta,
    TurnEnded,
    TurnStarted,
)
from nbtool.messages import Message, Text, Thinking, Usage, assistant, user
from tests.resolved import reference

RECORDS = bool(os.environ.get("NBTOOL_RECORD"))

ARGUMENTS = '{"ticker": "ACME", "table": "$VAR_REF{{df}}"}'
SCHEMA = {"type": "object", "properties": {"ticker": {"type": "string"}, "limit": {"type": "integer"}}}
OTHER = '{"ticker": "GLOB", "limit": 12345678901234567890}'
REPLY = """## Cheapest ticker

The cheapest is **ACME** at `4.20` USD; $5 stays a price, and `$df` a name.

| ticker | close |
|:--|--:|
| ACME | 4.20 |
| GLOB | 17.05 |

1. read the *table*
2. call `price` for each
   - see [the docs](https://example.com/a?b=c)

```python
best = table["close"].idxmin()
```

Anything else?
"""


def words(text: str, size: int = 7) -> list[Event]:
    return [TextDelta(text[at : at + size]) for at in range(0, len(text), size)]


def first_round() -> list[Event]:
    look = "Let me look at the table first."
    return [
        TurnStarted("t", "practice:default", user("Which of the tickers is cheapest?"), 1.0), RequestStarted(1),
        ThinkingDelta("One call "), ThinkingDelta("for each ticker."), *words(look),
        CallDelta("0", name="price", call_id="c1"), CallDelta("0", arguments=ARGUMENTS[:20], call_id="c1"),
        CallDelta("0", arguments=ARGUMENTS[20:], call_id="c1"), CallDelta("1", name="price", call_id="c2"),
        CallDelta("1", arguments=OTHER, call_id="c2"),
        ReplyFinished(
            1, Message("assistant", (Thinking("One call for each ticker."), Text(look))), "tools", Usage(812, 40), True
        ),
        CallReady(
            "c1", "price", 1, ARGUMENTS,
            {"table": reference("df", "DataFrame, 250 rows")},
        ),
        CallReady("c2", "price", 1, OTHER),
    ]  # fmt: skip


def question_event(table: ResolvedArgument | None = None) -> Event:
    described = {"table": table or reference("df", "DataFrame, 250 rows")}
    return CallAsked("c1", "run", "d1", "price", ARGUMENTS, "Latest close of a ticker, in USD.", described=described)


def approval_events() -> list[Event]:
    return [question_event(), CallDecided("c1", "run", "d1", "approved", "button"), CallStarted("c1", 1.0)]


def run_events(call_id: str, result: str, status: Any = "ok") -> list[Event]:
    return [CallStarted(call_id, 1.0), CallFinished(call_id, "price", 1, status, result, seconds=0.31)]


def three_questions() -> list[Event]:
    """Three calls of a round that wait at once; one of them is sensitive and one was decided elsewhere."""
    code = json.dumps({"code": "import os\n\nprint(os.getcwd())\n"})
    table = reference("df", "DataFrame, 250 rows by 3 columns", "ticker (object)")
    described = {"table": table}
    return [
        *first_round(), CallReady("c1", "price", 1, ARGUMENTS, described), question_event(table),
        CallAsked("c2", "run", "d2", "price", OTHER, "Latest close of a ticker, in USD.", SCHEMA),
        CallDelta("2", name="run_python", arguments=code, call_id="c3"),
        CallAsked("c3", "run", "d3", "run_python", code, "Run Python.", can_remember=False, sensitive=True),
        CallDecided("c2", "run", "d2", "denied", "%chat", "one is enough"),
    ]  # fmt: skip


def scenes() -> dict[str, list[Event]]:
    both = [*first_round(), *approval_events(), *run_events("c1", "4.2"), *run_events("c2", "17.05"), RequestStarted(2)]
    failed = "practice answered 429 (rate limited). Try again in 20 s, or choose another model."
    return {
        "streaming": [*both, *words(REPLY[:420])],
        "waiting": [*first_round(), *run_events("c2", "17.05"), question_event()],
        "result_gate": [
            *first_round(), *approval_events(),
            CallAsked("c1", "result", "d2", "price", "ACME 4.20\nowner: jane@example.com")
        ],
        "round": three_questions(),
        "running": [*first_round(), *approval_events(), CallProgress("c1", "read 120 rows\n", 0.48)],
        "finished": [
            *both, *words(REPLY), ReplyFinished(2, assistant(REPLY), "end", Usage(1201, 220), True),
            TurnEnded("completed", REPLY, Usage(2013, 260), 2, 2, 6.4),
        ],
        "cancelled": [*both, *words(REPLY[:60]), TurnEnded("cancelled", REPLY[:60], Usage(900, 60), 2, 2, 3.2)],
        "error": [
            *first_round(), question_event(), CallDecided("c1", "run", "d1", "denied", "button", "not this table"),
            CallFinished("c1", "price", 1, "denied", "Denied: not this table", reason="not this table"),
            *run_events("c2", "ValueError: no such ticker 'GLOB'", "error"),
            Notice("One call failed.", "warning"), RequestStarted(2), ErrorRaised("request", failed),
            TurnEnded("error", "", Usage(812, 40), 2, 2, 3.2, failed),
        ],
    }  # fmt: skip


def fold(*events: Event) -> Transcript:
    transcript = Transcript()
    for event in events:
        transcript.feed(event)
    return transcript


def make_document(*events: Event) -> Any:
    return fold(*events).document()
