from __future__ import annotations

import pytest

from tests.cpu_time import TRIES, check_growth, run_within


def test_one_slow_try_of_several_fails_no_test() -> None:
    clock = iter([0.0, 1000.0, 1000.0, 1000.1])

    assert run_within(1, lambda: "result", lambda: next(clock)) == "result"


def test_what_is_slow_in_every_try_fails() -> None:
    clock = (1000.0 * number for number in range(2 * TRIES))

    with pytest.raises(AssertionError, match=r"more than 1 s"):
        run_within(1, lambda: None, lambda: next(clock))


def test_quadratic_growth_fails_and_linear_growth_does_not() -> None:
    check_growth(lambda size: sum(range(size * 500)), (1_000, 4_000), room=3, floor=0.001)

    with pytest.raises(AssertionError, match=r"4,000: "):
        check_growth(lambda size: sum(range(size * size // 2)), (1_000, 4_000), room=2.5, floor=0.001)
