"""`[values] may_leave = false`: no value of a variable or a result reaches the model, whoever releases it."""

from __future__ import annotations

import asyncio
import json
import sys
from pathlib import Path
from typing import Annotated, Any

import pandas as pd
import pyarrow
from pydantic import AfterValidator

from nbtool import Chat, Released, ToolFailed, tool
from nbtool.chat.conversation.restore import restore_turn
from nbtool.chat.subchat import subchat
from nbtool.events import TurnStarted
from nbtool.messages import Media, ToolCall, user
from nbtool.tools.approval import Approved, Policy
from nbtool.tools.mcp import mcp_servers
from nbtool.tools.script.tool import script_tools
from nbtool.toolsets.inspection_tools import inspection
from tests.mcp_server.clients import ListView, connect, serve, texts
from tests.policy.attempts.world import SENTINEL, World, approve_all, attempt, chat_with, main, outcome_of
from tests.samples import PNG
from tests.security.model import answers

FRIENDLY = str(Path(__file__).parents[2] / "tools" / "mcp" / "friendly_server.py")
df = pd.DataFrame({"who": [SENTINEL, SENTINEL], "mass": [3700, 5076]})


@tool(run="auto")
def fetch() -> str:
    """Fetch a text."""
    return f"{SENTINEL} " * 100


@tool(run="auto", result="always")
def fetch_gated() -> str:
    """Fetch a text, and ask before it is sent."""
    return SENTINEL


@tool(run="auto")
def fail() -> str:
    """Fail with a value in the message."""
    raise ToolFailed(f"no row {SENTINEL}")


@tool(run="auto")
def crash(data: Any) -> str:
    """Crash with a value in the message."""
    raise KeyError(data["who"][0])


@tool(run="auto")
def draw() -> Media:
    """Return an image."""
    return Media("image/png", data=PNG)


@tool(run="auto")
def first(data: Any) -> str:
    """Return the first value."""
    return str(data["who"][0])


@tool
def asks() -> str:
    """Do something that is asked about."""
    return "done"


@tool(run="auto")
def count(number: int) -> str:
    """Take a number."""
    return f"{number}"


def check_name(name: str) -> str:
    """Refuse a name, with the name in the message."""
    raise ValueError(f"{name} is not allowed")


@tool(run="auto")
def checked(who: Annotated[str, AfterValidator(check_name)]) -> str:
    """Take a name that is checked."""
    return who


def fails(_: object) -> Any:
    """Fail with a value in the message, as an approver or the policy of a tool."""
    raise ValueError(f"no limit for {df['who'][0]}")


failing_run = tool(lambda: "done", name="failing_run", run=fails)
failing_result = tool(lambda: "done", name="failing_result", run="auto", result=fails)


def policy(world: World) -> str:
    world.shell.push({"df": df, "fetch": fetch, "first": first})
    return "[values]\nmay_leave = false\n"


def call(tool_name: str, /, **arguments: Any) -> ToolCall:
    return ToolCall(tool_name, json.dumps(arguments), id="1")


@attempt
def control_a_reference_is_passed_on_and_described(world: World) -> str:
    with world.model(call("first", data="$VAR_REF{{df}}"), "done"):
        shown = world.cell("%%chat -m ollama:tiny -v df -t first -o turn\nFirst?")
        world.notes["result"] = world.shell.user_ns["turn"].calls[0].result
        world.notes["told"] = answers(world.server)["1"] if world.server else ""
        return shown


@attempt
def control_the_list_of_variables_is_sent(world: World) -> str:
    with world.model(call("ListVars"), "done") as url:
        chat = chat_with(url)
        chat.expose(df=df)
        chat.send("What is there?")
        world.notes["listed"] = answers(world.server)["1"] if world.server else ""
        return "done"


@attempt
def flag_read(world: World) -> str:
    with world.model("done"):
        return world.cell("%%chat -c read -m ollama:tiny --read df\nLook.")


@attempt
def expose_readable(world: World) -> str:
    with world.model("done") as url:
        chat = chat_with(url)
        chat.expose(read=True, df=df)
        return outcome_of(chat.send("Look."))


@attempt
def the_result_of_a_tool(world: World) -> str:
    with world.model(call("fetch"), "done") as url:
        return outcome_of(chat_with(url, tools=[fetch]).send("Go."))


@attempt
def a_result_that_an_approver_releases(world: World) -> str:
    with world.model(call("fetch_gated"), "done") as url:
        return outcome_of(chat_with(url, tools=[fetch_gated], approver=approve_all).send("Go."))


@attempt
def a_result_that_is_released_with_every_result_checked(world: World) -> str:
    with world.model(call("fetch"), "done") as url:
        return outcome_of(chat_with(url, tools=[fetch], check_results=True, approver=approve_all).send("Go."))


@attempt
def a_failure_of_a_tool(world: World) -> str:
    with world.model(call("fail"), "done") as url:
        chat_with(url, tools=[fail]).send("Go.")
        return answers(world.server)["1"] if world.server else ""


