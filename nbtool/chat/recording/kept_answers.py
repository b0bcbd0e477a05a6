"""Answers that are kept on Run All: like a recording, in the journal, for the notebooks of one folder.

A cell that is executed for the first time in a kernel gets the answer that it had, if its inputs are unchanged; one
that is executed again asks the model, and that answer is kept in place of the former one.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import Any

from nbtool.audience import hide_content
from nbtool.chat.journal import journal, kept_table, redactor_for, with_secrets_hidden
from nbtool.chat.recording.cache_key import hash_json
from nbtool.chat.recording.file import MAX_TURN_BYTES, RecordedTurn, parse_turn, serialize_turns
from nbtool.chat.recording.key_part import Part, labelled
from nbtool.errors import BadRecording, JournalError
from nbtool.text import count_of
from nbtool.threads.loop import report_warning

FORGOTTEN = "More than {count} answers are kept for this folder: the oldest are no longer replayed."
IN_MEMORY = (
    "Answers are kept for this kernel only: history is in memory (`NBTOOL_JOURNAL=off`, or the administrator's policy)."
)
REDACTED = "A plugin keeps a part of it out of the journal."


class KeptAnswers:
    """The kept answers of a folder; `used` are the digests of the keys that this kernel has met."""

    writes = True
    stored = "kept"
    place = "kept answers"

    def __init__(
        self, folder: str, *, max_bytes: int = MAX_TURN_BYTES, max_answers: int = kept_table.MAX_ANSWERS
    ) -> None:
        self.folder = folder
        self._max_bytes, self._max_answers = max_bytes, max_answers
        self.used: set[str] = set()

    def has_met(self, turn: RecordedTurn) -> bool:
        """Whether this kernel has replayed a kept turn, or asked the model for it."""
        return hash_json(labelled(turn.key)) in self.used

    def turns_of(self, prompt: str) -> Iterator[RecordedTurn]:
        """Yield the kept turns whose prompt has this digest, the latest first.

        Raises:
            BadRecording: the journal cannot be read, or one of them.
        """
        try:
            bodies = journal().read(lambda connection: kept_table.kept_answers(connection, self.folder, prompt))
            yield from map(parse_turn, bodies)
        except (JournalError, BadRecording) as error:
            raise BadRecording(f"A kept answer cannot be read: {error.message}") from None

    def add(self, turn: RecordedTurn, turn_id: str, plugins: Sequence[object]) -> None:
        """Keep the answer of a turn of the journal.

        Raises:
            BadRecording: it is too large, the journal must not have all of it, or cannot be written.
        """
        if journal().path is None:
            report_warning(IN_MEMORY)
        body = serialize_turns([turn])
        if len(body) > self._max_bytes:
            raise BadRecording(f"It is larger than {count_of(self._max_bytes, 'byte')}.")
        hide = with_secrets_hidden(redactor_for(plugins, turn_id))
        content: Any = json.loads(body)["turns"][0]
        if hide and hide_content(content, hide) != content:
            raise BadRecording(REDACTED)
        key, prompt = hash_json(labelled(turn.key)), turn.key[Part("prompt")]
        try:
            forgotten = journal().execute(
                lambda connection: kept_table.keep_answer(
                    connection, self.folder, key, prompt, turn_id, body.decode(), max_answers=self._max_answers
                )
            )
        except JournalError as error:
            raise BadRecording(error.message) from None
        if forgotten:
            report_warning(FORGOTTEN.format(count=f"{self._max_answers:,}"))
