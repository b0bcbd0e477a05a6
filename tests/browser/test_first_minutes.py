"""The first ten minutes and what they must not break: names, files, a mistyped model, code to keep, short numbers."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import expect

from tests.browser.lab import Lab
from tests.browser.test_chat import chat
from tests.chaos import serve, whole
from tests.notebooks.test_readme import blocks

FRAME = "import pandas as pd\ndf = pd.DataFrame({'close': [10.5, 7.25]})\nmine = df"
COUNT = """
from nbtool.tools import Progress

@tool(run="auto")
def count_years(years: int):
    "Count."
    for year in range(years):
        yield Progress(f"year {year + 1} of {years}", (year + 1) / years)
    return f"{years} years counted"
"""


def test_a_command_keeps_the_names_of_the_notebook(lab: Lab) -> None:
    notebook = chat(lab, "python3", FRAME, "%%chat\nHello", "%chat history frame df", "print(df is mine)")
    for index in (1, 2, 3, 4):
        notebook.run_cell(index)

    notebook.wait_output(3, "`df` already exists in this notebook and is not replaced.")
    notebook.wait_output(4, "True")
    assert notebook.errors == []


def test_the_code_of_a_call_that_reports_progress_keeps_its_value_and_says_what_it_needs(lab: Lab) -> None:
    ask = "%%chat -t count_years\nUse &`count_years` with 3."
    check = "print([value for value in list(vars().values()) if isinstance(value, str) and value == '3 years counted'])"
    notebook = chat(lab, "python3", COUNT, ask, check)
    notebook.run_cell(1)
    notebook.run_cell(2).get_by_role("button", name="To code").click()
    expect(notebook.cell(3)).to_contain_text("nbtool only for: count_years")
    notebook.restart()
    notebook.write_cell(1, f"from nbtool import tool\n{COUNT}")
    for index in (1, 3, 4):
        notebook.run_cell(index)

    expect(notebook.output(3)).not_to_contain_text("Error")
    notebook.wait_output(4, "['3 years counted'")
    assert notebook.errors == []


def test_a_saved_notebook_names_no_path_and_no_reason_for_its_model(lab: Lab) -> None:
    notebook = chat(lab, "python3", "%%chat\nUse &`tickers`.")
    expect(notebook.run_cell(1).locator(".nb-saved")).to_be_visible()
    notebook.save()

    stored = (lab.server.root / notebook.name).read_text(encoding="utf-8")
    turn = stored[stored.index("application/vnd.nbtool") :]
    assert "practice:fast" in turn
    for private in (str(lab.server.home), "/root/", "/home/", "NBTOOL_MODEL", '"why"'):
        assert private not in turn, private


def test_the_footer_names_a_foreign_host_and_the_cost(lab: Lab) -> None:
    usage = {"prompt_tokens": 2_000, "completion_tokens": 1_000, "cost": 0.0021}
    reply = {"choices": [{"message": {"content": "Hi"}, "finish_reason": "stop"}], "usage": usage}
    with serve(whole(200, reply)) as gateway:
        options = f"base_url={gateway.url!r}, api_key='k', wire='chat'"
        load = f"%load_ext nbtool\nfrom nbtool import Chat\nside = Chat('openai:m', {options})"
        notebook = lab.open_cells(load, "%%chat -c side\nHello", kernel="python3", name="gateway.ipynb")
        notebook.run_cell(0)
        footer = notebook.run_cell(1).locator("footer")

        expect(footer).to_contain_text(f"openai:m at {gateway.url.split('/')[2]} · 3,000 tokens · $0.0021")
    assert notebook.errors == []


@pytest.mark.journey
def test_the_code_of_the_readme_runs_cell_by_cell_without_a_key(lab: Lab) -> None:
    cells = blocks()
    notebook = lab.open_cells(*cells, kernel="python3", name="readme.ipynb")
    for index in range(len(cells)):
        notebook.run_cell(index)

    expect(notebook.page.locator("[data-mime-type*=stderr], [data-mime-type*=error]")).to_have_count(0)
    notebook.wait_output(0, "nbtool: practice:")
    expect(notebook.output(1).locator(".nb-turn")).to_contain_text("98.7")
    notebook.wait_output(2, "[True, False]")
    assert notebook.errors == []


def test_a_mistyped_model_is_one_line_and_the_next_cell_answers(lab: Lab) -> None:
    notebook = chat(lab, "python3", "%%chat -m opnai:gpt-5\nHello", "%%chat\nHello")

    mistyped = notebook.run_cell(1).inner_text().strip()
    answer = notebook.run_cell(2)

    assert mistyped.startswith("UsageError: Unknown provider 'opnai'.")
    assert "\n" not in mistyped
    assert "openai" in mistyped
    expect(answer).to_contain_text("embedded practice model")
    assert notebook.errors == []


def test_code_that_a_model_wrote_for_a_variable_has_no_hidden_character(lab: Lab) -> None:
    ask = "%%chat -t nbtool:python -v df\nUse &`run_python` to show the mean of `close` in $`df`."
    notebook = chat(lab, "python3", FRAME, ask)
    notebook.run_cell(1)
    notebook.start_cell(2)
    card = notebook.output(2).get_by_role("group", name="Approval")
    expect(card.get_by_role("button", name="Approve", exact=True)).to_be_enabled(timeout=30_000)

    assert "\\u{" not in card.inner_text()
    assert "\x00" not in card.inner_text()
    card.get_by_role("button", name="Approve", exact=True).click()
    notebook.wait_ended(2)
    assert notebook.errors == []


def test_a_turn_is_shown_by_its_short_number(lab: Lab) -> None:
    notebook = chat(lab, "python3", "%%chat\nHello", "%%chat\nUse &`tickers`.", "%chat show 2", "%chat history")
    for index in (1, 2, 3, 4):
        notebook.run_cell(index)

    expect(notebook.output(3)).to_contain_text("tickers() gives 3.")
    expect(notebook.output(3)).not_to_contain_text("embedded practice model")
    assert not re.search(r"\d{20}", notebook.output(4).inner_text()), "no long ids"
    assert notebook.errors == []
