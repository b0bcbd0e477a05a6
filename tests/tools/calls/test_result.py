from __future__ import annotations

import threading

from nbtool.tools import tool
from tests.tools.calling import ask_for, make_harness


def test_a_result_that_takes_too_long_to_render_is_reported_without_a_picture() -> None:
    goes_on = threading.Event()

    class Slow:
        def _repr_png_(self) -> bytes | None:
            goes_on.wait(10)
            return None

    Slow.__module__ = "matplotlib.odd"
    give = tool(lambda: Slow(), name="give", run="auto")
    record = make_harness(give, render_seconds=0.05).run(ask_for("give"))
    goes_on.set()

    assert (record.status, record.media, type(record.result)) == ("ok", (), Slow)
