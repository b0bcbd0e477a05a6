"""A program gets no value that is withheld, masked or by reference only, and no call that nobody approved."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import pytest
from mcp import ClientSession

from tests.contract.notebook import Kernel, start_kernel
from tests.contract.programs import serve, text_of, use
from tests.contract.tools import PAY_CELL, SECRET

pytestmark = pytest.mark.feature("let Claude Code, Codex or another program use this kernel")


PRIVATE_CELL = f"""
{PAY_CELL}
@tool(run="auto", result="always")
def diary() -> str:
    "Read the diary."
    paid.append("diary")
    return "I love {SECRET}"
@tool(run="auto", result="reference")
def people() -> list:
    "Give all people."
    return ["{SECRET}"]
@tool(run="auto")
def show(data) -> str:
    "Show it."
    return f"It is {{data}}"
@tool(run="auto")
def fail(data) -> str:
    "Fail."
    raise ValueError(f"no use for {{data}}")
@tool(run="auto")
def contact() -> str:
    "Give the address of somebody."
    return "Write to grace@navy.example."
df = ["{SECRET}"]
"""


@pytest.fixture(scope="module")
def unattended(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Kernel, tuple[str, str]]]:
    """Serve a notebook that masks private values, and at which nobody answers."""
    with start_kernel(tmp_path_factory.mktemp("unattended")) as own:
        assert not own.run(PRIVATE_CELL).error
        assert not own.run("%config NbTool.privacy = True").error
        yield own, serve(own, "-t pay diary people show fail contact -v df --answer-within 0.2")


def ask(address: tuple[str, str], *calls: tuple[str, dict[str, Any]]) -> list[Any]:
    """Call tools one after another, and give their results."""

    async def work(session: ClientSession) -> Any:
        return [await session.call_tool(name, arguments) for name, arguments in calls]

    results: list[Any] = use(address, work)
    return results


@pytest.mark.promise("served")
@pytest.mark.promise("fails-closed")
def test_a_call_of_a_program_that_nobody_answers_does_not_run_and_is_an_error(unattended: Any) -> None:
    kernel, address = unattended

    (result,) = ask(address, ("pay", {"amount": 5}))

    assert result.is_error
    assert "paid" not in text_of(result)
    assert "5" not in kernel.run("paid").text


@pytest.mark.promise("withheld")
@pytest.mark.promise("served")
def test_a_result_at_its_gate_that_nobody_releases_is_withheld_from_a_program(unattended: Any) -> None:
    kernel, address = unattended

    (result,) = ask(address, ("diary", {}))

    assert "diary" in kernel.run("paid").text
    assert SECRET not in str(result)
    assert "withheld" in text_of(result)


@pytest.mark.promise("withheld")
@pytest.mark.promise("by-reference")
@pytest.mark.parametrize(("tool", "words"), [("show", "reference only"), ("fail", "withheld")])
def test_a_program_gets_no_value_of_a_reference_by_a_tool_or_its_error(unattended: Any, tool: str, words: str) -> None:
    _, address = unattended
    (people,) = ask(address, ("people", {}))
    name = re.findall(r"\$VAR_REF{{(\w+)}}", text_of(people))[0]

    results = ask(address, *[(tool, {"data": f"$VAR_REF{{{{{one}}}}}"}) for one in (name, f"{name}[0]", "df", "df[0]")])

    assert [words in text_of(one) for one in results] == [True] * 4
    assert SECRET not in str(results)


@pytest.mark.promise("masked")
@pytest.mark.promise("served")
def test_a_masked_value_does_not_reach_a_program(unattended: Any) -> None:
    _, address = unattended

    (result,) = ask(address, ("contact", {}))

    assert text_of(result).startswith("Write to ")
    assert "grace@navy.example" not in str(result)