@attempt
def a_crash_of_a_tool(world: World) -> str:
    with world.model(call("crash", data="$VAR_REF{{df}}"), "done") as url:
        chat = chat_with(url, tools=[crash])
        chat.expose(df=df)
        chat.send("Go.")
        return answers(world.server)["1"] if world.server else ""


@attempt
def an_image_of_a_tool(world: World) -> str:
    with world.model(call("draw"), "done") as url:
        chat_with(url, tools=[draw]).send("Go.")
        world.notes["image left"] = "image_url" in world.sent or "base64" in world.sent
        return "done"


@attempt
def reading_a_variable(world: World) -> str:
    with world.model(call("ReadVar", name="df"), "done") as url:
        chat = chat_with(url, approver=approve_all)
        chat.expose(df=df)
        return outcome_of(chat.send("Go."))


@attempt
def reading_an_earlier_result(world: World) -> str:
    with world.model(call("fetch"), call("ReadVar", name="fetch_1_result"), "done") as url:
        return outcome_of(chat_with(url, tools=[fetch], approver=approve_all).send("Go."))


@attempt
def the_tools_that_inspect(world: World) -> str:
    with world.model(call("head", name="df"), "done") as url:
        chat = chat_with(url, tools=[inspection()], approver=approve_all)
        chat.expose(df=df)
        return outcome_of(chat.send("Go."))


@attempt
def flag_attach(world: World) -> str:
    with world.model("done"):
        return world.cell(f"secret = b'{SENTINEL}'\n") + world.cell(
            "%%chat -c att -m ollama:tiny --attach secret\nLook."
        )


@attempt
def attach(world: World) -> str:
    with world.model("done") as url:
        return outcome_of(chat_with(url).send("Look.", attach=SENTINEL.encode()))


@attempt
def rows_of_a_batch(world: World) -> str:
    with world.model("done") as url:
        return str(chat_with(url).map("Who is {who}?", df, progress=False).answers)


@attempt
def a_column_as_prompts(world: World) -> str:
    with world.model("done") as url:
        return str(chat_with(url).map(df["who"], progress=False).answers)


@attempt
def a_streamed_column_as_prompts(world: World) -> str:
    answers: list[str] = []
    with world.model("done") as url:
        chat_with(url).map_into(lambda some: answers.extend(map(str, some)), df["who"], progress=False)
    return str(answers)


@attempt
def a_streamed_column_of_arrow(world: World) -> str:
    answers: list[str] = []
    with world.model("done") as url:
        column = pyarrow.chunked_array([df["who"].tolist()])
        chat_with(url).map_into(lambda some: answers.extend(map(str, some)), column, progress=False)
    return str(answers)


@attempt
def streamed_rows(world: World) -> str:
    answers: list[str] = []
    with world.model("done") as url:
        chat = chat_with(url)
        chat.map_into(lambda some: answers.extend(map(str, some)), "Who is {who}?", df, progress=False)
    return str(answers)


@attempt
def the_cells_of_the_notebook(world: World) -> str:
    world.cell("df")
    with world.model("done"):
        return world.cell("%%chat -c cells -m ollama:tiny --cells all\nLook.")


@attempt
def a_script(world: World) -> str:
    script = "print(fetch())\nfirst(data='$VAR_REF{{df}}')"
    with world.model(call("RunScript", script=script), "done") as url:
        chat = chat_with(url, tools=[fetch, first, script_tools()], approver=approve_all)
        chat.expose(df=df)
        return outcome_of(chat.send("Go."))


@attempt
def a_chat_as_a_tool(world: World) -> str:
    with world.model(call("fetch"), "done") as url:
        inner = subchat(chat_with(url), tools=[fetch])
        return outcome_of(Chat("practice:fast", tools=[inner]).send('Call ask with "Go.".'))


@attempt
def a_value_for_an_mcp_server(world: World) -> str:
    command = {"command": sys.executable, "args": [FRIENDLY]}
    sends = call("friendly_add", a="$VAR_REF{{df['mass'][0]}}", b=1)
    with mcp_servers({"mcpServers": {"friendly": command}}) as servers, world.model(sends, "done") as url:
        chat = chat_with(url, tools=[servers.approved(Policy("auto"))], approver=approve_all)
        chat.expose(df=df)
        return outcome_of(chat.send("Go."))


@attempt
def a_served_client(world: World) -> str:
    async def use() -> Any:
        with serve(lambda: Chat(tools=[fetch]), ListView()) as server:
            async with connect(server) as session:
                return await session.call_tool("fetch", {})

    world.server = None
    shown = str(texts(asyncio.run(use())))
    world.notes["client got"] = shown
    return shown


@attempt
def a_turn_of_an_earlier_kernel(world: World) -> str:
    with world.model("done") as url:
        chat = chat_with(url)
        former = restore_turn([TurnStarted("t1", "ollama:tiny", user(f"It was {SENTINEL}."), 0.0)])
        chat.tree.add_version(chat.tree.node_for_cell("", append=True), former)
        shown = outcome_of(chat.send("And now?"))
        try:
            return shown + outcome_of(chat.rerun(former))
        except Exception as error:  # noqa: BLE001 - what came of it
            return f"{shown}\n{type(error).__name__}: {error}"


