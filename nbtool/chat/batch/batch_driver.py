"""What a running batch gets from its chat."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from nbtool.chat.batch.answers import Answer, AnswerSource
from nbtool.chat.batch.earlier_maps.earlier_turns import EarlierTurns
from nbtool.chat.batch.finished_results import FinishedResults
from nbtool.chat.batch.prompt_retries import PromptRetries
from nbtool.chat.batch.prompts import PromptItem
from nbtool.chat.turn import Turn
from nbtool.threads.caller_thread import CallerThread

PrepareTurn = Callable[[PromptItem, str, CallerThread, PromptRetries, Sequence[Turn]], Turn]
ReadValue = Callable[[Turn], Any]


@dataclass(frozen=True, slots=True)
class BatchDriver:
    """Callbacks into a chat: `prepare` builds the turn of a prompt and its key, `read` returns the value of a turn.

    The synchronous tools of a turn run on the thread that `prepare` gets; its requests are retried as it says, and it
    goes on from the versions of a turn that an earlier map has left. `keys` returns the key of every prompt and what
    earlier maps have of them; it can be slow. `results` are those of the calls. Calls of the `free_tools` have no
    effects. With a `source` no turn runs here: it returns the answers. `is_part` says that the batch is a part of
    another map. `receive` gets each answer on nbtool's loop. `release` is called at the end, and `end_wait` on the
    thread that waited for it.
    """

    prepare: PrepareTurn
    read: ReadValue
    keys: Callable[[Sequence[PromptItem]], tuple[list[str], EarlierTurns]]
    results: FinishedResults
    source: AnswerSource | None = None
    free_tools: frozenset[str] = frozenset()
    is_part: bool = False
    receive: Callable[[Answer], object] = lambda _: None
    release: Callable[[], object] = lambda: None
    end_wait: Callable[[], object] = lambda: None
