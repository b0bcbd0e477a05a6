"""A program reaches a served notebook only with its token, on this machine, and in it only what is served."""

from __future__ import annotations

import asyncio
import re
import socket
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx2
import pytest
from mcp import ClientSession

from tests.contract.notebook import Kernel, start_kernel
from tests.contract.programs import begin, serve, text_of, use
from tests.contract.simulator import KEY, Provider
from tests.contract.tools import KEEP_CELL, PAY_CELL, SECRET

pytestmark = pytest.mark.feature("let Claude Code, Codex or another program use this kernel")

CELL = f"""
{PAY_CELL}
{KEEP_CELL}
@tool(run="auto")
def price(ticker: str) -> int:
    "The price of a ticker."
    return 1234
@tool(run="auto")
def other() -> str:
    "Nobody serves this."
    return "other"
@tool(run="auto")
def leak() -> str:
    "Leak a key."
    return "The key is " + leaked
leaked = ""
df = ["{SECRET}"]
note = "a readable note"
hidden = "{SECRET} too"
"""


@pytest.fixture(scope="module")
def address(kernel: Kernel) -> Iterator[tuple[str, str]]:
    """Serve the notebook, and give its address and token as `nbtool-mcp --token` prints them."""
    assert not kernel.run(CELL).error
    yield serve(kernel, "-t price pay keep leak -v df --read note")
    kernel.run("%chat serve --stop")


@pytest.mark.promise("served")
def test_a_program_reaches_only_what_is_served(address: tuple[str, str]) -> None:
    async def work(session: ClientSession) -> Any:
        names = [tool.name for tool in (await session.list_tools()).tools]
        return names, await session.call_tool("price", {"ticker": "A"}), await session.call_tool("other", {})

    names, price, other = use(address, work)

    assert {"price", "pay"} <= set(names)
    assert "other" not in names
    assert "1234" in text_of(price)
    assert other.is_error


@pytest.mark.promise("served")
def test_an_object_goes_to_a_tool_by_reference_and_its_values_stay(address: tuple[str, str], kernel: Kernel) -> None:
    async def work(session: ClientSession) -> Any:
        return [await session.call_tool("keep", {"data": f"$VAR_REF{{{{{name}}}}}"}) for name in ("df", "hidden")]

    passed, refused = use(address, work)

    assert "kept" in text_of(passed)
    assert refused.is_error
    assert "True" in kernel.run("received[-1] is df").text
    assert SECRET not in text_of(passed) + text_of(refused)


@pytest.mark.promise("served")
def test_values_are_read_only_if_the_person_lets_them_be_read(address: tuple[str, str]) -> None:
    async def work(session: ClientSession) -> Any:
        resources = (await session.list_resources()).resources
        return {
            one.name: str((await session.read_resource(one.uri)).contents[0]) for one in resources if "note" in one.name
        }

    read = use(address, work)

    assert any("a readable note" in text for text in read.values())
    assert SECRET not in str(read)


@pytest.mark.promise("served")
@pytest.mark.parametrize(("decision", "result_text"), [("approve", "paid 5"), ("deny", "not approve")])
def test_a_call_of_a_program_waits_for_the_person(
    address: tuple[str, str], kernel: Kernel, decision: str, result_text: str
) -> None:
    async def work(session: ClientSession) -> Any:
        calling = asyncio.ensure_future(session.call_tool("pay", {"amount": 5}))
        questions: list[str] = []
        while not questions:
            listed = await asyncio.to_thread(kernel.run, "%chat approvals")
            questions = re.findall(r"^([0-9a-f]{8,})\b.*pay", listed.stream, flags=re.MULTILINE)
            assert questions or not calling.done()
        (question,) = questions
        await asyncio.to_thread(kernel.run, f"%chat {decision} {question}")
        return await calling

    result = use(address, work)

    assert result_text in text_of(result).lower()


@pytest.mark.promise("served")
@pytest.mark.parametrize(
    "headers",
    [
        {}, {"Authorization": "Bearer wrong"}, {"Authorization": "Basic x"},
        {"Origin": "https://evil.example"}, {"Host": "evil.example"},
    ],
    ids=str,
)  # fmt: skip
def test_a_request_without_the_token_or_from_elsewhere_is_refused(
    address: tuple[str, str], headers: dict[str, str]
) -> None:
    url, token = address
    key = {"Authorization": f"Bearer {token}"}
    if "Authorization" not in headers and headers:
        headers = {**headers, **key}

    assert begin(url, key).status_code == 200
    assert 400 <= begin(url, headers).status_code < 500


@pytest.mark.promise("no-secret-told")
def test_a_program_does_not_receive_a_key_that_the_notebook_has_used(
    address: tuple[str, str], kernel: Kernel, kernel_model: Provider
) -> None:
    kernel_model.say("Hello.")
    kernel.run(
        "from nbtool import Chat\n"
        f"Chat('tiny', wire='chat', base_url={kernel_model.url!r}, api_key={KEY!r}).send('Hello?')\nleaked = {KEY!r}"
    )
    assert KEY in kernel_model.everything

    async def work(session: ClientSession) -> Any:
        return await session.call_tool("leak", {})

    result = use(address, work)

    assert "key is" in text_of(result)
    assert KEY not in str(result)


@pytest.mark.promise("served")
def test_what_programs_did_is_listed_for_the_person(address: tuple[str, str], kernel: Kernel) -> None:
    async def work(session: ClientSession) -> Any:
        return await session.call_tool("price", {"ticker": "A"})

    use(address, work)

    assert "price" in kernel.run("%chat serve").text


@pytest.mark.promise("served")
def test_the_token_is_in_no_output(address: tuple[str, str], kernel: Kernel) -> None:
    outputs = [kernel.run(f"%chat {command}").everything for command in ("serve", "status", "history", "approvals")]

    assert address[1] not in "".join(outputs)


@pytest.mark.promise("served")
def test_a_served_notebook_is_reached_from_this_machine_only(address: tuple[str, str]) -> None:
    url, token = address
    port = httpx2.URL(url).port
    assert port

    assert httpx2.URL(url).host == "127.0.0.1"
    assert begin(url, {"Authorization": f"Bearer {token}"}).status_code == 200
    with socket.socket() as other, pytest.raises(ConnectionRefusedError):
        other.connect(("127.0.0.2", port))  # another address of this machine: the server does not listen on all
    with socket.socket() as free:
        free.bind(("127.0.0.2", port))


@pytest.mark.sampled(0)
@pytest.mark.promise("served")
def test_nothing_is_served_after_a_stop(tmp_path: Path) -> None:
    with start_kernel(tmp_path) as own:
        assert not own.run(CELL).error
        url, token = serve(own, "-t price")
        assert begin(url, {"Authorization": f"Bearer {token}"}).status_code == 200

        own.run("%chat serve --stop")

        with pytest.raises(httpx2.TransportError):
            begin(url, {"Authorization": f"Bearer {token}"})
