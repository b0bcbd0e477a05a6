"""The reference: a page for every public module, with nothing that cannot be documented."""

from __future__ import annotations

import inspect
import re
import subprocess
import sys
from pathlib import Path

import pytest

import nbtool
from nbtool import Batch, Chat, MapTotals

ROOT = Path(__file__).parents[2]


@pytest.mark.nightly
def test_every_public_name_has_its_place_in_the_reference(tmp_path: Path) -> None:
    made = subprocess.run(
        [sys.executable, "docs/reference.py", str(tmp_path)], cwd=ROOT, capture_output=True, text=True, check=False
    )
    front = (tmp_path / "nbtool.html").read_text()

    assert made.returncode == 0, made.stderr
    assert {"Batch", "Batch.values", "Batch.cancel", "Answer.turn_id", "MapTotals.other_failures"} <= set(
        re.findall(r'<div id="([\w.]+)"', front) + re.findall(r'<section id="(\w+)">', front)
    )
    assert {"Chat", "Turn", "tool", "Toolset", "Withheld"} <= set(re.findall(r'<section id="(\w+)">', front))
    assert "files" in (tmp_path / "nbtool" / "toolsets.html").read_text()
    assert not re.search(r'(?:src|href)="https?://', re.sub(r"<(a|footer).*?</\1>", "", front, flags=re.DOTALL))


@pytest.mark.parametrize(("method", "result"), [("map", Batch), ("start_map", Batch), ("map_into", MapTotals)])
def test_the_help_of_a_map_names_what_it_returns(method: str, result: type) -> None:
    text = inspect.getdoc(getattr(Chat, method)) or ""

    assert f"Returns a `nbtool.{result.__name__}`" in text
    assert result is getattr(nbtool, result.__name__)
