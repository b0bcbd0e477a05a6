"""A program outside uses the notebook, in a real page: its call is approved by a click while another cell runs."""

from __future__ import annotations

import asyncio
import json
import re
import threading
from concurrent.futures import Future
from pathlib import Path
from typing import Any, Literal

import httpx2
import pytest
from mcp import ClientSession
from mcp.client.streamable_http import streamable_http_client
from mcp_types import Implementation
from playwright.sync_api import Locator, expect

from nbtool.blocks.fold.served_calls import DROPPED_AT_ONCE, MAX_SHOWN
from tests.browser.lab import PICTURED_THEMES, Lab, Notebook, screenshot
from tests.mcp_server.codex import INSTALLED, NAMESPACE, finished_calls, start_codex, texts_of
from tests.mcp_server.programs import fastmcp, inspector, printed
from tests.providers.replies import Answer
from tests.providers.simulator import simulate

SETUP = """
%load_ext nbtool
import threading
import pandas as pd

birds = pd.DataFrame({"species": ["kiwi", "emu"], "mass": [2.5, 40.0]})
is_over = threading.Event()

def heaviest(table: pd.DataFrame) -> str:
    "Return the heaviest species."
    return table.species[table.mass.idxmax()]
"""
SERVE = "%chat serve -t heaviest -v birds"
ADDRESS = """
server = get_ipython().magics_manager.registry["ChatMagics"].kernel_chats.server
print(server.address.url, server.address.token.get_secret_value(), "end")
"""
CHECKED = "import nbtool\nheaviest = nbtool.tool(heaviest, result='always')\n%chat serve -t heaviest -v birds"
HOLD = """
import asyncio
import nbtool

@nbtool.tool(run="auto")
async def hold() -> None:
    "Wait."
    await asyncio.sleep(240)
"""
BUSY = "print('begun'); is_over.wait(240); print('over')"
END = "is_over.set(); print('set')"
ASK = "%%chat -m practice:fast\nUse &`heaviest` on $`birds`."
ARGUMENTS = {"table": "$VAR_REF{{birds}}"}


def call(
    url: str,
    token: str,
    tool: str = "heaviest",
    arguments: dict[str, Any] | None = None,
    *,
    count: int = 1,
    name: str = "agent",
    seconds: float = 120,
) -> Future[list[Any]]:
    """Call a tool as another program does, `count` times at once; return the future results."""
    given = ARGUMENTS if arguments is None else arguments
    future: Future[list[Any]] = Future()

    async def use() -> list[Any]:
        async with (
            httpx2.AsyncClient(headers={"Authorization": f"Bearer {token}"}, timeout=120) as http_client,
            streamable_http_client(url, http_client=http_client) as (read, write),
            ClientSession(read, write, client_info=Implementation(name=name, version="1")) as session,
        ):
            await session.initialize()
            calls = (session.call_tool(tool, given, read_timeout_seconds=seconds) for _ in range(count))
            return list(await asyncio.gather(*calls))

    def run() -> None:
        try:
            future.set_result(asyncio.run(use()))
        except BaseException as error:  # noqa: BLE001 - the test gets it
            future.set_exception(error)

    threading.Thread(target=run, daemon=True).start()
    return future


def serve(lab: Lab, *cells: str, kernel: str = "python3", name: str = "scratch.ipynb") -> tuple[Notebook, str, str]:
    """Open a notebook that serves, and return its address and token."""
    notebook = lab.open_cells(SETUP, SERVE, ADDRESS, *cells, kernel=kernel, name=name)
    for index in range(3):
        notebook.run_cell(index)
    _, url, token, _ = ("x " + notebook.wait_output(2, "end").inner_text()).split()[:4]
    return notebook, url, token


def buttons(notebook: Notebook, name: str, index: int = 1) -> Locator:
    return notebook.output(index).get_by_role("button", name=name)


@pytest.mark.journey
def test_a_call_of_a_program_is_approved_by_a_click_while_another_cell_runs(lab: Lab) -> None:
    notebook, url, token = serve(lab, BUSY, END)
    notebook.start_cell(3)
    notebook.wait_output(3, "begun")

    result = call(url, token)
    notebook.wait_output(1, " for agent?")
    expect(notebook.output(1)).to_contain_text("Run heaviest(table=birds) for ")
    expect(buttons(notebook, "Approve")).to_be_enabled(timeout=30_000)
    screenshot(notebook.output(1), "served-question")
    assert notebook.is_running(3)
    buttons(notebook, "Approve").click()
    answered = result.result(240)[0]

    assert [one.text for one in answered.content] == ["emu", "Kept as $VAR_REF{{heaviest_1_result}}."]
    notebook.wait_output(1, "approved · agent")
    screenshot(notebook.output(1), "served-answer")
    assert notebook.is_running(3)
    assert token not in notebook.output(1).inner_text()
    assert notebook.errors == []


