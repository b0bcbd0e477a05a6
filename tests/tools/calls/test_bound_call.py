from __future__ import annotations

import threading
from typing import Annotated, Any, Literal

import pytest
from pydantic import AfterValidator

from nbtool import tool
from nbtool.errors import InvalidArguments
from nbtool.threads.thread_pool import BUSY_NAME
from nbtool.tools import Approved
from nbtool.tools.calls.bound_call import MAX_CHEAP_CHARS, bind, is_cheap
from nbtool.tools.tool import as_tools
from nbtool.tools.variables.store import Variables
from tests.tools.calling import ask_for, make_harness


def plain(n: int, text: str = "", share: float | None = None, exact: bool = False) -> str:
    """Take what runs nobody's code."""
    return f"{text}{n}{share}{exact}"


ran_on: list[str] = []


def note_thread(n: int) -> int:
    """Write down on which thread a validator runs."""
    ran_on.append(threading.current_thread().name)
    return n


def take_checked(n: Annotated[int, AfterValidator(note_thread)]) -> int:
    """Take what is validated by a person's own code."""
    return n


def choosing(way: Literal["up", "down"]) -> str:
    """Take a word of two."""
    return way


def loose(**anything: Any) -> str:
    """Take anything."""
    return str(anything)


@pytest.mark.parametrize(
    ("function", "arguments", "may"),
    [
        (plain, {"n": 1, "text": "x", "share": None, "exact": True}, True),
        (plain, {"n": 1, "text": "x" * (MAX_CHEAP_CHARS + 1)}, False),
        (plain, {"n": 1, "text": "see $VAR_REF{{frame}}"}, False),
        (plain, {"n": [1]}, False),
        (choosing, {"way": "up"}, False),
        (loose, {"n": 1}, False),
    ],
)
def test_only_plain_arguments_of_plain_parameters_are_bound_on_the_loop(
    function: Any, arguments: dict[str, Any], may: bool
) -> None:
    assert is_cheap(as_tools(function)[0], arguments) is may


def test_a_persons_own_validator_never_holds_up_the_loop() -> None:
    ran_on.clear()
    record = make_harness(tool(take_checked, run="auto")).run(ask_for("take_checked", n=3))

    assert record.status == "ok"
    assert set(ran_on) == {BUSY_NAME}


def test_edited_arguments_are_reported_in_their_own_letters() -> None:
    said = tool(lambda text: text, name="say")
    harness = make_harness(said, approver=lambda _: Approved(arguments={"text": "Zürich 東京"}))
    record = harness.run(ask_for("say", text="x"))

    assert record.result == "Zürich 東京"
    assert record.edited == harness.of("call_started")[0].edited == '{"text": "Zürich 東京"}'


@pytest.mark.parametrize("value", [{1, 2}, object(), b"bytes"])
def test_arguments_that_json_cannot_hold_are_invalid(value: Any) -> None:
    with pytest.raises(InvalidArguments, match="The arguments are not JSON"):
        bind(as_tools(plain)[0], {"n": value}, Variables())
