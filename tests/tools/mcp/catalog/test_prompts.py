from __future__ import annotations

import queue
import sys
import threading
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from nbtool import Approved
from nbtool.errors import McpFailed
from nbtool.threads.loop import background_loop
from nbtool.tools.mcp import McpServer, McpServers, mcp_servers
from nbtool.tools.mcp.catalog.entries import MAX_ENTRIES
from nbtool.tools.mcp.catalog.prompts import MAX_PROMPT, RemotePrompt
from nbtool.tools.mcp.catalog.tool_list import MAX_PAGES
from tests.tools.calling import ask_for, make_harness

SERVERS = Path(__file__).parents[1]


def start(program: str, *arguments: str) -> McpServers:
    return mcp_servers(
        {"mcpServers": {"lab": {"command": sys.executable, "args": [str(SERVERS / program), *arguments]}}}
    )


@pytest.fixture(scope="module")
def lab() -> Iterator[McpServer]:
    with start("prompting_server.py") as servers:
        yield servers["lab"]


def test_the_prompts_of_a_server_are_listed_with_their_arguments(lab: McpServer) -> None:
    review, sneaky = lab.prompts()

    assert review == RemotePrompt("lab", "review", "Review code.", ("code",), ("tone",))
    assert (review.usage, sneaky.usage) == ("lab.review code=… [tone=…]", "lab.sneaky")


def test_a_prompt_is_its_text_without_control_characters(lab: McpServer) -> None:
    assert lab.get_prompt("review", {"code": "x = 1"}).partition(" kind tone")[2] == ":\nx = 1\u202e"


@pytest.mark.parametrize(("name", "arguments"), [("none", {}), ("review", {}), ("review", {"code": "x" * MAX_PROMPT})])
def test_a_prompt_that_cannot_be_had_is_an_error(lab: McpServer, name: str, arguments: dict[str, str]) -> None:
    with pytest.raises(McpFailed):
        lab.get_prompt(name, arguments)


def test_a_server_without_prompts_and_resources_has_none() -> None:
    with start("asking_server.py") as servers:
        assert (servers["lab"].prompts(), servers["lab"].resources()) == ((), ())


def test_prompts_are_listed_in_a_new_session_after_the_server_has_died() -> None:
    with start("listing_server.py", "prompts") as servers:
        lab = servers["lab"]
        first = lab.prompts()
        record = make_harness(servers, approver=lambda _: Approved()).run(ask_for("lab_say", what="die"))

        assert "has ended" in record.shown
        assert lab.prompts() == first
        assert any("was reconnected" in notice for notice in lab.notices)


def test_more_prompts_than_the_limit_are_refused() -> None:
    with start("listing_server.py", "prompts", str(MAX_ENTRIES + 1)) as servers, pytest.raises(McpFailed, match="500"):
        servers["lab"].prompts()


def test_prompts_are_listed_from_all_pages() -> None:
    with start("listing_server.py", "prompts", "2", "3") as servers:
        assert [prompt.name for prompt in servers["lab"].prompts()] == [f"prompt{number}" for number in range(6)]


def test_more_pages_of_prompts_than_the_limit_are_refused() -> None:
    words = f"more than {MAX_PAGES} pages"
    with (
        start("listing_server.py", "prompts", "1", str(MAX_PAGES + 1)) as servers,
        pytest.raises(McpFailed, match=words),
    ):
        servers["lab"].prompts()


def test_a_prompt_of_several_messages_has_their_roles() -> None:
    with start("listing_server.py", "prompts") as servers:
        assert servers["lab"].get_prompt("prompt0", {}) == "User: Hello.\n\nAssistant: Hi."


def test_a_server_of_the_newest_protocol_says_that_its_tools_changed() -> None:
    listings: queue.SimpleQueue[Any] = queue.SimpleQueue()
    with start("newest_only.py", str(SERVERS / "changing_server.py")) as servers:
        servers["lab"]._connection._on_listed = lambda: listings.put
        record = make_harness(servers, approver=lambda _: Approved()).run(ask_for("lab_change"))

        assert record.status == "ok"
        assert set(listings.get(timeout=240)) == {"change", "second"}


def test_a_changed_list_that_cannot_be_had_is_a_notice_and_one_that_nobody_uses_is_dropped(tmp_path: Path) -> None:
    program = tmp_path / "server.py"
    program.write_text((SERVERS / "listing_server.py").read_text())
    with start(str(program)) as servers:
        lab = servers["lab"]
        connection, on_listed = lab._connection, lab._connection._on_listed

        async def change() -> None:
            connection._on_changed()
            assert connection._listing
            await connection._listing

        connection._on_listed = lambda: None
        background_loop().submit(change()).result(240)
        assert lab.notices == ()
        connection._on_listed = on_listed
        make_harness(servers, approver=lambda _: Approved()).run(ask_for("lab_say", what="die"))
        program.unlink()
        background_loop().submit(change()).result(240)

    assert "'lab'" in lab.notices[-1]


def test_connecting_again_to_a_server_that_needs_no_login_asks_nobody() -> None:
    with start("listing_server.py") as servers:
        lab = servers["lab"]
        lab._spec = replace(lab._spec, login_prompt=None)
        lab.login()

        assert list(lab.tools()) == ["lab_say"]


def test_a_changed_tool_list_is_listed_again_and_a_changed_tool_asks_with_the_difference() -> None:
    questions: list[Any] = []
    listed = threading.Event()

    def answer(question: Any) -> Approved:
        questions.append(question)
        return Approved()

    with start("listing_server.py") as servers:
        lab = servers["lab"]
        harness = make_harness(servers, approver=answer)
        on_listed = lab._on_listed

        def notice(tools: Any) -> None:
            on_listed(tools)
            listed.set()

        lab._connection._on_listed = lambda: notice
        harness.run(ask_for("lab_say", what="change"))
        assert listed.wait(240)
        harness.run(ask_for("lab_say", what="it"))

    assert questions[0].notice == ""
    assert "+Say more." in questions[1].notice
