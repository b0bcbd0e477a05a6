"""What is cut where a turn is shown: each text that may be long, in each form that a person sees or keeps."""

from __future__ import annotations

import io
import json
import re
from collections.abc import Callable
from html import unescape
from typing import Any

import pytest

from nbtool.blocks.display_limits import NO_LIMITS
from nbtool.blocks.fold.turn_events import Transcript
from nbtool.blocks.protocol import Document
from nbtool.blocks.render import whole_conversation
from nbtool.blocks.render.document_truncation import _fields
from nbtool.blocks.render.mimebundle import TURN_MIME, turn_mimebundle
from nbtool.blocks.render.terminal import Terminal
from nbtool.blocks.render.whole_conversation import ConversationTurn
from nbtool.blocks.render.whole_text import to_whole_text
from nbtool.events import (
    CallDecided,
    CallDelta,
    CallFinished,
    CallProgress,
    CallReady,
    CallStarted,
    Event,
    Notice,
    ReplyFinished,
    RequestStarted,
    TextDelta,
    ThinkingDelta,
    TurnEnded,
    TurnStarted,
)
from nbtool.messages import Usage, assistant, user
from tests.blocks.turns import make_document
from tests.resolved import reference

LONG = 3_000_000
END = "the-end"
TEXT = "word " * (LONG // 5) + END
SHORT = "short"
COMMAND = "%chat show t1 --whole"


def events(field: str) -> list[Event]:
    """Give a turn with every text that a block can hold, of which one is long."""

    def text(name: str) -> str:
        return TEXT if name == field else SHORT

    arguments = json.dumps({"query": "$VAR_REF{{df}}", "more": text("arguments")})
    shown = text("result")
    return [
        TurnStarted("t1", "practice:default", user("A question."), 1.0), RequestStarted(1),
        ThinkingDelta(text("thinking")), TextDelta(text("text")), CallDelta("k1", name="find", call_id="c1"),
        ReplyFinished(1, assistant(""), "calls", Usage(), True),
        CallReady("c1", "find", 1, arguments, {"query": reference("df", text("resolved"))}), CallStarted("c1", 1.0),
        CallDecided("c1", "run", "d", "approved", "button", text("decision")),
        CallProgress("c1", text("progress")),
        CallFinished(
            "c1", "find", 1, "error" if field in ("reason", "traceback") else "ok", shown, seconds=0.1,
            reason=text("reason"), traceback=text("traceback"),
        ),
        Notice(text("notice")), TurnEnded("completed", "", Usage(), 1, 1, 1.0),
    ]  # fmt: skip


def folded(field: str) -> Document:
    return make_document(*events(field))


def in_terminal(field: str) -> str:
    output = io.StringIO()
    terminal = Terminal(output)
    for event in events(field):
        terminal.feed(event)
    return output.getvalue()


def in_page(field: str) -> str:
    """Give the texts of what the page draws, with the marks and the line that it writes for its counts."""
    bundle = turn_mimebundle(folded(field))
    assert bundle[TURN_MIME]["head"]["cut"] is True  # the page writes the line of the command for it
    more = (block.get("more", {}).values() for block in bundle[TURN_MIME]["blocks"])
    counts = [f"… {count:,} characters more" for values in more for count in values]
    return json.dumps(bundle[TURN_MIME], ensure_ascii=False) + "\n".join([*counts, COMMAND])


FORMS: dict[str, Callable[[str], str]] = {
    "terminal": in_terminal,
    "text/plain": lambda field: turn_mimebundle(folded(field))["text/plain"],
    "text/html": lambda field: unescape(turn_mimebundle(folded(field))["text/html"]),
    "page": in_page,
    "conversation, text": lambda field: whole_conversation.mimebundle([ConversationTurn("?", folded(field), {})])[
        "text/plain"
    ],
    "conversation, html": lambda field: unescape(
        whole_conversation.mimebundle([ConversationTurn("?", folded(field), {})])["text/html"]
    ),
}
ELSEWHERE = ("decision", "resolved", "notice", "reason")
"""Texts that are cut with their mark in them."""

BLOCKS = folded("traceback")["blocks"]
FIELDS = [*dict.fromkeys(name for block in BLOCKS for name in _fields(block)), "thinking", "traceback", *ELSEWHERE]
"""Everything that the saved form of a turn cuts."""

NOT_IN_TEXT = {"progress", "resolved", "decision"}
"""What is told in a fold of the page alone; in plain text it is left out, and the command prints it."""


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("field", dict.fromkeys(FIELDS))
def test_what_is_cut_is_marked_and_counted_and_the_rest_has_a_way(field: str, form: str) -> None:
    shown = FORMS[form](field)

    assert END not in shown
    assert len(shown) < LONG
    assert COMMAND in shown
    if not (form in ("terminal", "text/plain", "conversation, text") and field in NOT_IN_TEXT):
        counts = [int(count.replace(",", "")) for count in re.findall(r"([\d,]+) characters", shown)]
        assert any(LONG * 0.5 < count <= LONG + 100 for count in counts)


@pytest.mark.parametrize("field", dict.fromkeys(FIELDS))
def test_the_whole_of_a_turn_holds_every_text_to_its_end(field: str) -> None:
    transcript = Transcript(NO_LIMITS)
    for event in events(field):
        transcript.feed(event)
    whole = to_whole_text(transcript.document())

    assert TEXT in whole
    assert "characters more" not in whole


def test_a_turn_that_is_all_there_names_no_command() -> None:
    document: Any = folded("")

    assert COMMAND not in turn_mimebundle(document)["text/html"]
    assert "cut" not in turn_mimebundle(document)[TURN_MIME]["head"]
