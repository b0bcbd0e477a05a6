"""The difference between a new version of a turn and the version that it is based on."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any, Literal

from nbtool.ids import short_id
from nbtool.text import shorten

MAX_SHOWN = 200
"""Maximum characters of an argument or a result in a diff."""


@dataclass(frozen=True, slots=True)
class CallEdit:
    """One edit: `value` (arguments or text) replaces that of the call."""

    call_id: str
    name: str
    round: int
    what: Literal["arguments", "result"]
    before: str
    value: Any

    def __str__(self) -> str:
        after = self.value if isinstance(self.value, str) else json.dumps(self.value, ensure_ascii=False)
        change = f"{shorten(self.before, MAX_SHOWN)} → {shorten(after, MAX_SHOWN)}"
        return f"{self.what} of `{self.name}` in round {self.round}: {change}"


@dataclass(frozen=True, slots=True)
class VersionDiff:
    """The turn that a version is based on, how many of its first rounds are reused, and the edits."""

    label: Literal["Rerun", "Resumed", "Re-executed", "Edited"]
    turn_id: str
    kept_rounds: int
    edits: tuple[CallEdit, ...] = ()

    @property
    def replays_rounds(self) -> bool:
        """Whether the reused rounds are unchanged."""
        return self.label not in ("Re-executed", "Edited") and not self.edits

    def __str__(self) -> str:
        if self.label == "Edited":
            return f"You edited the last reply of this turn; {short_id(self.turn_id)} has it as the model wrote it."
        first = {0: "", 1: "; its first round is reused"}
        summary = first.get(self.kept_rounds, f"; its first {self.kept_rounds} rounds are reused")
        edits = "".join(f"\n{edit}" for edit in self.edits)
        return f"{self.label} from {short_id(self.turn_id)}{summary}.{edits}"
