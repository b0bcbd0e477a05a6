"""The turns of the journal as a pandas frame, one row each."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict, fields
from typing import Any

from nbtool.chat.journal.queries import TurnRow
from nbtool.errors import BadUsage

END_SECONDS = 253_402_300_800
"""The end of the year 9999, in seconds of Unix time: no calendar goes further."""


def frame(lines: Iterable[TurnRow]) -> Any:
    """Return a `pandas.DataFrame` with the fields of `TurnRow` as columns; `started` is a time in UTC.

    Raises:
        BadUsage: pandas is not installed.
    """
    try:
        import pandas as pd  # noqa: PLC0415 - optional dependency, only needed here
    except ImportError:
        raise BadUsage("A frame needs pandas, which is not installed.", fix="`%pip install pandas`") from None
    table = pd.DataFrame([asdict(line) for line in lines], columns=[field.name for field in fields(TurnRow)])
    # Out-of-range times can only come from a forged row: they become NaT. pandas 2 raises for what no integer holds.
    started = pd.to_numeric(table["started"], errors="coerce")
    started = started.where(started.abs() < END_SECONDS)
    table["started"] = pd.to_datetime(started, unit="s", utc=True, errors="coerce")
    return table
