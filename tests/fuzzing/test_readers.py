"""Every public function that takes a text is run by a row of hostile growth, or is left out with a reason."""

from __future__ import annotations

from tests.fuzzing.readers import EXCLUDED, uncovered_readers
from tests.fuzzing.test_growth import READERS


def test_every_function_that_takes_a_text_has_a_row_or_a_reason() -> None:
    left = {name.rpartition(".")[2]: name for name in uncovered_readers(READERS)}

    assert sorted(full for name, full in left.items() if name not in EXCLUDED) == []
    assert sorted(set(EXCLUDED) - set(left)) == [], "a function that has a row now, or is gone"


def test_a_function_without_a_row_is_found() -> None:
    without = {name: row for name, row in READERS.items() if name != "secrets in a text"}

    assert [name for name in uncovered_readers(without) if name.endswith(".secret_in")]