def test_the_card_of_a_result_names_the_program_that_would_receive_it(lab: Lab) -> None:
    notebook, url, token = serve(lab, CHECKED)
    notebook.run_cell(3)

    result = call(url, token, name="agent-7")
    buttons(notebook, "Approve").click(timeout=30_000)
    card = notebook.output(1).locator(".nb-card-summary")
    expect(card).to_have_text("Send the result of heaviest(table=birds) to agent-7 (3 characters)?", timeout=30_000)
    screenshot(notebook.output(1), "served-result")
    buttons(notebook, "Release").click(timeout=30_000)

    assert result.result(240)[0].content[0].text == "emu"
    assert notebook.errors == []


@pytest.mark.nightly
@pytest.mark.skipif(not INSTALLED.exists(), reason="`make lane LANE=mcp-clients` installs other clients.")
def test_a_call_of_codex_is_approved_by_a_click_while_another_cell_runs(lab: Lab, tmp_path: Path) -> None:
    notebook, url, token = serve(lab, BUSY, END)
    notebook.start_cell(3)
    notebook.wait_output(3, "begun")

    calls = (("heaviest", ARGUMENTS),)
    with simulate("openai", Answer("", calls, namespace=NAMESPACE), Answer("Done."), behaviours=()) as model:
        process = start_codex(tmp_path, model, url, token)
        notebook.wait_output(1, "Run heaviest(table=birds) for ")
        expect(buttons(notebook, "Approve")).to_be_enabled(timeout=30_000)
        screenshot(notebook.output(1), "served-codex")
        assert notebook.is_running(3)
        buttons(notebook, "Approve").click()
        finished = finished_calls(process)

    assert texts_of(finished["heaviest"]) == ["emu", "Kept as $VAR_REF{{heaviest_1_result}}."]
    notebook.wait_output(1, "approved · codex")
    assert notebook.is_running(3)
    assert notebook.errors == []


@pytest.mark.nightly
@pytest.mark.skipif(not INSTALLED.exists(), reason="`make lane LANE=mcp-clients` installs other clients.")
@pytest.mark.parametrize("program", ["fastmcp", "inspector"])
def test_a_call_of_another_client_is_approved_by_a_click_while_another_cell_runs(lab: Lab, program: str) -> None:
    notebook, url, token = serve(lab, BUSY, END)
    notebook.start_cell(3)
    notebook.wait_output(3, "begun")

    words = ("--method", "tools/call", "--tool-name", "heaviest", "--tool-arg", f"table={ARGUMENTS['table']}")
    if program == "fastmcp":
        process = fastmcp(url, token, "heaviest", json.dumps(ARGUMENTS))
    else:
        process = inspector(url, token, *words)
    notebook.wait_output(1, "Run heaviest(table=birds) for ")
    expect(buttons(notebook, "Approve")).to_be_enabled(timeout=30_000)
    assert notebook.is_running(3)
    buttons(notebook, "Approve").click()

    said = printed(process)
    texts = said if program == "fastmcp" else [part["text"] for part in said["content"]]
    assert texts == ["emu", "Kept as $VAR_REF{{heaviest_1_result}}."]
    assert notebook.is_running(3)
    assert notebook.errors == []


@pytest.mark.nightly
@pytest.mark.skipif(not INSTALLED.exists(), reason="`make lane LANE=mcp-clients` installs other clients.")
def test_a_question_of_a_call_that_codex_gave_up_is_withdrawn(lab: Lab, tmp_path: Path) -> None:
    notebook, url, token = serve(lab)

    calls = (("heaviest", ARGUMENTS),)
    with simulate("openai", Answer("", calls, namespace=NAMESPACE), Answer("Done."), behaviours=()) as model:
        process = start_codex(tmp_path, model, url, token, tool_seconds=8)
        notebook.wait_output(1, "Run heaviest(table=birds) for ")
        finished = finished_calls(process)

    assert finished["heaviest"]["status"] == "failed"
    expect(buttons(notebook, "Approve")).to_have_count(0)
    assert notebook.errors == []


