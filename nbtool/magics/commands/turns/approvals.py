"""Pending questions and their decisions: `approvals`, `approve`, `deny`, `wait`, `cancel`."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Sequence
from contextlib import suppress

from nbtool.blocks.question import (
    effect_text,
    format_remarks,
    notice_text,
    summarize_request,
)
from nbtool.blocks.sanitize import one_line
from nbtool.chat.chat import Chat, wait_for_turn
from nbtool.chat.turn import Turn
from nbtool.errors import BadUsage
from nbtool.ids import short_id
from nbtool.loop import wait_for_future
from nbtool.magics.cell.endings import stop_cell
from nbtool.magics.commands.context import Command, CommandContext, format_table
from nbtool.magics.commands.turns.show import show
from nbtool.magics.kernel.cell_messages import listener_for
from nbtool.text import list_names
from nbtool.tools.approval import BY_COMMAND, Approved, Decision, Question, Released, RememberedApproval
from nbtool.tools.calls.approval_request import request_event

MIN_ID_CHARS = 4
"""Characters of an id that are accepted as a prefix where they match only one question."""

CANCEL_SECONDS = 10.0
"""How long `cancel` waits for a stopped turn to end."""

WAIT = "--wait"
BACKGROUND_NOTE = (
    "The turn continues in the background; its synchronous tools run in a worker thread (or here, with `--wait`)."
)


def approvals(context: CommandContext, args: list[str]) -> str:
    """List pending approvals and remembered ones.

    `approvals revoke ID` removes a remembered one, `approvals revoke TOOL` all that are remembered of a tool.
    """
    match args:
        case ["revoke", selected]:
            return _revoke(context.chat, selected)
        case []:
            remembered = context.chat.approvals.remembered()
            rows = [(q.digest[:12], _describe_question(context, chat, q)) for chat, q in _waiting(context)]
            rows += [(short_id(r.approval_id), f"remembered {_describe_remembered(r)}") for r in remembered]
            if not rows:
                return "No pending or remembered approvals."
            return "\n".join([format_table(*rows), *_ways_to_revoke(context, remembered)])
        case _:
            raise BadUsage("%chat approvals takes no arguments, `revoke ID` or `revoke TOOL`.")


def approve(context: CommandContext, args: list[str]) -> str:
    """Approve a pending call: `approve [ID] [--wait]`.

    The id may be omitted when only one call is pending.
    """
    ids = [arg for arg in args if arg != WAIT]
    chat, question = _pending(context, ids)
    if len(ids) > 1:
        raise BadUsage("%chat approve takes one id.", fix="`%chat approvals` lists the pending calls.")
    decision = Approved() if question.gate == "run" else Released()
    return _decide(context, chat, question, decision, waits=WAIT in args)


def deny(context: CommandContext, args: list[str]) -> str:
    """Deny a pending call: `deny [ID] [REASON] [--wait]`.

    The reason is sent to the model.
    """
    arguments = [arg for arg in args if arg != WAIT]
    ids = [arg for arg in arguments[:1] if _questions_by_id(context, arg)]
    chat, question = _pending(context, ids)
    reason = " ".join(arguments[len(ids) :])
    return _decide(context, chat, question, question.denial(reason), waits=WAIT in args)


def wait(context: CommandContext, args: list[str]) -> str:
    """Wait for the background turn.

    Until it ends or needs a decision; its synchronous tools run in this cell.
    """
    if args:
        raise BadUsage("%chat wait takes no arguments.")
    if not (turns := context.chat.running_turns):
        return "No turn of this chat is running in the background."
    return (
        _pending_note(context, turns[0])
        if context.chat.open_questions(turns[0])
        else _wait_in_cell(context, turns[0], lambda: None)
    )


def cancel(context: CommandContext, args: list[str]) -> str:
    """Stop the parked and background turns of the chat.

    Partial output is kept.
    """
    if args:
        raise BadUsage("%chat cancel takes no arguments.", fix="`%chat -c NAME cancel` selects another chat.")
    turns = [turn for turn in context.chat.running_turns if not turn.caller_thread.is_attached]
    for turn in turns:
        turn.abort()
    for turn in turns:
        with suppress(TimeoutError):
            wait_for_future(turn.done, CANCEL_SECONDS)
    return "Stopped." if turns else "No turn of this chat is parked or running in the background."


COMMANDS: dict[str, Command] = {
    "approvals": approvals,
    "approve": approve,
    "deny": deny,
    "wait": wait,
    "cancel": cancel,
}


def _waiting(context: CommandContext) -> list[tuple[Chat, Question]]:
    return [(chat, question) for chat in context.kernel.chats.values() for question in chat.approvals.pending()]


def _questions_by_id(context: CommandContext, arg: str) -> list[tuple[Chat, Question]]:
    if len(arg) < MIN_ID_CHARS:
        return []
    return [(chat, question) for chat, question in _waiting(context) if question.digest.startswith(arg)]


def _pending(context: CommandContext, args: list[str]) -> tuple[Chat, Question]:
    """Find the question that an id selects, in any chat of this kernel."""
    matches = _questions_by_id(context, args[0]) if args else _waiting(context)
    if len(matches) != 1:
        problem = "Several calls are pending; give an id." if _waiting(context) else "No call is pending."
        raise BadUsage(problem, fix="`%chat approvals` lists them.")
    return matches[0]


def _describe_question(context: CommandContext, chat: Chat, question: Question) -> str:
    owner = next(name for name, candidate in context.kernel.chats.items() if candidate is chat)
    where = "" if chat is context.chat else f" in chat {one_line(owner, 40)}"
    summary = summarize_request(request_event(question))
    remarks = format_remarks(question.again, question.notes)
    more = [text for text in (remarks, notice_text(question.notice), effect_text(question.effect)) if text]
    return "\n".join([f"waiting{where}: {summary}", *more]).replace("\n", "\n    ")


def _describe_remembered(approval: RememberedApproval) -> str:
    """Return what a remembered approval covers."""
    if approval.scope == "tool":
        return f"for this tool: every call of {approval.display_name}"
    return f"for this call: {approval.display_name} {one_line(approval.shown, 60)}"


def _ways_to_revoke(context: CommandContext, remembered: Sequence[RememberedApproval]) -> list[str]:
    """Return a line with the commands that revoke remembered approvals; none without any."""
    if not remembered:
        return []
    by_name = context.cells.line(f"approvals revoke {shlex.quote(remembered[-1].display_name)}")
    by_id = context.cells.line(f"approvals revoke {short_id(remembered[-1].approval_id)}")
    return [f"`{by_name}` revokes what is remembered of this tool, `{by_id}` this one."]


def _revoke(chat: Chat, selected: str) -> str:
    """Revoke the remembered approvals of a tool, or the only one whose id begins with a text.

    Raises:
        BadUsage: there is none, or several ids begin so.
    """
    queue, begin = chat.approvals, selected.removeprefix("approval_")
    found = [one for one in queue.remembered() if selected in (one.tool, one.display_name)]
    if not found and len(begin) >= MIN_ID_CHARS:
        found = [one for one in queue.remembered() if one.approval_id.removeprefix("approval_").startswith(begin)]
        if len(found) > 1:
            raise BadUsage(
                f"Several remembered approvals have ids that begin with {one_line(selected, 60)!r}.",
                fix="`%chat approvals` lists them.",
            )
    if not found:
        fix = "`%chat approvals` lists them; it takes an id or the name of a tool."
        raise BadUsage(f"No approval is remembered for {one_line(selected, 60)!r}.", fix=fix)
    for one in found:
        queue.revoke(one.approval_id)
    revoked = "".join(f"\n  {short_id(one.approval_id)}  {_describe_remembered(one)}" for one in found)
    return f"Revoked; {list_names(sorted({one.display_name for one in found}), 5)} needs approval again:{revoked}"


def _decide(context: CommandContext, chat: Chat, question: Question, decision: Decision, *, waits: bool) -> str:
    verdict, is_yes = type(decision).__name__, isinstance(decision, Approved | Released)
    turn = next((turn for turn in chat.running_turns if question.digest in turn.parking.questions), None)

    def decide() -> None:
        chat.approvals.decide(question.digest, decision, by=BY_COMMAND if is_yes else "%chat deny")

    if waits and turn:
        return f"{verdict}. {_wait_in_cell(context, turn, decide)}"
    decide()
    return f"{verdict}. {BACKGROUND_NOTE if turn and turn.parking.is_parked else ''}".rstrip()


def _wait_in_cell(context: CommandContext, turn: Turn, on_start: Callable[[], None]) -> str:
    """Wait for a turn on this cell's thread, which runs its synchronous tools."""
    kernel = getattr(context.kernel.shell, "kernel", None)
    listener = listener_for(kernel) if kernel else None
    try:
        wait_for_turn(turn, on_tick=listener.poll if listener else lambda: None, on_start=on_start)
    except KeyboardInterrupt:
        raise stop_cell(context.kernel.shell, turn, has_view=False) from None
    if not turn.done.done():
        return _pending_note(context, turn)
    return "The turn has ended." if kernel else f"The turn has ended.{show(context, [turn.turn_id])}"


def _pending_note(context: CommandContext, turn: Turn) -> str:
    chats = (chat for chat in context.kernel.chats.values() if turn in chat.running_turns)
    ids = " or ".join(digest[:12] for chat in chats for digest in chat.open_questions(turn))
    return f"The turn needs a decision: `%chat approve {ids}` or `%chat deny {ids}`."
