from __future__ import annotations

from nbtool import Chat, tool
from nbtool.messages import Message, Text, assistant, user
from nbtool.plugins.privacy import MASK_RULE, Privacy
from nbtool.plugins.roles import GEMMA, FallbackRoles
from nbtool.testing import ScriptedWire, call
from nbtool.wire.base import Prompt, Target
from nbtool.wire.dialects.chat_completions.encoder import ChatCompletions
from tests.chain.running import run


@tool(run="auto")
def double(n: int) -> int:
    "Twice a number."
    return 2 * n


def request_messages(prompt: Prompt) -> list[dict[str, object]]:
    messages: list[dict[str, object]] = ChatCompletions().encode(prompt, Target("h", "m")).body["messages"]
    return messages


def test_the_system_text_goes_before_the_first_text_of_the_person() -> None:
    with ScriptedWire(["Hi."]) as wire:
        Chat(wire=wire, system="Be brief.", plugins=[FallbackRoles(system="user")]).send("Hello")

    assert wire.prompts[0].system == ""
    assert [message.role for message in wire.prompts[0].messages] == ["user"]
    assert wire.prompts[0].messages[0].text.endswith("Be brief.\n\nHello")


def test_system_messages_of_a_history_go_along() -> None:
    ran = run(["Hi."], FallbackRoles(system="user"), history=[Message("system", (Text("Be kind."),)), user("a")])

    assert [(m.role, m.text) for m in ran.wire.prompts[0].messages] == [("user", "Be kind.\n\na"), ("user", "Hello")]


def test_the_system_text_may_leave_under_the_role_developer() -> None:
    with ScriptedWire(["Hi."]) as wire:
        Chat(wire=wire, system="Be brief.", plugins=[FallbackRoles(system="developer")]).send("Hello")

    assert [message["role"] for message in request_messages(wire.prompts[0])] == ["developer", "user"]


def test_results_are_sent_as_the_user_and_their_calls_as_text() -> None:
    with ScriptedWire([["Let me see.", call("double", n=2)], "Four."]) as wire:
        turn = Chat(wire=wire, tools=[double], plugins=[FallbackRoles(tool="user")]).send("Twice 2?")

    actual = wire.prompts[1].messages
    assert [message.role for message in actual] == ["user", "assistant", "user"]
    assert actual[1].text == 'Let me see.\n[I asked for double with {"n": 2}]'
    assert actual[2].text == "[The result of double]\n4\n"
    assert [message.role for message in turn.messages.chain] == ["assistant", "tool", "assistant"]


def test_roles_take_turns_where_a_template_insists() -> None:
    ran = run(["Hi."], GEMMA, history=[user("a"), user("b"), assistant("c"), assistant("d")])

    assert [(m.role, m.text) for m in ran.wire.prompts[0].messages] == [
        ("user", "a\n\nb"), ("assistant", "c\n\nd"), ("user", "Hello"),
    ]  # fmt: skip


def test_what_a_server_knows_is_not_touched() -> None:
    with ScriptedWire([call("double", n=2), "Four."]) as wire:
        Chat(wire=wire, tools=[double], system="Be brief.", plugins=[FallbackRoles()]).send("Twice 2?")

    assert [message.role for message in wire.prompts[1].messages] == ["user", "assistant", "tool"]
    assert "Be brief." in wire.prompts[1].system


def test_behind_privacy_the_rule_of_the_masks_moves_too() -> None:
    with ScriptedWire(["Hi."]) as wire:
        Chat(wire=wire, plugins=[Privacy(), FallbackRoles(system="user")]).send("I am ada@example.org.")

    assert wire.prompts[0].messages[0].text.endswith(f"{MASK_RULE}\n\nI am __MASK_EMAIL_1__.")
