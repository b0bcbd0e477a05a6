"""The first cells of the README work without a key: the practice model answers in this process, and nothing is sent."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from nbtool import Chat
from tests.contract.notebook import Notebook, end_shell

FIRST_CELL = """
import pandas as pd
from nbtool import tool
df = pd.DataFrame({"close": [211.4, 98.7]}, index=["AAPL", "NVDA"])

@tool(run="auto")
def price(ticker: str) -> float:
    "Latest close of a ticker, in USD."
    return df.loc[ticker, "close"]
"""


@pytest.fixture
def first_notebook(home: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Notebook]:
    """Give a notebook of a person without a key."""
    monkeypatch.chdir(home)
    notebook = Notebook()
    assert not notebook.run("%load_ext nbtool").error
    assert not notebook.run(FIRST_CELL).error
    yield notebook
    end_shell()


def test_the_first_cells_of_the_readme_work_without_a_key(first_notebook: Notebook) -> None:
    turn = first_notebook.ask(
        "Which of AAPL and NVDA in $`df` is cheaper? Use &`price`.", "-m practice:fast -t price -v df"
    )

    assert turn.status == "completed"
    assert {one.result for one in turn.calls} <= {211.4, 98.7}
    assert turn.calls
    assert not turn.cost


def test_equal_prompts_get_equal_answers() -> None:
    assert Chat("practice:fast").send("Hello?").text == Chat("practice:fast").send("Hello?").text


def test_it_reports_of_itself_that_it_is_no_language_model() -> None:
    assert "practice" in Chat("practice:fast").send("Who are you?").text.lower()


def test_it_fills_in_the_form_of_an_answer() -> None:
    assert Chat("practice:fast").send("How many are 7 apples?", as_=int).value == 7


def test_a_model_that_refuses_tools_can_be_tried(first_notebook: Notebook) -> None:
    turn = first_notebook.ask("Use &`price` for AAPL.", "-m practice:plain")

    assert turn.calls[0].result == 211.4


def test_its_thinking_is_kept_apart_from_its_answer(first_notebook: Notebook) -> None:
    turn = first_notebook.ask("Use &`price` for AAPL.", "-m practice:thinking")

    assert turn.thinking
    assert turn.thinking not in turn.text


TOOLS = """
from nbtool import tool

def make(number):
    @tool(run="auto", name=f"add_{number}")
    def add(n: int) -> int:
        "Add a number to n."
        return n + number
    return add

adders = Toolset("adders", map(make, range(60)))
"""


@pytest.mark.feature("have hundreds of tools")
@pytest.mark.parametrize("model", ["practice:fast", "practice:plain"])
def test_a_tool_that_is_listed_by_name_only_is_called_by_its_name(first_notebook: Notebook, model: str) -> None:
    assert not first_notebook.run(f"from nbtool import Toolset\n{TOOLS}").error

    turn = first_notebook.ask(
        "Use &`add_7` with n=5 and &`add_30` with n=1.", f"-m {model} -t adders --set search_tools=true"
    )

    assert [(call.name, call.result) for call in turn.calls][1:] == [("add_7", 12), ("add_30", 31)]
    assert len(turn.calls) == 3
