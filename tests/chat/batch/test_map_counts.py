from __future__ import annotations

import sys
from typing import Any

import pytest

from nbtool.chat.batch.answers import Answer
from nbtool.chat.batch.map_counts import MAX_FAILURES, MAX_MESSAGE_CHARS, VARYING, MapCounts
from nbtool.errors import BadUsage
from nbtool.map_progress import MapProgress
from nbtool.messages import Usage

NAMES = "abcdefghij"
LETTERS = str.maketrans("0123456789", NAMES)


class Clock:
    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


def counted(total: int | None = 100) -> tuple[MapCounts, Clock]:
    clock = Clock()
    return MapCounts(total, clock=clock), clock


def add(counts: MapCounts, error: BaseException | None = None, *, is_unsent: bool = False, **fields: Any) -> None:
    counts.add_answer(Answer(0, None, "", error=error, **fields), is_unsent=is_unsent)


def progress(counts: MapCounts) -> MapProgress:
    return counts.progress(Usage())


def test_each_prompt_is_counted_once_as_what_came_of_it() -> None:
    counts, clock = counted()
    add(counts)
    add(counts, ValueError("no"))
    add(counts, is_cached=True)
    add(counts, BadUsage("stopped"), is_unsent=True)
    add(counts, has_undecided_calls=True)
    counts.add_answered_before(3)
    clock.now += 2

    shown = progress(counts)

    assert (shown.answered, shown.failed, shown.answered_before, shown.unsent, shown.undecided) == (2, 1, 4, 1, 1)
    assert (shown.done, shown.total, shown.seconds) == (7, 100, 2.0)
    assert shown.failures == (("ValueError: no", 1),)


def test_the_first_distinct_messages_are_kept_and_all_others_counted() -> None:
    counts, _ = counted()
    for number in range(20):
        add(counts, BadUsage(f"Wrong {NAMES[number % 10]}."))
    add(counts, BadUsage("x" * 10_000))

    shown = progress(counts)

    assert shown.failures == tuple((f"Wrong {name}.", 2) for name in NAMES[:MAX_FAILURES])
    assert shown.other_failures == 11


def test_a_long_message_is_kept_in_part_and_says_so() -> None:
    counts, _ = counted()
    add(counts, BadUsage("two\nlines " + "x" * 10_000))

    ((message, _),) = progress(counts).failures

    assert message.startswith("two lines ")
    assert message.endswith("more]")
    assert len(message) < MAX_MESSAGE_CHARS + 50


def test_of_a_long_message_what_can_be_done_about_it_is_kept() -> None:
    counts, _ = counted()
    add(counts, BadUsage("x" * 10_000, fix="Pass `y`."))

    ((message, _),) = progress(counts).failures

    assert message.endswith("more] Pass `y`.")


def test_the_first_rows_of_each_message_are_kept_in_order() -> None:
    counts, _ = counted()
    for row in (40, 3, 99, 17, 2_000):
        counts.add_answer(Answer(row, f"row {row}", "", error=BadUsage("Wrong.")))
    counts.add_answer(Answer(5, "x" * 100, "", error=BadUsage("Bad.")))
    counts.add_answer(Answer(1, None, "", error=BadUsage("Wrong.")), is_unsent=True)

    first, (second,) = progress(counts).failure_rows
    assert first == ("row 3", "row 17", "row 40")
    assert len(second) < 100


def test_failures_that_differ_in_numbers_and_ids_only_are_of_one_kind() -> None:
    counts, _ = counted()
    for number in range(20):
        add(counts, BadUsage(f"The 2 parts of batch-{number} are wrong."))
    add(counts, BadUsage("The 2 parts of it are wrong."))

    (message, count), (_, others) = progress(counts).failures
    assert (count, others) == (20, 1)
    assert VARYING in message
    assert "2" in message


def test_the_rate_is_that_of_the_last_minute() -> None:
    counts, clock = counted(10_000)
    for _ in range(300):  # one a second
        clock.now += 1
        add(counts)
    slow = progress(counts)
    for _ in range(300):  # ten a second
        clock.now += 0.1
        add(counts)
    fast = progress(counts)

    assert slow.per_minute == pytest.approx(60, rel=0.05)
    assert fast.per_minute == pytest.approx(330, rel=0.05)  # half of the last minute
    assert slow.seconds_left == pytest.approx(9_700, rel=0.05)


def test_slow_answers_have_a_rate_too_and_it_falls_while_none_comes() -> None:
    counts, clock = counted()
    for _ in range(10):
        clock.now += 120
        add(counts)
    steady = progress(counts).per_minute
    clock.now += 1_200
    stalled = progress(counts).per_minute

    assert steady == pytest.approx(0.5, rel=0.1)
    assert stalled is not None
    assert steady is not None
    assert stalled < steady / 2


def test_too_few_answers_have_no_rate_and_an_unknown_total_no_time_left() -> None:
    counts, clock = counted(None)
    clock.now += 5
    add(counts)
    first = progress(counts)
    add(counts)
    second = progress(counts)

    assert first.per_minute is None
    assert second.per_minute == pytest.approx(24)
    assert second.seconds_left is None


def test_answers_from_before_are_no_part_of_the_rate() -> None:
    counts, clock = counted()
    for _ in range(50):
        add(counts, is_cached=True)
    clock.now += 10

    assert progress(counts).per_minute is None


def test_time_begins_when_the_map_does() -> None:
    counts, clock = counted()
    clock.now += 50
    counts.begin()
    clock.now += 2

    assert progress(counts).seconds == 2.0


def test_what_is_kept_does_not_grow_with_the_answers() -> None:
    counts, clock = counted(200_000)
    for number in range(200_000):
        clock.now += 0.01
        add(counts, BadUsage(f"Wrong {str(number).translate(LETTERS)}.") if number % 2 else None)

    assert len(counts._buckets) < 80
    assert len(counts._failures) == MAX_FAILURES
    assert sys.getsizeof(counts._buckets) < 10_000
    assert progress(counts).done == 200_000
