from __future__ import annotations

import inspect

import pytest

from nbtool import Chat
from nbtool.chat.conversation import Conversation
from nbtool.chat.delegation import PartAttribute
from nbtool.errors import BadUsage
from nbtool.testing import ScriptedWire

ATTRIBUTES = [name for name, value in vars(Chat).items() if isinstance(value, PartAttribute)]


@pytest.mark.parametrize("name", ATTRIBUTES)
def test_an_attribute_of_a_chat_is_that_of_its_part(name: str) -> None:
    chat = Chat(wire=ScriptedWire([]))
    part = chat.conversation if name in ("tree", "chat_id") else chat.builder.parts
    assert getattr(chat, name) is getattr(part, name)

    other = getattr(Chat(wire=ScriptedWire([])), name)
    setattr(chat, name, other)

    assert getattr(part, name) is other


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


def test_the_model_of_a_chat_can_be_changed_by_its_id() -> None:
    chat = Chat("m", base_url="http://127.0.0.1:1/v1")
    chat.model = chat.model.with_changes("m2")

    assert (chat.model.name, chat.model.base_url) == ("m2", "http://127.0.0.1:1/v1")


def test_a_chat_inherits_nothing_and_its_methods_keep_their_signatures() -> None:
    assert Chat.__mro__ == (Chat, object)
    assert inspect.signature(Chat.delete) == inspect.signature(Conversation.delete)
    assert Chat.delete.__doc__ == Conversation.delete.__doc__


def test_a_fork_shares_the_settings_and_has_its_own_conversation_and_variables() -> None:
    chat = Chat(wire=ScriptedWire([]), system="Be brief.")
    chat.expose(n=1, read=True)
    chat.keeps_notes = True

    fork = chat.builder.fork()

    assert (fork.parts.system, fork.parts.tools, fork.parts.keeps_notes) == ("Be brief.", chat.tools, True)
    assert fork.parts.variables is not chat.variables
    assert fork.parts.variables.value("n") == 1
    assert fork.conversation.chat_id != chat.chat_id
