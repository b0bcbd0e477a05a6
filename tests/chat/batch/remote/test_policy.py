"""The administrator's policy binds turns on workers too, which have none of their own here."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from nbtool import Approved, Chat
from nbtool.errors import LimitReached
from nbtool.plugins.site_budget import site_budget
from nbtool.testing import call
from tests.chaos import DONE, Received, Step, event, finish, head, serve_by, text
from tests.chat.batch.remote.far_tools import ask_for, prompt_of, result_in, same, send_elsewhere
from tests.policy.in_force import policy_in_force

POLICY = """
[hosts]
models = ["http://127.0.0.1:{port}"]
[approval]
always_ask = ["same"]
[budget]
tokens = 150
"""

pytestmark = pytest.mark.promise("policy-limits")


@pytest.fixture(params=["pool", pytest.param("client", marks=pytest.mark.nightly)], scope="module")
def on(request: pytest.FixtureRequest) -> Any:
    """Processes of this machine, or of a cluster of Dask, which keep the policies that they were sent."""
    return request.getfixturevalue(request.param)


@pytest.fixture
def fresh_budget() -> Iterator[None]:
    site_budget.cache_clear()
    yield
    site_budget.cache_clear()


def reply(request: Received) -> list[Step]:
    """Call the tool that a prompt names, and say what it gave; each reply uses 20 tokens."""
    used = event({"choices": [], "usage": {"prompt_tokens": 10, "completion_tokens": 10}})
    name, _, argument = prompt_of(request).partition(" ")
    if (result := result_in(request)) is not None or name == "hi":
        return [head(), text(str(result)), finish(), used, DONE]
    steps = list(ask_for(call(name, **({"n": 1} if name == "same" else {"url": argument}))))
    return [*steps[:-1], used, steps[-1]]


@pytest.mark.promise("policy-forbids")
def test_a_tool_that_a_policy_forbids_does_not_run_on_workers(on: Any, tmp_path: Path) -> None:
    with serve_by(reply) as model:
        chat = Chat("tiny", base_url=model.url, tools=[same], approver=lambda _: Approved())
        with policy_in_force(tmp_path, "[approval]\nnever = ['same']") as path:
            batch = chat.map(["same"], on=on)

    (turn,) = [one.turn for one in batch.answers]
    assert turn
    assert turn.calls[0].status == "denied"
    assert str(path) in turn.calls[0].reason


@pytest.mark.usefixtures("fresh_budget")
def test_hosts_questions_and_the_budget_of_a_policy_hold_on_workers(on: Any, tmp_path: Path) -> None:
    with serve_by(reply) as allowed, serve_by(reply) as forbidden:
        text_of_policy = POLICY.format(port=allowed.url.rpartition(":")[2].split("/")[0])
        chat = Chat("tiny", base_url=allowed.url, tools=[same, send_elsewhere], approver=lambda _: Approved())
        with policy_in_force(tmp_path, text_of_policy):
            batch = chat.map([f"send_elsewhere {forbidden.url}", "same"], on=on)
            rest = chat.map([f"hi {n}" for n in range(8)], on=on, concurrency=2)

        assert [one.turn and one.turn.calls[0].status for one in batch.answers] == ["error", "denied"]
        assert forbidden.requests == []
    answered = [one for one in rest.answers if one.error is None]
    assert 2 <= len(answered) <= 5  # 80 tokens of 150 were used before, and each takes 20
    assert {type(one.error) for one in rest.errors} == {LimitReached}
