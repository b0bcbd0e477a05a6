"""The counts of a running map: each answer is counted in constant time, and their memory does not grow."""

from __future__ import annotations

import re
import threading
from bisect import insort
from collections import Counter, deque
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
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

_NUMBERED = re.compile(r"(?<!\S)[^\s\d]*+\d\S*+")
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
        self._clock = clock
        self._now = MapProgress(Usage(), total=total, max_tokens=max_tokens, max_usd=max_usd)
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
        with self._lock:
            self._now = replace(self._now, note=text)

    def add_answer(self, answer: Answer, *, is_unsent: bool = False) -> None:
        """Count one prompt by its answer, or as one that was never sent, or not answered because of a stop."""
        with self._lock:
            now = self._now
            if is_unsent:
                self._now = replace(now, unsent=now.unsent + 1, unknown=now.unknown + answer.has_unknown_calls)
                return
            if answer.has_undecided_calls or answer.approver_error:
                now = replace(
                    now,
                    undecided=now.undecided + answer.has_undecided_calls,
                    acted=now.acted + (answer.has_undecided_calls and answer.has_acted),
                    approver_error=now.approver_error or shorten(answer.approver_error, MAX_MESSAGE_CHARS),
                )
            if answer.error is None and answer.end_reason in CUTTING_REASONS:
                self._cut[answer.end_reason] += 1
            if answer.is_cached:
                self._now = replace(now, answered_before=now.answered_before + 1)
                return
            self._count_in_window(self._clock())
            if answer.error is None:
                self._now = replace(now, answered=now.answered + 1)
                return
            self._now = replace(now, failed=now.failed + 1)
            self._add_failure(answer, answer.error)

    def _add_failure(self, answer: Answer, error: BaseException) -> None:
        kind = _kind_of(error)
        if kind in self._failures or len(self._failures) < MAX_FAILURES:
            failures = self._failures.setdefault(kind, FailureKind())
            failures.add(_message_of(error))
            failures.note_row(answer.index, answer.label)

    def add_answered_before(self, count: int) -> None:
        """Count prompts whose answers were there before."""
        with self._lock:
            self._now = replace(self._now, answered_before=self._now.answered_before + count)

    def progress(
        self, usage: Usage, *, wait_seconds: float = 0.0, state: MapState = "running", reason: str = ""
    ) -> MapProgress:
        """Return the counts as they are now."""
        with self._lock:
            now = self._clock()
            self._forget_before(now - WINDOW_SECONDS)
            is_running, failures = state == "running", self._failures.values()
            return replace(
                self._now,
                usage=usage,
                seconds=now - self._start,
                per_minute=self._rate(now),
                wait_seconds=wait_seconds if is_running else 0.0,
                failures=tuple((failure.message, failure.count) for failure in failures),
                failure_rows=tuple(failure.rows for failure in failures),
                other_failures=self._now.failed - sum(failure.count for failure in failures),
                cut=tuple((reason, count) for reason in CUTTING_REASONS if (count := self._cut[reason])),
                state=state,
                reason=reason,
                note=self._now.note if is_running else "",
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
