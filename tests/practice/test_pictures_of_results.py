"""The practice model and the pictures in results: they are no prompt."""

from __future__ import annotations

from typing import Literal

import pytest

from nbtool import Chat, tool
from nbtool.messages import Media
from tests.samples import PNG


@tool(run="auto")
def draw(column: str) -> Media:
    """Draw a column."""
    return Media("image/png", PNG, name=column)


@pytest.mark.parametrize("mode", ["native", "prompted"])
def test_the_answer_is_about_the_call_of_the_picture(mode: Literal["native", "prompted"]) -> None:
    turn = Chat("practice:fast", tools=[draw], tool_mode=mode).send('Use &`draw` with column="a"')

    assert turn.text.startswith('`draw("a")` gives'), turn.text
    assert len(turn.calls) == 1
