"""At home: take from the journals of workers what they did for a process of the same map that is gone.

A killed process writes nothing of what its workers did afterwards, or had not returned. Where the workers have
journals of their own, the next map would not know of it, and run the calls again.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from nbtool.chat.batch.earlier_maps.answer_cache import BatchKey
from nbtool.chat.batch.earlier_maps.earlier_turns import find_start
from nbtool.chat.batch.prompts import PromptItem, warn_caller
from nbtool.chat.batch.remote.engine import WorkerEngine
from nbtool.chat.batch.remote.lost_prompts import LostPrompts
from nbtool.chat.batch.remote.worker_journal import (
    MAX_TURNS,
    JournalPlace,
    ListedTurn,
    find_place,
    list_turns,
    local_place,
    local_turns,
    read_turns,
)
from nbtool.chat.journal import TurnWriter, journal, redactor_for
from nbtool.clock import monotonic
from nbtool.errors import WorkerLost
from nbtool.event_json import load_events
from nbtool.events import Event
from nbtool.threads.loop import background_loop

AT_ONCE = 200
"""Turns that travel together."""

MAX_BYTES = 256 * 1024 * 1024
"""Maximum size of all turns that are taken at the beginning of one map."""

WAIT_SECONDS = 3.0
"""Seconds to wait for turns to end whose process is gone: workers notice it soon."""

LOOK_SECONDS = 0.25
"""Seconds between two looks at whether they ended."""

NOT_ASKED = (
    "The workers could not be asked what they did for an earlier process of this map ({reason}): if it was killed, "
    "calls that it had started may run again."
)
NOT_ALL = (
    "The workers did more for earlier processes of this map than is taken from them at a time ({limit}): calls of the "
    "other turns may run again."
)
STILL_RUNNING = "A worker ran this prompt for another process when the map began: what its calls did is not known."


@dataclass(slots=True)
class WorkerTurns:
    """Takes the turns of one map from the journals of an engine's workers."""

    engine: WorkerEngine
    lost: LostPrompts
    has_tools: bool
    _bytes: int = field(default=0)
    _places: Mapping[str, JournalPlace] = field(default_factory=dict)

    def take(self, since: float = 0.0) -> None:
        """Write to the journal of this process what workers did since a time and it does not know; may take seconds."""
        key = self.lost.key()
        if not key.is_comparable:  # nothing is read from the journal
            return
        try:
            for worker, turns in self._list_unknown(key, since):
                self._take_from(worker, key.chat_id, turns)
        except Exception as error:  # noqa: BLE001 - an engine, and what runs on a worker, may raise anything
            warn_caller(NOT_ASKED.format(reason=f"{type(error).__name__}: {error}"))

    def _list_unknown(self, key: BatchKey, since: float) -> Iterator[tuple[str, Sequence[ListedTurn]]]:
        """Yield workers, one for each journal, with the turns that the journal at home does not have, in order."""
        here = local_place().place
        self._places = self.engine.run_on_workers(find_place)
        workers = {place.place: worker for worker, place in self._places.items() if place.place != here}
        if not workers:
            return
        at_home = local_turns(key.chat_id)
        known = {one.turn_id for one in at_home}
        newest = {one.key: one.started for one in sorted(at_home, key=_start_of) if one.has_acted}
        for worker in workers.values():
            listed: Sequence[ListedTurn] = self.engine.run_on_workers(list_turns, key.chat_id, since, workers=[worker])[
                worker
            ]
            if len(listed) > MAX_TURNS:
                warn_caller(NOT_ALL.format(limit=f"{MAX_TURNS:,} turns of a worker"))
            unknown = [one for one in listed if one.turn_id not in known and one.started > newest.get(one.key, 0.0)]
            known.update(one.turn_id for one in unknown)
            yield worker, sorted(unknown, key=_start_of)

    def _take_from(self, worker: str, chat_id: str, turns: Sequence[ListedTurn]) -> None:
        running = self._wait_for({one.turn_id for one in turns})
        wanted = [one.turn_id for one in turns if one.has_acted or one.turn_id in running]
        for start in range(0, len(wanted), AT_ONCE):
            if self._bytes > MAX_BYTES:
                warn_caller(NOT_ALL.format(limit=f"{MAX_BYTES >> 20} MiB"))
                return
            ids = wanted[start : start + AT_ONCE]
            for events in self.engine.run_on_workers(read_turns, ids, workers=[worker])[worker]:
                self._bytes += sum(map(len, events))
                self._write(chat_id, load_events(events), running)

    def _wait_for(self, turn_ids: set[str]) -> set[str]:
        """Wait a little for running turns to end; return those that still run."""
        until = monotonic() + WAIT_SECONDS
        while True:
            running = turn_ids & {turn_id for place in self._places.values() for turn_id in place.running}
            if not running or monotonic() > until:
                return running
            time.sleep(LOOK_SECONDS)
            self._places = self.engine.run_on_workers(find_place)

    def _write(self, chat_id: str, events: Sequence[Event], running: set[str]) -> None:
        began = find_start(events)
        if began is None:
            return
        if began.turn_id not in running:
            hide = redactor_for(self.lost.plugins, began.turn_id)
            background_loop().submit(TurnWriter(journal(), chat_id, began.turn_id, hide=hide).write(*events)).result()
        elif self.has_tools:  # the turn itself is taken by a later map, when it has ended
            one, error = PromptItem(0, None, began.prompt), WorkerLost(STILL_RUNNING, may_have_run=True)
            noted = self.lost.write(chat_id, one, began.cell_id, error, began.told_from, began.started)
            background_loop().submit(noted).result()


def _start_of(one: ListedTurn) -> float:
    return one.started
