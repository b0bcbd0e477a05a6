from __future__ import annotations

import json

from nbtool.blocks.render.whole_conversation import (
    COLLAPSED_CHAT,
    MAX_TURNS,
    PROMPT_LIMIT,
    SAVED_LIMIT,
    TURN_LIMIT,
    ConversationTurn,
    mimebundle,
    page_data,
    saved_data,
)
from nbtool.events import RequestStarted, TextDelta, TurnEnded, TurnStarted
from nbtool.messages import Usage, user
from tests.blocks.turns import make_document


def make_turn(number: int, text: str = "Said.", prompt: str = "") -> ConversationTurn:
    """Give a turn that has ended."""
    prompt = prompt or f"Question {number}"
    folded = make_document(
        TurnStarted(f"t{number}", "practice:fast", user(prompt), 1.0), RequestStarted(1), TextDelta(text),
        TurnEnded("completed", text, Usage(), 1, 0, 1.0),
    )  # fmt: skip
    return ConversationTurn(prompt, folded, {"rerun": f"%%chat --rerun t{number}"})


def test_the_page_gets_the_latest_turns_with_the_cells_that_they_offer() -> None:
    page = page_data([make_turn(number) for number in range(MAX_TURNS + 3)])

    assert (page["left_out"], len(page["turns"])) == (3, MAX_TURNS)
    first = page["turns"][0]
    assert (first["prompt"], first["cells"]) == ("Question 3", {"rerun": "%%chat --rerun t3"})
    assert first["document"]["head"]["acts"] == ["rerun"]


def test_a_conversation_is_bounded_however_long_its_turns_are() -> None:
    turns = [make_turn(number, "word " * 40_000, "ask " * 10_000) for number in range(4)]

    page, stored = page_data(turns), mimebundle(turns)

    assert len(json.dumps(page)) < 4 * (TURN_LIMIT + PROMPT_LIMIT + 1_000)
    assert len(stored["text/html"]) < 4 * (TURN_LIMIT // 4 + PROMPT_LIMIT + 1_000)
    assert "characters more" in stored["text/html"]


def test_what_a_notebook_saves_is_bounded_and_has_the_latest_turns_without_their_cells() -> None:
    short = saved_data([make_turn(number) for number in range(MAX_TURNS + 3)], "Conversation")
    long = saved_data([make_turn(number, "word " * 40_000, "ask " * 10_000) for number in range(20)], "Conversation")

    assert (short["left_out"], len(short["turns"])) == (3, MAX_TURNS)
    assert set(short["turns"][0]) == {"prompt", "document"}
    assert "acts" not in short["turns"][0]["document"]["head"]
    assert 0 < len(long["turns"]) == 20 - long["left_out"]
    assert long["turns"][-1]["document"]["head"]["turn_id"] == "t19"
    assert len(json.dumps(long, ensure_ascii=False).encode()) < SAVED_LIMIT + 1_000


def test_nothing_of_a_conversation_becomes_markup() -> None:
    html = mimebundle([make_turn(1, "<script>x</script>", "<img src=x>")])["text/html"]

    assert "<script" not in html
    assert "&lt;img src=x&gt;" in html


def test_the_saved_form_says_what_it_left_out_and_is_folded_below_a_live_view() -> None:
    turns = [make_turn(number) for number in range(MAX_TURNS + 1)]

    stored, folded = mimebundle(turns), mimebundle(turns, folded=True)

    assert "1 earlier turn is not shown" in stored["text/plain"]
    assert stored["text/plain"].endswith("Said.\n\npractice:fast · 1.0 s")
    assert folded["text/html"].startswith(f"<!-- {COLLAPSED_CHAT} --><details>")
