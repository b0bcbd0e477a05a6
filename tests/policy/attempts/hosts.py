"""`[hosts]`: nothing is sent to an address that the policy does not list, whoever names it."""

from __future__ import annotations

import asyncio
import os
from contextlib import ExitStack
from typing import Any

from nbtool import Chat
from nbtool.chat.subchat import subchat
from nbtool.testing import ScriptedWire
from nbtool.tools.mcp import mcp_servers
from nbtool.toolsets.web_tools import web
from nbtool.wire.endpoints.model_endpoint import make_endpoint
from tests.policy.attempts.world import World, attempt, chat_with, main, outcome_of
from tests.security.model import model, sent_text

stack = ExitStack()
allowed: Any = stack.enter_context(model(*["fine"] * 9))


forbidden: Any = stack.enter_context(model("no"))
INTERNAL = "http://llm.invalid:8000/v1"


def policy(world: World) -> str:
    os.chdir(world.folder)
    (world.folder / ".env").write_text(
        f"OPENAI_BASE_URL={forbidden.url}\nOPENAI_API_KEY=key\nNBTOOL_ALLOW_ENV_FILE=1\nNBTOOL_POLICY=/dev/null\n"
    )
    return f"[hosts]\nmodels = ['{allowed.url}', '{INTERNAL}']\n"


@attempt
def control_an_allowed_address_is_used(_: World) -> str:
    return outcome_of(chat_with(allowed.url).send("Hello.")) + sent_text(allowed)


@attempt
def control_the_practice_model_is_used(_: World) -> str:
    return outcome_of(Chat("practice:fast").send("Hello."))


@attempt
def argument(world: World) -> str:
    with world.model("no") as url:
        return outcome_of(chat_with(url).send("Hello."))


@attempt
def environment(world: World) -> str:
    with world.model("no"):
        return outcome_of(Chat("ollama:tiny").send("Hello."))


@attempt
def flag(world: World) -> str:
    with world.model("no"):
        return world.cell("%%chat -m ollama:tiny\nHello.")


@attempt
def config(world: World) -> str:
    with world.model("no") as url:
        os.environ.pop("OLLAMA_HOST")
        world.cell(f"%config NbTool.model = 'ollama:tiny'\n%config NbTool.base_url = '{url}'")
        shown = world.cell("%%chat -c configured\nHello.")
        world.cell("%config NbTool.model = ''\n%config NbTool.base_url = ''")
        return shown


@attempt
def env_file(_: World) -> str:
    return outcome_of(Chat("openai:tiny").send("Hello.")) + sent_text(forbidden)


@attempt
def providers_toml(world: World) -> str:
    with world.model("no") as url:
        file = world.folder / "home" / "providers.toml"
        file.write_text(f"[mine]\nbase_url = '{url}'\n")
        try:
            return outcome_of(Chat("mine:tiny").send("Hello."))
        finally:
            file.unlink()


@attempt
def an_unset_variable(world: World) -> str:
    os.environ["NBTOOL_POLICY"] = "/dev/null"
    with world.model("no") as url:
        return outcome_of(chat_with(url).send("Hello."))


@attempt
def another_path_of_the_allowed_server(_: World) -> str:
    return outcome_of(chat_with(allowed.url.replace("/v1", "/v2")).send("Hello."))


@attempt
def batch(world: World) -> str:
    with world.model("no") as url:
        return "".join(str(one.error) for one in chat_with(url).map(["a", "b"], progress=False).answers)


@attempt
def background(world: World) -> str:
    with world.model("no") as url:
        turn = chat_with(url).start("Hello.")
        return outcome_of(turn.done.result(240))


@attempt
def a_chat_of_another_model_as_a_tool(world: World) -> str:
    with world.model("no") as url:
        return outcome_of(Chat("practice:fast", tools=[subchat(chat_with(url))]).send('Call ask with "What?".'))


@attempt
def the_list_of_models(world: World) -> str:
    with world.model("no") as url:
        return str(chat_with(url).model.list_models())


@attempt
def the_command_that_lists_models(world: World) -> str:
    with world.model("no"):
        world.cell("%%chat -c listing -m practice:fast\nHello.")
        return world.cell("from nbtool import Chat\nlisting = Chat('ollama:tiny')\n%chat -c listing models")


@attempt
def an_endpoint_object(_: World) -> str:
    class Own(ScriptedWire):
        """An endpoint of a user's own class."""

    own = Own(["no"])
    shown = outcome_of(Chat(wire=own).send("Hello."))
    return f"{shown}{len(own.prompts)} prompts"


@attempt
def an_endpoint_by_hand(world: World) -> str:
    with world.model("no") as url:
        endpoint = make_endpoint("tiny", base_url=url)
        return outcome_of(Chat(wire=endpoint).send("Hello."))


@attempt
def a_key_command(world: World) -> str:
    mark = world.folder / "ran"
    with world.model("no") as url:
        try:
            return outcome_of(chat_with(url, key_command=["touch", str(mark)]).send("Hello."))
        finally:
            world.notes["key command ran"] = mark.exists()


@attempt
def a_proxy_as_argument(world: World) -> str:
    with world.model("no") as url:
        return outcome_of(chat_with(allowed.url, proxy=url.removesuffix("/v1")).send("Hello."))


@attempt
def a_proxy_of_the_environment(world: World) -> str:
    with world.model("no") as url:
        os.environ |= {"HTTP_PROXY": url.removesuffix("/v1"), "NO_PROXY": "llm.invalid"}
        try:
            return outcome_of(chat_with(INTERNAL).send("Hello."))
        finally:
            del os.environ["HTTP_PROXY"], os.environ["NO_PROXY"]


@attempt
def an_mcp_server_by_url(world: World) -> str:
    with world.model("no") as url:
        return str(mcp_servers({"mcpServers": {"it": {"url": url}}}))


@attempt
def an_mcp_server_by_command(world: World) -> str:
    mark = world.folder / "started"
    try:
        return str(mcp_servers({"mcpServers": {"it": {"command": "touch", "args": [str(mark)]}}}))
    finally:
        world.notes["mcp command ran"] = mark.exists()


@attempt
def a_web_page(world: World) -> str:
    (fetch,) = web().tools().values()
    with world.model("no") as url:
        return str(asyncio.run(fetch.function(url)))


if __name__ == "__main__":
    main(policy)
    stack.close()
