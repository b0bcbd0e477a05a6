"""What the page imports from Python is generated; `NBTOOL_RECORD=1` writes it again."""

from __future__ import annotations

import json
import os
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest

from nbtool.blocks import confusables, labels
from nbtool.events import WHOLE_RESULT
from nbtool.view.actions import ACTIONS, ANSWER_KEYS, ANSWERS, REASON_HINTS

FOLDER = Path(__file__).parents[2] / "js" / "src" / "text"
IS_RECORDING = bool(os.environ.get("NBTOOL_RECORD"))  # read now: each test has an environment of its own

PAGE_DATA: dict[str, dict[str, Any]] = {
    "labels.json": {
        "callStates": labels.CALL_STATE_LABELS,
        "rememberChoices": labels.REMEMBER_CHOICES,
        "rememberLabels": labels.REMEMBER_LABELS,
        "rememberToolWarning": labels.REMEMBER_TOOL_WARNING,
        "rememberCallInstead": labels.REMEMBER_CALL_INSTEAD,
        "edited": labels.EDITED,
        "resultWaits": labels.RESULT_WAITS,
        "costUnknown": labels.COST_UNKNOWN,
        "toolsNotPriced": labels.TOOLS_NOT_PRICED,
        "wholeResult": WHOLE_RESULT.format(name="{name}"),
    },
    "actions.json": {
        "actions": {
            action: {field: value for field, value in asdict(row).items() if value} for action, row in ACTIONS.items()
        },
        "answers": {kind: [asdict(answer) for answer in pair] for kind, pair in ANSWERS.items()},
        "answerKeys": ANSWER_KEYS,
        "reasonHints": REASON_HINTS,
    },
    "confusables.json": {
        "foreignScripts": confusables.FOREIGN_SCRIPTS,
        "greek": confusables.GREEK_LETTERS,
        "cyrillicTwins": confusables.CYRILLIC_TWINS,
        "styled": confusables.STYLED_LETTERS,
    },
}


@pytest.mark.parametrize("name", PAGE_DATA)
def test_the_page_has_the_data_of_python(name: str) -> None:
    generated = json.dumps(PAGE_DATA[name], ensure_ascii=False, indent=1) + "\n"
    if IS_RECORDING:
        (FOLDER / name).write_text(generated, encoding="utf-8")

    assert (FOLDER / name).read_text(encoding="utf-8") == generated


SECONDS: list[tuple[float, str]] = json.loads((FOLDER.parents[1] / "tests" / "seconds.json").read_text())


@pytest.mark.parametrize(("value", "text"), SECONDS)
def test_a_duration_is_written_as_on_the_page(value: float, text: str) -> None:
    assert labels.format_seconds(value) == text


def test_the_page_has_no_other_data_of_its_own() -> None:
    assert {path.name for path in FOLDER.glob("*.json")} == set(PAGE_DATA)
