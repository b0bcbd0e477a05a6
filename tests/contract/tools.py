"""What many tests have in their notebook: a tool that pays, one that keeps what it gets, and somebody who says yes."""

from __future__ import annotations

import base64
from typing import Any

from nbtool import Approved, Released, Turn, tool
from tests.contract.notebook import Notebook, Output
from tests.contract.simulator import Call, Request, call

SECRET = "Zanzibar"
"""A value that must not leave."""

PIXEL = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
)

PAY_CELL = """
from nbtool import tool
paid = []
@tool
def pay(amount: int) -> str:
    "Pay an amount."
    paid.append(amount)
    return f"paid {amount}"
"""
"""A cell with a tool that asks, and the amounts that it paid."""

KEEP_CELL = """
from nbtool import tool
received = []
@tool(run="auto")
def keep(data) -> str:
    "Keep it."
    received.append(data)
    return "kept"
"""
"""A cell with a tool that runs by itself, and the objects that it got."""


def paying(paid: list[Any], **settings: Any) -> Any:
    """Make a tool that pays: it asks, unless `settings` say when it runs."""

    @tool(**settings)
    def pay(amount: int) -> str:
        "Pay an amount."
        paid.append(amount)
        return f"paid {amount}"

    return pay


def pay_for_review(request: Request) -> Call:
    """Let the model pay the number of the review that the prompt names."""
    return call("pay", amount=int(request.text.split("review ")[1][0]))


def keeping(received: list[Any]) -> Any:
    """Make a tool that keeps the object it gets, and runs by itself."""

    @tool(run="auto")
    def keep(data: Any) -> str:
        "Keep it."
        received.append(data)
        return "kept"

    return keep


def approve(question: Any) -> Approved:
    """Approve everything that is asked; a result is not released by it."""
    return Approved()


def release(question: Any) -> Approved | Released:
    """Approve every call, and release every result."""
    return Approved() if question.gate == "run" else Released()


async def wait_for_end(turn: Turn) -> Turn:
    """Wait for the end of a turn."""
    return await turn


def written_cell(notebook: Notebook, output: Output) -> str:
    """Return the cell that a command wrote: in a terminal it is the next input."""
    return getattr(notebook.shell, "rl_next_input", None) or output.text
