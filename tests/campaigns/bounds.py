"""How far a test of a longer lane goes: to its number, or as long as it was given."""

from __future__ import annotations

import datetime as dt
import os
import time
from collections.abc import Iterator

MINUTES = "NBTOOL_FAULTS_MINUTES"
"""The environment variable that says how many minutes a test of the weekly lane may take; no bound without it."""

SEED = "NBTOOL_FAULTS_SEED"
"""The environment variable that says which of very many cases a longer lane takes; the day's date without it."""

seed = os.environ.get(SEED) or f"{dt.datetime.now(dt.UTC):%Y%m%d}"

_minutes = float(os.environ.get(MINUTES) or "inf")


def up_to(count: int) -> Iterator[int]:
    """Count from 0 to a number, or until the time that was given is over; 0 always comes."""
    ends = time.monotonic() + 60 * _minutes
    for number in range(count):
        if number and time.monotonic() > ends:
            return
        yield number


def up_to_seconds(seconds: float, most: int) -> Iterator[int]:
    """Count from 0 for so many seconds of CPU, up to a number, or until the time that was given is over."""
    ends = time.process_time() + seconds
    for number in up_to(most):
        if number and time.process_time() > ends:
            return
        yield number
