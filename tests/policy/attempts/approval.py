"""`[approval]`: a tool that always asks is never run without a person, whoever says that it may."""

from __future__ import annotations

import asyncio
import sys
import threading
from pathlib import Path
from typing import Any

from nbtool import Approved, Chat, Toolset, tool
from nbtool.chat.subchat import subchat
from nbtool.messages import ToolCall
from nbtool.tools.approval import Policy, Undecided
from nbtool.tools.mcp import mcp_servers
from nbtool.tools.script.tool import script_tools
from tests.mcp_server.clients import ListView, connect, serve, texts
from tests.policy.attempts.world import World, approve_all, attempt, chat_with, main, outcome_of

CALL = ToolCall("delete_rows", '{"count": 1}', id="1")
HARMLESS = ToolCall("look", "{}", id="1")
FRIENDLY = str(Path(__file__).parents[2] / "tools" / "mcp" / "friendly_server.py")
ran: list[int] = []


@tool(run="auto")
def delete_rows(count: int) -> str:
    """Delete rows."""
    ran.append(count)
    return f"deleted {count}"


@tool
def look() -> str:
    """Look."""
    ran.append(0)
    return "seen"


def policy(world: World) -> str:
    world.shell.push({"delete_rows": delete_rows, "look": look})
    return "[approval]\nalways_ask = ['delete_*', 'friendly.*']\nautomatic = false\n"


def run_count(shown: object) -> str:
    """Return an outcome with how often a tool ran, and forget that."""
    shown = f"{shown}\nran {len(ran)} times"
    ran.clear()
    return shown


@attempt
def control_a_person_approves_from_the_queue(world: World) -> str:
    chat: Any = None

    def click(change: Any) -> None:
        if change.kind == "asked":
            digest = change.question.digest
            threading.Thread(target=lambda: chat.approvals.decide(digest, Approved(), by="button")).start()

    with world.model(CALL, "done") as url:
        chat = chat_with(url, tools=[delete_rows], approver=lambda _: Undecided())
        chat.approvals.add_listener(click)
        return run_count(outcome_of(chat.send("Go.")))


@attempt
def a_tool_that_says_it_needs_no_approval(world: World) -> str:
    with world.model(CALL, "done") as url:
        return run_count(outcome_of(chat_with(url, tools=[delete_rows]).send("Go.")))


@attempt
def an_approver_in_python(world: World) -> str:
    with world.model(CALL, "done") as url:
        return run_count(outcome_of(chat_with(url, tools=[delete_rows], approver=approve_all).send("Go.")))


@attempt
def an_approver_for_another_tool_that_asks(world: World) -> str:
    with world.model(HARMLESS, "done") as url:
        return run_count(outcome_of(chat_with(url, tools=[look], approver=approve_all).send("Go.")))


@attempt
def an_approver_that_claims_to_ask_a_person(world: World) -> str:
    class Claims:
        """An approver of the user's own."""

        asks_person = True
        uses_remembered = True

        def ask(self, _: object) -> Approved:
            """Approve."""
            return Approved(remember="tool")

    with world.model(HARMLESS, "done") as url:
        return run_count(outcome_of(chat_with(url, tools=[look], approver=Claims()).send("Go.")))


@attempt
def a_remembered_approval(world: World) -> str:
    chat: Any = None

    def click(change: Any) -> None:
        if change.kind == "asked":
            digest = change.question.digest
            decision = Approved(remember="tool")

            def decide() -> None:
                try:
                    chat.approvals.decide(digest, decision, by="button")
                except Exception as error:  # noqa: BLE001 - what came of it
                    chat.approvals.expire(digest, f"{type(error).__name__}: {error}")

            threading.Thread(target=decide).start()

    with world.model(CALL, "done") as url:
        chat = chat_with(url, tools=[delete_rows], approver=lambda _: Undecided())
        chat.approvals.add_listener(click)
        return run_count(outcome_of(chat.send("Go.")))


@attempt
def a_toolset_with_another_policy(world: World) -> str:
    tools = Toolset("mine", [delete_rows]).approved(Policy("auto"))
    with world.model(CALL, "done") as url:
        return run_count(outcome_of(chat_with(url, tools=[tools]).send("Go.")))


@attempt
def flag(world: World) -> str:
    with world.model(CALL, "done"):
        return run_count(world.cell("%%chat -m ollama:tiny -t delete_rows --approve auto\nGo."))


@attempt
def config(world: World) -> str:
    with world.model(CALL, "done"):
        world.cell("%config NbTool.approve = 'auto'")
        shown = run_count(world.cell("%%chat -c two -m ollama:tiny -t delete_rows\nGo."))
        world.cell("%config NbTool.approve = 'ask'")
        return shown


@attempt
def a_cell_where_nobody_can_be_asked(world: World) -> str:
    with world.model(CALL, "done"):
        return run_count(
            world.cell("%%chat -c three -m ollama:tiny -t delete_rows -o t\nGo.\n") + world.cell("t.calls[0].reason")
        )


@attempt
def batch(world: World) -> str:
    with world.model(CALL, "done") as url:
        answers = chat_with(url, tools=[delete_rows], approver=approve_all).map(["a"], progress=False).answers
        return run_count(outcome_of(answers[0].turn))


@attempt
def a_chat_as_a_tool(world: World) -> str:
    with world.model(CALL, "done") as url:
        inner = subchat(chat_with(url), tools=[delete_rows])
        chat = Chat("practice:fast", tools=[inner], approver=approve_all)
        turn = chat.send('Call ask with "Go.".')
        return run_count(outcome_of(turn) + "".join(one.reason for one in turn.log if one.kind == "call_decided"))


@attempt
def a_script(world: World) -> str:
    call = ToolCall("RunScript", '{"script": "delete_rows(count=1)"}', id="1")
    with world.model(call, "done") as url:
        turn = chat_with(url, tools=[delete_rows, script_tools()], approver=approve_all).send("Go.")
        return run_count(outcome_of(turn))


@attempt
def an_mcp_server(world: World) -> str:
    call = ToolCall("friendly_add", '{"a": 1, "b": 2}', id="1")
    command = {"command": sys.executable, "args": [FRIENDLY]}
    with mcp_servers({"mcpServers": {"friendly": command}}) as servers, world.model(call, "done") as url:
        chat = chat_with(url, tools=[servers.approved(Policy("auto"))], approver=approve_all)
        return outcome_of(chat.send("Go.")) + "\nran 0 times"


@attempt
def a_served_client(world: World) -> str:
    async def use() -> Any:
        with serve(lambda: Chat(tools=[delete_rows]), ListView(), seconds=0.2) as server:
            async with connect(server) as session:
                return await session.call_tool("delete_rows", {"count": 1})

    world.server = None
    return run_count(texts(asyncio.run(use())))


@attempt
def running_the_tools_of_a_turn_again(world: World) -> str:
    with world.model(CALL, "done") as url:
        chat = chat_with(url, tools=[delete_rows], approver=approve_all)
        chat.send("Go.")
        return run_count(outcome_of(chat.reexecute(approver=approve_all)))


if __name__ == "__main__":
    main(policy)
