"""What a person reads when a prompt is not the recorded one: the first place that differs."""

from __future__ import annotations

import datetime as dt
from pathlib import Path
from typing import Any

import pytest

from nbtool import Chat
from nbtool.chat.recording.prompt_difference import AFTER, BEFORE, SAME_TEXT, describe_difference
from nbtool.messages import Media
from nbtool.plugins.privacy import Privacy
from tests.chat.recording.making import ONLY, chat
from tests.chat.recording.replaying import change_recording, notices

PROMPT, CHANGED = "The price of NVDA in euros?", "The price of INTC in euros?"
SHOWN = 'the prompt differs at character 14: recorded "The price of NVDA in euros?", now "The price of INTC in euros?"'


def recorded(path: Path, *prompts: str) -> None:
    first = chat(path, ["It costs 10."] * len(prompts), tools=[])
    for prompt in prompts:
        first.send(prompt)


def test_in_auto_a_changed_prompt_is_shown_where_it_differs_and_the_model_is_asked(path: Path) -> None:
    recorded(path, PROMPT)

    turn = chat(path, ["Another."], tools=[]).send(CHANGED)

    assert turn.text == "Another."
    (notice,) = notices(turn)
    assert all(part in notice for part in (str(dt.date.today()), SHOWN))


def test_in_only_the_error_shows_where_the_prompt_differs_and_what_else_changed(path: Path) -> None:
    recorded(path, PROMPT)

    reason = change_recording(path, prompt=CHANGED, tools=[], options={"temperature": 0})

    assert all(part in reason for part in (path.name, str(dt.date.today()), f"{SHOWN}; the options"))


def test_a_new_prompt_that_resembles_one_of_this_kernel_is_no_change_of_it(path: Path) -> None:
    recorded(path, PROMPT)
    kernel = chat(path, ["Another."], tools=[])

    assert kernel.send(PROMPT).replayed is not None
    assert notices(kernel.fork().send(CHANGED)) == []


def test_a_prompt_unlike_every_recorded_one_is_sent_without_a_notice(path: Path) -> None:
    recorded(path, PROMPT)

    assert notices(chat(path, ["Yes."], tools=[]).send("Is it raining?")) == []


def test_the_turn_at_the_same_point_of_the_conversation_is_compared(path: Path) -> None:
    recorded(path, "Hello", PROMPT)
    kernel = chat(path, ["Another."], tools=[])

    assert kernel.send("Hello").replayed is not None
    assert SHOWN in notices(kernel.send(CHANGED))[0]


def test_another_attachment_under_the_same_text_is_named(path: Path) -> None:
    chat(path, ["A dot."]).send("Look", attach=Media("image/png", b"\x89PNG one"))

    turn = chat(path, ["Two dots."]).send("Look", attach=Media("image/png", b"\x89PNG two"))

    (notice,) = notices(turn)
    assert all(part in notice for part in (str(dt.date.today()), SAME_TEXT))


def test_no_private_value_and_no_key_is_shown(path: Path) -> None:
    def private(replies: Any = ()) -> Chat:
        return chat(path, replies, tools=[], plugins=[Privacy(["email"])])

    key = "sk-" + "a1B2" * 8
    private(["Sent."]).send(f"Write to ada@example.org with {key} now")
    masked = private().send(f"Write to eve@example.org with {key} now", settings=ONLY)
    worded = private().send(f"Send to eve@example.org with {key} now", settings=ONLY)

    assert SAME_TEXT in str(masked.error)
    assert 'recorded "Write to __MASK_EMAIL_1__' in str(worded.error)
    for turn in (masked, worded):
        assert "example.org" not in str(turn.error)
        assert key not in str(turn.error)


@pytest.mark.parametrize(
    ("before", "now", "excerpts"),
    [
        ("Which?", "Which one?", 'recorded "Which?", now "Which one?"'),
        ("a b", "a\nb", r'recorded "a b", now "a\nb"'),
        ("ab", "a\u202eb", r'recorded "ab", now "a\u{202e}b"'),
        ("ab", "a\x1b[31mb", r'recorded "ab", now "a\u{001b}[31mb"'),
    ],
)
def test_what_is_invisible_differs_visibly_in_one_line(before: str, now: str, excerpts: str) -> None:
    text = describe_difference(before, now)

    assert text.endswith(excerpts)
    assert text.isprintable()


def test_a_long_prompt_is_shown_around_the_place_only() -> None:
    text = describe_difference("x" * 100_000 + "A" + "y" * 100_000, "x" * 100_000 + "B" + "y" * 100_000)

    before, after = "x" * BEFORE, "y" * (AFTER - 1)
    assert text.endswith(f' 100,001: recorded "…{before}A{after}…", now "…{before}B{after}…"')