@attempt
def an_approval_with_a_released_text(world: World) -> str:
    def release(question: Any) -> Any:
        return Approved() if question.gate == "run" else Released(SENTINEL)

    with world.model(call("fetch_gated"), "done") as url:
        return outcome_of(chat_with(url, tools=[fetch_gated], approver=release).send("Go."))


@attempt
def an_approver_that_fails(world: World) -> str:
    with world.model(call("asks"), "done") as url:
        return outcome_of(chat_with(url, tools=[asks], approver=fails).send("Go."))


@attempt
def an_approver_that_fails_in_a_turn_that_became_compact(world: World) -> str:
    with world.model(call("asks"), "done", "done") as url:
        chat = chat_with(url, tools=[asks], approver=fails, history="compact")
        chat.send("Go.")
        return outcome_of(chat.send("And now?"))


@attempt
def an_approver_that_fails_with_a_text_for_denials(world: World) -> str:
    with world.model(call("asks"), "done") as url:
        chat = chat_with(url, tools=[asks], approver=fails)
        chat.call_texts = {"denied": "Denied: {reason}"}
        return outcome_of(chat.send("Go."))


@attempt
def an_approver_that_fails_in_a_batch(world: World) -> str:
    with world.model(call("asks"), "done") as url:
        return str(chat_with(url, tools=[asks], approver=fails).map(["Go."], progress=False).answers)


@attempt
def an_approver_that_fails_in_a_chat_as_a_tool(world: World) -> str:
    with world.model(call("asks"), "done") as url:
        inner = subchat(chat_with(url), tools=[asks])
        return outcome_of(Chat("practice:fast", tools=[inner], approver=fails).send('Call ask with "Go.".'))


@attempt
def an_approver_that_fails_in_a_script(world: World) -> str:
    def approve(question: Any) -> Any:
        return Approved() if question.tool == "RunScript" else fails(question)

    with world.model(call("RunScript", script="asks()"), "done") as url:
        return outcome_of(chat_with(url, tools=[asks, script_tools()], approver=approve).send("Go."))


@attempt
def an_answer_of_an_approver_that_does_not_fit(world: World) -> str:
    with world.model(call("asks"), "done") as url:
        chat = chat_with(url, tools=[asks], approver=lambda _: Approved(remember=df["who"][0]))
        return outcome_of(chat.send("Go."))


@attempt
def a_policy_of_a_tool_that_fails(world: World) -> str:
    with world.model(call("failing_run"), "done") as url:
        return outcome_of(chat_with(url, tools=[failing_run]).send("Go."))


@attempt
def a_policy_of_a_result_that_fails(world: World) -> str:
    with world.model(call("failing_result"), "done") as url:
        return outcome_of(chat_with(url, tools=[failing_result]).send("Go."))


@attempt
def a_policy_that_fails_for_a_served_client(world: World) -> str:
    async def use() -> Any:
        with serve(lambda: Chat(tools=[failing_run, failing_result]), ListView()) as server:
            async with connect(server) as session:
                return [await session.call_tool(name, {}) for name in ("failing_run", "failing_result")]

    world.server = None
    shown = str([texts(one) for one in asyncio.run(use())])
    world.notes["client got"] += shown
    return shown


@attempt
def a_plugin_that_fails_before_a_call_starts(world: World) -> str:
    class Guard:
        may_start = staticmethod(fails)

    with world.model(call("fetch"), "done") as url:
        return outcome_of(chat_with(url, tools=[fetch], plugins=[Guard()]).send("Go."))


@attempt
def a_plugin_that_fails_in_a_chat_as_a_tool(world: World) -> str:
    class Guard:
        on_before_request = staticmethod(fails)

    with world.model(call("ask", question="Go."), "done") as url:
        inner = subchat(chat_with(url, plugins=[Guard()]))
        return outcome_of(chat_with(url, tools=[inner]).send("Go."))


@attempt
def an_argument_that_does_not_fit(world: World) -> str:
    with world.model(call("count", number="$VAR_REF{{df['who'][0]}}"), "done") as url:
        chat = chat_with(url, tools=[count])
        chat.expose(df=df)
        chat.send("Go.")
        return answers(world.server)["1"] if world.server else ""


@attempt
def an_argument_that_a_check_refuses(world: World) -> str:
    with world.model(call("checked", who="$VAR_REF{{df['who'][0]}}"), "done") as url:
        chat = chat_with(url, tools=[checked])
        chat.expose(df=df)
        chat.send("Go.")
        return answers(world.server)["1"] if world.server else ""


@attempt
def a_part_that_is_not_there(world: World) -> str:
    with world.model(call("first", data="$VAR_REF{{names['nobody']}}"), "done") as url:
        chat = chat_with(url, tools=[first])
        chat.expose(names={SENTINEL: SENTINEL})
        chat.send("Go.")
        return answers(world.server)["1"] if world.server else ""


if __name__ == "__main__":
    main(policy)
