"""The page with the figures."""

from __future__ import annotations

from benchmarks.environments import ROOT
from benchmarks.gates.totals import Totals

PAGE = ROOT / "docs" / "gate-benchmark.md"


def page_of(figures: dict[str, Totals]) -> str:
    """Return the page."""
    return ""
