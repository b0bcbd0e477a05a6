"""Store images and sounds of replies as variables, so that references can point to them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

from nbtool.chain.hooks import AppendContext
from nbtool.messages import Media
from nbtool.tools.variables.store import Variables


@dataclass(frozen=True, slots=True)
class MediaVariables:
    """Stores the media of replies as variables of the chat; the part is named after its variable."""

    runs_on_loop: ClassVar[bool] = True

    variables: Variables

    def on_message_append(self, context: AppendContext) -> None:
        """Store every image, sound and file of a reply."""
        message = context.message
        if message.role != "assistant" or not any(isinstance(part, Media) for part in message.parts):
            return
        parts = tuple(self._store(part) if isinstance(part, Media) else part for part in message.parts)
        context.message = replace(message, parts=parts)  # the native form is still valid: only names were added

    def _store(self, media: Media) -> Media:
        stored = replace(media, name=self.variables.reserve_name(media.mime.partition("/")[0]))
        self.variables.store_result(stored.name, stored, str(stored), description=f"{stored.mime} of a reply.")
        return stored
