"""Answers that the journal has: a prompt that was asked and answered before is not asked again."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from nbtool.chat import restore
from nbtool.chat.batch.prompts import PromptItem
from nbtool.chat.journal import journal, queries, redactor_for
from nbtool.chat.recording.cache_key import CacheKey, TurnInputs, hash_json, make_key
from nbtool.chat.recording.key_part import labelled
from nbtool.chat.turn import Turn
from nbtool.errors import NbtoolError
from nbtool.events import CallFinished, CallReady, Event, TurnEnded, TurnStarted
from nbtool.messages import Message, Text
from nbtool.plugins.structured import Structured
from nbtool.tools.variables.references import Reference, parse

CELL_ID_PREFIX = "map:"
"""Begins what stands in place of a cell's id for a prompt of a map."""


@dataclass(frozen=True, slots=True)
class BatchKey:
    """What all prompts of a map have in common: model, system text, tools, options, objects.

    `chat_id` is where their turns are journalled: the same conditions, in whatever kernel, have the same one. Where
    something of them cannot be compared, or plugins keep values out of the journal, nothing is taken from there.
    """

    base: CacheKey
    is_comparable: bool

    @classmethod
    def of(cls, scene: TurnInputs) -> BatchKey:
        """Compare everything; takes a while where objects are large."""
        base = make_key(scene)
        return cls(base, not base.uncomparable and redactor_for(scene.plugins, "") is None)

    @property
    def chat_id(self) -> str:
        """The id of the chat that these turns are journalled under."""
        return f"map_{hash_json([labelled(self.base.parts), sorted(labelled(self.base.uncomparable).items())])}"

    def keys(self, items: Sequence[PromptItem]) -> list[str]:
        """Give the key of each prompt; one that stands there several times is asked as often, and so has several."""
        counts: Counter[str] = Counter()
        keys = []
        for one in items:
            key = hash_json(_prompt_parts(one.prompt))
            counts[key] += 1
            keys.append(f"{CELL_ID_PREFIX}{key}:{counts[key]}")
        return keys

    def find_answered(self, items: Sequence[PromptItem]) -> dict[str, Turn]:
        """Read the turns that answered these prompts before, by their keys.

        Raises:
            nbtool.errors.JournalError: the journal cannot be read.
        """
        wanted = set(self.keys(items)) if self.is_comparable else set()
        of_turn: dict[str, list[Event]] = {}
        if wanted:
            for turn_id, event in journal().read(lambda connection: queries.chat_events(connection, self.chat_id)):
                of_turn.setdefault(turn_id, []).append(event)
        turns: dict[str, Turn] = {}
        for events in of_turn.values():
            began = next((event for event in events if isinstance(event, TurnStarted)), None)
            if began and began.cell_id in wanted and _is_sound(events, self.base.conditional):
                with suppress(NbtoolError):  # what cannot be read is asked again
                    turns[began.cell_id] = restore.restore_turn(events)
        return turns


def answer_value(turn: Turn, *, as_: Any) -> Any:
    """Take the value out of a completed turn, also out of one that the journal told of.

    Raises:
        nbtool.errors.InvalidAnswer: the text does not fit the type.
    """
    if as_ is None:
        return turn.text
    if turn.answer:
        return turn.value
    answer = Structured(as_)
    answer.parse(turn.text)
    return answer.value


def _is_sound(events: Sequence[Event], maybe: Mapping[str, str]) -> bool:
    """Whether a turn was answered to its end, and from nothing that may be another object now."""
    ended = any(isinstance(event, TurnEnded) and event.status == "completed" for event in events)
    unknown = any(isinstance(event, CallFinished) and event.status == "unknown" for event in events)
    used = {name for event in events if isinstance(event, CallReady) for name in _names(event.arguments)}
    return ended and not unknown and not used & maybe.keys()


def _names(arguments: str) -> set[str]:
    try:
        return {piece.name for piece in parse(arguments) if isinstance(piece, Reference)}
    except NbtoolError:
        return set()


def _prompt_parts(prompt: str | Message) -> list[object]:
    parts = [Text(prompt)] if isinstance(prompt, str) else prompt.parts
    return [
        part.text if isinstance(part, Text) else hash_json(repr((part, getattr(part, "data", None)))) for part in parts
    ]
