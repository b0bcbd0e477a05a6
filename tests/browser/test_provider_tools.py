"""Tools that the provider ran, and the sources of a reply, in a cell of JupyterLab."""

from __future__ import annotations

import re
from typing import Any, Literal

import pytest
from playwright.sync_api import expect

from tests.browser.lab import PICTURED_THEMES, Lab, screenshot
from tests.chaos import head, serve
from tests.wire import responding

CELL = """%load_ext nbtool
from nbtool import Chat, tool

@tool(run="auto")
def double(n: int) -> int:
    "Twice a number."
    return 2 * n

provider_tools = ["web_search", "code_interpreter"]
chat = Chat("m", base_url={url!r}, wire="responses", tools=[double], provider_tools=provider_tools)"""
CODE = "import pandas as pd\nrain = pd.Series([3, 0, 12])\nprint(rain.mean())"
TEXT = "It rained **5 mm** a day in Paris."


def reply(page_url: str) -> bytes:
    search = {
        "type": "web_search_call", "id": "ws_1", "status": "completed",
        "action": {"type": "search", "query": "rain in Paris", "sources": [{"url": page_url}]},
    }  # fmt: skip
    code = {
        "type": "code_interpreter_call", "id": "ci_1", "status": "completed", "code": CODE,
        "outputs": [{"type": "logs", "logs": "5.0\n"}],
    }  # fmt: skip
    note = {"type": "url_citation", "url": page_url, "title": "Rain [today]", "start_index": 0, "end_index": 9}
    file = {"type": "file_citation", "file_id": "file-1", "filename": "rain.csv", "index": 9}
    hostile = {"type": "url_citation", "url": "javascript:alert(1)", "title": "<img src=x>", "start_index": 0}
    said = {
        "type": "message", "id": "m_1", "role": "assistant", "status": "completed",
        "content": [{"type": "output_text", "text": TEXT, "annotations": [note, file, hostile]}],
    }  # fmt: skip
    items: list[dict[str, Any]] = [search, code, said]
    done = [{"type": "response.output_item.done", "output_index": at, "item": item} for at, item in enumerate(items)]
    return responding.stream(*done, responding.completed_event(*items))


@pytest.mark.parametrize("theme", PICTURED_THEMES)
def test_what_the_provider_ran_and_its_sources_are_shown_and_a_source_has_an_address_once_it_is_pressed(
    lab: Lab, theme: Literal["light", "dark"]
) -> None:
    lab.set_theme(theme)
    page_url = f"{lab.server.url.rstrip('/')}/api?page=rain"
    with serve(head(), reply(page_url)) as provider:
        notebook = lab.open_cells(
            CELL.format(url=provider.url), "%%chat -c chat\nDoes it rain in Paris?",
            "print('CALLS', chat.tree.active_path[-1].turn.calls)", kernel="python3",
        )  # fmt: skip
        addresses: list[str] = []
        notebook.page.on("request", lambda request: addresses.append(request.url))
        notebook.run_cell(0)
        notebook.run_cell(1)
    turn = notebook.output(1).locator(".nb-turn").first

    ran = turn.locator(".nb-notice", has_text="Run by the provider, not in this notebook")
    expect(ran).to_have_count(2)
    expect(ran.nth(0)).to_contain_text(f"web_search\nrain in Paris\n{page_url}", use_inner_text=True)
    expect(ran.nth(1)).to_contain_text(f"code_interpreter\n{CODE}\nResult: 5.0", use_inner_text=True)
    assert "\n".join(["code_interpreter", CODE, "Result: 5.0"]) in ran.nth(1).inner_text(), "lines stay lines"
    expect(turn.locator(".nb-call")).to_have_count(0)
    expect(turn.locator("ol li")).to_have_text([re.compile(r"Rain \[today\] \(.+\)"), "rain.csv", "<img src=x>"])
    screenshot(turn, f"provider-tools-{theme}")

    link = turn.get_by_role("link")
    expect(link).to_have_text(["Rain [today]"])
    assert link.get_attribute("href") is None
    assert link.get_attribute("title") == page_url
    with notebook.page.context.expect_page() as opened:
        link.click()
    opened.value.wait_for_url(page_url)
    assert opened.value.evaluate("window.opener") is None
    assert page_url not in addresses, "the page itself fetches no source"

    notebook.run_cell(2)
    notebook.wait_output(2, "CALLS []")
    assert notebook.errors == []
