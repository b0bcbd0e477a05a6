"""A clock that is stopped as `freezegun` does it, for tests."""

from __future__ import annotations

import sys
import time

import pytest

READINGS = ("time", "monotonic", "perf_counter")
NOW = 1_700_000_000.0

UNTOUCHED = ("threading", "queue", "concurrent", "multiprocessing", "_pytest")
"""Packages that `freezegun` lets have the real time, and pytest, which measures with it."""


def stop_clock(monkeypatch: pytest.MonkeyPatch) -> None:
    """Replace the functions of `time`, there and wherever they are global."""
    found = {id(getattr(time, name)) for name in READINGS}
    for module in [time, *sys.modules.values()]:
        if module.__name__.partition(".")[0] not in UNTOUCHED:
            for name in [name for name, value in vars(module).items() if id(value) in found]:
                monkeypatch.setattr(module, name, lambda: NOW)
