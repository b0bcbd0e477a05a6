"""A map on workers runs what the notebook has: a worker with another version of a module of a person's own refuses."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Executor
from pathlib import Path
from typing import Any

import pytest

from nbtool import Chat, tool
from nbtool.chat.batch.batch import Batch
from nbtool.errors import BadUsage
from nbtool.testing import call
from tests.chaos import Received, Step, serve_by
from tests.chat.batch.remote import far_tools
from tests.chat.batch.remote.far_tools import prompt_of, result_in

pytestmark = pytest.mark.promise("shown-is-run")
pytest.importorskip("cloudpickle")

SOURCE = """
factor, counts = 2, {}

def price(n: int) -> int:
    "Give a price."
    counts[n] = True
    return n * factor

def rule(arguments): return "auto"

class Shout:
    def on_turn_end(self, context): return loudness()

def loudness(): return 1

def choose(context): return ["price"]
"""


@pytest.fixture
def shop(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """Give a module of a person that the workers can import."""
    name = f"shop_of_{tmp_path.name}".replace("-", "_")
    (tmp_path / f"{name}.py").write_text(SOURCE)
    monkeypatch.syspath_prepend(tmp_path)
    importlib.invalidate_caches()
    yield importlib.import_module(name)
    sys.modules.pop(name)


def respond(request: Received) -> Sequence[Step]:
    result = result_in(request)
    return far_tools.say(result) if result else far_tools.ask_for(call("price", n=int(prompt_of(request))))


def run_map(pool: Executor, function: Any, choose: Any = None, **options: Any) -> Batch:
    with serve_by(respond) as server:
        chat = Chat("tiny", base_url=server.url, tools=[function], **options)
        chat.choose_tools = choose
        return chat.map(["1", "2", "3"], on=pool, resume=False)


def of_cell(shop: Any) -> Any:
    """Define a tool in a cell that uses the module."""
    names: dict[str, Any] = {"__name__": "__main__", "shop": shop}
    exec("def price(n: int) -> int:\n    'Give a price.'\n    return shop.price(n)", names)
    return tool(names["price"], name="price", run="auto")


PARTS: dict[str, tuple[Callable[[Any], tuple[Any, dict[str, Any]]], str, str]] = {
    "tool of a module": (
        lambda shop: (tool(shop.price, run="auto"), {}),
        "def price(n: int) -> int:\n    'Give a price.'\n    return -n", "the tool 'price'",
    ),
    "tool of a cell": (lambda shop: (of_cell(shop), {}), "def price(n): return -n", "the tool 'price'"),
    "policy": (
        lambda shop: (tool(of_cell(shop), run=shop.rule), {}), "def rule(arguments): return 'ask_once'",
        "the policy of the tool 'price'",
    ),
    "plugin": (
        lambda shop: (of_cell(shop), {"plugins": [shop.Shout()]}), "def loudness(): return 2", "the plugin Shout"
    ),
    "choice of tools": (
        lambda shop: (of_cell(shop), {"choose": shop.choose}), "def choose(context): return []", "choose_tools"
    ),
}  # fmt: skip
"""What a chat has of a module, what it becomes in the notebook, and how the error calls it."""


@pytest.mark.sampled(1)
@pytest.mark.parametrize("part", PARTS)
def test_a_worker_with_another_version_than_the_notebook_answers_nothing(
    part: str, shop: Any, own_pool: Executor
) -> None:
    make, source, label = PARTS[part]
    before = [run_map(own_pool, make(shop)[0], **make(shop)[1]).values for _ in range(2)]
    exec(source, vars(shop))
    after = run_map(own_pool, make(shop)[0], **make(shop)[1])

    assert before == [["2", "4", "6"]] * 2  # what the workers' runs count there is no difference
    errors = [one.error for one in after.answers]
    assert all(isinstance(error, BadUsage) and label in str(error) for error in errors)
    assert all("Start new workers" in error.fix for error in errors if isinstance(error, BadUsage))


@pytest.mark.sampled(0)
def test_a_number_that_was_changed_in_the_notebook_is_another_version(shop: Any, own_pool: Executor) -> None:
    function = of_cell(shop)
    run_map(own_pool, function)
    shop.factor = 5

    assert all(isinstance(one.error, BadUsage) for one in run_map(own_pool, function).answers)


def test_a_tool_without_modules_of_the_persons_own_is_not_compared(own_pool: Executor) -> None:
    names: dict[str, Any] = {"__name__": "__main__", "rate": 2}
    exec("def price(n: int) -> int:\n    'Give a price.'\n    return n * rate", names)
    function = tool(names["price"], name="price", run="auto")
    before = run_map(own_pool, function)
    names["rate"] = 3

    assert before.values == ["2", "4", "6"]
    assert run_map(own_pool, function).values == ["3", "6", "9"]  # it is sent as it is
