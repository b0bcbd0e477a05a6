"""`[budget] usd`: what a model costs is what the policy or a price list says, whatever its user says."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from nbtool import Chat
from nbtool.chat.subchat import subchat
from nbtool.plugins import Budget, Price
from tests.chaos import DONE, ChaosServer, event, finish, head, serve, text
from tests.policy.attempts.world import World, attempt, main, outcome_of

USED = event({"choices": [], "usage": {"prompt_tokens": 1_000_000, "completion_tokens": 9, "cost": 0}})
FREE = Price(0, 0)
servers: list[ChaosServer] = []


def policy(_: World) -> str:
    return f"[budget]\nusd = 1\n[budget.prices]\n'{servers[0].host}/priced' = {{ input = 0.9, output = 100_000 }}\n"


def ask(world: World, model: str = "openai:unpriced", **kwargs: Any) -> Chat:
    """Return a chat with a model on a server of no price list."""
    world.server = servers[0]
    servers[0].requests.clear()
    return Chat(model, base_url=servers[0].url, api_key="k", wire="chat", **kwargs)


@attempt
def an_unknown_price(world: World) -> str:
    return outcome_of(ask(world).send("Hello."))


@attempt
def a_price_of_zero(world: World) -> str:
    budget = Budget(usd=9e9, prices={"unpriced": FREE, "openai:unpriced": FREE})
    return outcome_of(ask(world, plugins=[budget]).send("Hello."))


@attempt
def a_price_of_zero_of_a_batch(world: World) -> str:
    prices = {"unpriced": FREE, "openai:unpriced": FREE}
    return str([one.error for one in ask(world).map(["a"], progress=False, usd=9, prices=prices).answers])


@attempt
def the_name_of_a_provider_with_another_address(world: World) -> str:
    file = Path(os.environ["NBTOOL_HOME"]) / "providers.toml"
    file.write_text(f'[openai]\nbase_url = "{servers[0].url}"\nabilities = ["reports_cost", "free"]\n')
    try:
        return outcome_of(ask(world, "openai:gpt-6.1-terra").send("Hello."))
    finally:
        file.unlink()


@attempt
def the_model_of_another_price_as_an_option(world: World) -> str:
    return outcome_of(ask(world, "openai:unpriced", options={"model": "priced"}).send("Hello."))


@attempt
def a_chat_as_a_tool(world: World) -> str:
    chat = Chat("practice:fast", tools=[subchat(ask(world))])
    return outcome_of(chat.send('Call ask with "Go.".'))


@attempt
def control_a_price_of_the_policy_is_counted(world: World) -> str:
    budget = Budget(usd=9e9, prices={"priced": FREE})
    chat = ask(world, "openai:priced", plugins=[budget])
    return "\n".join(outcome_of(chat.send("Hello.")) for _ in range(3))


@attempt
def control_the_practice_model_still_answers(_: World) -> str:
    return outcome_of(Chat("practice:fast").send("Hello."))


if __name__ == "__main__":
    with serve(head(), text("hello"), finish(), USED, DONE) as server:
        servers.append(server)
        main(policy)
