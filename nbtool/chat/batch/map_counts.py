"""The counts of a running map: each answer is counted in constant time, and their memory does not grow."""

from __future__ import annotations

import re
import threading
from bisect import insort
from collections import Counter, deque
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

from nbtool.chat.batch.answers import Answer
from nbtool.clock import monotonic
from nbtool.errors import NbtoolError
from nbtool.events import EndReason
from nbtool.map_progress import CUTTING_REASONS, MapProgress, MapState
from nbtool.messages import Usage
from nbtool.text import shorten

WINDOW_SECONDS = 60.0
"""Seconds over which the rate is measured."""

MIN_IN_WINDOW = 8
"""Answers over which it is measured where they took longer."""

BUCKET_SECONDS = 1.0
"""Answers are counted together for the rate if they arrive within such a time."""

MAX_FAILURES = 5
"""Number of kinds of failures that are kept, the first ones; further ones are only counted."""

MAX_MESSAGE_CHARS, MAX_FIX_CHARS = 200, 300
"""Characters of such a message that are kept, and of what can be done about it, which is more important."""

MAX_ROWS = 3
"""Number of rows with such a message that are kept, the first ones."""

MAX_LABEL_CHARS = 40
"""Characters of the label of a row that are shown."""

VARYING = "…"
"""What stands in a message for a number or an id that differs among the failures of a kind."""

_NUMBERED = re.compile(r"\S*\d\S*")
"""A word with a digit: a number, an id."""


@dataclass(slots=True)
class FailureKind:
    """Failures whose messages differ in numbers and ids only: their common message, their number, the first rows."""

    words: tuple[str, ...] = ()
    count: int = 0
    _rows: list[tuple[int, str]] = field(default_factory=list)

    @property
    def message(self) -> str:
        """The common message."""
        return " ".join(self.words)

    @property
    def rows(self) -> tuple[str, ...]:
        """The labels of the first rows."""
        return tuple(label for _, label in self._rows)

    def add(self, message: str) -> None:
        """Count a failure."""
        words = tuple(message.split(" "))
        if self.count:
            pairs = zip(self.words, words, strict=True)
            words = tuple(old if old == new else VARYING for old, new in pairs)
        self.words = words
        self.count += 1

    def note_row(self, index: int, label: object) -> None:
        """Note the row of a failure, by its label."""
        insort(self._rows, (index, shorten(_in_one_line(str(label)), MAX_LABEL_CHARS)))
        del self._rows[MAX_ROWS:]


