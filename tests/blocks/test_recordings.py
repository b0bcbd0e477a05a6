"""What the page's own tests replay: patches that a real transcript made, and what must be read of them in the end.

`NBTOOL_RECORD=1 pytest tests/blocks/test_recordings.py` writes them anew.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from nbtool.blocks.fold.turn_events import Transcript
from nbtool.events import (
    Event,
)
from tests.blocks.turns import RECORDS, scenes

RECORDED = Path(__file__).parents[2] / "js" / "tests" / "recorded"


def recording(events: list[Event]) -> str:
    transcript = Transcript()
    start = transcript.document()
    patches = [patch for event in events for patch in transcript.feed(event)]
    made = {"start": start, "patches": patches, "document": transcript.document()}
    return json.dumps(made, indent=1, ensure_ascii=False) + "\n"


@pytest.mark.parametrize("name", list(scenes()))
def test_the_recordings_of_the_page_are_what_a_transcript_makes_today(name: str) -> None:
    path = RECORDED / f"{name}.json"
    made = recording(scenes()[name])
    if RECORDS:
        path.write_text(made, encoding="utf-8")

    assert path.read_text(encoding="utf-8") == made
