"""Hostile texts of increasing size, and the growth of a reader's time with it."""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

from tests.cpu_time import slowness, without_collector

SIZES = (10_000, 30_000, 100_000)
"""The sizes of a text, in characters."""

GROWTH = 1.2
"""Maximum factor over linear growth of the time from the first size to the last."""

SECONDS = 0.2
"""Maximum CPU time for a text of the last size, on the reference machine."""

FLOOR = 0.04
"""CPU time below which growth is ignored: clock resolution and caches dominate it."""

TRIES, MANY_TRIES = 5, 20
"""A time that is too long is measured again: the minimum counts, so that load on the machine fails no test."""

CLEAR_EXCESS = 1.5
"""An excess over the bounds that is not measured more than `TRIES` times: load does not explain it."""

COMMON = ["a", " ", "\n", "0", "(", ")", "é", "\u0301", "\u200d", "\U0001f989", "\u202e", "а"]  # noqa: RUF001 - hostile text


class Family(NamedTuple):
    """A family of texts: its name, and the text of any size."""

    name: str
    text: Callable[[int], str]


def families(words: Sequence[str], seed: str, pairs: int) -> Iterator[Family]:
    """Return the families of texts of these words: each word alone, and a seeded sample of pairs."""
    alphabet = list(dict.fromkeys([*words, *COMMON]))
    alone = [
        family
        for word in alphabet
        for family in (
            Family(f"{word!r} over and over", _filled(word)),
            Family(f"lines of {word!r}", _filled(word + "\n")),
            Family(f"words after {word!r}", _filled(word + "a ")),
            Family(f"letters before {word!r}", _filled("a" + word)),
        )
    ]
    chance = random.Random(seed)
    chosen = [(chance.choice(alphabet), chance.choice(alphabet)) for _ in range(pairs)]
    paired = [family for one, other in chosen for family in _pairs(one, other)]
    every = alone + paired
    chance.shuffle(every)
    yield from every


def _pairs(one: str, other: str) -> Iterator[Family]:
    yield Family(f"{one!r} and {other!r} in turn", _filled(one + other))
    yield Family(f"{one!r} nested in {other!r}", lambda size: _filled(one)(size // 2) + _filled(other)(size // 2))
    yield Family(f"{one!r}, then {other!r} over and over", lambda size: one + _filled(other)(size))
    yield Family(f"{one!r} over and over, then {other!r}", lambda size: _filled(one)(size) + other)
    yield Family(f"{one!r} and {other!r} with words between", _filled(f"{one}a {other}"))
    yield Family(f"a line of {one!r} over a line of {other!r}", _crossed(one, other))


def _filled(unit: str) -> Callable[[int], str]:
    """Whole units: what ends in a part of one may be read in another, quicker way at one size only."""
    return lambda size: unit * max(1, size // len(unit))


def _crossed(one: str, other: str) -> Callable[[int], str]:
    """A header and lines, both of the size of the square root of the text: a product of them is quadratic."""

    def text(size: int) -> str:
        third = size // 3
        return f"{_filled(one)(third)}\n{_filled(other)(third)}\n" + f"{other}\n" * (third // (len(other) + 1))

    return text


def measure_time(read: Callable[[str], object], text: str) -> float:
    """Return the CPU time that a reader needs for a text."""
    with without_collector():
        began = time.process_time()
        read(text)
        return time.process_time() - began


def problem(read: Callable[[str], object], family: Family, scale: float = 1.0) -> str:
    """Return the problem with the growth of a reader's time; empty if there is none. `scale` shrinks the texts."""
    texts: list[str] = []
    times: list[float] = []
    for size in (int(size * scale) for size in SIZES):
        texts.append(family.text(size))
        times.append(measure_time(read, texts[-1]))
        if _excess(texts, times) > 1 and _measure_again(read, texts, times) > 1:
            shown = ", ".join(f"{one * 1000:.0f}" for one in times)
            return f"{family.name}: {shown} ms, at {size:,} characters"
    return ""


def _measure_again(read: Callable[[str], object], texts: Sequence[str], times: list[float]) -> float:
    """Measure the first and the last text in turn until the minima are within the bounds; return the excess left.

    In turn, so that a machine that is slower for a while is so for both; an excess that load explains gets more tries.
    """
    for tried in range(MANY_TRIES):
        if tried >= TRIES and _excess(texts, times) > CLEAR_EXCESS:
            break
        for at in {0, len(texts) - 1}:
            times[at] = min(times[at], measure_time(read, texts[at]))
        if _excess(texts, times, slowness()) <= 1:
            break
    return _excess(texts, times, slowness())


def _excess(texts: Sequence[str], times: Sequence[float], slower: float = 1.0) -> float:
    """Return how many times longer than allowed the last text takes."""
    absolute = times[-1] / slower / SECONDS
    if len(times) == 1 or times[-1] / slower <= FLOOR:
        return absolute
    return max(absolute, times[-1] / (times[0] * GROWTH * len(texts[-1]) / len(texts[0])))
