"""How an agent is started: who names its command, in which folder, with which environment, and who allows it."""

from __future__ import annotations

import json
import os
import stat
import sys
from pathlib import Path
from typing import Any

import pytest

from nbtool.chat.agent_turns import agent_of
from nbtool.chat.chat import Chat
from nbtool.chat.subchat import subchat
from nbtool.chat.turn_settings import TurnSettings
from nbtool.errors import BadUsage, ModelError, NbtoolError, PolicyRefused, SettingsError, UnknownModel, Unsupported
from nbtool.messages import Media, user
from nbtool.policy.site import SitePolicy
from nbtool.settings import data_dir
from nbtool.threads.loop import run_sync
from nbtool.wire.agents.mapping import prompt_params
from nbtool.wire.agents.profiles import PROFILES, find_profile
from nbtool.wire.agents.settings import agent_folder, find_command
from tests.wire.agents.agents import MakeAgent

CLAUDE = PROFILES["claude"]


def program(folder: Path, name: str = "claude-agent-acp") -> Path:
    """A program in a folder."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / name
    path.write_text("#!/bin/sh\n")
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    return path


def write_settings(text: str) -> None:
    (data_dir() / "agents.toml").write_text(text)


@pytest.mark.every_case
@pytest.mark.parametrize(
    ("name", "error"),
    [
        ("acp:codex", Unsupported),
        ("acp:opencode", Unsupported),
        ("acp:gemini", Unsupported),
        ("acp:claude+tools", Unsupported),
        ("acp:claude+x", Unsupported),
        ("acp:codex+tools", Unsupported),
        ("acp:", UnknownModel),
        ("acp:claud", UnknownModel),
        ("acp:+tools", UnknownModel),
    ],
)
def test_an_agent_that_is_not_offered_is_refused(name: str, error: type[ModelError]) -> None:
    with pytest.raises(error):
        find_profile(name)
    with pytest.raises(error):
        Chat(name).start("Hello.")


def test_the_name_of_an_agent_is_read_as_that_of_a_provider() -> None:
    assert find_profile(" ACP:Claude ") is CLAUDE


def test_a_command_is_found_in_the_path_but_in_no_folder_of_a_project(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    project, own = tmp_path / "project", tmp_path / "own"
    program(project / "node_modules" / ".bin")
    monkeypatch.chdir(project)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv(
        "PATH", os.pathsep.join([".", "", "node_modules/.bin", str(project / "node_modules" / ".bin"), str(own)])
    )
    with pytest.raises(Unsupported):
        find_command(CLAUDE)

    found = program(own)

    command = find_command(CLAUDE)
    assert command.command == str(found)
    assert command.environment["PATH"].get_secret_value() == str(own)


def test_a_link_in_the_path_into_the_project_is_in_the_project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    project = tmp_path / "project"
    program(project / "bin")
    (tmp_path / "link").symlink_to(project / "bin")
    monkeypatch.chdir(project)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("PATH", str(tmp_path / "link"))

    with pytest.raises(Unsupported):
        find_command(CLAUDE)


def test_in_the_home_folder_the_programs_of_the_person_are_found(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = program(tmp_path / ".local" / "bin")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("PATH", str(found.parent))

    assert find_command(CLAUDE).command == str(found)


@pytest.mark.every_case
@pytest.mark.parametrize(
    "text",
    [
        "[claude",
        "claude = 3",
        "[claude]\ncommand = 3",
        "[claude]\nargs = 'a'",
        "[claude]\nargs = [1]",
        "[claude]\nvariables = 'A'",
        "[claude]\nvariables = ['NODE_OPTIONS']",
        "[claude]\nvariables = ['LD_PRELOAD']",
        "[claude]\nvariables = ['PYTHONPATH']",
        "[claude]\nvariables = ['PATH']",
        "[claude]\nmode = 'auto'",
        '[claude]\ncommand = "a\\u0000b"',
    ],
)
def test_a_file_of_agents_that_is_wrong_is_refused(text: str) -> None:
    write_settings(text)

    with pytest.raises(SettingsError):
        find_command(CLAUDE)


@pytest.mark.every_case
@pytest.mark.parametrize("command", ["./claude", "bin/claude", "/there/is/none", "~/none"])
def test_a_command_that_is_not_absolute_or_not_there_is_refused(command: str) -> None:
    write_settings(f"[claude]\ncommand = {json.dumps(command)}")

    with pytest.raises(Unsupported):
        find_command(CLAUDE)


def test_a_file_of_the_project_names_no_command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "agents.toml").write_text(f"[claude]\ncommand = {json.dumps(sys.executable)}")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PATH", "/nowhere")

    with pytest.raises(Unsupported):
        find_command(CLAUDE)


def test_an_agent_gets_the_variables_of_a_fixed_list_and_those_that_are_named(
    make_agent: MakeAgent, chat: Chat, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in (
        "ANTHROPIC_API_KEY",
        "OPENAI_API_KEY",
        "LAB_TOKEN",
        "NODE_OPTIONS",
        "CLAUDE_CONFIG_DIR",
        "https_proxy",
    ):
        monkeypatch.setenv(name, "http://127.0.0.1:1")
    agent = make_agent([{"say": "Hello."}])
    path = data_dir() / "agents.toml"
    path.write_text(f"{path.read_text()}variables = ['LAB_TOKEN', 'NOT_SET']\n")

    chat.send("Hello.")

    (names,) = agent.all_of("environment")
    assert {"LAB_TOKEN", "CLAUDE_CONFIG_DIR", "https_proxy", "HOME", "PATH", "NO_BROWSER"} <= set(names)
    assert not {"ANTHROPIC_API_KEY", "OPENAI_API_KEY", "NODE_OPTIONS", "NOT_SET", "NBTOOL_HOME"} & set(names)


def test_a_secret_of_the_agent_is_taken_out_of_what_is_sent(
    make_agent: MakeAgent, chat: Chat, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LAB_TOKEN", "lab-4f6a1c0e9d77")
    agent = make_agent([{"say": "lab-4f6a1c0e9d77"}], [{"say": "Hello."}])
    path = data_dir() / "agents.toml"
    path.write_text(f"{path.read_text()}variables = ['LAB_TOKEN']\n")

    chat.send("Hello.")
    chat.send("What is lab-4f6a1c0e9d77?")

    assert "lab-4f6a1c0e9d77" not in agent.prompts()[1]


def test_an_agent_works_in_an_empty_folder_of_its_own(make_agent: MakeAgent, chat: Chat) -> None:
    agent = make_agent([{"say": "Hello."}])
    chat.send("Hello.")

    (folder,) = agent.all_of("folder")
    assert agent.requests("session/new")[0]["cwd"] == folder == str(agent_folder(CLAUDE))
    assert stat.S_IMODE(Path(folder).stat().st_mode) == 0o700

    (Path(folder) / ".claude").mkdir()
    turn = Chat("acp:claude").send("Hello.")
    assert type(turn.error) is SettingsError


def test_the_token_is_in_a_file_of_the_person_alone_as_long_as_the_agent_runs(
    make_agent: MakeAgent, chat: Chat
) -> None:
    agent = make_agent([{"say": "Hello."}])
    chat.send("Hello.")
    (server,) = agent.requests("session/new")[0]["mcpServers"]
    path = Path(server["args"][-1])

    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert server["env"] == []
    run_sync(agent_of(chat).close())  # type: ignore[union-attr]
    assert not path.exists()


POLICIES = {
    "no rule of hosts": ("[values]\nmay_leave = true", True),
    "hosts without agents": ("[hosts]\nmodels = ['api.openai.com']", False),
    "another agent": ("[hosts]\nagents = ['/opt/claude-agent-acp']", False),
    "its name alone": ("[hosts]\nagents = ['claude-agent-acp']", False),
    "the agent": (f"[hosts]\nagents = [{json.dumps(sys.executable)}]", True),
    "no serving": (f"[hosts]\nagents = [{json.dumps(sys.executable)}]\n[serve]\nallowed = false", False),
}


@pytest.mark.every_case
@pytest.mark.parametrize("rule", POLICIES)
def test_a_policy_says_which_agents_may_be_started(tmp_path: Path, rule: str) -> None:
    text, is_allowed = POLICIES[rule]
    path = tmp_path / "policy.toml"
    path.write_text(text)
    policy = SitePolicy.read(system=path)

    if is_allowed:
        policy.check_agent(sys.executable)
    else:
        with pytest.raises(PolicyRefused):
            policy.check_agent(sys.executable)


def test_an_agent_that_the_policy_does_not_name_is_not_started(
    make_agent: MakeAgent, chat: Chat, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    agent = make_agent([{"say": "Hello."}])
    path = tmp_path / "policy.toml"
    path.write_text("[hosts]")
    policy = SitePolicy.read(system=path)
    monkeypatch.setattr("nbtool.wire.agents.settings.site_policy", lambda: policy)

    with pytest.raises(PolicyRefused):
        chat.start("Hello.")
    assert agent.entries == []


@pytest.mark.every_case
@pytest.mark.parametrize(
    "arguments",
    [
        {"options": {"temperature": 0}},
        {"provider_tools": "web_search"},
        {"base_url": "http://127.0.0.1:1/v1"},
        {"api_key": "sk-test"},
        {"wire": "chat"},
        {"tool_mode": "prompted"},
        {"headers": {"a": "b"}},
    ],
)
def test_what_is_for_a_model_is_refused(make_agent: MakeAgent, arguments: dict[str, Any]) -> None:
    agent = make_agent([{"say": "Hello."}])

    with pytest.raises(BadUsage):
        Chat("acp:claude", **arguments).start("Hello.")
    assert agent.entries == []


def test_maps_sub_chats_previews_and_parts_of_turns_are_refused(make_agent: MakeAgent, chat: Chat) -> None:
    agent = make_agent([{"call": {"name": "add", "arguments": {"a": 1, "b": 2}}}, {"say": "3"}])
    with pytest.raises(BadUsage):
        chat.map(["One.", "Two."])
    with pytest.raises(BadUsage):
        chat.rehearse("Hello.")
    assert agent.entries == []

    call_id = chat.send("Add.").calls[0].call_id
    for again in (
        lambda: chat.resume(),
        lambda: chat.reexecute(),
        lambda: chat.rerun(from_round=2),
        lambda: chat.rerun(results={call_id: "4"}),
    ):
        with pytest.raises(BadUsage):
            again()
    assert len(agent.prompts()) == 1


def test_a_question_for_an_agent_as_a_sub_chat_is_refused(make_agent: MakeAgent) -> None:
    from nbtool.testing import ScriptedWire, call  # noqa: PLC0415 - of this test

    agent = make_agent([{"say": "Hello."}])
    with ScriptedWire([call("ask", question="Hello?"), "It cannot."]) as wire:
        turn = Chat(wire=wire, tools=[subchat("acp:claude")]).send("Ask.")

    assert [call.status for call in turn.calls] == ["error"]
    assert agent.entries == []


def test_a_budget_in_dollars_is_refused_and_one_in_tokens_ends_the_turn(make_agent: MakeAgent, chat: Chat) -> None:
    from nbtool.chain.limits import Limits  # noqa: PLC0415 - of this test

    used = {"update": {"sessionUpdate": "usage_update", "used": 5_000, "size": 200_000}}
    agent = make_agent([{"say": "One "}, used, {"say": "two"}, {"wait": "cancel"}])

    turn = chat.send("Hello.", settings=TurnSettings(limits=Limits(cost=1.0)))
    assert (turn.status, agent.prompts()) == ("error", [])

    turn = chat.send("Hello.", settings=TurnSettings(limits=Limits(tokens=1_000)))
    assert (turn.status, type(turn.error).__name__) == ("error", "LimitReached")
    assert len(agent.requests("session/cancel")) == 1


def test_images_are_sent_to_an_agent_that_takes_them_and_refused_otherwise() -> None:
    picture = Media("image/png", b"\x89PNG\r\n\x1a\n")

    sent = prompt_params("S", [user("Look.", picture)], ["Before."], takes_images=True)

    assert [block["type"] for block in sent["prompt"]] == ["text", "text", "image"]
    for media, takes in (
        (picture, False),
        (Media("audio/wav", b"RIFF"), True),
        (Media("image/png", url="http://a/b"), True),
    ):
        with pytest.raises(NbtoolError):
            prompt_params("S", [user("Look.", media)], [], takes_images=takes)


def test_an_attachment_that_is_refused_leaves_the_session_usable(make_agent: MakeAgent, chat: Chat) -> None:
    agent = make_agent([{"say": "Hello."}])

    turn = chat.send("Look.", attach=b"\x89PNG\r\n\x1a\n" + bytes(40))
    assert turn.status == "error"
    assert chat.send("Hello.").text == "Hello."
    assert len(agent.prompts()) == 1
