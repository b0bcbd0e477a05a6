"""What the tests of recordings share."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from nbtool.chat.chat import TurnSettings
from nbtool.errors import NotRecorded
from nbtool.events import Notice
from tests.chat.recording.making import ONLY, PROMPT, chat

OFF = TurnSettings(replay="off")


def notices(turn: Any) -> list[str]:
    return [event.text for event in turn.log if isinstance(event, Notice)]


def change_recording(path: Path, change: Any = id, prompt: str = PROMPT, **how: Any) -> str:
    """Say why a turn is not told again after a change."""
    fresh = chat(path, **how)
    change(fresh)
    turn = fresh.send(prompt, settings=ONLY)
    assert turn.status == "error"
    assert isinstance(turn.error, NotRecorded)
    assert turn.calls == []
    return str(turn.error)