def test_while_another_cell_asks_each_question_is_on_its_own_card_and_is_decided_there(lab: Lab, kernel: str) -> None:
    notebook, url, token = serve(lab, ASK, kernel=kernel)
    notebook.start_cell(3)
    expect(buttons(notebook, "Approve", 3)).to_be_enabled(timeout=30_000)

    result = call(url, token)
    notebook.wait_output(1, " for agent?")
    expect(buttons(notebook, "Approve")).to_be_enabled(timeout=30_000)
    expect(buttons(notebook, "Approve", 3)).to_have_count(1)
    buttons(notebook, "Approve").click()

    assert result.result(240)[0].content[0].text == "emu"
    notebook.wait_output(1, "approved · agent")
    assert notebook.is_running(3)
    buttons(notebook, "Approve", 3).click()
    notebook.wait_ended(3)
    saved = notebook.save()
    assert "widget-view" not in str([cell.outputs for cell in saved.cells])


@pytest.mark.parametrize("theme", PICTURED_THEMES)
def test_a_question_out_of_sight_is_named_by_the_pill_and_denied_on_the_one_card(
    lab: Lab, theme: Literal["light", "dark"]
) -> None:
    lab.set_theme(theme)
    notebook, url, token = serve(lab, "print('long\\n' * 200)\n" + BUSY, END, name=f"served-{theme}.ipynb")
    notebook.start_cell(3)
    notebook.wait_output(3, "begun")
    notebook.output(3).get_by_text("begun").scroll_into_view_if_needed()

    result = call(url, token)
    pill = notebook.page.get_by_role("button", name=re.compile("heaviest.*wait"))
    expect(pill).to_be_visible(timeout=30_000)
    screenshot(notebook.page, f"served-pill-{theme}")
    pill.click()
    expect(buttons(notebook, "Deny")).to_be_in_viewport(timeout=30_000)
    expect(buttons(notebook, "Deny")).to_be_enabled(timeout=30_000)
    screenshot(notebook.output(1), f"served-question-{theme}")
    buttons(notebook, "Deny").click()

    assert result.result(240)[0].is_error
    notebook.wait_output(1, "denied · agent")
    expect(buttons(notebook, "Approve", 3)).to_have_count(0)
    assert notebook.errors == []


def test_calls_at_once_are_asked_about_on_one_card_and_one_is_denied(lab: Lab) -> None:
    notebook, url, token = serve(lab)

    result = call(url, token, count=2)
    expect(buttons(notebook, "Approve all 2")).to_be_enabled(timeout=30_000)
    screenshot(notebook.output(1), "served-several")
    denials = notebook.output(1).get_by_role("button", name="Deny", exact=True)
    expect(denials).to_have_count(2)
    denials.first.click()
    expect(denials).to_have_count(1, timeout=30_000)
    expect(buttons(notebook, "Approve").first).to_be_enabled(timeout=30_000)
    buttons(notebook, "Approve").first.click()
    results = result.result(240)

    assert sorted(one.is_error for one in results) == [False, True]
    denied = next(one for one in results if one.is_error)
    assert "did not approve" in denied.content[0].text


def test_calls_are_listed_in_order_of_time_around_an_open_question_and_a_line_says_how_many_are_not(lab: Lab) -> None:
    notebook, url, token = serve(lab)
    asked = call(url, token, name="first")
    expect(buttons(notebook, "Approve")).to_be_enabled(timeout=30_000)

    for number in range(MAX_SHOWN):
        call(url, token, "ListVars", {}, name=f"reader{number}").result(240)
    line = f"{DROPPED_AT_ONCE} earlier calls are not shown here: `%chat -c mcp:reader0 history` (1)"
    notebook.wait_output(1, line.replace("`", ""))
    expect(buttons(notebook, "Approve")).to_be_enabled(timeout=30_000)
    buttons(notebook, "Approve").click()
    assert asked.result(240)[0].content[0].text == "emu"
    fold = notebook.output(1).locator(".nb-group > summary")
    expect(fold).to_contain_text(f"{MAX_SHOWN - DROPPED_AT_ONCE + 1} calls", timeout=30_000)
    screenshot(notebook.output(1), "served-many")
    fold.click()

    readers = [f"reader{number}" for number in range(DROPPED_AT_ONCE, MAX_SHOWN)]
    assert re.findall(r"· (first|reader\d+)", notebook.output(1).inner_text()) == ["first", *readers]
    saved = str(notebook.save().cells[1].outputs)
    assert f"{DROPPED_AT_ONCE} earlier calls are not shown here" in saved
    assert "widget-view" not in saved
    assert notebook.errors == []


