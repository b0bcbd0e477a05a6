"""Situations of public reports: models that review calls, skills, texts added to a turn, requests of agents."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest
from mcp import MCPError
from mcp.types import INVALID_PARAMS

from nbtool import Chat, Reviewer, tool
from nbtool.chat.reviewer import FAILED, UNREADABLE
from nbtool.errors import WireError
from nbtool.testing import ScriptedWire, call
from nbtool.toolsets import skills
from nbtool.wire.agents.profiles import PROFILES
from tests.mcp_server.clients import connect, serve
from tests.toolsets.skills import write, write_plotting

APPROVE = '"decision": "approve", "reason": "It reads."'


@tool
def pay(amount: int) -> int:
    """Pay an amount."""
    return amount


def reviewed(*answers: Any) -> Any:
    """Return a turn whose call was reviewed; nobody else is asked."""
    reviewer = Reviewer(Chat(wire=ScriptedWire(answers)), rules="Approve what only reads.")
    return Chat(wire=ScriptedWire([[call("pay", amount=1)], "Done."]), tools=[pay], approver=reviewer).send("Pay.")


def first_system(folder: Path) -> str:
    """Return what a model is told of the skills of a folder."""
    with ScriptedWire(["Done."]) as wire:
        Chat(wire=wire, tools=[skills(folder)]).send("Plot it.")
    return wire.prompts[0].system


@pytest.mark.parametrize(
    "answer",
    [
        '{"decision": "hand_on", "decision": "approve", "reason": "It reads."}',
        f'{{"decision": "hand_on", "\\u0064ecision": "approve", {APPROVE}}}',
        f'{{{APPROVE}, "risk": "high"}}',
        f'{{{APPROVE}, "__proto__": {{"decision": "hand_on"}}}}',
    ],
)
def test_an_answer_of_a_reviewer_with_two_decisions_approves_nothing(answer: str) -> None:
    """openclaw/openclaw#114681: a repeated key, or one more field, silently replaces the decision to ask a person.

    Right: it is handed on. Before: wrong.
    """
    turn = reviewed(answer)

    assert turn.calls[0].status == "denied"


@pytest.mark.parametrize("rest", [" On reflection: hand_on.", '{"decision": "hand_on", "reason": "It pays."}'])
def test_what_follows_the_decision_of_a_reviewer_is_not_left_unread(rest: str) -> None:
    """Dicklesworthstone/destructive_command_guard#160: what stands after a decision is not read, and lets calls pass.

    Right: it is handed on. Before: wrong.
    """
    assert reviewed(f"{{{APPROVE}}}{rest}").calls[0].status == "denied"
    assert reviewed(f"{{{APPROVE}}}").calls[0].status == "ok"


RETIRED = "The model claude-sonnet-4-0 is retired."


@pytest.mark.parametrize(
    ("answer", "reason"),
    [("I cannot tell.", UNREADABLE), ("", UNREADABLE), (WireError(RETIRED), FAILED.format(why=RETIRED))],
)
def test_a_failure_of_a_reviewer_is_named_as_one(answer: Any, reason: str) -> None:
    """openai/codex#25617, nizos/tdd-guard#193: an answer that is no JSON, or a retired model, looks like a refusal.

    Right: the call is handed on, and the reason says that it was not reviewed. Before: right.
    """
    turn = reviewed(*[answer] * 3)

    assert turn.calls[0].status == "denied"
    assert reason in str(turn.log)


def test_a_skill_without_a_head_is_offered_by_the_name_of_its_folder(tmp_path: Path) -> None:
    """MoonshotAI/kimi-code#3673, griffinwork40/agent-afk#1547: a SKILL.md without a head is left out without a word.

    Right: it is offered by the name of its folder. Before: right.
    """
    write(tmp_path / "deploy" / "SKILL.md", "# Deploy\n\nDeploy the dashboard.\n")

    assert "- deploy" in first_system(tmp_path)


def test_a_description_with_a_colon_is_read(tmp_path: Path) -> None:
    """mattpocock/skills#908: a description with a colon and a space is no YAML, and its skill is left out.

    Right: it is offered with its description. Before: right.
    """
    write(
        tmp_path / "review" / "SKILL.md", "---\nname: review\ndescription: Review along two axes: style.\n---\nRead.\n"
    )

    assert "- review: Review along two axes: style." in first_system(tmp_path)


@pytest.mark.parametrize("content", [b"---\nname: other\nno end\n", b"\xff\xfe\x00broken"])
def test_a_broken_skill_takes_no_other_one_with_it(tmp_path: Path, content: bytes) -> None:
    """wkentaro/git-hunk#20: a SKILL.md that is no UTF-8, or whose head has no end, breaks the list of all.

    Right: the others are offered. Before: right.
    """
    write_plotting(tmp_path)
    (tmp_path / "broken").mkdir()
    (tmp_path / "broken" / "SKILL.md").write_bytes(content)

    assert "- plotting: " in first_system(tmp_path)


def test_other_texts_beside_skills_are_no_skills(tmp_path: Path) -> None:
    """earendil-works/pi#8012: README.md and AGENTS.md beside the folders of skills are taken for broken skills.

    Right: they are none. Before: right.
    """
    write_plotting(tmp_path)
    for name in ("README.md", "AGENTS.md"):
        write(tmp_path / name, "Nothing of a skill.")

    listed = [line for line in first_system(tmp_path).splitlines() if line.startswith("- ")]

    assert [line.partition(":")[0] for line in listed] == ["- plotting"]


def test_a_text_that_was_added_to_a_stopped_turn_is_not_lost() -> None:
    """openclaw/openclaw#128008, repoprompt/repoprompt-ce#867: a text that waits for a call to end is gone after a stop.

    Right: it is named as not sent, or is part of the turn, and the next request has it. Before: right.
    """

    @tool(run="auto")
    def stop() -> str:
        """Add a text, and stop the turn."""
        turn.steer("Only the first three.")
        turn.cancel()
        return "stopped"

    with ScriptedWire([[call("stop")], "Done."]) as wire:
        chat = Chat(wire=wire, tools=[stop])
        turn = chat.compose("Go.")
        turn.start().done.result(30)
        chat.send("Go on.")

    assert turn.status == "cancelled"
    is_sent = any("Only the first three." in message.text for message in wire.prompts[-1].messages)
    assert is_sent or turn.unsent == ("Only the first three.",)


def test_a_variable_that_is_not_there_is_no_content() -> None:
    """dbernheisel/phantom_mcp#14, costajohnt/oss-autopilot#970: an error comes as the content of the resource.

    Right: the request fails. Before: wrong.
    """

    async def read() -> MCPError:
        with serve(lambda: Chat(tools=[pay])) as server:
            async with connect(server) as session:
                with pytest.raises(MCPError) as raised:
                    await session.read_resource("nbtool://variables/missing")
        return raised.value

    assert asyncio.run(read()).code == INVALID_PARAMS


def test_an_agent_is_asked_for_no_suggestion_of_the_next_prompt() -> None:
    """anthropics/claude-code#89659, anthropics/claude-code#89746: each prompt costs a second request unseen.

    Right: it is switched off, as is the one for a title. Before: wrong.
    """
    options = PROFILES["claude"].session_options["claudeCode"]["options"]

    assert options["promptSuggestions"] is False
    assert options["title"]


def test_the_definitions_of_a_schema_reach_a_model_that_knows_no_references() -> None:
    """googleapis/python-genai#1122: `$ref` in the schema of a tool is refused by the provider.

    Right: what is referred to stands in its place. Before: right.
    """
    city = {"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]}
    schema = {
        "type": "object", "$defs": {"City": city}, "required": ["city"],
        "properties": {"city": {"$ref": "#/$defs/City"}},
    }  # fmt: skip

    @tool(schema=schema)
    def weather(**values: Any) -> str:
        """Get the weather."""
        return str(values)

    parameters = Chat(wire=ScriptedWire([]), tools=[weather]).tools.tools()["weather"].parameters.schema

    assert "$ref" not in json.dumps(parameters)
    assert "name" in parameters["properties"]["city"]["properties"]
