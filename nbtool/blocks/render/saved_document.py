"""The document of a turn as a file has it: without what is for the person at the screen only, and known secrets."""

from __future__ import annotations

from typing import cast

from nbtool.audience import person_fields
from nbtool.blocks.protocol import CallBlock, Document
from nbtool.events import CallFinished, CallReady
from nbtool.text import map_text
from nbtool.wire.framing.known_secrets import secret_hider


def without_person_only(document: Document) -> Document:
    """Return a document without known secrets and what is for the person at the screen only: a file is read by others.

    The latter are the first rows of referenced objects, and the output of a call whose result may still be withheld.
    """
    blocks = [_without_person_only(block) if block["kind"] == "call" else block for block in document["blocks"]]
    saved = {**document, "blocks": blocks}
    hide = secret_hider()
    return cast("Document", map_text(saved, hide, keys=hide) if hide else saved)


def _without_person_only(block: CallBlock) -> CallBlock:
    shown = {name: value for name, value in block.items() if name not in _PERSON_ONLY}
    if block["question"] and block["question"]["gate"] == "result":
        shown["progress"] = ""
    return cast("CallBlock", shown)


_PERSON_ONLY = person_fields(CallReady) | person_fields(CallFinished)
