"""Where an exported document comes from: its title, its dates and what it leaves out, and the heads of its turns."""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from nbtool.blocks.display_limits import DISPLAY_LIMITS, Limits
from nbtool.blocks.fold.turn_events import Transcript
from nbtool.blocks.render.markdown_source import escape, span
from nbtool.chat.turn import Turn
from nbtool.text import count_of


@dataclass(frozen=True, slots=True)
class Origin:
    """Where the turns of a document come from: the name of the `notebook`, and how many `others` its chat has.

    `heads` are fields for the heads of turns, by their ids: as where its model is reached.
    """

    notebook: str = ""
    others: int = 0
    heads: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)

    def transcript(self, turn: Turn, limits: Limits = DISPLAY_LIMITS) -> Transcript:
        """Return what is shown of a turn, with its fields in its head."""
        transcript = turn.transcript(limits)
        transcript.update_head(**self.heads.get(turn.turn_id, {}))
        return transcript


def title_blocks(turns: Sequence[Turn], origin: Origin) -> list[str]:
    """Return the heading of a document of these turns, and its facts, as blocks of Markdown."""
    models = ", ".join(dict.fromkeys(span(turn.model) for turn in turns)) or "no model"
    title = f"{escape(origin.notebook)}: a chat with {models}" if origin.notebook else f"A chat with {models}"
    count = f"{count_of(len(turns), 'turn')} of the active branch"
    facts = [_dates(turns), count]
    line = f"*{' · '.join(fact for fact in facts if fact)}*"
    return [f"# {title}", line, _others(origin.others)]


def _dates(turns: Sequence[Turn]) -> str:
    """Return the dates of the first and the last turn, in the time zone of this machine."""
    days = [dt.datetime.fromtimestamp(turn.started).date().isoformat() for turn in turns if turn.started]
    return " to ".join(dict.fromkeys((min(days), max(days)))) if days else ""


def _others(count: int) -> str:
    if not count:
        return ""
    are = (
        "other version or turn of another branch is" if count == 1 else "other versions or turns of other branches are"
    )
    return (
        f"{count:,} {are} not in this document: `%chat branch` makes another one active before an export, and"
        " `%chat export json` writes all of them."
    )
