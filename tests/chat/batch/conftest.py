from __future__ import annotations

from collections.abc import Iterator

import pytest

from nbtool.chat.journal import journal


@pytest.fixture(autouse=True)
def own_journal() -> Iterator[None]:
    """Give each test the journal of its own home: what one asked must not answer another."""
    journal.cache_clear()
    yield
    journal().close()
    journal.cache_clear()
