"""Images and sounds of replies become variables, so that references can point to them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

from nbtool.chain.hooks import AppendContext
from nbtool.messages import Media
from nbtool.tools.variables.store import Variables


@dataclass(frozen=True, slots=True)
class MediaVariables:
    """Keeps what replies bring as variables of the chat; the part is named after its variable."""

    runs_on_loop: ClassVar[bool] = True

    variables: Variables

    def on_message_append(self, context: AppendContext) -> None:
        """Keep every image, sound and file of a reply."""
        message = context.message
        if message.role != "assistant" or not any(isinstance(part, Media) for part in message.parts):
            return
        parts = tuple(self._store(part) if isinstance(part, Media) else part for part in message.parts)
        context.message = replace(message, parts=parts)  # its native form stays: only names were given

    def _store(self, media: Media) -> Media:
        stored = replace(media, name=self.variables.reserve_name(media.mime.partition("/")[0]))
        self.variables.store_result(stored.name, stored, str(stored), description=f"{stored.mime} of a reply.")
        return stored
