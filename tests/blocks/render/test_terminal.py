from __future__ import annotations

import io

from nbtool.blocks.render.terminal import Terminal
from nbtool.events import (
    WHOLE_RESULT,
    CallAsked,
    CallDecided,
    CallDelta,
    CallFinished,
    CallPending,
    CallStarted,
    Event,
    Notice,
    RequestStarted,
    Retrying,
    TextDelta,
    ThinkingDelta,
    TurnEnded,
    TurnStarted,
)
from nbtool.messages import Usage, user


def render_terminal(*events: Event) -> str:
    output = io.StringIO()
    terminal = Terminal(output)
    for event in events:
        terminal.feed(event)
    return output.getvalue()


def test_a_turn_reads_line_by_line() -> None:
    text = render_terminal(
        TurnStarted("t", "practice:default", user("hi"), 1.0), RequestStarted(1), ThinkingDelta("hm"),
        TextDelta("Let me "), TextDelta("look."),
        CallDelta("0", name="price", arguments='{"ticker": "ACME"}', call_id="c1"),
        CallStarted("c1", 1.0), CallFinished("c1", "price", 1, "ok", "4.2\n(USD)", seconds=0.3), RequestStarted(2),
        TextDelta("It is 4.2."), Notice("Nearly out of tokens"), TurnEnded("completed", "", Usage(10, 2), 2, 1, 1.5),
    )  # fmt: skip

    assert text == (
        "(thinking: 2 characters)\nLet me look.\n✓ price(ticker=\"ACME\") · 0.3 s\n    4.2 (USD)\nIt is 4.2.\n"
        "Nearly out of tokens\n"
        "Parts of this turn are omitted here: `%chat show t --whole` prints them.\n"
        "practice:default · 2 rounds · 1 call · 12 tokens · 1.5 s\n"
    )  # fmt: skip


def test_a_call_that_is_being_written_is_not_counted_line_by_line() -> None:
    text = render_terminal(CallPending(9), CallPending(12_000), Retrying(1, 4.0, "rate limited"))

    assert text == "(Retrying in 4 s (rate limited))\n"


def test_text_is_written_as_it_comes() -> None:
    assert render_terminal(TextDelta("a"), TextDelta("b")) == "ab"


def test_a_question_shows_all_that_would_run_with_nothing_hidden() -> None:
    text = render_terminal(
        CallDelta("0", name="shell", arguments='{"cmd": "ls\u202e"}', call_id="c1"),
        CallAsked("c1", "run", "d", "shell", '{"cmd": "ls\u202e"}'),
        CallDecided("c1", "run", "d", "denied", "input"), CallFinished("c1", "shell", 1, "denied", "No."),
    )  # fmt: skip

    assert "◆ shell wants to run:" in text
    assert '"cmd": "ls\\u{202e}"' in text
    assert "⊘ shell" in text
    assert "denied" in text


def test_a_model_cannot_reach_the_terminal() -> None:
    text = render_terminal(
        TextDelta("\x1b]0;owned\x07\x1b[2Jhi"), CallDelta("0", name="\x1b[31mx", call_id="c1"),
        CallFinished("c1", "x", 1, "error", "\x1b[31mred\x9b2J"), Notice("\x1b[1mbold"),
    )  # fmt: skip

    assert "\x1b" not in text
    assert "\x9b" not in text
    assert "hi" in text


def test_a_turn_that_was_stopped_says_so() -> None:
    text = render_terminal(TextDelta("So"), TurnEnded("cancelled", "So", Usage(), 1, 0, 1.0))

    assert text.startswith("So\n[cut off here]\nStopped before it was finished.\n")


def test_a_long_result_ends_in_a_mark_that_says_how_much_more_there_is() -> None:
    text = render_terminal(CallFinished("c1", "f", 1, "ok", "x" * 1_000))

    assert "… [… 800 characters more]\n" in text


def test_a_complete_result_is_not_marked_as_cut_because_of_the_line_that_names_its_variable() -> None:
    shown = "x" * 200 + WHOLE_RESULT.format(name="f_1_result")
    text = render_terminal(CallFinished("c1", "f", 1, "ok", shown, reference="f_1_result"))

    assert "x" * 200 in text
    assert "more" not in text


def test_the_reason_of_a_call_that_was_denied_without_asking_is_written_once_with_what_can_be_done() -> None:
    result = "Nobody could be asked to approve this call. Reason: No page, no input. So it was denied."
    reason = "No page, no input. So it was denied. Add `--approve auto`."
    text = render_terminal(
        CallDelta("0", name="f", arguments="{}", call_id="c1"),
        CallDecided("c1", "run", "d", "denied", "nobody", reason),
        CallFinished("c1", "f", 1, "denied", result, reason=reason),
    )

    assert text == f"⊘ f() · denied without asking\n    {result}\n    Add `--approve auto`.\n"


def test_a_reason_of_which_the_result_has_other_words_is_written_in_full() -> None:
    text = render_terminal(CallFinished("c1", "f", 1, "denied", "Denied. Reason: No.", reason="No pages. Use a page."))

    assert "\n    Denied. Reason: No.\n    No pages. Use a page.\n" in text
