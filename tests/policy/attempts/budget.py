"""`[budget]`: once a kernel has spent the amount, no request follows by any attempt."""

from __future__ import annotations

from typing import Any

from nbtool import Chat
from nbtool.chain.limits import Limits
from nbtool.chat.subchat import subchat
from nbtool.chat.turn_settings import TurnSettings
from nbtool.plugins import Budget
from nbtool.testing import ScriptedWire
from tests.chaos import DONE, ChaosServer, event, finish, head, serve, text
from tests.policy.attempts.world import World, approve_all, attempt, chat_with, main, outcome_of

USED = event({"choices": [], "usage": {"prompt_tokens": 900, "completion_tokens": 200, "total_tokens": 1100}})
servers: list[ChaosServer] = []


def policy(_: World) -> str:
    return "[budget]\ntokens = 1000\n"


def ask(world: World, **kwargs: Any) -> Chat:
    """Return a chat with a model whose replies report what they used."""
    world.server = servers[0]
    servers[0].requests.clear()
    return chat_with(servers[0].url, **kwargs)


@attempt
def control_the_first_request_is_sent(world: World) -> str:
    return outcome_of(ask(world).send("Hello."))


@attempt
def another_chat(world: World) -> str:
    return outcome_of(ask(world).send("Hello."))


@attempt
def an_approver_in_python(world: World) -> str:
    return outcome_of(ask(world, approver=approve_all).send("Hello."))


@attempt
def a_larger_budget_of_the_turn(world: World) -> str:
    settings = TurnSettings(limits=Limits(tokens=10**9))
    return outcome_of(ask(world).send("Hello.", settings=settings))


@attempt
def a_larger_budget_as_plugin(world: World) -> str:
    return outcome_of(ask(world, plugins=[Budget(tokens=10**9, ask=approve_all)]).send("Hello."))


@attempt
def flag(world: World) -> str:
    world.shell.push({"mine": ask(world)})
    return world.cell("%%chat -c mine --budget 1000000 --approve auto\nHello.")


@attempt
def batch(world: World) -> str:
    return str([one.error for one in ask(world).map(["a", "b"], progress=False, tokens=10**9).answers])


@attempt
def a_chat_as_a_tool(world: World) -> str:
    chat = Chat("practice:fast", tools=[subchat(ask(world))])
    return outcome_of(chat.send('Call ask with "Go.".'))


@attempt
def an_endpoint_object(world: World) -> str:
    world.server = None
    wire = ScriptedWire(["no"])
    return outcome_of(Chat(wire=wire).send("Hello.")) + f"{len(wire.prompts)} prompts"


@attempt
def control_the_practice_model_still_answers(_: World) -> str:
    return outcome_of(Chat("practice:fast").send("Hello."))


if __name__ == "__main__":
    with serve(head(), text("hello"), finish(), USED, DONE) as server:
        servers.append(server)
        main(policy)
