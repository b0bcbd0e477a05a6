"""Asks whether to sign in to a server while a cell of code waits for it: on a card in the page."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

from nbtool.chat.chat import Chat, TurnSettings, wait_for_turn
from nbtool.chat.model import Model
from nbtool.errors import NbtoolError
from nbtool.magics.cell.approver import CellApprover
from nbtool.magics.kernel.cell_messages import can_ask_for_input, cell_id, has_front_end
from nbtool.magics.notebook.inserted_cell import CellSource
from nbtool.magics.views.call_log import empty_place
from nbtool.magics.views.page_view import WidgetView
from nbtool.magics.views.served import chat_name
from nbtool.mcp_server.endpoint import ClientEndpoint
from nbtool.sign_in import LoginRequest
from nbtool.tools.mcp.questions.login_prompt import LOGIN_SECONDS, ask_by_line, page_text
from nbtool.tools.mcp.questions.sign_in_question import SIGN_IN_TOOL, sign_in_form

NOT_SENT = "Nothing of this was sent to a model."
TASK = "Sign in to the server {server}."


def ask_in_cell(shell: Any, magic: str, request: LoginRequest) -> bool:
    """Ask on a card below the running cell, and wait for a click; without a page, with a line of input.

    Return whether the person agreed. The question is a turn of a chat of its own, which no model takes part in.
    """
    if not has_front_end(shell):
        return ask_by_line(request)
    chat = Chat(tools=[sign_in_form(request)[0]])
    endpoint = ClientEndpoint(request.server, SIGN_IN_TOOL, {})
    endpoint.closing = lambda: NOT_SENT
    chat.model = Model(request.server, wire=endpoint)
    settings = TurnSettings(cell_id=cell_id(shell), append=True, replay="off", typed="")
    turn = chat.compose(TASK.format(server=request.server), settings=settings)
    cells = CellSource(chat_name(request.server), magic)
    view = WidgetView(shell, turn, chat, cells, place=empty_place())
    turn.approver = CellApprover(
        turn,
        chat.approvals,
        place=view.turn_place,
        can_input=can_ask_for_input(shell),
        timeout=LOGIN_SECONDS,
    )
    turn.add_listener(view.feed)
    try:
        with suppress(NbtoolError):  # its call says what went wrong
            wait_for_turn(turn, on_tick=view.poll)
    finally:
        if turn.done.done():
            view.on_finished(turn)
        else:  # it is being stopped
            turn.done.add_done_callback(lambda _: view.on_finished(turn))
    is_agreed = any(call.name == SIGN_IN_TOOL and call.status == "ok" for call in turn.calls)
    if is_agreed:
        print(page_text(request))  # noqa: T201 - for the person, whose browser may have opened nothing
    return is_agreed
