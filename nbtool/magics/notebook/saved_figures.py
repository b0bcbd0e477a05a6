"""Images and sounds of earlier turns, which the journal does not have: from the file of the notebook that has them."""

from __future__ import annotations

import copy
import json
from base64 import b64decode
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from hashlib import sha256
from pathlib import Path, PurePosixPath
from typing import Any

from nbtool import settings
from nbtool.blocks.render.mimebundle import TURN_MIME
from nbtool.chat.turn import Turn
from nbtool.events import CallFinished, Event
from nbtool.messages import Media
from nbtool.mime import sniff

MAX_NOTEBOOK_BYTES = 200 * 1024 * 1024
"""Bytes of a notebook that is read; a larger one counts as one without figures."""

Figures = Mapping[tuple[str, str], Sequence[Media]]
"""By the ids of a turn and of one of its calls."""


def with_saved_figures(turns: Sequence[Turn]) -> list[Turn]:
    """Return turns with the figures that the journal lacks: those that a model got too, else of the saved notebook."""
    if not any(event.media_unsaved for turn in turns for event in turn.log if isinstance(event, CallFinished)):
        return list(turns)
    saved = read_figures(_path_of_notebook())
    return [_with_figures(turn, saved) for turn in turns]


def read_figures(path: Path | None) -> Figures:
    """Return the figures of the turns in a notebook's outputs; none if it is no notebook, or cannot be read."""
    try:
        if path is None or path.stat().st_size > MAX_NOTEBOOK_BYTES:
            return {}
        notebook = json.loads(path.read_bytes())
    except (OSError, ValueError, RecursionError):
        return {}
    found: dict[tuple[str, str], list[Media]] = {}
    for document in _documents(notebook):
        turn_id = _member(_member(document, "head", dict), "turn_id", str)
        for block in _member(document, "blocks", list):
            media = [item for shape in _member(block, "media", list) for item in _media(shape)]
            if media and turn_id:
                found[turn_id, _member(block, "id", str)] = media
    return found


def _with_figures(turn: Turn, saved: Figures) -> Turn:
    images = {call.call_id: call.images for call in turn.calls}

    def filled(event: Event) -> Event:
        if not isinstance(event, CallFinished) or not event.media_unsaved:
            return event
        media = tuple(images.get(event.call_id, ()) or saved.get((turn.turn_id, event.call_id), ()))
        media = media[: event.media_unsaved]
        return replace(event, media=(*event.media, *media), media_unsaved=event.media_unsaved - len(media))

    log = [filled(event) for event in turn.log]
    if log == turn.log:
        return turn
    other = copy.copy(turn)
    other.log, other.state = log, turn.state
    return other


def _path_of_notebook() -> Path | None:
    """Return the file of the notebook: where Jupyter Server says, or of that name in the folder of the kernel."""
    name = (settings.env("JPY_SESSION_NAME") or "").removeprefix("RTC:")
    if not name:
        return None
    return Path(name) if Path(name).is_absolute() else Path(PurePosixPath(name).name)


def _documents(notebook: Any) -> Iterator[dict[str, Any]]:
    """Yield the data of the turns that are shown in outputs, whatever else the file contains."""
    for cell in _member(notebook, "cells", list):
        for output in _member(cell, "outputs", list):
            if document := _member(_member(output, "data", dict), TURN_MIME, dict):
                yield document


def _media(shape: Any) -> Iterator[Media]:
    """Yield an image or a sound whose bytes are saved and are those that its key names."""
    try:
        data = b64decode(_member(shape, "data", str), validate=True)
    except ValueError:
        return
    mime = sniff(data)
    if data and mime == _member(shape, "mime", str) and sha256(data).hexdigest().startswith(_member(shape, "key", str)):
        yield Media(mime, data=data, name=_member(shape, "name", str))


def _member(container: Any, name: str, kind: Any) -> Any:
    """Return a member of an object of JSON if it has the wanted type, else an empty one."""
    value = container.get(name) if isinstance(container, dict) else None
    return value if isinstance(value, kind) else kind()
