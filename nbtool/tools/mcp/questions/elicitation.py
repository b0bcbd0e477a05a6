"""A server's question to the person during a call: a form on a card, in the same queue as approvals.

https://modelcontextprotocol.io/specification/2025-11-25/client/elicitation

It is a call of its own in the turn, whose arguments the person fills in. Nothing but a person's answer is sent: no
approval is remembered for it, and `auto` does not answer it. A request to open a page is declined, and shown with the
page's host.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from nbtool.errors import McpFailed, ToolFailed
from nbtool.events import Notice
from nbtool.ids import new_id
from nbtool.messages import ToolCall
from nbtool.text import count_of, shorten
from nbtool.tools.approval import Policy, make_digest
from nbtool.tools.calls.call_run import run_call
from nbtool.tools.calls.runtime import RunningCall, current_call
from nbtool.tools.mcp.catalog.tool_list import server_label
from nbtool.tools.mcp.questions.form import FormParameters, InvalidForm, form_parameters, secret_fields
from nbtool.tools.tool import Tool
from nbtool.tools.toolset import Toolset
from nbtool.tools.values.sanitize import single_line, strip_controls
from nbtool.turn_state import Call

if TYPE_CHECKING:
    from mcp.types import ElicitRequestFormParams, ElicitRequestParams, ElicitResult

MAX_MESSAGE = 4_000
"""Maximum number of characters of a server's question that are shown."""

MAX_INPUT_ROUNDS = 10
"""How often a server may ask for input before it completes one call."""

MAX_QUESTIONS = 4
"""Maximum number of questions of a server that are open at a time in one call; a further one is declined."""

MAX_HOST = 200
"""Maximum number of characters of a host that are shown."""

FORM_TOOL = "input"
"""The name of the call that is a form; the person reads `SERVER asks` instead."""

INTRODUCTION = "{server} asks you, during a call of its tools. What you send goes to this server."
SECRET_WARNING = (
    "It seems to ask for a secret ({fields}). A server may not do so in a form, and what you send stays in the history"
    " of this chat. Decline unless you know why it asks."
)
UNUSABLE_FORM = "{server} asked for input by a form that cannot be shown, so it was declined: {problem}."
PAGE = "{server} asks to open a page at {host}. nbtool opens none, so this was declined."
UNASKED = "{server} asked for input outside of a call of a chat, so it was declined."

Answer = Callable[["ElicitRequestParams"], Awaitable["ElicitResult"]]


def answer_for_call(server: str) -> Answer | None:
    """Return what answers a server's questions during the current call; None outside of the calls of a chat."""
    try:
        call = current_call()
    except ToolFailed:
        return None

    async def answer(params: ElicitRequestParams) -> ElicitResult:
        if params.mode == "url":
            host = shorten(single_line(urlsplit(params.url).hostname or "an unknown host"), MAX_HOST)
            await call.runtime.emit(Notice(PAGE.format(server=server_label(server), host=host), "warning"))
            return decline()
        try:
            parameters = form_parameters(params.requested_schema)
        except InvalidForm as problem:
            text = UNUSABLE_FORM.format(server=server_label(server), problem=problem)
            await call.runtime.emit(Notice(text, "warning"))
            return decline()
        return await _fill_in(call, server, params, parameters)

    return answer


async def complete_call(send: Callable[..., Awaitable[Any]], answer: Answer) -> Any:
    """Send a call, and again with the answers as long as the server needs input first; nothing is called twice.

    The result is that of the call, or what an extension of the protocol has instead.

    https://modelcontextprotocol.io/specification/draft/basic/utilities/input-required

    Raises:
        McpFailed: the server needs what nbtool does not give, or too much of it.
    """
    from mcp.types import ElicitRequest, InputRequiredResult  # noqa: PLC0415 - loaded only if there is a server

    result = await send(allow_input_required=True)
    for _ in range(MAX_INPUT_ROUNDS):
        if not isinstance(result, InputRequiredResult):
            return result
        requests = result.input_requests or {}
        forms = [request for request in requests.values() if isinstance(request, ElicitRequest)]
        if len(forms) < len(requests):
            raise McpFailed("The MCP server asked for something else than input of a form, which nbtool does not give.")
        if len(requests) > MAX_QUESTIONS or not requests:
            raise McpFailed(
                f"The MCP server asked {count_of(len(requests), 'question')} at once; "
                f"1 to {MAX_QUESTIONS} are possible."
            )
        answers = await asyncio.gather(*(answer(form.params) for form in forms))
        responses = dict(zip(requests, answers, strict=True))
        result = await send(input_responses=responses, request_state=result.request_state, allow_input_required=True)
    raise McpFailed(f"The MCP server asked for input more than {MAX_INPUT_ROUNDS} times in one call.")


