"""Turns of a map that was killed: what they left in the journal, so that no call of a prompt runs a second time."""

from __future__ import annotations

import sqlite3
from collections import defaultdict, deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

from nbtool.chat.batch.answers import Answer
from nbtool.chat.batch.continued_file import ContinuedFile
from nbtool.chat.batch.earlier_maps.answer_cache import BatchKey, hash_of_key, prompt_hash
from nbtool.chat.batch.earlier_maps.earlier_turns import find_start
from nbtool.chat.batch.prompts import PromptItem
from nbtool.chat.conversation import restore
from nbtool.chat.journal import journal, queries
from nbtool.chat.journal.turn_table import turns_since
from nbtool.chat.turn import Turn
from nbtool.errors import NbtoolError
from nbtool.events import CallStarted, Event

CLOCK_SECONDS = 60.0
"""Seconds by which the clock may have been set back while the map ran."""

AT_ONCE = 500
"""Turns that are looked up in a sink at a time."""


@dataclass(slots=True)
class LostTurns:
    """Turns of which a killed map wrote no answer, by the hash of their prompt.

    `completed` are used as answers; of those in `unfinished`, by their ids, a call had started.
    """

    completed: dict[str, deque[Turn]] = field(default_factory=lambda: defaultdict(deque))
    unfinished: dict[str, deque[str]] = field(default_factory=lambda: defaultdict(deque))

    @classmethod
    def find(cls, key: BatchKey, file: ContinuedFile) -> LostTurns:
        """Read the turns from the journal, the latest first, until the map began that was killed.

        Raises:
            nbtool.errors.JournalError: the journal cannot be read.
        """
        lost, since = cls(), file.interrupted_since
        if since is None:
            return lost

        def read(connection: sqlite3.Connection) -> list[list[Event]]:
            turn_ids = _acted_since(connection, key.chat_id, since - CLOCK_SECONDS)
            return [_read_events(connection, turn_id) for turn_id in _unknown(turn_ids, file.known_turns)]

        for events in journal().read(read):
            lost._add(events, key)
        return lost

    def take(
        self, items: Sequence[PromptItem], read_value: Callable[[Turn], Any]
    ) -> tuple[list[Answer], list[PromptItem], dict[int, str]]:
        """Return the answers of prompts that have such a turn, the other prompts, and the unfinished turns of those."""
        answers, others, unfinished = [], [], {}
        for item in items:
            if answer := self._take(item, read_value):
                answers.append(answer)
                continue
            others.append(item)
            if self.unfinished and not item.problem and (ids := self.unfinished.get(prompt_hash(item.prompt))):
                unfinished[item.index] = ids.popleft()
        return answers, others, unfinished

    def _take(self, prompt_item: PromptItem, read_value: Callable[[Turn], Any]) -> Answer | None:
        if not self.completed or prompt_item.problem:
            return None
        if turns := self.completed.get(prompt_hash(prompt_item.prompt)):
            turn = turns.popleft()
            with suppress(NbtoolError):  # a value that cannot be read is asked for again
                value = read_value(turn)
                return Answer(
                    prompt_item.index,
                    prompt_item.label,
                    prompt_item.prompt,
                    value,
                    is_cached=True,
                    turn_id=turn.turn_id,
                )
        return None

    def _add(self, events: Sequence[Event], key: BatchKey) -> None:
        began = find_start(events)
        if began is None or not (hash_ := hash_of_key(began.cell_id)):
            return
        if key.is_sound(events):
            with suppress(NbtoolError):  # a turn that cannot be restored is sent again
                self.completed[hash_].append(restore.restore_turn(events))
        elif began.told_from or any(isinstance(event, CallStarted) for event in events):
            self.unfinished[hash_].append(began.turn_id)


def _acted_since(connection: sqlite3.Connection, chat_id: str, since: float) -> Iterator[str]:
    """Yield the turns of a chat that ended or made calls, the latest first, until a time."""
    for listed_turn in turns_since(connection, chat_id, since):
        if listed_turn.has_ended or listed_turn.has_called:
            yield listed_turn.turn_id


def _unknown(turn_ids: Iterable[str], known: Callable[[Sequence[str]], set[str]]) -> Iterator[str]:
    batch: list[str] = []
    for turn_id in turn_ids:
        batch.append(turn_id)
        if len(batch) == AT_ONCE:
            yield from _without(batch, known(batch))
            batch = []
    yield from _without(batch, known(batch))


def _without(turn_ids: Iterable[str], known: set[str]) -> Iterator[str]:
    return (turn_id for turn_id in turn_ids if turn_id not in known)


def _read_events(connection: sqlite3.Connection, turn_id: str) -> list[Event]:
    return [event for _, event in queries.event_times(connection, turn_id)]
