"""A number has the digits that distinguish it, whatever its size is."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from nbtool.tools.values.model_text import render
from nbtool.tools.values.scalar_form import shortest_float

THIRD = np.longdouble(1) / 3


@pytest.mark.every_case
@pytest.mark.parametrize(
    ("value", "text"),
    [
        (np.finfo(np.float32).max, "3.4028235e+38"),
        (np.finfo(np.float16).max, "65500.0"),
        (np.float32(0.1), "0.1"),
        (np.longdouble(0.5), "0.5"),
        (np.longdouble("nan"), "nan"),
        (np.longdouble("0.1"), "0.1"),
        (THIRD, str(THIRD)),
    ],
    ids=str,
)
def test_a_number_has_no_more_digits_than_distinguish_it(value: Any, text: str) -> None:
    assert render(value).text == text
    assert type(value)(text) == value or np.isnan(value)


def test_a_number_with_more_digits_than_its_size_has_is_not_rounded_to_another_one() -> None:
    between = 1.00000017881393  # with one digit less it is nearer to the next number of four bytes

    assert shortest_float(between, 4) == between
    assert shortest_float(float(np.float32(between)), 4) == 1.0000001
