from __future__ import annotations

from pathlib import Path

import pytest

from tests.chat.recording.making import PROMPT, REPLIES, chat


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "notebook.nbtool.json"


@pytest.fixture
def recorded_path(path: Path) -> Path:
    chat(path, REPLIES).send(PROMPT)
    return path
