"""Which host gets the history of a chat in Python, of a sub-chat and of a map."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import pytest

from nbtool import Chat, tool
from nbtool.chat.chat import TurnSettings
from nbtool.chat.history_hosts import host_of
from nbtool.chat.model import Model
from nbtool.chat.rerun.operations import Reexecute, Rerun
from nbtool.chat.subchat import subchat
from nbtool.errors import BadUsage
from nbtool.events import Notice
from nbtool.settings import data_dir
from nbtool.testing import ScriptedWire, call
from nbtool.wire.providers.providers_toml import SETTINGS_FILE
from tests.hosts import TwoHosts, netloc, two_hosts


@pytest.fixture
def hosts(monkeypatch: pytest.MonkeyPatch) -> Iterator[TwoHosts]:
    with two_hosts(monkeypatch) as running:
        yield running


def begun_with_alpha(hosts: TwoHosts) -> Chat:
    """Say something to a default that was found, and let another one be found from then on."""
    hosts.set_keys("alpha")
    chat = Chat()
    assert chat.send("The secret is 7.").status == "completed"
    hosts.set_keys("beta")
    chat.model = Model()
    return chat


@pytest.mark.promise("history-host")
def test_a_default_that_was_found_gets_no_history_that_another_host_had(hosts: TwoHosts) -> None:
    chat = begun_with_alpha(hosts)

    with pytest.raises(BadUsage, match="Nothing was sent") as refusal:
        chat.send("And now?")

    assert netloc(hosts.alpha) in str(refusal.value)
    assert netloc(hosts.beta) in str(refusal.value)
    assert "\n" not in str(refusal.value)
    assert hosts.asked == (1, 0)
    assert len(chat.tree.active_path) == 1


@pytest.mark.promise("history-host")
def test_the_advice_of_the_refusal_sends_it(hosts: TwoHosts) -> None:
    chat = begun_with_alpha(hosts)

    chat.model = chat.model.with_changes("beta:m")

    assert chat.send("And now?").status == "completed"
    assert hosts.asked == (1, 1)


@pytest.mark.promise("history-host")
def test_a_refusal_says_where_the_former_name_leads_now(hosts: TwoHosts) -> None:
    hosts.set_keys("alpha", "beta")
    chat = Chat("alpha:m")
    chat.send("The secret is 7.")
    settings = data_dir() / SETTINGS_FILE
    settings.write_text(settings.read_text(encoding="utf-8").replace(hosts.alpha.url, "http://127.0.0.1:9/v1"))
    chat.model = replace(Model("beta:m"), is_unnamed=True)

    with pytest.raises(BadUsage, match="Nothing was sent") as refusal:
        chat.send("And now?")

    assert "goes on as before" not in str(refusal.value)
    assert "`-m alpha:m` is at 127.0.0.1:9 now" in str(refusal.value)


@pytest.mark.promise("history-host")
def test_a_request_that_takes_the_history_to_a_named_host_says_so_once(hosts: TwoHosts) -> None:
    hosts.set_keys("alpha", "beta")
    chat = Chat("alpha:m")
    first = chat.send("The secret is 7.")
    chat.model = chat.model.with_changes("beta:m")
    second, third = chat.send("And now?"), chat.send("And then?")

    said = [[event.text for event in turn.log if isinstance(event, Notice)] for turn in (first, second, third)]
    moved = f"went to {netloc(hosts.alpha)} (alpha:m) before, are sent to {netloc(hosts.beta)} now."
    assert [[text.endswith(moved) for text in texts] for texts in said] == [[], [True], []]


@pytest.mark.promise("history-host")
@pytest.mark.parametrize("name", ["NBTOOL_MODEL", "an argument", "an address"])
def test_a_host_that_is_named_gets_it(name: str, hosts: TwoHosts) -> None:
    chat = begun_with_alpha(hosts)
    if name == "NBTOOL_MODEL":
        hosts.environment.setenv(name, "beta:m")
        chat.model = Model()
    elif name == "an argument":
        chat.model = Model("beta:m")
    else:
        chat.model = Model("m", base_url=hosts.beta.url, wire="chat")

    chat.send("And now?")

    assert hosts.asked == (1, 1)


@pytest.mark.promise("history-host")
def test_the_same_host_gets_it_under_any_model(hosts: TwoHosts) -> None:
    chat = begun_with_alpha(hosts)
    hosts.set_keys("alpha")
    chat.model = Model()

    chat.send("And now?")

    assert hosts.asked == (2, 0)


@pytest.mark.promise("history-host")
def test_a_turn_that_is_repeated_is_history_too(hosts: TwoHosts) -> None:
    chat = begun_with_alpha(hosts)

    with pytest.raises(BadUsage, match="Nothing was sent"):
        chat.send("", settings=TurnSettings(operation=Rerun()))

    assert hosts.asked == (1, 0)


@pytest.mark.promise("history-host")
def test_a_prompt_without_history_needs_no_name(hosts: TwoHosts) -> None:
    chat = begun_with_alpha(hosts)

    chat.send("And now?", settings=TurnSettings(history="none"))
    chat.new()
    chat.send("Again.")

    assert hosts.asked == (1, 2)


@pytest.mark.promise("history-host")
def test_a_branch_of_another_host_stays_there(hosts: TwoHosts) -> None:
    chat = begun_with_alpha(hosts)
    first = chat.tree.active_path[0].turn
    chat.new()
    chat.send("Something else.")
    assert first
    chat.switch(first)

    with pytest.raises(BadUsage, match="Nothing was sent"):
        chat.send("And now?")

    assert hosts.asked == (1, 1)


@pytest.mark.promise("history-host")
def test_a_turn_that_reused_all_its_replies_went_where_the_first_version_did() -> None:
    @tool(run="auto")
    def look() -> str:
        "Look."
        return "seen"

    wire = ScriptedWire([call("look"), "Done."])
    chat = Chat(wire=wire, tools=[look])
    chat.send("Look.")

    again = chat.send("", settings=TurnSettings(operation=Reexecute()))

    assert all(event.given for event in again.log if event.kind == "request_started")
    assert host_of(again, chat.tree) == wire.host


@pytest.mark.promise("history-host")
def test_the_question_of_a_model_goes_to_no_default_that_was_found_elsewhere(hosts: TwoHosts) -> None:
    hosts.set_keys("beta")
    outer = Chat(wire=ScriptedWire([call("ask", question="The secret is 7?"), "Done."]), tools=[subchat()])

    turn = outer.send("Go.")

    assert hosts.asked == (0, 0)
    assert "nobody has named" in turn.calls[0].shown


@pytest.mark.promise("history-host")
def test_a_sub_chat_with_a_model_asks_it(hosts: TwoHosts) -> None:
    outer = Chat(wire=ScriptedWire([call("ask", question="Who?"), "Done."]), tools=[subchat("beta:m")])

    outer.send("Go.")

    assert hosts.asked == (0, 1)


@pytest.mark.promise("history-host")
def test_a_tool_of_the_person_may_begin_a_chat(hosts: TwoHosts) -> None:
    hosts.set_keys("beta")

    @tool(run="auto")
    def look_up() -> str:
        "Ask another chat."
        return Chat().send("Who?").text

    Chat(wire=ScriptedWire([call("look_up"), "Done."]), tools=[look_up]).send("Go.")

    assert hosts.asked == (0, 1)


@pytest.mark.promise("history-host")
def test_prompts_of_a_map_are_no_history(hosts: TwoHosts) -> None:
    chat = begun_with_alpha(hosts)

    batch = chat.map(["One.", "Two."], progress=False, resume=False)

    assert not batch.errors
    assert hosts.asked == (1, 2)