def test_a_result_is_added_to_the_notebook_and_stop_ends_the_calls_under_way(lab: Lab) -> None:
    cells = (SETUP, HOLD, "%chat serve -t heaviest hold -v birds", ADDRESS, "heaviest_1_result")
    notebook = lab.open_cells(*cells, kernel="python3")
    for index in range(4):
        notebook.run_cell(index)
    _, url, token, _ = ("x " + notebook.wait_output(3, "end").inner_text()).split()[:4]

    call(url, token, "ListVars", {}).result(240)
    answered, held = call(url, token), call(url, token, "hold", {})
    expect(buttons(notebook, "Approve", 2)).to_be_enabled(timeout=30_000)
    buttons(notebook, "Approve", 2).click()
    assert answered.result(240)[0].content[0].text == "emu"
    buttons(notebook, "Add to notebook", 2).last.click()
    buttons(notebook, "Bind", 2).click()
    notebook.wait_output(2, "Added to the notebook.")
    expect(notebook.run_cell(4)).to_contain_text("emu")

    notebook.output(2).get_by_role("button", name="Stop", exact=True).click()
    assert held.result(240)[0].is_error
    expect(notebook.output(2).get_by_role("button", name="Stop", exact=True)).to_have_count(0)
    notebook.wait_output(2, "agent")
    assert notebook.errors == []


@pytest.mark.new_page
def test_after_a_reload_serve_shows_the_open_question_the_former_calls_and_later_ones(lab: Lab) -> None:
    notebook, url, token = serve(lab, "%chat serve", name="reloaded.ipynb")
    first = call(url, token, name="first")
    expect(buttons(notebook, "Approve")).to_be_enabled(timeout=30_000)
    buttons(notebook, "Approve").click()
    first.result(240)
    notebook.wait_output(1, "approved · first")
    notebook.save()

    notebook.reload()
    second = call(url, token, name="second")
    notebook.run_cell(3)
    expect(buttons(notebook, "Approve", 3)).to_be_enabled(timeout=30_000)
    expect(notebook.output(3)).to_contain_text("approved · first")
    screenshot(notebook.output(3), "served-reloaded")
    buttons(notebook, "Approve", 3).click()
    second.result(240)
    notebook.wait_output(3, "approved · second")
    third = call(url, token, name="third")
    expect(buttons(notebook, "Approve", 3)).to_be_enabled(timeout=30_000)
    buttons(notebook, "Approve", 3).click()

    assert third.result(240)[0].content[0].text == "emu"
    notebook.wait_output(3, "approved · third")


def test_serve_moves_the_calls_below_itself_and_counts_those_under_way(lab: Lab) -> None:
    notebook, url, token = serve(lab, "%chat serve")
    asked = call(url, token)
    expect(buttons(notebook, "Approve")).to_be_enabled(timeout=30_000)

    notebook.run_cell(3)

    notebook.wait_output(3, "1 under way")
    notebook.wait_output(1, "The calls are shown below a later `%chat serve`.")
    expect(buttons(notebook, "Approve")).to_have_count(0)
    expect(buttons(notebook, "Approve", 3)).to_be_enabled(timeout=30_000)
    buttons(notebook, "Approve", 3).click()
    assert asked.result(240)[0].content[0].text == "emu"
    assert notebook.errors == []


def test_a_notebook_that_stops_serving_answers_the_open_question_and_prints_nothing_else(lab: Lab) -> None:
    notebook, url, token = serve(lab, "%chat serve --stop", "%chat serve")
    result = call(url, token)
    expect(buttons(notebook, "Approve")).to_be_enabled(timeout=30_000)

    notebook.run_cell(3)
    stopped = result.result(240)[0]
    notebook.run_cell(4)
    state = notebook.wait_output(4, "Nothing is served now")

    assert (stopped.is_error, stopped.content[0].text) == (True, "The notebook stopped serving.")
    assert notebook.output(3).inner_text().strip() == "Stopped: no program can connect any more."
    expect(state).to_contain_text("1 call (1 cancelled), 0 characters returned")
    screenshot(notebook.output(4), "served-stopped")
    expect(buttons(notebook, "Approve")).to_have_count(0)
    assert notebook.errors == []


def test_the_notebook_that_served_is_saved_without_its_token(lab: Lab) -> None:
    notebook, url, token = serve(lab)
    result = call(url, token)
    expect(buttons(notebook, "Approve")).to_be_enabled(timeout=30_000)
    buttons(notebook, "Approve").click()
    result.result(240)
    notebook.wait_output(1, "approved · agent")
    saved = notebook.save()
    while "approved · agent" not in str(saved.cells[1].outputs):  # it is built beside the page
        saved = notebook.save()

    shown = str(saved.cells[1].outputs)
    assert token not in str(saved.cells[1])
    assert "widget-view" not in shown
