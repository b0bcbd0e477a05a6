from __future__ import annotations

from typing import Any

import pytest

from nbtool.blocks.render.whole_conversation import ConversationData
from nbtool.errors import BadUsage
from nbtool.view.conversation_widget import ConversationWidget


def widget() -> tuple[ConversationWidget, list[dict[str, Any]]]:
    """Give a widget whose messages are collected in place of a comm."""
    sent: list[dict[str, Any]] = []
    empty: ConversationData = {"left_out": 0, "turns": []}
    made = ConversationWidget(lambda: empty, title="The conversation", magic="%%chat")
    made.send = lambda content, _buffers=None: sent.append(content)
    return made, sent


def test_the_page_gets_the_conversation_as_it_is_when_it_asks() -> None:
    page, sent = widget()

    received = page.receive({"v": 1, "nonce": page.nonce, "id": "p-1", "kind": "hello"})

    assert received
    assert sent == [{"v": 1, "kind": "conversation", "id": "p-1", "conversation": {"left_out": 0, "turns": []}}]


def test_the_page_gets_the_second_module_when_it_asks() -> None:
    page, sent = widget()

    page.receive({"v": 1, "nonce": page.nonce, "id": "p-1", "kind": "rich"})

    assert [message["kind"] for message in sent] == ["rich"]


def test_an_image_is_sent_by_its_turn_and_key_and_what_there_is_not_has_no_answer() -> None:
    sent: list[tuple[dict[str, Any], list[bytes]]] = []
    key = "ab" * 16

    def media(turn_id: str, asked: str) -> bytes | None:
        if turn_id != "t1":
            raise BadUsage("In this chat no turn begins with that.")
        return b"png" if asked == key else None

    page = ConversationWidget(lambda: {"left_out": 0, "turns": []}, title="", magic="%%chat", media=media)
    page.send = lambda content, buffers=None: sent.append((content, buffers or []))
    for number, asked in enumerate([("t1", key), ("t1", "cd" * 16), ("t2", key)]):
        message = {"v": 1, "nonce": page.nonce, "id": f"p-{number}", "kind": "media"}
        assert page.receive({**message, "turn": asked[0], "key": asked[1]})

    assert sent == [({"v": 1, "kind": "media", "key": key}, [b"png"])]


@pytest.mark.parametrize(
    "change",
    [{"v": 2}, {"nonce": "x"}, {"id": "a b"}, {"id": 1}, {"kind": "say"}, {"kind": []}, {"text": "run this"},
     {"kind": "media", "turn": "t1", "key": "../x"}, {"kind": "media", "key": "ab" * 16}, {"kind": "totals"}],
)  # fmt: skip
def test_what_is_not_of_the_closed_set_is_ignored(change: dict[str, Any]) -> None:
    page, sent = widget()

    received = page.receive({"v": 1, "nonce": page.nonce, "id": "p-1", "kind": "hello", **change})

    assert not received
    assert sent == []