def decline() -> ElicitResult:
    """Return that the person gives no input."""
    from mcp.types import ElicitResult  # noqa: PLC0415 - loaded only if there is a server

    return ElicitResult(action="decline")


def cancel() -> ElicitResult:
    """Return that no person has decided."""
    from mcp.types import ElicitResult  # noqa: PLC0415 - loaded only if there is a server

    return ElicitResult(action="cancel")


async def _fill_in(
    call: RunningCall, server: str, params: ElicitRequestFormParams, parameters: FormParameters
) -> ElicitResult:
    """Show the form until it is complete, declined or cancelled, as one call."""
    from mcp.types import ElicitResult  # noqa: PLC0415 - loaded only if there is a server

    notice = _notice(server, params.message, parameters)
    record = await ask_form(call, form_tool(server, FORM_TOOL, parameters, notice, _return_values), parameters)
    if record.status == "ok":
        return ElicitResult(action="accept", content=record.result)
    ways = [decision.by for decision in record.decisions]
    is_unanswered = bool(ways) and ways[-1] in ("withdrawn", "expired")
    return cancel() if is_unanswered else decline()


async def ask_form(call: RunningCall, tool: Tool, parameters: FormParameters) -> Call:
    """Run the call that is a form, during another one; a person who stops it withdraws the question."""
    values = dict(parameters.draft)
    form = ToolCall(tool.name, json.dumps(values), call_id=new_id("call"), runnable=True)
    runtime = replace(call.runtime, tools=Toolset("form", [tool]), check_results=False)

    def withdraw(_: object) -> None:
        for question in (item for item in runtime.approvals.pending() if item.call_id == form.call_id):
            runtime.approvals.withdraw(question.digest, "The user cancelled it.")

    with runtime.stops.listen(form.call_id) as stop_request:
        stop_request.add_done_callback(withdraw)
        try:
            if run_nested := call.runtime.run_nested:
                return await run_nested(form, runtime, call.round)
            return await run_call(form, runtime, round=call.round)
        finally:
            stop_request.remove_done_callback(withdraw)


def form_tool(
    server: str,
    name: str,
    parameters: FormParameters,
    notice: str,
    function: Callable[[dict[str, Any]], Awaitable[object]],
) -> Tool:
    """Return a form as a tool: a call of it asks a person every time, and its result stays out of the chat."""
    asks = f"{server} asks"
    return Tool(
        function=function,
        name=name,
        description="",
        parameters=parameters,
        policy=Policy("ask_always", sensitive=True),
        notice=notice,
        qualified_name=asks,
        identity=f"mcp.{asks}.{name}",
        digest=make_digest(schema=parameters.schema, notice=notice),
        resolves_references=False,
        stores_result=False,
    )


async def _return_values(values: dict[str, Any]) -> dict[str, Any]:
    return values


def _notice(server: str, message: str, parameters: FormParameters) -> str:
    """Return what the person reads above the form; the server's own text is quoted line by line."""
    text = shorten(strip_controls(message).strip(), MAX_MESSAGE)
    parts = [INTRODUCTION.format(server=server_label(server)), "\n".join(f"> {line}" for line in text.splitlines())]
    if secrets := secret_fields(parameters):
        parts.append(SECRET_WARNING.format(fields=", ".join(secrets)))
    return "\n\n".join(filter(None, parts))
