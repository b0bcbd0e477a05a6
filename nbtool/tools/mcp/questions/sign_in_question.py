"""The question whether to open the page of a login: a form without fields, on a card in the same queue as approvals.

Nothing but a person's answer opens the page: no approval is remembered for it, and `auto` does not answer it.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

from nbtool.errors import ToolFailed
from nbtool.events import Notice
from nbtool.sign_in import SIGN_IN_KEY, LoginRequest
from nbtool.tools.calls.runtime import current_call
from nbtool.tools.mcp.catalog.tool_list import server_label
from nbtool.tools.mcp.questions.elicitation import ask_form, form_tool
from nbtool.tools.mcp.questions.form import FormParameters
from nbtool.tools.mcp.questions.login_prompt import page_text
from nbtool.tools.tool import Tool

SIGN_IN_TOOL = "sign_in"
"""The name of the call that is the question; the person reads `SERVER asks` instead."""

INTRODUCTION = (
    "{server} asks you to sign in at {host}. The server chose this address; nothing was opened or fetched there. What"
    " you enter goes to that page."
)


def sign_in_form(request: LoginRequest) -> tuple[Tool, FormParameters]:
    """Return the question about a login as a tool, whose call agrees to it, and its parameters: none."""
    schema = {
        "type": "object",
        "properties": {},
        "required": [],
        "additionalProperties": False,
        SIGN_IN_KEY: request.url,
    }
    parameters = FormParameters({}, None, schema, is_form=True)
    return form_tool(request.server, SIGN_IN_TOOL, parameters, login_notice(request), _agree), parameters


def login_notice(request: LoginRequest) -> str:
    """Return what a person reads before signing in: who asks, where, and who else receives the answer."""
    introduction = INTRODUCTION.format(server=server_label(request.server), host=request.host)
    return "\n\n".join(filter(None, (introduction, request.warning)))


def login_for_call() -> Callable[[LoginRequest], Awaitable[bool]] | None:
    """Return what asks about a login in the turn of the current call; None outside of the calls of a chat."""
    try:
        call = current_call()
    except ToolFailed:
        return None

    is_refused = False

    async def ask(request: LoginRequest) -> bool:
        nonlocal is_refused
        if is_refused:  # a call that finds its session closed opens another one
            return False
        record = await ask_form(call, *sign_in_form(request))
        is_refused = record.status != "ok"
        if is_refused:
            return False
        await call.runtime.emit(Notice(page_text(request)))
        return True

    return ask


async def _agree(values: dict[str, Any]) -> str:  # noqa: ARG001 - a form passes its values
    return "agreed"
