from __future__ import annotations

import pytest

from nbtool import Chat
from nbtool.chat.chat import CHAT_ATTRIBUTES
from nbtool.errors import BadUsage
from nbtool.testing import ScriptedWire


@pytest.mark.parametrize("name", CHAT_ATTRIBUTES)
def test_an_attribute_of_a_chat_is_what_was_assigned(name: str) -> None:
    chat = Chat(wire=ScriptedWire([]))
    other = getattr(Chat(wire=ScriptedWire([])), name)

    setattr(chat, name, other)

    assert getattr(chat, name) is other


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("model", "m2", "Chat: model cannot be a str. `chat.model = chat.model.with_changes('m2')`"),
        ("tools", [print], 'Chat: tools cannot be a list. `chat.tools = nbtool.Toolset("chat", functions)`.'),
    ],
)
def test_a_value_of_another_type_is_refused_with_what_to_assign(name: str, value: object, message: str) -> None:
    chat = Chat(wire=ScriptedWire([]))
    former = getattr(chat, name)

    with pytest.raises(BadUsage) as refused:
        setattr(chat, name, value)

    assert str(refused.value).startswith(message)
    assert getattr(chat, name) is former


def test_plugins_that_are_none_are_refused_when_they_are_assigned() -> None:
    chat = Chat(wire=ScriptedWire([]))

    with pytest.raises(BadUsage, match="plugin"):
        chat.plugins = ["budget"]

    assert chat.plugins == []


def test_the_model_of_a_chat_can_be_changed_by_its_id() -> None:
    chat = Chat("m", base_url="http://127.0.0.1:1/v1")
    chat.model = chat.model.with_changes("m2")

    assert (chat.model.name, chat.model.base_url) == ("m2", "http://127.0.0.1:1/v1")


def test_a_fork_shares_the_settings_and_has_its_own_turns_and_variables() -> None:
    chat = Chat(wire=ScriptedWire([]), system="Be brief.")
    chat.expose(n=1, read=True)
    chat.keeps_notes = True
    chat.window = 3

    fork = chat.fork()

    own = {"variables", "variable_tools", "tree", "chat_id", "lock", "named_hosts"}
    shared = [name for name in CHAT_ATTRIBUTES if name not in own]
    assert [getattr(fork, name) for name in shared] == [getattr(chat, name) for name in shared]
    assert [name for name in own if getattr(fork, name) is getattr(chat, name)] == []
    assert fork.variables.value("n") == 1
