"""The page's labels are those of Python; `NBTOOL_RECORD=1` writes them again."""

from __future__ import annotations

import json
import os
from pathlib import Path

from nbtool.blocks import labels

FILE = Path(__file__).parents[2] / "js" / "src" / "text" / "labels.json"
IS_RECORDING = bool(os.environ.get("NBTOOL_RECORD"))  # read now: each test has an environment of its own


def page_labels() -> str:
    """Return the labels as the page imports them."""
    data = {
        "callStates": labels.CALL_STATE_LABELS,
        "turnStatuses": labels.TURN_STATUS_LABELS,
        "endReasons": labels.END_REASONS,
        "decisionSources": labels.DECISION_SOURCES,
        "reaskReasons": labels.REASK_REASONS,
        "edited": labels.EDITED,
    }
    return json.dumps(data, ensure_ascii=False, indent=1) + "\n"


def test_the_page_has_the_labels_of_python() -> None:
    if IS_RECORDING:
        FILE.write_text(page_labels(), encoding="utf-8")

    assert FILE.read_text(encoding="utf-8") == page_labels()
