"""The endpoint of a turn where no model can be asked, or none is wanted."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from dataclasses import dataclass

from nbtool.chat.recording.environment import report_unrecorded
from nbtool.errors import NbtoolError, NotRecorded
from nbtool.events import Delta
from nbtool.wire.base import Prompt

NO_RECORDING = "No recording to replay from."
NAME_A_FILE = (
    "Name one, with `NBTOOL_RECORDING=FILE`, `chat.record(FILE)` for a `Chat`, or `%chat record FILE --only` for "
    "cells; or send the prompt to the model, with `NBTOOL_REPLAY=off` or `--set replay=off`."
)
RECORD_HINT = "Record it again: `%chat record FILE`, then `--set replay=auto`; in Python `chat.record(FILE)`."


@dataclass(slots=True)
class ReplayOnlyEndpoint:
    """Replaces the model's endpoint where none can be used, or replay-only mode wants none: it never sends a request.

    `error` is why there is none: what a turn fails with that is not replayed.
    """

    model: str
    reason: str = NO_RECORDING
    fix: str = NAME_A_FILE
    error: NbtoolError | None = None
    host: str = ""
    dialect: str = "recording"
    user_prompt: str = ""

    def set_reason(self, reason: str, user_prompt: str = "", fix: str = RECORD_HINT) -> None:
        """Set the reason why no recorded turn matches this prompt of the user."""
        self.user_prompt = user_prompt
        if reason:
            self.reason, self.fix = reason, fix

    async def stream(self, prompt: Prompt) -> AsyncGenerator[Delta, None]:  # noqa: ARG002 - the shape of an endpoint
        """Raise without sending anything.

        Raises:
            NotRecorded: always, or the error of an endpoint that there is not.
        """
        report_unrecorded(self.user_prompt, self.reason)
        if self.error:
            raise self.error.changed()
        raise NotRecorded(self.reason, fix=self.fix)
        yield  # type: ignore[unreachable]  # what makes this a generator
