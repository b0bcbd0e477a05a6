"""No key and no private value is in a recording."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from nbtool import Chat, tool
from nbtool.plugins.privacy import Privacy
from nbtool.testing import call
from tests.chat.recording.making import ONLY, chat


@pytest.mark.promise("no-secret-told")
def test_no_key_is_in_the_file(path: Path) -> None:
    key = "sk-" + "a1B2" * 8
    chat(path, [call("price", ticker="A"), f"Your key is {key}."]).send(f"Is {key} a key?")

    assert key not in path.read_text()
    assert path.stat().st_size > 100


def test_private_values_are_masked_in_the_file_and_restored_where_they_are_in_the_prompt(path: Path) -> None:
    def private(replies: Any = ()) -> Chat:
        @tool(run="auto")
        def write(to: str) -> str:
            "Write a letter."
            return f"To {to}, copy to bob@example.org."

        return chat(path, replies, tools=[write], plugins=[Privacy(["email"])])

    replies = [call("write", to="__MASK_EMAIL_1__"), "Written to __MASK_EMAIL_1__.", "Yes."]
    first = private(replies)
    live = first.send("Write to ada@example.org")
    first.send("Sure?")
    second = private()
    actual = second.send("Write to ada@example.org")
    other = private().send("Write to eve@example.org", settings=ONLY)

    assert "@example.org" not in path.read_text()
    assert actual.text == live.text
    assert live.text.endswith(" ada@example.org.")
    assert actual.calls[0].arguments == '{"to": "ada@example.org"}'
    assert second.send("Sure?").text == "Yes."
    assert other.status == "error"
