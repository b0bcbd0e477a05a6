"""Images of a reply that cannot be decoded: a notice says so once, and the rest of the reply is kept."""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest

from nbtool import Chat
from nbtool.events import Notice
from nbtool.wire.dialects.unreadable_media import UNREADABLE_MEDIA
from tests.chaos import event, finish, head, serve, text
from tests.wire import geminis, responding

WRONG = "no base64!"


def responses() -> bytes:
    image = {"type": "image_generation_call", "id": "ig", "status": "completed", "result": WRONG}
    said = {"type": "message", "id": "m", "status": "completed", "content": [{"type": "output_text", "text": "So."}]}
    done = {"type": "response.output_item.done", "output_index": 0, "item": image}
    return responding.stream(done, responding.completed_event(image, said))


def gemini() -> bytes:
    image = {"inlineData": {"mimeType": "image/png", "data": WRONG}}
    return geminis.stream(geminis.candidate(image), geminis.candidate({"text": "So."}), geminis.end())


def chat() -> bytes:
    image = {"image_url": {"url": f"data:image/png;base64,{WRONG}"}}
    return text("So.") + event({"choices": [{"delta": {"images": [image]}}]}) + finish()


BODIES: dict[str, Callable[[], bytes]] = {"responses": responses, "gemini": gemini, "chat": chat}


@pytest.mark.parametrize("wire", BODIES)
def test_an_image_that_cannot_be_decoded_is_a_notice_and_the_text_is_kept(wire: str) -> None:
    with serve(head(), BODIES[wire]()) as server:
        turn = Chat("m", base_url=server.url, wire=wire).send("Draw.")
    notices = [one for one in turn.log if isinstance(one, Notice)]

    assert (turn.text, turn.status, list(turn.media)) == ("So.", "completed", [])
    assert [(one.text, one.level) for one in notices] == [(UNREADABLE_MEDIA.text, "warning")]
    assert json.dumps(UNREADABLE_MEDIA.text) in json.dumps(turn._repr_mimebundle_(), ensure_ascii=False)
