"""The page about the way of a call is that of a trace of today's code."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]


def test_the_way_of_a_call_is_up_to_date() -> None:
    done = subprocess.run(
        [sys.executable, ROOT / "docs/way_of_a_call.py", "--check"], capture_output=True, text=True, check=False
    )

    assert (done.returncode, done.stdout) == (0, "")
