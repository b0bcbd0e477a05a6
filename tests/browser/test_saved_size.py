"""How much a turn adds to the file of a notebook, as JupyterLab saves it."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from playwright.sync_api import expect

from benchmarks.saved_turn import ASK, MAX_BYTES, SETUP, output_bytes
from nbtool.blocks.render.mimebundle import TURN_MIME
from tests.browser.lab import Lab


def test_a_turn_with_calls_tables_a_plot_and_a_long_reply_is_small_in_the_file(
    lab: Lab, record_property: Callable[[str, object], None], capsys: pytest.CaptureFixture[str]
) -> None:
    notebook = lab.open_cells(SETUP, ASK, kernel="python3", name="size.ipynb")
    notebook.run_cell(0)
    turn = notebook.run_cell(1)
    expect(turn).to_contain_text("What the figures say")

    saved = notebook.save().cells[1]
    size = output_bytes(saved)
    record_property("bytes", size)
    with capsys.disabled():
        print(f"\nA saved turn: {size:,} bytes, at most {MAX_BYTES:,}.")  # noqa: T201 - the figure is what is measured

    data = [output["data"][TURN_MIME] for output in saved.outputs if TURN_MIME in output.get("data", {})]
    calls = [block["name"] for block in data[0]["blocks"] if block["kind"] == "call"]
    assert calls == ["sales", "total", "notes", "sales", "total", "notes", "plot"]
    assert "cut" not in data[0]["head"]
    assert "image/png" in str(saved.outputs)
    assert size <= MAX_BYTES