class MapCounts:
    """Counts answers on any thread."""

    def __init__(
        self,
        total: int | None,
        *,
        max_tokens: int | None = None,
        max_usd: float | None = None,
        clock: Callable[[], float] = monotonic,
    ) -> None:
        self._total, self._clock = total, clock
        self._max_tokens, self._max_usd = max_tokens, max_usd
        self._answered = self._failed = self._answered_before = self._unsent = self._undecided = self._acted = 0
        self._unknown = 0
        self._approver_error = ""
        self._note = ""
        self._failures: dict[str, FailureKind] = {}
        self._cut: Counter[EndReason] = Counter()
        self._buckets: deque[tuple[float, int]] = deque()
        self._in_window = 0
        self._window_start = self._start = clock()
        self._lock = threading.Lock()

    def begin(self) -> None:
        """Measure time from now on."""
        self._window_start = self._start = self._clock()

    def note(self, text: str) -> None:
        """Show a text beside the counts, such as the state of a batch at the provider; empty removes it."""
        self._note = text

    def add_answer(self, answer: Answer, *, is_unsent: bool = False) -> None:
        """Count one prompt by its answer: also what cut that short, and the row of one that failed."""
        self.add(
            answer.error,
            is_cached=answer.is_cached,
            is_unsent=is_unsent,
            has_undecided_calls=answer.has_undecided_calls,
            approver_error=answer.approver_error,
            has_acted=answer.has_acted,
        )
        with self._lock:
            if answer.error is None and answer.end_reason in CUTTING_REASONS:
                self._cut[answer.end_reason] += 1
            self._unknown += is_unsent and answer.has_unknown_calls
            kind = None if answer.error is None or is_unsent else self._failures.get(_kind_of(answer.error))
            if kind and not answer.is_cached:
                kind.note_row(answer.index, answer.label)

    def add(
        self,
        error: BaseException | None = None,
        *,
        is_cached: bool = False,
        is_unsent: bool = False,
        has_undecided_calls: bool = False,
        approver_error: str = "",
        has_acted: bool = False,
    ) -> None:
        """Count one prompt: its error, whether its answer was there before, and whether it was never sent.

        With `has_undecided_calls`, its answer comes from a turn in which nobody decided about a call; `approver_error`
        is why, if an approver failed, of which the first is kept, and `has_acted` whether another call of it ran.
        """
        with self._lock:
            if is_unsent:
                self._unsent += 1
                return
            self._undecided += has_undecided_calls
            self._acted += has_undecided_calls and has_acted
            self._approver_error = self._approver_error or shorten(approver_error, MAX_MESSAGE_CHARS)
            if is_cached:
                self._answered_before += 1
                return
            self._count_in_window(self._clock())
            if error is None:
                self._answered += 1
                return
            self._failed += 1
            kind = _kind_of(error)
            if kind in self._failures or len(self._failures) < MAX_FAILURES:
                self._failures.setdefault(kind, FailureKind()).add(_message_of(error))

    def add_answered_before(self, count: int) -> None:
        """Count prompts whose answers were there before."""
        with self._lock:
            self._answered_before += count

    def progress(
        self, usage: Usage, *, wait_seconds: float = 0.0, state: MapState = "running", reason: str = ""
    ) -> MapProgress:
        """Return the counts as they are now."""
        with self._lock:
            now = self._clock()
            self._forget_before(now - WINDOW_SECONDS)
            return MapProgress(
                usage,
                total=self._total,
                answered=self._answered,
                failed=self._failed,
                answered_before=self._answered_before,
                unsent=self._unsent,
                seconds=now - self._start,
                per_minute=self._rate(now),
                wait_seconds=wait_seconds if state == "running" else 0.0,
                failures=tuple((failure.message, failure.count) for failure in self._failures.values()),
                other_failures=self._failed - sum(failure.count for failure in self._failures.values()),
                state=state,
                reason=reason,
                undecided=self._undecided,
                approver_error=self._approver_error,
                acted=self._acted,
                cut=tuple((reason, count) for reason in CUTTING_REASONS if (count := self._cut[reason])),
                max_tokens=self._max_tokens,
                max_usd=self._max_usd,
                failure_rows=tuple(failure.rows for failure in self._failures.values()),
                unknown=self._unknown,
                note=self._note if state == "running" else "",
            )

    def _rate(self, now: float) -> float | None:
        elapsed = now - self._window_start
        return self._in_window * 60 / elapsed if self._in_window > 1 and elapsed >= BUCKET_SECONDS else None

    def _count_in_window(self, now: float) -> None:
        if self._buckets and now - self._buckets[-1][0] < BUCKET_SECONDS:
            begin, count = self._buckets[-1]
            self._buckets[-1] = (begin, count + 1)
        else:
            self._forget_before(now - WINDOW_SECONDS)
            self._buckets.append((now, 1))
        self._in_window += 1

    def _forget_before(self, start: float) -> None:
        """Forget the answers of an earlier time, unless too few were later."""
        while self._buckets and self._buckets[0][0] < start and self._in_window - self._buckets[0][1] >= MIN_IN_WINDOW:
            begin, count = self._buckets.popleft()
            self._in_window -= count
            self._window_start = begin + BUCKET_SECONDS


def group_failures(answers: Iterable[Answer]) -> dict[str, list[Any]]:
    """Return the labels of answers with an error, by the common message of each kind of failures."""
    kinds: dict[str, tuple[FailureKind, list[Any]]] = {}
    for answer in answers:
        if answer.error is not None:
            kind, labels = kinds.setdefault(_kind_of(answer.error), (FailureKind(), []))
            kind.add(_message_of(answer.error))
            labels.append(answer.label)
    return {kind.message: labels for kind, labels in kinds.values()}


def _message_of(error: BaseException) -> str:
    """Return the message of a failure, with what can be done about it; a long one says how much is left out."""
    if not isinstance(error, NbtoolError):
        return shorten(_in_one_line(f"{type(error).__name__}: {error}"), MAX_MESSAGE_CHARS)
    reason, fix = shorten(_in_one_line(error.message), MAX_MESSAGE_CHARS), _in_one_line(error.fix)
    return f"{reason} {shorten(fix, MAX_FIX_CHARS)}".strip()


def _kind_of(error: BaseException) -> str:
    """Return what failures of a kind have in common: their message without numbers and ids."""
    return _NUMBERED.sub(VARYING, _message_of(error))


def _in_one_line(text: str) -> str:
    return " ".join(text.split())
