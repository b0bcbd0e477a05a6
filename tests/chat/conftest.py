from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.chat.again import PRICES, Market


@pytest.fixture
def asked_tickers() -> Iterator[list[str]]:
    """Give the tickers that were asked for: what really ran."""
    yield Market.asked
    Market.asked.clear()
    Market.prices = dict(PRICES)
