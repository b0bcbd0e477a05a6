"""Which turns in the journal answer a prompt of a map, so that one that was answered before is not sent again."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from nbtool.chain.limits import Limits
from nbtool.chat.batch.answers import has_undecided_calls
from nbtool.chat.batch.earlier_maps.earlier_turns import (
    EarlierTurns,
    NextStep,
    choose_step,
    find_start,
    has_more_room,
    restore_versions,
)
from nbtool.chat.batch.earlier_maps.own_changes import find_original
from nbtool.chat.batch.prompts import PromptItem
from nbtool.chat.journal import redactor_for
from nbtool.chat.recording.cache_key import CacheKey, TurnInputs, hash_json, make_key
from nbtool.chat.recording.key_part import labelled
from nbtool.chat.turn import Turn
from nbtool.errors import NbtoolError
from nbtool.events import CallFinished, CallReady, CallStarted, Event, TurnEnded
from nbtool.messages import Message, Text
from nbtool.plugins.structured import Structured
from nbtool.tools.variables.references import Reference, parse

CELL_ID_PREFIX = "map:"
"""Prefix of the key that a prompt of a map has in place of a cell id."""


@dataclass(frozen=True, slots=True)
class BatchKey:
    """The inputs that all prompts of a map share: model, system text, tools, options, objects.

    `chat_id` is the chat that their turns are journalled under: the same inputs have the same id in every kernel.
    Nothing is read from the journal where it is not comparable: an input cannot be compared, or a plugin redacts the
    journal. `limits` are those of the turns: answers of maps with other ones are compared with them.
    """

    base: CacheKey
    is_comparable: bool
    limits: Limits = field(default_factory=Limits)

    @classmethod
    def of(cls, scene: TurnInputs, limits: Limits | None = None) -> BatchKey:
        """Build the key; slow where objects are large, because their contents are hashed."""
        base = make_key(scene)
        is_comparable = not base.uncomparable and redactor_for(scene.plugins, "") is None
        return cls(base, is_comparable, limits or Limits())

    @property
    def chat_id(self) -> str:
        """The id of the chat that these turns are journalled under: that of the inputs before calls changed them."""
        return find_original(self.inputs_id)

    @property
    def inputs_id(self) -> str:
        """The id of the chat of the inputs as they are."""
        return f"map_{hash_json([labelled(self.base.parts), sorted(labelled(self.base.uncomparable).items())])}"

    def keys(self, items: Sequence[PromptItem]) -> list[str]:
        """Return the key of each prompt; a repeated prompt has one key per occurrence, because each is sent."""
        counts: Counter[str] = Counter()
        keys = []
        for item in items:
            if item.key:
                keys.append(item.key)
                continue
            key = prompt_hash(item.prompt)
            counts[key] += 1
            keys.append(f"{CELL_ID_PREFIX}{key}:{counts[key]}")
        return keys

    def sort_turns(self, found: Mapping[str, Sequence[Sequence[Event]]], free_tools: frozenset[str]) -> EarlierTurns:
        """Sort turns, by the keys of their prompts, each after those that continued it; see `EarlierTurns`."""
        answered: dict[str, Turn] = {}
        continued: dict[str, Sequence[Turn]] = {}
        refused: dict[str, str] = {}
        for key, events in found.items():
            versions = restore_versions(events)
            may_have_run = not events or any(isinstance(event, CallStarted) for event in events[0])
            is_sound = bool(versions) and self.is_sound(events[0])
            has_room = is_sound and has_more_room(versions[0], self.limits)
            step: NextStep = "refuse" if may_have_run else "send"
            if versions:
                step = choose_step(versions, free_tools, has_more_room=has_room)
            if step == "use" or (is_sound and not has_room):
                answered[key] = versions[0]
            elif step == "continue":
                continued[key] = versions
            elif step == "refuse":
                began = find_start(events[0]) if events else None
                refused[key] = began.turn_id if began else ""
        return EarlierTurns(answered, continued, refused)

    def is_sound(self, events: Sequence[Event]) -> bool:
        """Whether a turn completed, without an object that may have changed since, or a call that nobody decided."""
        maybe = self.base.conditional
        ended = any(isinstance(event, TurnEnded) and event.status == "completed" for event in events)
        unknown = any(isinstance(event, CallFinished) and event.status == "unknown" for event in events)
        used = {name for event in events if isinstance(event, CallReady) for name in _names(event.arguments)}
        return ended and not unknown and not used & maybe.keys() and not has_undecided_calls(events)


def prompt_hash(prompt: str | Message) -> str:
    """Return a hash of all that a prompt sends."""
    parts = [Text(prompt)] if isinstance(prompt, str) else prompt.parts
    return hash_json(
        [
            part.text if isinstance(part, Text) else hash_json(repr((part, getattr(part, "data", None))))
            for part in parts
        ]
    )


def answer_value(turn: Turn, *, as_: Any) -> Any:
    """Return the value of a completed turn, restored ones included.

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


def _names(arguments: str) -> set[str]:
    try:
        return {piece.name for piece in parse(arguments) if isinstance(piece, Reference)}
    except NbtoolError:
        return set()
