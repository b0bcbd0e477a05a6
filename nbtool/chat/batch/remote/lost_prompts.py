"""At home: write to the journal that a call of a prompt may have run on a worker that was lost.

A worker with a journal of its own takes with it what it knew. Without a turn here the next map would send the prompt
again, and with it the call.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace

from nbtool.chat.batch.answers import Answer
from nbtool.chat.batch.earlier_maps.answer_cache import BatchKey
from nbtool.chat.batch.earlier_maps.lost_turns import find_turns_since
from nbtool.chat.batch.prompts import PromptItem
from nbtool.chat.batch.remote.call_claim import NOT_REPEATED, lost_before_calls
from nbtool.chat.journal import TurnWriter, journal, redactor_for
from nbtool.chat.turn import Turn
from nbtool.errors import JournalError, NbtoolError, WorkerLost
from nbtool.events import CallFinished, CallReady, CallStarted, Event, TurnEnded, TurnStarted
from nbtool.ids import new_id
from nbtool.messages import Message, Usage, user

LOST_CALL = "unknown"
"""Name of the call of a turn whose own events are lost: which tool it was is not known."""

Prompts = Sequence[tuple[PromptItem, str]]


@dataclass(frozen=True, slots=True)
class LostPrompts:
    """Writes turns for prompts of one map whose calls may have run where nobody can look.

    `key` returns what its prompts share, and may take a while; `since` is when the map began.
    """

    key: Callable[[], BatchKey]
    model: str
    since: float
    plugins: Sequence[object] = ()

    async def note(
        self,
        prompts: Prompts,
        answers: Sequence[Answer],
        continued: Mapping[str, Sequence[Turn]],
        *,
        has_claims: bool,
    ) -> list[Answer]:
        """Return the answers of a chunk's lost prompts with the ids of their turns, which are written if there is none.

        With `has_claims` it is known of each prompt that a call of it may have started. Without, a journal that has
        the turn of one of the prompts is that of their worker, and says of the others that nothing had started; so do
        their errors then.
        """
        key = await asyncio.to_thread(self.key)
        known = await asyncio.to_thread(self._find_turns, key, {key_ for _, key_ in prompts})
        keys = {one.index: (one, key_) for one, key_ in prompts}
        noted = []
        for answer in answers:
            one, key_ = keys[answer.index]
            turn_id, has_started = known.get(key_, ("", False))
            if not has_started and known and not has_claims:
                error = lost_before_calls() if isinstance(answer.error, WorkerLost) else answer.error
                noted.append(replace(answer, error=error, has_acted=False))
                continue
            if not has_started:
                before = continued.get(key_)
                turn_id = await self.write(key.chat_id, one, key_, answer.error, before[0].turn_id if before else "")
            noted.append(replace(answer, turn_id=turn_id, has_acted=True))
        return noted

    async def write(
        self,
        chat_id: str,
        one: PromptItem,
        key: str,
        error: BaseException | None,
        told_from: str = "",
        started: float | None = None,
    ) -> str:
        """Write the turn of a prompt with one call of unknown outcome; return its id."""
        turn_id, began = new_id("turn"), started or self.since  # before the worker's own turn, which may be found later
        text = error.message if isinstance(error, NbtoolError) else NOT_REPEATED
        prompt = one.prompt if isinstance(one.prompt, Message) else user(one.prompt)
        call_id = new_id("call")
        events: list[Event] = [
            TurnStarted(turn_id, self.model, prompt, began, cell_id=key, told_from=told_from),
            CallReady(call_id, LOST_CALL, 1, "{}"),
            CallStarted(call_id, began),
            CallFinished(call_id, LOST_CALL, 1, "unknown", text, reason=text),
            TurnEnded("error", "", Usage(), 0, 1, 0.0, error=text),
        ]
        hide = redactor_for(self.plugins, turn_id)
        await TurnWriter(journal(), chat_id, turn_id, hide=hide).write(*events)
        return turn_id

    def _find_turns(self, key: BatchKey, keys: Collection[str]) -> dict[str, tuple[str, bool]]:
        try:
            return find_turns_since(key, keys, since=self.since)
        except JournalError:
            return {}
