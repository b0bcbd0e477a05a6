"""Store images and sounds of replies as variables, so that references can point to them."""

from __future__ import annotations

from collections.abc import Awaitable
from dataclasses import dataclass, replace
from typing import ClassVar

from nbtool.chain.hooks import AppendContext
from nbtool.events import Notice
from nbtool.messages import Media
from nbtool.text import format_number
from nbtool.tools.variables.store import Variables

MAX_STORED = 100
"""Maximum number of images, sounds and files of one reply that become variables."""


@dataclass(frozen=True, slots=True)
class MediaVariables:
    """Stores the media of replies as variables of the chat; the part is named after its variable."""

    runs_on_loop: ClassVar[bool] = True

    variables: Variables

    def on_message_append(self, context: AppendContext) -> Awaitable[None] | None:
        """Store the images, sounds and files of a reply; beyond `MAX_STORED`, say how many have no variable."""
        message = context.message
        count = sum(isinstance(part, Media) for part in message.parts)
        return self._store_all(context, count) if message.role == "assistant" and count else None

    async def _store_all(self, context: AppendContext, count: int) -> None:
        message = context.message
        media = [part for part in message.parts if isinstance(part, Media)][:MAX_STORED]
        stored = {id(part): self._store(part) for part in media}
        parts = tuple(stored.get(id(part), part) for part in message.parts)
        context.message = replace(message, parts=parts)  # the native form is still valid: only names were added
        if count > MAX_STORED:
            total = format_number(count)
            text = f"The first {MAX_STORED} of {total} images, sounds and files of the reply can be referenced."
            await context.turn.emit(Notice(text, "warning"))

    def _store(self, media: Media) -> Media:
        stored = replace(media, name=self.variables.reserve_name(media.mime.partition("/")[0]))
        self.variables.store_result(stored.name, stored, str(stored), description=f"{stored.mime} of a reply.")
        return stored
